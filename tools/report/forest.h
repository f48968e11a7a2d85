/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All operations of a trace with their parts: operations, regions, moments */
#ifndef REPORT_FOREST_H
#define REPORT_FOREST_H

#include "analysis/analysis.h"
#include "fxt/table.h"

enum forest_kind { FOREST_OPERATION, FOREST_REGION, FOREST_NOTE };

/* A part of an operation: a child operation, a region, or a moment. The analysis owns the texts. */
struct forest_node {
	enum forest_kind kind;
	union {
		struct analysis_operation operation;	/* without intervals and threads */
		struct analysis_region region;
		struct analysis_note note;
	};
	uint64_t of;		/* id of the operation that has this part; 0: none */
	bool shown;
};

/* A struct filled with zeros is valid and empty. */
struct forest {
	struct forest_node *of;
	size_t nr, room;
};

/* Add a part. Return 0 or -ENOMEM. */
int forest_operation(struct forest *f, const struct analysis_operation *op);
int forest_region(struct forest *f, const struct analysis_region *region);
int forest_note(struct forest *f, const struct analysis_note *note);
/* Put the parts of each operation next to each other, in order of time. */
void forest_sort(struct forest *f);
/*
 * Returns the parts of the operation @id, after forest_sort(). *@nr: their number. An operation
 * with id 0 has none.
 */
struct forest_node *forest_parts(const struct forest *f, uint64_t id, size_t *nr);
uint64_t forest_begin(const struct forest_node *n);
/* Returns the end of an operation or a region, or the time of a moment. */
uint64_t forest_end(const struct forest_node *n);
void forest_free(struct forest *f);

#endif /* REPORT_FOREST_H */
