/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps copies of rows of operations, such as the slowest, until all rows are known. */
#ifndef REPORT_KEPT_H
#define REPORT_KEPT_H

#include "analysis/analysis.h"

/* The rows with the highest latency, at most .max. All other members start as zeros. */
struct kept {
	struct analysis_operation **of;	/* a heap with the fastest first, until kept_sort() */
	size_t nr, max, room;
};

/* Keeps a copy of @op if it is among the slowest. Returns 0 or -ENOMEM. */
int kept_add(struct kept *k, const struct analysis_operation *op);
/* Sorts the slowest first; equally slow ones by their begin. */
void kept_sort(struct kept *k);
/* Frees all rows. */
void kept_clear(struct kept *k);
void kept_free(struct kept *k);

#endif /* REPORT_KEPT_H */
