/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects latencies of operations by type: counts, exact percentiles, shares of states. */
#ifndef REPORT_TYPES_H
#define REPORT_TYPES_H

#include "analysis/analysis.h"
#include "fxt/names.h"
#include "samples.h"

struct type {
	const char *provider, *category, *name;
	struct samples latencies;	/* latencies of complete operations */
	uint64_t incomplete;
	unsigned __int128 ns[ANALYSIS_STATES];	/* sum over complete operations */
};

/* A struct filled with zeros is valid and empty. */
struct types {
	struct type *of;
	size_t nr, room;
	struct fxt_table index;
	struct fxt_names names;
};

/* Returns the type of the operation @id, which is made if it is new. NULL: no memory */
struct type *types_find(struct types *t, const struct analysis_id *id);
/* Returns 0 or -ENOMEM. */
int types_add(struct types *t, const struct analysis_operation *op);
/*
 * Sorts the types by number of complete operations, the largest first, and each type's latencies in
 * ascending order.
 */
void types_sort(struct types *t);
void types_free(struct types *t);

#endif /* REPORT_TYPES_H */
