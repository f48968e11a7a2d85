/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of what threads worked on while operations were queued for them. If many operations wait
 * for one thread, each one waits for all before it. So the time to list what the thread worked on
 * meanwhile would grow with the square of their number. With .grouped of struct analysis_options,
 * a look-up in the sums of the thread replaces the list.
 */
#ifndef ANALYSIS_BUSY_H
#define ANALYSIS_BUSY_H

#include "engine.h"

/* True if busy_divide() may be used now. */
bool busy_usable(const struct analysis *a);
/*
 * Divides the queued interval @row of @op by the names of the operations that @next worked on
 * meanwhile, and adds the parts to @l. Returns 0 or -ENOMEM.
 */
int busy_divide(struct analysis *a, const struct operation *op,
		const struct analysis_interval *row, struct thread *next, struct intervals *l);
/* Drops the sums of @t from @ns on, because what it worked on has changed. */
void busy_cut(struct thread *t, uint64_t ns);
/*
 * Drops the sums that change when a thread enters @op for the first time: from then on, durations
 * do not show which threads work on @op.
 */
void busy_entered(struct analysis *a, const struct operation *op);
/* Drops what changes because .end of @op is set: sums, and bounds of ends. */
void busy_ended(const struct operation *op);
/* Drops all sums of @t. */
void busy_free(struct thread *t);

#endif /* ANALYSIS_BUSY_H */
