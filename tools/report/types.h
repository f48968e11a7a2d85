/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of operations by type: counts, exact percentiles, shares of states */
#ifndef REPORT_TYPES_H
#define REPORT_TYPES_H

#include "analysis/analysis.h"
#include "fxt/names.h"
#include "samples.h"

struct type {
	const char *provider, *category, *name;
	struct samples latencies;	/* of complete operations */
	uint64_t incomplete;
	uint64_t ns[ANALYSIS_STATES];	/* of complete operations together */
};

/* Starts as zeros. */
struct types {
	struct type *of;
	size_t nr, room;
	struct fxt_table index;
	struct fxt_names names;
};

/* The type of the operation @id, made if need be. NULL: no memory */
struct type *types_find(struct types *t, const struct analysis_id *id);
/* 0 or -ENOMEM */
int types_add(struct types *t, const struct analysis_operation *op);
/* The type with the most operations first; each type's latencies from the least on */
void types_sort(struct types *t);
void types_free(struct types *t);

#endif /* REPORT_TYPES_H */
