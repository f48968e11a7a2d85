/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open operations, from their begins and ends as they are read: a table of the OPEN_MAX that
 * began first; the others are only counted. Rings are read one after the other, so an end
 * may be read before its begin.
 */
#ifndef TOP_OPEN_H
#define TOP_OPEN_H

#include <stdbool.h>

#include "fxt/table.h"
#include "tally.h"

#define OPEN_MAX	4096
/* Ends without a begin that are remembered */
#define EARLY_MAX	4096

struct open_operation {
	uint64_t begin, id;
	uint32_t pid;
	struct top_type *type;

	uint64_t key;
	struct open_operation *same_key;	/* begun before this one */
	struct open_operation *older, *newer;	/* in order of .begin */
};

/* Starts as zeros. */
struct open_table {
	struct open_operation *of, *free;
	struct open_operation *oldest, *newest;
	size_t nr;
	uint64_t more;			/* found no room; an end without a begin takes one off */
	struct fxt_table index;		/* key: .a the newest with it */
	struct {
		uint64_t key, ns;
	} *early;			/* a ring */
	size_t nr_early;		/* so far */
	struct fxt_table early_index;	/* key: .a place + 1 */
};

/* @op: filled but for the second block. 0 or -ENOMEM */
int open_begin(struct open_table *t, const struct open_operation *op);
/* 0 or -ENOMEM */
int open_end(struct open_table *t, uint64_t key, uint64_t ns);
/* Forget all of them. */
void open_clear(struct open_table *t);
void open_free(struct open_table *t);

#endif /* TOP_OPEN_H */
