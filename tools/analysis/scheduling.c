// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history of threads and CPUs, from scheduling records.
 *
 * A switch also shows the state right before it: the leaving thread was running, the coming
 * thread was runnable. So the state of a thread before its first record, and after a loss, is
 * pending until its next switch. A wakeup does not show the state before it. Linux wakes each
 * thread that is marked as sleeping, also if it still runs, or was preempted before it slept.
 *
 * A session follows the threads of its providers, or all threads: it records all their switches. Of
 * other threads it has only switches from and to followed threads. The records do not say which
 * threads are followed. A thread is taken as followed if it wrote events, if a scheduling record
 * has its operation, if it was woken, or if it came to an idle CPU: the idle task is not followed,
 * so that switch was recorded because of the thread. Of other threads only the time from a switch
 * in to a switch out is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Begins a new span, and makes rows of the old one. */
static int push_span(struct analysis *a, struct thread *t, const struct span *s)
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

/* --- what was pending ------------------------------------------------------------- */

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

/* Handles a loss in which records of @t from @ns to @until may be missing. */
static int lose(struct analysis *a, struct thread *t, uint64_t ns, uint64_t until)
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

/*
 * The first record of @t shows that @t, which wrote events before, was in @state. A thread is
 * recorded from its first event on, or a little later. So if it ran before this record, it
 * never left its CPU. A wakeup may come to a running thread: it leaves the span pending.
 */
static int settle_seen(struct analysis *a, struct thread *t, enum analysis_state state,
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

/* Ends the pending span: the next record of @t did not show what it was. */
static int settle_as_is(struct analysis *a, struct thread *t)
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
		err = lose(a, t, begin, a->lost_until);
	else
		err = push_span(a, t, &(struct span){
			.from = begin, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_UNSCHEDULED,
			.pending = true, .duration = NO_NAME,
		});
	t->counts.from = !t->existed || t->existed > ns ? ns :
			 t->existed > begin ? t->existed : begin;
	return err;
}

/*
 * A record or an event at @ns shows that @t was in @state right before. ANALYSIS_BLOCKED stands
 * for a wakeup, which does not prove a sleep.
 */
static int settle(struct analysis *a, struct thread *t, uint64_t ns, enum analysis_state state,
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

/*
 * Marks @t as followed from @ns on. Before that, only the time from a switch in to a switch out is
 * certain. So if the last span is a sleep or a wait for a CPU, its state becomes unknown. Returns 1
 * in this case.
 */
static int follow(struct analysis *a, struct thread *t, uint64_t ns)
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
	const int ret = follow(a, t, ns);

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
		err = settle(a, t, ns, ANALYSIS_RUNNING, NO_CPU);
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

		/* settle() handles a thread without records. */
		if (last_span(t))
			err = lose(a, t, from, a->lost_until);
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

		/* settle() handles a thread without records. */
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
		err = lose(a, t, from, a->lost_until);
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
	err = settle(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	if (!err)
		err = cells_own(a, t, it, it->operation);
	if (err)
		return err;
	s.pending = s.state == ANALYSIS_BLOCKED && s.reason != ANALYSIS_EXITED &&
		    may_be_woken(last_span(t));
	return it->ns < a->lost_until ? lose(a, t, it->ns, a->lost_until) : push_span(a, t, &s);
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
		return settle(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	/*
	 * A switch to @t after the loss would have been recorded. This one is only inferred, so
	 * @t came before the loss ended.
	 */
	if (last && last->reason == ANALYSIS_LOST && !last->pending)
		return settle(a, t, it->ns, ANALYSIS_RUNNING, it->cpu);
	return last && last->pending ? settle_as_is(a, t) : 0;
}

static int comes(struct analysis *a, struct thread *t, const struct item *it)
{
	int err = it->inferred ? comes_inferred(a, t, it) :
		  settle(a, t, it->ns, ANALYSIS_RUNNABLE, it->cpu);
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
	int err = settle(a, t, it->ns, ANALYSIS_BLOCKED, it->cpu);

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
		err = follow(a, t, from);
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
		err = lose(a, t, from, lost_until);
	/* A sleeping thread begins no duration, so it went to sleep in this one. */
	asleep.duration = durations_innermost(t, asleep.from);
	if (!err)
		err = push_span(a, t, &asleep);
	return err ? err : operations_settled(a, t);
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
