/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the times at which threads had no CPU, from context switches */
#ifndef CPUTIME_OFF_TIME_H
#define CPUTIME_OFF_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt/table.h"

/* A thread left its CPU (.tid leaves) or came to one. */
struct turn {
	uint64_t ns;
	uint64_t order;		/* position in the trace */
	uint32_t tid;
	bool comes;
};

/* Zero bytes are a valid empty history. */
struct history {
	struct turn *turns;	/* turns that are not sorted yet */
	size_t nr, room;
	struct fxt_table threads;	/* tid + 1: .a struct track */
	size_t kept;		/* number of times off CPU that are kept */
	uint64_t order;
	struct window *losses;	/* in order, disjoint */
	size_t nr_losses, room_losses;
};

/* Return 0 or -ENOMEM. */
int history_turn(struct history *h, uint64_t ns, uint32_t tid, bool comes);
/* Switches between @from and @to may be missing. */
int history_lost(struct history *h, uint64_t from, uint64_t to);
/* Takes the turns until @ns. Of these, only turns in a loss may be missing. */
int history_settle(struct history *h, uint64_t ns);
/*
 * Computes how long @tid had a CPU between two times at which it had one. @missed: turns before the
 * first known one may be missing. Returns false if that is not known.
 */
bool history_on_cpu(const struct history *h, uint32_t tid, uint64_t from, uint64_t to, bool missed,
		    uint64_t *ns);
void history_free(struct history *h);

#endif /* CPUTIME_OFF_TIME_H */
