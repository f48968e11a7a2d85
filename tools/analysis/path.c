// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The critical path of an operation: what had to happen, one after the other, before it
 * ended. It is followed backwards, from the end on the thread that ended it.
 *
 *	A thread that ran, or waited for a CPU, is the path.
 *	A thread that was blocked waited for who woke it. The path goes on there, at the
 *	moment of the waking, back to when the thread blocked and no further: before that,
 *	the waker served others. If an interrupt woke it, the path ends in the blocked time.
 *	Before a thread began to work on the operation, the path goes on at the thread that
 *	worked on it last. Between the two, the operation was queued.
 *
 * Each step goes back in time or from a thread to its waker, whose part is bounded; so
 * the walk ends, and its parts cover the life of the operation without a gap.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define DEPTH_MAX	32
#define STEPS_MAX	(1u << 20)

struct walk {
	struct analysis *a;
	const struct operation *op;
	struct intervals *path;		/* from the end to the begin */
	uint64_t now;			/* all after this is in the path */
	uint64_t lost_until;		/* before this, a thread may have worked unseen */
	struct {
		const struct thread *thread;
		uint64_t bound;		/* as far as the path follows this thread */
	} stack[DEPTH_MAX];
	unsigned int depth;
	/* Active works, then a gap, then works that are not reached, the last to end first */
	struct work **works;
	size_t active, next;
};

/* Add @rows in reverse, for the path is turned round in the end. */
static int add_reversed(struct walk *w, const struct intervals *rows)
{
	int err = 0;

	for (size_t i = rows->nr; i && !err; i--)
		err = intervals_add(w->path, &rows->of[i - 1]);
	return err;
}

static int add(struct walk *w, const struct analysis_interval *row)
{
	struct intervals *parts = &w->a->whole;
	int err;

	w->now = row->from;
	if (row->state != ANALYSIS_RUNNABLE)
		return intervals_add(w->path, row);
	parts->nr = 0;
	err = divide_runnable(w->a, row, parts);
	return err ? err : add_reversed(w, parts);
}

static int by_end(const void *a, const void *b)
{
	const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;

	if (x->to != y->to)
		return x->to > y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from > y->from ? -1 : 1;
	return (x->thread->out.tid > y->thread->out.tid) - (x->thread->out.tid < y->thread->out.tid);
}

/*
 * Of the threads that work on the operation right before @ns, the one that began last. @ns
 * never grows from one call to the next.
 */
static const struct work *working(struct walk *w, uint64_t ns, const struct thread *prefer)
{
	const struct work *found = NULL;
	size_t kept = 0;

	/* Works move from those not reached, in order of their ends, to the active ones. */
	for (; w->next < w->op->works.nr && w->works[w->next]->to >= ns; w->next++)
		w->works[w->active++] = w->works[w->next];
	for (size_t i = 0; i < w->active; i++) {
		struct work *k = w->works[i];

		if (k->from >= ns)
			continue;
		w->works[kept++] = k;
		if (!found || (k->thread == prefer && found->thread != prefer) ||
		    (k->from > found->from && (found->thread != prefer || k->thread == prefer)))
			found = k;
	}
	w->active = kept;
	return found;
}

/* The end of the last work on the operation before w->now; its begin if there was none */
static uint64_t last_worked(const struct walk *w)
{
	const uint64_t last = w->next < w->op->works.nr ? w->works[w->next]->to : 0;

	return last > w->op->begin ? last : w->op->begin;
}

/* Add the time right before w->now in which no thread works on the operation. */
static int gap(struct walk *w, struct thread *next)
{
	struct intervals *parts = &w->a->whole;
	struct analysis_interval row = {
		.from = last_worked(w), .to = w->now, .state = ANALYSIS_QUEUED,
		.duration = "",
	};
	const uint64_t known = w->a->floor > w->lost_until ? w->a->floor : w->lost_until;
	int err;

	/* The part of which more is known is a step of its own. */
	if (row.from < known && known < row.to)
		row.from = known;
	w->now = row.from;
	if (row.from < known) {
		row.state = ANALYSIS_UNKNOWN;
		row.reason = row.from < w->a->floor ? ANALYSIS_DROPPED : ANALYSIS_LOST;
		return intervals_add(w->path, &row);
	}
	parts->nr = 0;
	err = divide_queued(w->a, &row, next, parts);
	return err ? err : add_reversed(w, parts);
}

static bool is_on_stack(const struct walk *w, const struct thread *t)
{
	for (unsigned int i = 0; i < w->depth; i++)
		if (w->stack[i].thread == t)
			return true;
	return false;
}

/* The row of @t right before w->now, not beyond @bound. *@end: when its state ended */
static void row_before(struct walk *w, const struct thread *t, uint64_t bound, uint64_t *end,
		       struct analysis_interval *row)
{
	const struct span *s = span_at(t, w->now - 1, end);

	span_row(w->a, t, s, s && s->from > bound ? s->from : bound, w->now, row);
	if (!t->out.followed && (row->state != ANALYSIS_RUNNING || row->inferred))
		row->state = ANALYSIS_UNKNOWN;
}

/* One step back on the thread on top of the stack */
static int step(struct walk *w)
{
	const unsigned int top = w->depth - 1;
	struct analysis_interval row;
	struct thread *waker;
	uint64_t end;

	row_before(w, w->stack[top].thread, w->stack[top].bound, &end, &row);
	/* Only if the sleep ended by being woken did the operation wait for the waker. */
	if (row.state == ANALYSIS_BLOCKED && row.other && end == w->now && w->depth < DEPTH_MAX) {
		waker = thread_of(w->a, row.other->tid);
		if (waker && !is_on_stack(w, waker)) {
			w->stack[w->depth].thread = waker;
			w->stack[w->depth++].bound = row.from;
			return 0;
		}
	}
	/* Of a waker that slept itself, who knows why: who waited for it tells more. */
	if (top && (row.state == ANALYSIS_UNKNOWN ||
		    (row.state == ANALYSIS_BLOCKED && row.other_kind == ANALYSIS_OTHER_NONE))) {
		w->depth--;
		row_before(w, w->stack[top - 1].thread, w->stack[top - 1].bound, &end, &row);
	}
	return add(w, &row);
}

static int walk(struct walk *w)
{
	struct thread *t = w->op->end_thread;
	int err = 0;

	for (unsigned int i = 0; w->now > w->op->begin && i < STEPS_MAX && !err; i++) {
		const struct work *k;

		while (w->depth > 1 && w->now <= w->stack[w->depth - 1].bound)
			w->depth--;
		if (w->depth > 1) {
			err = step(w);
			continue;
		}
		w->depth = 0;
		k = working(w, w->now, t);
		if (!k) {
			err = gap(w, t);
			continue;
		}
		t = k->thread;
		w->stack[0].thread = t;
		w->stack[0].bound = k->from > w->op->begin ? k->from : w->op->begin;
		w->depth = 1;
		err = step(w);
	}
	return err;
}

int critical_path(struct analysis *a, const struct operation *op, struct intervals *l)
{
	struct walk w = {
		.a = a, .op = op, .path = l, .now = op->end,
		.lost_until = losses_until(a, op->begin, op->end),
	};
	struct analysis_interval swap;
	int err;

	/* account() made the room. */
	w.works = a->scratch.works;
	if (op->works.nr) {
		memcpy(w.works, op->works.of, op->works.nr * sizeof(*w.works));
		qsort(w.works, op->works.nr, sizeof(*w.works), by_end);
	}
	err = walk(&w);

	/* So many steps only a hostile file needs. */
	if (!err && w.now > op->begin)
		err = intervals_add(l, &(struct analysis_interval){
			.from = op->begin, .to = w.now, .state = ANALYSIS_UNKNOWN,
			.reason = ANALYSIS_DROPPED, .duration = "",
		});
	for (size_t i = 0; i < l->nr / 2; i++) {
		swap = l->of[i];
		l->of[i] = l->of[l->nr - 1 - i];
		l->of[l->nr - 1 - i] = swap;
	}
	return err;
}
