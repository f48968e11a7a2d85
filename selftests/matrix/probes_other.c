// SPDX-License-Identifier: GPL-2.0
/* The second file of a program with probes */
#include "probes.h"

void other_probes(uint64_t id, const char *text)
{
	shared_probe(id, TRACE_TO_(short, -2));
	TRACE_PROBE(matrix, plain, id, text, -7L);
}
