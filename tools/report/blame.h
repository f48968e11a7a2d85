/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the time of many operations by its cause. */
#ifndef REPORT_BLAME_H
#define REPORT_BLAME_H

#include "analysis/analysis.h"
#include "fxt/names.h"

/*
 * One cause of latency. The members are in the order of the frames of blame_frames(), the most
 * general one first. Threads of one name share a row, because the threads of a pool do the same
 * work.
 */
struct blame_row {
	const char *type;	/* category/name of the operation */
	enum analysis_state state;
	const char *reason;	/* what .thread was blocked in, or why it waited; "" if not known */
	const char *thread;	/* name of the thread, "" if none */
	const char *duration;
	const char *other;	/* the other party in words, "" if none */
	unsigned __int128 ns;	/* sum of the intervals */
	uint64_t count;		/* number of intervals */
};

/* A struct filled with zeros is valid and empty. */
struct blame {
	struct blame_row *of;
	size_t nr, room;
	struct fxt_table index;
	struct fxt_names names;
	unsigned __int128 ns;	/* sum over all rows */
};

/* Adds the intervals of @op whose state is in the bit set @states. Returns 0 or -ENOMEM. */
int blame_add(struct blame *b, const struct analysis_operation *op,
	      const struct analysis_interval *rows, size_t nr, unsigned int states);
/* Writes the frames of @row as a stack, beginning with the root. Returns their number. */
#define BLAME_FRAMES	6
size_t blame_frames(const struct blame_row *row, const char *frames[BLAME_FRAMES]);
/* Sorts the rows by time, the largest first. */
void blame_sort(struct blame *b);
void blame_free(struct blame *b);

#endif /* REPORT_BLAME_H */
