/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open operations, from their begins and ends as they are read: a table of at most OPEN_MAX.
 * Operations that find no room in the table are only counted. Rings are read one after the other,
 * so an end may be read before its begin.
 */
#ifndef TOP_OPEN_H
#define TOP_OPEN_H

#include <stdbool.h>

#include "fxt/table.h"
#include "tally.h"

#define OPEN_MAX	4096
/* Limit of ends without a begin that are kept */
#define EARLY_MAX	4096

struct open_operation {
	uint64_t begin, id;
	uint32_t pid;
	struct top_type *type;

	uint64_t key;
	struct open_operation *same_key;	/* previous operation with the same key */
	struct open_operation *older, *newer;	/* sorted by .begin */
};

/* A table filled with zeros is valid and empty. */
struct open_table {
	struct open_operation *of, *free;
	struct open_operation *oldest, *newest;
	size_t nr;
	uint64_t more;			/* operations that had no room; an end without a
					   begin subtracts one */
	struct fxt_table index;		/* key: .a the newest operation with it */
	struct {
		uint64_t key, ns;
	} *early;			/* a ring */
	size_t nr_early;		/* number of early ends so far */
	struct fxt_table early_index;	/* key: .a index of the early end + 1 */
};

/* Adds @op, of which the caller fills the first block. Returns 0 or -ENOMEM. */
int open_begin(struct open_table *t, const struct open_operation *op);
/* Handles an end. Returns 0 or -ENOMEM. */
int open_end(struct open_table *t, uint64_t key, uint64_t ns);
/* Removes all operations. */
void open_clear(struct open_table *t);
void open_free(struct open_table *t);

#endif /* TOP_OPEN_H */
