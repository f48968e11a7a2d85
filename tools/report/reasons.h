/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names the thing that a thread waited for, from its system call. */
#ifndef REPORT_REASONS_H
#define REPORT_REASONS_H

#include <stdio.h>

#include "analysis/analysis.h"

/*
 * Returns what the thread of @row was blocked in, such as "futex", "socket" or "page fault". If
 * the trace does not tell, and for other states, returns the name of the reason; "" if there is
 * none.
 */
const char *reason_of(const struct analysis_interval *row);
/* Returns the type of the file whose descriptor the system call of @row has; "": not known */
const char *reason_file(const struct analysis_interval *row);
/* Prints the system call of @row, as in "recvfrom(5) on a socket", or the page fault. */
void reason_print_call(FILE *f, const struct analysis_interval *row);

#endif /* REPORT_REASONS_H */
