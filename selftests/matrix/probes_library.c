// SPDX-License-Identifier: GPL-2.0
/*
 * A shared object with probes of the names that the program has, and a counter of its own
 */
#include "probes.h"

TRACE_PROBE_DEFINE(matrix, plain);
TRACE_PROBE_DEFINE(library, only__here);

void library_probes(uint64_t id, const char *text)
{
	TRACE_PROBE(matrix, plain, id, text, -8L);
	TRACE_PROBE(library, only__here, id, text, TRACE_TO_(unsigned char, 200));
}
