/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of operations that are kept until all are known, such as the slowest. */
#ifndef REPORT_KEPT_H
#define REPORT_KEPT_H

#include "analysis/analysis.h"

/* The rows with the highest latency, at most .max. Starts as zeros but for .max. */
struct kept {
	struct analysis_operation **of;	/* a heap: the fastest first, until kept_sort() */
	size_t nr, max, room;
};

/* Keep a copy of @op if it is among the slowest. 0 or -ENOMEM */
int kept_add(struct kept *k, const struct analysis_operation *op);
/* The slowest first; equally slow ones by their begin */
void kept_sort(struct kept *k);
/* Drop all rows. */
void kept_clear(struct kept *k);
void kept_free(struct kept *k);

#endif /* REPORT_KEPT_H */
