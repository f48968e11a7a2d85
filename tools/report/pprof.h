/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes stacks as a profile for pprof: the message Profile of profile.proto, compressed by
 * gzip.
 */
#ifndef REPORT_PPROF_H
#define REPORT_PPROF_H

#include <stdbool.h>
#include <stdio.h>

#include "blame.h"

/*
 * Writes a sample for each row of @b. Its values are "count", "time", and the time of each
 * state under the state's name. @duration_ns: length of the trace. Returns false if there is no
 * memory.
 */
bool pprof_write(FILE *f, const struct blame *b, uint64_t duration_ns);

#endif /* REPORT_PPROF_H */
