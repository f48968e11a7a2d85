/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the times at which threads had no CPU, from context switches */
#ifndef CPUTIME_OFF_TIME_H
#define CPUTIME_OFF_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt/table.h"

/* A switch of one thread: it came to a CPU (.comes) or left its CPU. */
struct turn {
	uint64_t ns;
	uint64_t order;		/* position in the trace */
	uint32_t tid;
	bool comes;
};

/* A history filled with zeros is valid and empty. */
struct history {
	struct turn *turns;	/* turns that are not sorted yet */
	size_t nr, room;
	struct fxt_table threads;	/* tid + 1: .a struct track */
	size_t kept;		/* number of times off CPU in memory, of all threads */
	size_t kept_max;	/* limit of @kept; 0: 4 million */
	uint64_t order;
	struct window *losses;	/* in order, disjoint */
	size_t nr_losses, room_losses;
};

/* The functions return 0 or -ENOMEM unless stated otherwise. */

/* Adds a turn. history_settle() sorts turns by time. */
int history_turn(struct history *h, uint64_t ns, uint32_t tid, bool comes);
/* Notes that switches between @from and @to may be missing. */
int history_lost(struct history *h, uint64_t from, uint64_t to);
/*
 * Processes the turns until @ns. The caller must have added all of them, except those whose records
 * were lost.
 */
int history_settle(struct history *h, uint64_t ns);
/*
 * Frees the history of the thread @tid, which left its CPU for the last time at @ns. The caller
 * must have settled that turn, and must not ask for times before it any more. If another thread has
 * got the id meanwhile, nothing is freed.
 */
void history_ended(struct history *h, uint32_t tid, uint64_t ns);
/*
 * Computes how long @tid had a CPU between @from and @to. @tid must have a CPU at both times.
 * @missed: turns before the first known one may be missing. Returns false if the records do not
 * show the time.
 */
bool history_on_cpu(const struct history *h, uint32_t tid, uint64_t from, uint64_t to, bool missed,
		    uint64_t *ns);
void history_free(struct history *h);

#endif /* CPUTIME_OFF_TIME_H */
