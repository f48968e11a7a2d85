/* SPDX-License-Identifier: GPL-2.0 */
/* A test that the account of each operation in a trace equals its latency */
#ifndef ANALYSIS_ACCOUNT_HOLDS_H
#define ANALYSIS_ACCOUNT_HOLDS_H

#include <stdbool.h>

/*
 * Returns true if the account of each operation in the trace @path equals its latency, and if
 * intervals and critical path lead from its begin to its end without a gap. Otherwise prints the
 * first operation that is wrong to the standard error.
 */
bool account_holds(const char *path);

#endif /* ANALYSIS_ACCOUNT_HOLDS_H */
