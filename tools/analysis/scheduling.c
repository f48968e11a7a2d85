// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history of threads and CPUs, from scheduling records.
 *
 * A switch also shows the state right before it: the leaving thread was running, the coming
 * thread was runnable. So the state of a thread before its first record, and after a loss, is
 * pending until its next switch: see pending.c. A wakeup does not show the state before it. Linux
 * wakes each thread that is marked as sleeping, also if it still runs, or was preempted before it
 * slept.
 *
 * A session follows the threads of its providers, or all threads: it records all their switches. Of
 * other threads it has only switches from and to followed threads. The records do not say which
 * threads are followed. A thread is taken as followed if it wrote events, if a scheduling record
 * has its operation, if it was woken, or if it came to an idle CPU: the idle task is not followed,
 * so that switch was recorded because of the thread. Of other threads only the time from a switch
 * in to a switch out is known.
 */
#include <errno.h>

#include "pending.h"

/* Handles a loss of records of @c from @from to @to. The thread on @c is not known any more. */
static int cpu_lost(struct analysis *a, struct cpu *c, uint64_t from, uint64_t to)
{
	if (c->lost_until < to)
		c->lost_until = to;
	return !c->nr || c->of[c->nr - 1].tid != NO_THREAD ?
	       push_occupant(a, c, from, NO_THREAD) : 0;
}

int scheduling_stopped(struct analysis *a, uint64_t from, uint64_t to)
{
	int err = 0;

	if (a->lost_until < to)
		a->lost_until = to;
	for (size_t i = 0; i < a->nr_cpus && !err; i++)
		err = cpu_lost(a, &a->cpus[i], from, to);
	if (err)
		return err;
	fxt_each(&a->threads, e) {
		struct thread *t = (struct thread *)(uintptr_t)e->a;

		/* settle_thread() handles a thread without records. */
		if (last_span(t))
			err = lose_thread(a, t, from, a->lost_until);
		if (err)
			break;
	}
	return err;
}

int scheduling_lost(struct analysis *a, unsigned int cpu, uint64_t from, uint64_t to)
{
	struct cpu *c = cpu_of(a, cpu);
	int err;

	if (!c)
		return -ENOMEM;
	if (a->lost_until < to)
		a->lost_until = to;
	err = cpu_lost(a, c, from, to);
	if (err)
		return err;
	fxt_each(&a->threads, e) {
		struct thread *t = (struct thread *)(uintptr_t)e->a;
		struct span *last = last_span(t);

		/* settle_thread() handles a thread without records. */
		if (!last)
			continue;
		/*
		 * A thread that runs on another CPU still runs there: the record of its switch
		 * out is in that CPU's ring and is not lost.
		 */
		if (last->state == ANALYSIS_RUNNING && last->cpu != cpu && last->cpu != NO_CPU) {
			/*
			 * The loss may hide a wakeup by this CPU that came when the thread was
			 * about to sleep.
			 */
			last->woken = true;
			continue;
		}
		/* Do not end the loss at @to: the loss of another CPU may last longer. */
		err = lose_thread(a, t, from, a->lost_until);
		if (err)
			break;
	}
	return err;
}

/* --- records -------------------------------------------------------------------------- */

/*
 * Handles a switch that the recorder inferred: @t had left its CPU at the latest by then, and may
 * have left earlier.
 */
static int leaves_inferred(struct analysis *a, struct thread *t, const struct item *it)
{
	const struct span *last = last_span(t);

	if (!last || last->state != ANALYSIS_RUNNING)
		return 0;
	return push_span(a, t, &(struct span){
		.from = it->ns, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_LOST, .pending = true,
		.inferred = true, .duration = NO_NAME,
	});
}

/* True if a wakeup may have come since the thread came to its CPU. @last may be NULL. */
static bool may_be_woken(const struct span *last)
{
	return !last || last->state != ANALYSIS_RUNNING || last->woken;
}

static int leaves(struct analysis *a, struct thread *t, const struct item *it)
{
	struct span s = {
		.from = it->ns, .cpu = it->cpu, .duration = durations_innermost(t, it->ns),
		.state = it->reason && it->reason != ANALYSIS_YIELDED ? ANALYSIS_BLOCKED :
			 ANALYSIS_RUNNABLE,
		.reason = it->reason ? it->reason : ANALYSIS_PREEMPTED,
		.in = it->name, .argument = it->record, .has_argument = it->has_argument,
		.file = it->file,
	};
	int err;

	if (it->inferred)
		return leaves_inferred(a, t, it);
	err = settle_thread(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	if (!err)
		err = cells_own(a, t, it, it->operation);
	if (err)
		return err;
	s.pending = s.state == ANALYSIS_BLOCKED && s.reason != ANALYSIS_EXITED &&
		    may_be_woken(last_span(t));
	if (it->ns < a->lost_until)
		return lose_thread(a, t, it->ns, a->lost_until);
	return push_span(a, t, &s);
}

/*
 * Handles a switch that the recorder inferred from a later record: @t came, but the time is not
 * known.
 */
static int comes_inferred(struct analysis *a, struct thread *t, const struct item *it)
{
	struct span *last = last_span(t);

	/*
	 * The scheduling of a thread is recorded from its first event on. If it has no scheduling
	 * record since, it has not left its CPU: it came there before its first event.
	 */
	if (!last && t->first_seen && a->lost_until <= t->first_seen)
		return settle_seen(a, t, ANALYSIS_RUNNING, it->cpu);
	/*
	 * The thread had an event or a wakeup in the pending span. A switch to the thread after
	 * that would have been recorded. This switch is only inferred, so the thread has run since
	 * the span began.
	 */
	if (last && last->pending && (last->seen || last->woken) && last->reason != ANALYSIS_LOST)
		return settle_thread(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	/*
	 * A switch to @t after the loss would have been recorded. This one is only inferred, so
	 * @t came before the loss ended.
	 */
	if (last && last->reason == ANALYSIS_LOST && !last->pending)
		return settle_thread(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	return last && last->pending ? settle_as_is(a, t) : 0;
}

static int comes(struct analysis *a, struct thread *t, const struct item *it)
{
	int err = it->inferred ? comes_inferred(a, t, it) :
		  settle_thread(a, t, it->ns, ANALYSIS_RUNNABLE, it->cpu);
	/*
	 * True if a wakeup may have come while the thread runs, without a record after this switch:
	 * the record may be lost, or it is earlier, because the time of the switch is inferred.
	 */
	const bool woken = it->ns < a->lost_until || (it->inferred && may_be_woken(last_span(t)));

	if (!err && !it->inferred)
		err = cells_own(a, t, it, it->other_operation);
	if (err)
		return err;
	return push_span(a, t, &(struct span){
		.from = it->ns, .state = ANALYSIS_RUNNING, .cpu = it->cpu,
		.inferred = it->inferred, .duration = NO_NAME, .woken = woken,
	});
}

/*
 * Returns the time at which @t was created, if its first record is a wakeup, or its first one since
 * a thread of the same id exited. Otherwise returns @ns. The recorder lists threads that existed
 * before the session followed them.
 */
static uint64_t created_at(struct thread *t, uint64_t ns)
{
	const struct span *last = last_span(t);
	const size_t nr = t->spans.nr - t->spans.first;

	if (last && last->pending && last->woken && !t->existed)
		return t->woken_at;
	return nr > 1 && last->reason == ANALYSIS_WOKEN && last[-1].reason == ANALYSIS_EXITED ?
	       last->from : ns;
}

int scheduling_switch(struct analysis *a, const struct item *it)
{
	struct cpu *c = cpu_of(a, it->cpu);
	struct thread *t;
	int err;

	if (!c)
		return -ENOMEM;
	a->totals.scheduled = true;
	if (threads_wanted(&a->sink)) {
		err = threads_switch(a, it);
		if (err)
			return err;
	}
	/* During a loss, a record proves nothing, because others around it may be missing. */
	if (it->ns < c->lost_until)
		return 0;
	/*
	 * After a loss the recorder infers a switch to "idle", which means that the thread is
	 * not known.
	 */
	err = push_occupant(a, c, it->ns, it->inferred && !it->other ? NO_THREAD : it->other);
	if (!err && is_real(it->id)) {
		t = thread_of(a, it->id);
		err = t ? leaves(a, t, it) : -ENOMEM;
	}
	if (!err && is_real(it->other)) {
		t = thread_of(a, it->other);
		if (t && !it->id && !it->inferred)
			identity_follow(t, it->ns, created_at(t, it->ns));
		err = t ? comes(a, t, it) : -ENOMEM;
	}
	return err;
}

/*
 * Handles the wakeup of @t. *@before: the state that the wakeup found, if the records until then
 * show it
 */
static int wake(struct analysis *a, struct thread *t, const struct item *it,
		enum analysis_state *before)
{
	struct span *last;
	int err = settle_thread(a, t, it->ns, ANALYSIS_BLOCKED, it->cpu);

	if (err || it->ns < a->lost_until)
		return err;
	last = last_span(t);
	if (last)
		*before = last->state;
	/* Linux may wake a thread that is already running or runnable. */
	if (!last || last->state != ANALYSIS_BLOCKED) {
		if (!last || last->state == ANALYSIS_RUNNABLE)
			return 0;
		t->woken_at = it->ns;
		err = last->woken ? 0 : note_change(a, t);
		last->woken = true;
		return err;
	}
	/*
	 * Make the entry of the waker now. account.c looks it up later while it goes through the
	 * table of threads, and a new entry might move the table.
	 */
	if (is_real(it->other) && !thread_of(a, it->other))
		return -ENOMEM;
	last->waker = it->other;
	last->waker_kind = waker_kind(it->other);
	return push_span(a, t, &(struct span){
		.from = it->ns, .state = ANALYSIS_RUNNABLE, .reason = ANALYSIS_WOKEN,
		.cpu = it->cpu, .duration = NO_NAME,
	});
}

int scheduling_wakeup(struct analysis *a, const struct item *it)
{
	enum analysis_state before = ANALYSIS_UNKNOWN;
	struct thread *t;
	int err;

	if (!is_real(it->id))
		return 0;
	a->totals.scheduled = true;
	t = thread_of(a, it->id);
	if (!t)
		return -ENOMEM;
	err = cells_wakeup(a, t, it);
	if (err)
		return err;
	/* The kernel records wakeups only of threads that the session follows. */
	identity_follow(t, it->ns, it->ns);
	err = wake(a, t, it, &before);
	return err || !threads_wanted(&a->sink) ? err : threads_wakeup(a, t, it, before);
}

/*
 * A selection may lack records of the thread before @ns. So the state of the mark replaces the
 * state that earlier records show. Operations do not wait for the missing records: the selection
 * has all records that its operations need.
 */
int scheduling_mark(struct analysis *a, uint64_t ns, const struct mark *m)
{
	struct cpu *c = m->kind == MARK_CPU ? cpu_of(a, m->cpu) : NULL;
	struct span span = m->span;
	struct thread *t;
	int err;

	if (m->kind == MARK_CPU)
		return c ? push_occupant(a, c, ns, m->tid) : -ENOMEM;
	t = thread_of(a, m->tid);
	if (!t)
		return -ENOMEM;
	/*
	 * The file may have an earlier event of the thread, if its duration was still open. Use the
	 * mark's time only if it is earlier than that.
	 */
	if (m->first_seen && (!t->first_seen || m->first_seen < t->first_seen))
		t->first_seen = m->first_seen;
	/* Begin the span before @ns: a record at @ns would replace a span that begins at @ns. */
	span.from = ns ? ns - 1 : 0;
	if (m->followed)
		identity_follow(t, ns, span.from);
	if (span.state == ANALYSIS_STATES)
		return 0;
	t->lost_until = m->span.lost_until;
	err = push_span(a, t, &span);
	return err || span.pending ? err : operations_settled(a, t);
}

/*
 * True if records show the state of @t, or may show it. Then the state that the recorder has read
 * from /proc does not count.
 */
static bool is_recorded(struct thread *t, const struct mark *m, uint64_t since)
{
	const bool followed = thread_at(t, m->read)->followed;
	const struct span *last = last_span(t);

	if (!last)
		return t->first_seen;
	/*
	 * Records before @since are incomplete if the session did not follow the thread then, or if
	 * some of them are in an earlier file of the session.
	 */
	if (last->from < since &&
	    (!followed || (m->exact && (!last->woken || t->woken_at < since))))
		return false;
	/* A wakeup after a loss counts as a record, although the span stays ANALYSIS_LOST. */
	return last->reason != ANALYSIS_LOST || last->pending || last->woken;
}

/* Adds a span in which @t ran or was runnable since @ns. The next record of @t shows which. */
static int push_awake(struct analysis *a, struct thread *t, uint64_t ns)
{
	return push_span(a, t, &(struct span){
		.from = ns, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_UNSCHEDULED,
		.pending = true, .duration = NO_NAME,
	});
}

/*
 * The recorder read the thread's state from /proc, at some time from @m->read until now. If the
 * thread has no scheduling record since @m->since and since the last loss, it has been in this
 * state since the later of the two. Otherwise its records show its state, and the mark is ignored.
 * Marks in a selection are ignored, because a selection lacks records.
 */
int scheduling_read(struct analysis *a, const struct mark *m)
{
	struct thread *t = thread_of(a, m->tid);
	const struct span *last = t ? last_span(t) : NULL;
	const uint64_t lost_until = last ? t->lost_until : a->lost_until;
	const bool stopped = a->losses.stopped && m->read > a->losses.stopped;
	uint64_t from = m->since > a->totals.begin ? m->since : a->totals.begin;
	struct span asleep = m->span;
	bool counts, forgotten = false;
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (a->totals.selection || from >= a->totals.end)
		return 0;
	/* No record shows whether the state is older than the stop of the session. */
	counts = !stopped && !is_recorded(t, m, from) && lost_until <= m->read;
	/*
	 * Do not invalidate the history before an exact state. It is from the records of an earlier
	 * file of the session, in which no record of the thread is missing: the thread was followed
	 * before.
	 */
	if (!thread_at(t, m->read)->followed && counts && !m->exact) {
		err = follow_thread(a, t, from);
		if (err < 0)
			return err;
		forgotten = err;
		err = 0;
	} else {
		identity_follow(t, m->read, m->exact ? 0 : from);
	}
	if (!counts)
		return 0;
	asleep.from = from > lost_until ? from : lost_until;
	if (asleep.state == ANALYSIS_STATES)
		return last && (m->exact || forgotten) ? push_awake(a, t, asleep.from) : 0;
	a->totals.scheduled = true;
	if (!last && from < lost_until)
		err = lose_thread(a, t, from, lost_until);
	/* A sleeping thread begins no duration, so it went to sleep in this one. */
	asleep.duration = durations_innermost(t, asleep.from);
	if (!err)
		err = push_span(a, t, &asleep);
	return err ? err : operations_settled(a, t);
}
