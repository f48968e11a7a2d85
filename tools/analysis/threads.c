// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of threads, wakeups, waits and turns. Counting happens when a span ends, because older
 * history is dropped. Only the last span of a thread can still change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "throttling.h"

enum analysis_other waker_kind(uint32_t waker)
{
	return !waker ? ANALYSIS_OTHER_INTERRUPT :
	       is_real(waker) ? ANALYSIS_OTHER_THREAD : ANALYSIS_OTHER_HIDDEN;
}

uint64_t threads_known_from(const struct analysis *a, const struct thread *t, uint64_t ns)
{
	const struct analysis_thread *out = thread_at(t, ns);
	const uint64_t known = out->followed ? out->followed_at : STILL_OPEN;

	/*
	 * A selection lacks records of the threads that the recorder has listed. A thread that got
	 * the id later was not listed then.
	 */
	return t->existed && t->existed < known && out == &t->out && !a->totals.selection ?
	       t->existed : known;
}

static void count_known(struct thread_counts *c, const struct span *s, uint64_t ns)
{
	if (s->state == ANALYSIS_BLOCKED && s->reason == ANALYSIS_EXITED)
		c->exited_ns += ns;
	else
		c->ns[s->state] += ns;
	c->reason_ns[s->reason] += ns;
	if (s->inferred)
		c->inferred_ns += ns;
}

/* Counts @ns of the span @s in which records may be missing: see struct analysis_thread. */
static void count_vague(struct thread_counts *c, const struct span *s, uint64_t ns)
{
	const bool ran = s->state == ANALYSIS_RUNNING && !s->inferred;

	if (ran || (s->state == ANALYSIS_BLOCKED && s->reason == ANALYSIS_EXITED)) {
		count_known(c, s, ns);
		return;
	}
	c->ns[ANALYSIS_UNKNOWN] += ns;
	c->reason_ns[ANALYSIS_UNSCHEDULED] += ns;
}

/* Counts the span @s of @t, which ended at @to. */
static void count_span(const struct analysis *a, struct thread *t, const struct span *s,
		       uint64_t to)
{
	struct thread_counts *c = &t->counts;
	const uint64_t from = s->from > c->from ? s->from : c->from;
	uint64_t known = threads_known_from(a, t, to);
	const char *path;

	if (from >= to)
		return;
	known = known < from ? from : known > to ? to : known;
	count_vague(c, s, known - from);
	count_known(c, s, to - known);
	if (s->state == ANALYSIS_RUNNABLE && known < to)
		c->throttled_ns += throttling_within(a, thread_at(t, known)->pid, known, to, &path);
}

/* Hands out a row for a wakeup of @t. @ran: time at which @t ran; NULL: no record shows it */
static int hand_out_wakeup(struct analysis *a, struct thread *t, const struct woken *w,
			   const uint64_t *ran)
{
	struct thread *waker = is_real(w->waker) ? thread_of(a, w->waker) : NULL;

	if (is_real(w->waker) && !waker)
		return -ENOMEM;
	return a->sink.wakeup(a->sink.arg, &(struct analysis_wakeup){
		.ns = w->ns, .waker_kind = waker_kind(w->waker),
		.waker = waker ? thread_at(waker, w->ns) : NULL,
		.woken = thread_at(t, w->ns), .cpu = w->cpu, .slept = w->slept,
		.awake = w->awake, .ran = ran,
		.exact = w->ns >= threads_known_from(a, t, w->ns),
		.latency_ns = ran && *ran > w->ns ? *ran - w->ns : 0,
		.waker_id = waker ? id_of(a, work_of_waker(waker, w->ns)) : NULL,
		.woken_id = id_of(a, work_at(t, w->ns)),
	});
}

static int end_wakeup(struct analysis *a, struct thread *t, const uint64_t *ran)
{
	const struct woken w = t->woken;

	if (!w.slept)
		return 0;
	t->woken.slept = false;
	return hand_out_wakeup(a, t, &w, ran);
}

static int hand_out_wait(struct analysis *a, struct thread *t, const struct span *s, uint64_t to,
			 unsigned int cpu)
{
	struct analysis_interval row;
	int err = 0;

	a->parts.nr = 0;
	if (s->from < to) {
		span_row(a, t, s, s->from, to, &row);
		err = divide_runnable(a, &row, &a->parts);
	}
	return err ? err : a->sink.wait(a->sink.arg, &(struct analysis_wait){
		.thread = thread_at(t, s->from), .from = s->from,
		.to = to > s->from ? to : s->from, .cpu = cpu,
		.reason = s->reason, .cut = s->inferred && !s->reason,
		.exact = s->from >= threads_known_from(a, t, to),
		.parts = a->parts.of, .nr_parts = a->parts.nr,
	});
}

/* --- turns ------------------------------------------------------------------------- */

void threads_worked(struct thread *t, const struct analysis_id *id)
{
	t->turn.id = *id;
	t->turn.worked = true;
}

static int hand_out_turn(struct analysis *a, struct thread *t, const struct span *s, uint64_t to,
			 bool woken)
{
	const bool ended = s->state == ANALYSIS_RUNNING || s->state == ANALYSIS_RUNNABLE;
	struct thread *waker = woken && is_real(s->waker) ? thread_of(a, s->waker) : NULL;

	if (woken && is_real(s->waker) && !waker)
		return -ENOMEM;
	return a->sink.turn(a->sink.arg, &(struct analysis_turn){
		.thread = thread_at(t, t->turn.from), .from = t->turn.from,
		.sleep = ended ? to : s->from,
		.to = to > s->from ? to : s->from, .reason = ended ? ANALYSIS_NO_REASON : s->reason,
		.woken = woken, .waker_kind = woken ? s->waker_kind : ANALYSIS_OTHER_NONE,
		.waker = waker ? thread_at(waker, to) : NULL,
		.exact = t->turn.from >= threads_known_from(a, t, to),
		.running_ns = t->turn.running_ns,
		.id = t->turn.worked ? &t->turn.id : NULL,
	});
}

/*
 * Adds the running time of @s, which ended at @to, to the turn. Excludes the time before the thread
 * was followed, because records of that time may be missing.
 */
static void count_turn(struct thread *t, const struct span *s, uint64_t to)
{
	const struct analysis_thread *out = thread_at(t, to);
	const uint64_t from = s->from > out->followed_at ? s->from : out->followed_at;

	if (s->state == ANALYSIS_RUNNING && out->followed && from < to)
		t->turn.running_ns += to - from;
}

/* Handles the end of the span @old of @t and the begin of @new. A sleep ends the turn. */
static int next_span(struct analysis *a, struct thread *t, const struct span *old,
		     const struct span *new)
{
	const struct analysis_id *id;
	int err;

	count_turn(t, old, new->from);
	if (old->state == ANALYSIS_RUNNING || old->state == ANALYSIS_RUNNABLE)
		return 0;
	err = hand_out_turn(a, t, old, new->from, old->state == ANALYSIS_BLOCKED &&
			    old->waker_kind != ANALYSIS_OTHER_NONE);
	t->turn = (struct turn){ .from = new->from };
	id = id_of(a, work_at(t, new->from));
	if (id)
		threads_worked(t, id);
	return err;
}

static int last_turn(struct analysis *a, struct thread *t)
{
	const struct span *last = last_span(t);

	if (!last)
		return 0;
	count_turn(t, last, a->totals.end);
	return hand_out_turn(a, t, last, a->totals.end, false);
}

/* --- spans ------------------------------------------------------------------------- */

int threads_span(struct analysis *a, struct thread *t, const struct span *old,
		 const struct span *new)
{
	const bool ran = new->state == ANALYSIS_RUNNING && !new->inferred;
	int err;

	count_span(a, t, old, new->from);
	err = end_wakeup(a, t, ran ? &new->from : NULL);
	if (!err && a->sink.turn)
		err = next_span(a, t, old, new);
	if (!err && a->sink.wait && ran && old->state == ANALYSIS_RUNNABLE)
		err = hand_out_wait(a, t, old, new->from, new->cpu);
	return err;
}

int threads_switch(struct analysis *a, const struct item *it)
{
	struct thread *out = is_real(it->id) ? thread_of(a, it->id) : NULL;
	struct thread *in = is_real(it->other) ? thread_of(a, it->other) : NULL;

	if ((is_real(it->id) && !out) || (is_real(it->other) && !in))
		return -ENOMEM;
	/* Do not count a switch that the recorder inferred. */
	if (it->inferred)
		return 0;
	if (out) {
		if (it->reason && it->reason != ANALYSIS_YIELDED)
			out->counts.voluntary++;
		else
			out->counts.preempted++;
		out->counts.last_cpu = it->cpu + 1;
	}
	if (in) {
		in->counts.migrations += in->counts.last_cpu && in->counts.last_cpu != it->cpu + 1u;
		in->counts.last_cpu = it->cpu + 1;
	}
	return 0;
}

int threads_wakeup(struct analysis *a, struct thread *t, const struct item *it,
		   enum analysis_state before)
{
	const struct woken w = {
		.ns = it->ns, .waker = it->other, .cpu = it->cpu,
		.slept = before == ANALYSIS_BLOCKED,
		.awake = before == ANALYSIS_RUNNING || before == ANALYSIS_RUNNABLE,
	};
	struct thread *waker = is_real(it->other) ? thread_of(a, it->other) : NULL;

	if (is_real(it->other) && !waker)
		return -ENOMEM;
	t->counts.wakeups++;
	if (waker)
		waker->counts.wakes++;
	if (!a->sink.wakeup)
		return 0;
	if (!w.slept)
		return hand_out_wakeup(a, t, &w, NULL);
	t->woken = w;
	return 0;
}

uint64_t threads_needed(const struct analysis *a, uint64_t ns)
{
	fxt_each(&a->threads, e) {
		const struct thread *t = (const struct thread *)(uintptr_t)e->a;
		const struct spans *s = &t->spans;
		const struct span *last = s->nr > s->first ? &s->of[s->nr - 1] : NULL;

		/*
		 * A row of a runnable span needs the history since the span's begin. A pending span
		 * may become runnable.
		 */
		if (last && (last->state == ANALYSIS_RUNNABLE || last->pending) && last->from < ns)
			ns = last->from;
	}
	return ns;
}

/* --- the end of the trace ------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	return (x->out.tid > y->out.tid) - (x->out.tid < y->out.tid);
}

/* The state of @t at the end of the trace, at @ns */
static struct analysis_interval last_state(struct analysis *a, struct thread *t, uint64_t ns)
{
	const struct span *last = last_span(t);
	struct analysis_interval row = { .state = ANALYSIS_UNKNOWN, .duration = "", .in = "" };

	if (last && (thread_at(t, ns)->followed || last->state == ANALYSIS_RUNNING))
		span_row(a, t, last, last->from, ns, &row);
	return row;
}

static int hand_out_thread(struct analysis *a, struct thread *t)
{
	const struct thread_counts *c = &t->counts;
	const struct spans *s = &t->spans;
	struct analysis_thread_row row = {
		.thread = thread_at(t, a->totals.end), .from = c->from,
		.to = a->totals.end, .voluntary = c->voluntary,
		.preempted = c->preempted, .migrations = c->migrations, .wakeups = c->wakeups,
		.wakes = c->wakes,
	};

	row.last = last_state(a, t, row.to);
	if (s->nr > s->first) {
		count_span(a, t, &s->of[s->nr - 1], row.to);
		row.exited_ns = c->exited_ns;
		row.inferred_ns = c->inferred_ns;
		row.throttled_ns = c->throttled_ns;
		memcpy(row.ns, c->ns, sizeof(row.ns));
		memcpy(row.reason_ns, c->reason_ns, sizeof(row.reason_ns));
		return a->sink.thread(a->sink.arg, &row);
	}
	if (t->existed && t->existed < row.to)
		row.from = t->existed > a->totals.begin ? t->existed : a->totals.begin;
	else if (c->wakes || c->wakeups || c->voluntary || c->preempted)
		row.from = row.to;
	else
		return 0;
	row.ns[ANALYSIS_UNKNOWN] = row.to - row.from;
	row.reason_ns[ANALYSIS_UNSCHEDULED] = row.ns[ANALYSIS_UNKNOWN];
	return a->sink.thread(a->sink.arg, &row);
}

int threads_finish(struct analysis *a)
{
	struct thread **of = calloc(a->threads.used + 1, sizeof(*of));
	size_t nr = 0;
	int err = 0;

	if (!of)
		return -ENOMEM;
	fxt_each(&a->threads, e)
		of[nr++] = (struct thread *)(uintptr_t)e->a;
	qsort(of, nr, sizeof(struct thread *), by_id);
	for (size_t i = 0; i < nr && !err; i++) {
		if (a->sink.wakeup)
			err = end_wakeup(a, of[i], NULL);
		if (a->sink.turn && !err)
			err = last_turn(a, of[i]);
		if (a->sink.thread && !err)
			err = hand_out_thread(a, of[i]);
	}
	free(of);
	return err;
}
