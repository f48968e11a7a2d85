/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The intervals of an operation that has ended, and of its critical path. */
#ifndef ANALYSIS_ACCOUNT_H
#define ANALYSIS_ACCOUNT_H

#include "operation.h"

/* --- account.c, path.c --------------------------------------------------------------------- */

/* Buffers that are reused for each operation */
struct scratch {
	struct work **works;
	struct piece *pieces;
	uint64_t *edges;
	const struct analysis_thread **threads;
	size_t room_works, room_pieces, room_edges, room_threads;
	size_t nr_works, nr_pieces, nr_edges, nr_threads;
	uint64_t lost_until;	/* before this time, only the state of a running thread is
				   certain */
	uint64_t floor;		/* before this time, history was dropped */
};

struct intervals {
	struct analysis_interval *of;
	size_t nr, room;
};

int intervals_add(struct intervals *l, const struct analysis_interval *i);
/* Adds the time of @next to @last and returns true, if @next follows and differs only in time. */
bool interval_extends(struct analysis_interval *last, const struct analysis_interval *next);
/*
 * Adds the intervals of @op, from its begin to its end, to @l. Fills the sums of states and the
 * threads of @row. @whole: false: does not divide the intervals; see analysis_options.totals_only
 */
int account(struct analysis *a, const struct operation *op, struct analysis_operation *row,
	    struct intervals *l, bool whole);
int critical_path(struct analysis *a, const struct operation *op, struct intervals *l);
/* Fills @row for @from..@to from the span @s of @t; @s NULL: the state is unknown */
void span_row(struct analysis *a, const struct thread *t, const struct span *s,
	      uint64_t from, uint64_t to, struct analysis_interval *row);
/* Add @row of @op, which is runnable or queued, to @l, divided by the cause of the wait. */
int divide_runnable(struct analysis *a, const struct analysis_interval *row, struct intervals *l);
int divide_queued(struct analysis *a, const struct operation *op,
		  const struct analysis_interval *row, struct thread *next, struct intervals *l);
/*
 * Returns what @t works on from @from on, or NULL. Sets *@end to the time, at most @to, at which
 * this ends or another work begins.
 */
const struct work *busy_work(struct thread *t, uint64_t from, uint64_t to, uint64_t *end);
/*
 * Returns the names of @w's operation. Returns NULL if @w is NULL, or if it is doubtful and no
 * scheduling record shows it.
 */
const struct analysis_id *id_of(const struct analysis *a, const struct work *w);
const char *text_of(const struct analysis *a, uint32_t name);
/* Returns the CPU that @t, which is runnable at @ns, gets or waits for; NO_CPU: not known */
unsigned int awaited_cpu(const struct thread *t, uint64_t ns);

#endif /* ANALYSIS_ACCOUNT_H */
