// SPDX-License-Identifier: GPL-2.0
/*
 * A shared object with a probe that the program has, too, and one that the program has not. Each
 * TRACE_PROBE_DEFINE() makes a semaphore of the object's own.
 */
#include "probes.h"

TRACE_PROBE_DEFINE(matrix, plain);
TRACE_PROBE_DEFINE(library, only__here);

void library_probes(uint64_t id, const char *text)
{
	TRACE_PROBE(matrix, plain, id, text, -8L);
	TRACE_PROBE(library, only__here, id, text, TRACE_TO_(unsigned char, 200));
}
