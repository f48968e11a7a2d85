/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of operations by type: counts, exact percentiles, shares of states */
#ifndef REPORT_TYPES_H
#define REPORT_TYPES_H

#include "analysis/analysis.h"
#include "fxt/names.h"

struct type {
	const char *provider, *category, *name;
	uint64_t *latencies;	/* of complete operations, in ns */
	size_t nr, room;
	uint64_t incomplete;
	uint64_t ns[ANALYSIS_STATES];	/* of complete operations together */
	uint64_t sum_ns;	/* of the same */
};

/* Starts as zeros. */
struct types {
	struct type *of;
	size_t nr, room;
	struct fxt_table index;
	struct fxt_names names;
};

/* 0 or -ENOMEM */
int types_add(struct types *t, const struct analysis_operation *op);
/* The type with the most operations first; each type's latencies from the least on */
void types_sort(struct types *t);
/* Nearest rank: of @nr sorted numbers, the index of the least that at least @percent percent
 * do not exceed. @nr is not 0. */
size_t percentile_index(size_t nr, double percent);
/* The latency at that index; 0 if there is none */
uint64_t type_percentile(const struct type *t, double percent);
void types_free(struct types *t);

#endif /* REPORT_TYPES_H */
