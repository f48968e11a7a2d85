/* SPDX-License-Identifier: GPL-2.0 */
/* The part of a fuzzer that analyses a trace and tests the sums of each row */
#ifndef ANALYSIS_FUZZ_ROWS_H
#define ANALYSIS_FUZZ_ROWS_H

#include "fxt/fxt.h"

/*
 * Analyses what @r reads, prints each operation, and tests the sums of each row. @choices: bits
 * that choose options and tables. Returns 0, or a negative errno after a message.
 */
int fuzz_rows(struct fxt_reader *r, uint64_t choices);

#endif /* ANALYSIS_FUZZ_ROWS_H */
