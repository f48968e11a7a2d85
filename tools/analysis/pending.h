/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The states of a thread that later records show: see pending.c. Unless stated otherwise, functions
 * return 0, a negative errno, or what a callback of the sink returned.
 */
#ifndef ANALYSIS_PENDING_H
#define ANALYSIS_PENDING_H

#include "engine.h"

/* Begins a new span, and makes rows of the old one. */
int push_span(struct analysis *a, struct thread *t, const struct span *s);
/* Handles a loss in which records of @t from @ns to @until may be missing. */
int lose_thread(struct analysis *a, struct thread *t, uint64_t ns, uint64_t until);
/*
 * The first record of @t shows that @t, which wrote events before, was in @state. A thread is
 * recorded from its first event on, or a little later. So if it ran before this record, it
 * never left its CPU. A wakeup may come to a running thread: it leaves the span pending.
 */
int settle_seen(struct analysis *a, struct thread *t, enum analysis_state state,
		unsigned int cpu);
/* Ends the pending span: the next record of @t did not show what it was. */
int settle_as_is(struct analysis *a, struct thread *t);
/*
 * A record or an event at @ns shows that @t was in @state right before. ANALYSIS_BLOCKED stands
 * for a wakeup, which does not prove a sleep.
 */
int settle_thread(struct analysis *a, struct thread *t, uint64_t ns, enum analysis_state state,
		  unsigned int cpu);
/*
 * Marks @t as followed from @ns on. Before that, only the time from a switch in to a switch out is
 * certain. So if the last span is a sleep or a wait for a CPU, its state becomes unknown. Returns 1
 * in this case, and otherwise 0 or -ENOMEM.
 */
int follow_thread(struct analysis *a, struct thread *t, uint64_t ns);

#endif /* ANALYSIS_PENDING_H */
