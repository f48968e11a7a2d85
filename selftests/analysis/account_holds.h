/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ANALYSIS_ACCOUNT_HOLDS_H
#define ANALYSIS_ACCOUNT_HOLDS_H

#include <stdbool.h>

/*
 * True if each operation of the trace @path has an account that equals its latency, and
 * intervals and a critical path that lead from its begin to its end without a gap. Else a
 * message on the standard error names the first operation for which that is not so.
 */
bool account_holds(const char *path);

#endif /* ANALYSIS_ACCOUNT_HOLDS_H */
