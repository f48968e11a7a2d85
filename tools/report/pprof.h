/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as a profile for pprof: the message Profile of profile.proto, compressed by gzip */
#ifndef REPORT_PPROF_H
#define REPORT_PPROF_H

#include <stdbool.h>
#include <stdio.h>

#include "blame.h"

/*
 * Write a sample for each row of @b. Its values are "count", "time", and the time of each
 * state by the state's name. @duration_ns: of the trace. False: no memory
 */
bool pprof_write(FILE *f, const struct blame *b, uint64_t duration_ns);

#endif /* REPORT_PPROF_H */
