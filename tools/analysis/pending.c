// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The states of a thread that later records show. The last span of a thread is pending while the
 * records so far do not show its state. The next record or event of the thread settles it: it shows
 * the state, or that the state stays unknown.
 */
#include "pending.h"

int push_span(struct analysis *a, struct thread *t, const struct span *s)
{
	const struct span *last = last_span(t);
	struct span old;
	int err;

	if (!threads_wanted(&a->sink))
		return add_span(a, t, s);
	if (!last) {
		t->counts.from = s->from;
		t->turn.from = s->from;
		return add_span(a, t, s);
	}
	old = *last;
	err = add_span(a, t, s);
	return err ? err : threads_span(a, t, &old, s);
}

/*
 * Makes a pending sleep unknown, for @reason: the record that would confirm it is missing.
 * @last may be NULL.
 */
static void give_up_sleep(struct span *last, enum analysis_reason reason)
{
	if (!last || last->state != ANALYSIS_BLOCKED || !last->pending)
		return;
	last->state = ANALYSIS_UNKNOWN;
	last->reason = reason;
	last->duration = NO_NAME;
	last->pending = false;
}

/* True if the state in @s is unknown because of a loss, and no record of the thread came since. */
static bool is_lost(const struct span *s)
{
	return s->state == ANALYSIS_UNKNOWN && s->reason == ANALYSIS_LOST && !s->pending &&
	       !s->woken && !s->inferred;
}

/*
 * Handles another loss in the span @last of @t. Makes no span, because many losses would make many
 * spans for each thread and so drop the history from memory.
 */
static int lose_longer(struct analysis *a, struct thread *t, struct span *last, uint64_t until)
{
	int err;

	if (t->lost_until >= until)
		return 0;
	err = note_change(a, t);
	t->lost_until = until;
	last->lost_until = until;
	return err;
}

int lose_thread(struct analysis *a, struct thread *t, uint64_t ns, uint64_t until)
{
	struct span *last = last_span(t);

	if (last && is_lost(last))
		return lose_longer(a, t, last, until);
	if (t->lost_until < until)
		t->lost_until = until;
	give_up_sleep(last, ANALYSIS_LOST);
	return push_span(a, t, &(struct span){
		.from = ns, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_LOST, .duration = NO_NAME,
	});
}

int settle_seen(struct analysis *a, struct thread *t, enum analysis_state state,
		unsigned int cpu)
{
	struct span s = {
		.from = t->first_seen, .cpu = cpu, .inferred = true, .duration = NO_NAME,
		.state = state, .seen = true,
	};
	int err;

	if (state != ANALYSIS_RUNNING) {
		s.state = ANALYSIS_UNKNOWN;
		s.reason = ANALYSIS_UNSCHEDULED;
		s.inferred = false;
		s.pending = state == ANALYSIS_BLOCKED;
	}
	err = push_span(a, t, &s);
	return err || s.pending ? err : operations_settled(a, t);
}

int settle_as_is(struct analysis *a, struct thread *t)
{
	int err = note_change(a, t);

	last_span(t)->pending = false;
	return err ? err : operations_settled(a, t);
}

/*
 * Ends a pending sleep: a wakeup came when @t was about to sleep, before the record that @t left
 * its CPU. If the next record of @t is another wakeup, @t slept after the first one. If @t came to
 * a CPU without another wakeup, it did not sleep: it was runnable when it left its CPU.
 */
static int settle_woken(struct analysis *a, struct thread *t, struct span *last,
			enum analysis_state state, unsigned int cpu)
{
	int err = note_change(a, t);

	last->pending = false;
	if (state == ANALYSIS_RUNNABLE) {
		last->state = ANALYSIS_RUNNABLE;
		last->reason = ANALYSIS_WOKEN;
		last->cpu = cpu;
		last->inferred = true;
	}
	return err ? err : operations_settled(a, t);
}

/*
 * @t comes to a CPU after a wakeup that found it in an unknown state. So it did not run when it
 * was woken, and was runnable since. It may have slept or been preempted before: the reason
 * stays open.
 */
static int settle_came(struct analysis *a, struct thread *t, unsigned int cpu)
{
	int err = note_change(a, t);

	last_span(t)->pending = false;
	if (!err)
		err = push_span(a, t, &(struct span){
			.from = t->woken_at, .state = ANALYSIS_RUNNABLE, .cpu = cpu,
			.inferred = true, .duration = NO_NAME,
		});
	return err ? err : operations_settled(a, t);
}

/*
 * Adds a pending span from the begin of the trace to the first record of @t, at @ns. The thread may
 * have been created in between, so its times count from the moment at which it is known to exist.
 */
static int begin_pending(struct analysis *a, struct thread *t, uint64_t ns)
{
	const uint64_t begin = a->totals.begin < ns ? a->totals.begin : ns;
	int err;

	/* A loss in between may hide the thread's first record. */
	if (a->lost_until > begin)
		err = lose_thread(a, t, begin, a->lost_until);
	else
		err = push_span(a, t, &(struct span){
			.from = begin, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_UNSCHEDULED,
			.pending = true, .duration = NO_NAME,
		});
	t->counts.from = !t->existed || t->existed > ns ? ns :
			 t->existed > begin ? t->existed : begin;
	return err;
}

int settle_thread(struct analysis *a, struct thread *t, uint64_t ns, enum analysis_state state,
		  unsigned int cpu)
{
	struct span *last = last_span(t);
	struct span known = {
		.state = state, .cpu = cpu, .inferred = true, .duration = NO_NAME,
	};
	int err = last ? 0 : note_change(a, t);
	bool lost;

	if (err)
		return err;
	if (!last && t->first_seen && a->lost_until <= t->first_seen)
		return settle_seen(a, t, state, cpu);
	if (!last) {
		err = begin_pending(a, t, ns);
		if (err)
			return err;
		last = last_span(t);
	}
	lost = last->state == ANALYSIS_UNKNOWN && last->reason == ANALYSIS_LOST;
	if (lost ? ns <= t->lost_until : !last->pending)
		return 0;
	if (last->state == ANALYSIS_BLOCKED)
		return settle_woken(a, t, last, state, cpu);
	/* A wakeup does not show whether the thread ran. Its next switch shows it. */
	if (state == ANALYSIS_BLOCKED)
		return 0;
	if (state == ANALYSIS_RUNNABLE && last->woken)
		return settle_came(a, t, cpu);
	if (last->seen && state != ANALYSIS_RUNNING)
		return settle_as_is(a, t);
	err = note_change(a, t);
	if (err)
		return err;
	/* A lost wakeup may have come when the thread was about to sleep. */
	known.woken = state == ANALYSIS_RUNNING && (lost || last->woken);
	if (lost) {
		known.from = t->lost_until;
		err = push_span(a, t, &known);
	} else {
		known.from = last->from;
		known.wait = last->wait;
		known.lost_until = last->lost_until;
		*last = known;
	}
	return err ? err : operations_settled(a, t);
}

int follow_thread(struct analysis *a, struct thread *t, uint64_t ns)
{
	struct span *last = last_span(t);
	int err;

	identity_follow(t, ns, ns);
	if (!last || last->from >= ns ||
	    (last->state != ANALYSIS_RUNNABLE && last->state != ANALYSIS_BLOCKED))
		return 0;
	err = note_change(a, t);
	if (err)
		return err;
	last->state = ANALYSIS_UNKNOWN;
	last->reason = ANALYSIS_UNSCHEDULED;
	last->pending = false;
	return 1;
}

int scheduling_follow(struct analysis *a, struct thread *t, uint64_t ns)
{
	const int ret = follow_thread(a, t, ns);

	if (ret <= 0)
		return ret;
	return push_span(a, t, &(struct span){
		.from = ns, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_UNSCHEDULED,
		.pending = true, .seen = true, .duration = NO_NAME,
	});
}

/*
 * An event at @ns proves that @t did not sleep after earlier wakeups, which came while it ran.
 */
static int stays_awake(struct analysis *a, struct thread *t, uint64_t ns)
{
	struct span *last = last_span(t);
	int err;

	if (last->state != ANALYSIS_RUNNING || !last->woken || ns <= t->woken_at ||
	    ns <= a->lost_until)
		return 0;
	err = note_change(a, t);
	last->woken = false;
	return err;
}

int scheduling_seen(struct analysis *a, struct thread *t, uint64_t ns)
{
	int err = thread_at(t, ns)->followed ? 0 : scheduling_follow(a, t, ns);
	const struct span *last = last_span(t);

	/*
	 * After an earlier event, @t may have left its CPU and come back without a record: no
	 * record shows yet that @t is followed.
	 */
	if (err || (last && last->seen && !last->woken))
		return err;
	/* An event that came too late to be sorted shows nothing about a later span. */
	if (last && ns < last->from)
		return 0;
	/* Without any record of a thread, its scheduling may not have been recorded at all. */
	if (last) {
		err = settle_thread(a, t, ns, ANALYSIS_RUNNING, NO_CPU);
		return err ? err : stays_awake(a, t, ns);
	}
	/*
	 * The recorder writes a duration that began before the trace as if it began with the
	 * trace. So an event at the begin of the trace does not show that the thread ran then.
	 */
	if (!t->first_seen && ns > a->totals.begin)
		t->first_seen = ns;
	return 0;
}

int scheduling_finish(struct analysis *a)
{
	int err = 0;

	fxt_each(&a->threads, e) {
		struct thread *t = (struct thread *)(uintptr_t)e->a;
		struct span *last = last_span(t);

		give_up_sleep(last, ANALYSIS_UNSCHEDULED);
		if (last)
			last->pending = false;
	}
	/*
	 * Only now hand out operations: one that waits for a thread may also depend on other
	 * threads, whose pending spans must have ended.
	 */
	fxt_each(&a->threads, e) {
		struct thread *t = (struct thread *)(uintptr_t)e->a;

		if (t->waiting)
			err = operations_settled(a, t);
		if (err)
			break;
	}
	return err;
}
