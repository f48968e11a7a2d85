// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The critical path of an operation: the chain of things that had to happen before it ended.
 * The walk goes backwards, from the end on the thread that ended the operation.
 *
 * A thread that ran, or waited for a CPU, is on the path.
 * A blocked thread waited for its waker. The path continues at the waker, from the
 * moment of the wakeup back to when the thread blocked. It goes no further, because
 * the waker served others before. If an interrupt woke the thread, the path stays there.
 * Before a thread began to work on the operation, the path continues at the thread
 * that worked on it last. Between the two, the operation was queued.
 *
 * Each step goes back in time, or from a thread to its waker, whose part is bounded. So the
 * walk ends, and its parts cover the life of the operation without a gap.
 */
#include <stdlib.h>

#include "engine.h"

#define DEPTH_MAX	32
#define STEPS_MAX	(1u << 20)

struct walk {
	struct analysis *a;
	const struct operation *op;
	struct intervals *path;		/* in reverse: from the end to the begin */
	uint64_t now;			/* the path covers all times after this */
	uint64_t lost_until;		/* before this time, a thread may have worked without
					   a record */
	struct {
		const struct thread *thread;
		uint64_t bound;		/* the path follows this thread back to here */
	} stack[DEPTH_MAX];
	unsigned int depth;
	/*
	 * Works, the latest end first. The first .active ones are those that the walk has reached,
	 * those from .next on it has not reached. The entries between are unused.
	 */
	struct work **works;
	size_t nr_works, active, next;
	size_t certain;			/* works before this one are reached or doubtful */
};

/* Adds @rows in reverse, because the path is reversed at the end. */
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

/* The end of a work after that of its operation makes no difference. */
static int by_end(const void *a, const void *b)
{
	const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;
	const uint64_t x_end = work_end(x), y_end = work_end(y);

	if (x_end != y_end)
		return x_end > y_end ? -1 : 1;
	if (x->from != y->from)
		return x->from > y->from ? -1 : 1;
	return (x->thread->out.tid > y->thread->out.tid) -
	       (x->thread->out.tid < y->thread->out.tid);
}

/* True if the path goes along @x rather than @y. Both go on at the same time. */
static bool is_better(const struct work *x, const struct work *y, const struct thread *prefer)
{
	if (x->doubtful != y->doubtful)
		return y->doubtful;
	if ((x->thread == prefer) != (y->thread == prefer))
		return x->thread == prefer;
	return x->from > y->from;
}

/*
 * Returns the work that goes on right before @ns. If there are several works, prefers those that
 * are certain, of these the ones of the thread @prefer, and of these the one that began last. @ns
 * must not grow from one call to the next.
 */
static const struct work *working(struct walk *w, uint64_t ns, const struct thread *prefer)
{
	const struct work *found = NULL;
	size_t kept = 0;

	/* Move the works that end at @ns or later to the active ones. */
	for (; w->next < w->nr_works && w->works[w->next]->to >= ns; w->next++)
		w->works[w->active++] = w->works[w->next];
	for (size_t i = 0; i < w->active; i++) {
		struct work *k = w->works[i];

		if (k->from >= ns)
			continue;
		w->works[kept++] = k;
		if (!found || is_better(k, found, prefer))
			found = k;
	}
	w->active = kept;
	return found;
}

/* Returns the end of the last work on the operation before w->now, or the operation's begin. */
static uint64_t last_worked(const struct walk *w)
{
	const uint64_t last = w->next < w->nr_works ? w->works[w->next]->to : 0;

	return last > w->op->begin ? last : w->op->begin;
}

/* Adds the time right before w->now in which no thread works on the operation. */
static int gap(struct walk *w, struct thread *next)
{
	struct intervals *parts = &w->a->whole;
	struct analysis_interval row = {
		.from = last_worked(w), .to = w->now, .state = ANALYSIS_QUEUED,
		.duration = "", .in = "",
	};
	const uint64_t known = w->a->floor > w->lost_until ? w->a->floor : w->lost_until;
	int err;

	/*
	 * Split a gap around @known: this step adds the part after @known, and the next step adds
	 * the unknown part before it.
	 */
	if (row.from < known && known < row.to)
		row.from = known;
	w->now = row.from;
	if (row.from < known) {
		row.state = ANALYSIS_UNKNOWN;
		row.reason = row.from < w->a->floor ? ANALYSIS_DROPPED : ANALYSIS_LOST;
		return intervals_add(w->path, &row);
	}
	parts->nr = 0;
	err = divide_queued(w->a, w->op, &row, next, parts);
	return err ? err : add_reversed(w, parts);
}

static bool is_on_stack(const struct walk *w, const struct thread *t)
{
	for (unsigned int i = 0; i < w->depth; i++)
		if (w->stack[i].thread == t)
			return true;
	return false;
}

/*
 * Sets *@row to the state of @t right before w->now. The row begins at @bound or later. Sets *@end
 * to the time at which that state ended, which may be after w->now.
 *
 * The thread that works on the operation is followed. Of a waker, only running time is known before
 * the session followed it.
 */
static void row_before(struct walk *w, const struct thread *t, uint64_t bound, uint64_t *end,
		       struct analysis_interval *row)
{
	const struct span *s = span_at(t, w->now - 1, end);
	const uint64_t known = thread_at(t, w->now)->followed && t == w->stack[0].thread ? 0 :
			       threads_known_from(w->a, t, w->now);
	const bool ran = s && s->state == ANALYSIS_RUNNING && !s->inferred;

	if (!ran && bound < known && known < w->now)
		bound = known;
	span_row(w->a, t, s, s && s->from > bound ? s->from : bound, w->now, row);
	if (ran || known < w->now)
		return;
	row->state = ANALYSIS_UNKNOWN;
	row->in = "";
	row->has_argument = false;
	row->file = 0;
}

/*
 * Adds the time before w->now in which a thread works on the operation according to @k only, which
 * is doubtful.
 */
static int doubtful_work(struct walk *w, const struct work *k)
{
	uint64_t from = k->from > w->op->begin ? k->from : w->op->begin;

	if (w->certain < w->next)
		w->certain = w->next;
	while (w->certain < w->nr_works && w->works[w->certain]->doubtful)
		w->certain++;
	if (w->certain < w->nr_works && w->works[w->certain]->to > from)
		from = w->works[w->certain]->to;
	return add(w, &(struct analysis_interval){
		.from = from, .to = w->now, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_LOST,
		.thread = thread_at(k->thread, from), .duration = "", .in = "",
	});
}

/* Takes one step back on the thread on top of the stack. */
static int step(struct walk *w)
{
	const unsigned int top = w->depth - 1;
	struct analysis_interval row;
	struct thread *waker;
	uint64_t end;

	row_before(w, w->stack[top].thread, w->stack[top].bound, &end, &row);
	/* The operation waited for the waker only if the wakeup ended this sleep. */
	if (row.state == ANALYSIS_BLOCKED && row.other && end == w->now && w->depth < DEPTH_MAX) {
		waker = thread_of(w->a, row.other->tid);
		if (waker && !is_on_stack(w, waker)) {
			w->stack[w->depth].thread = waker;
			w->stack[w->depth++].bound = row.from;
			return 0;
		}
	}
	/*
	 * If the waker's state is unknown, or if the waker slept and its own waker is unknown, the
	 * state of the thread that waited for the waker tells more.
	 */
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
		if (k->doubtful) {
			err = doubtful_work(w, k);
			continue;
		}
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
	size_t nr = 0;
	int err;

	/* account() has left the works of @op in a->scratch. */
	w.works = a->scratch.works;
	w.nr_works = a->scratch.nr_works;
	if (w.nr_works)
		qsort(w.works, w.nr_works, sizeof(*w.works), by_end);
	err = walk(&w);

	/* Only a hostile file needs STEPS_MAX steps. */
	if (!err && w.now > op->begin)
		err = intervals_add(l, &(struct analysis_interval){
			.from = op->begin, .to = w.now, .state = ANALYSIS_UNKNOWN,
			.reason = ANALYSIS_DROPPED, .duration = "", .in = "",
		});
	for (size_t i = 0; i < l->nr / 2; i++) {
		swap = l->of[i];
		l->of[i] = l->of[l->nr - 1 - i];
		l->of[l->nr - 1 - i] = swap;
	}
	/* A queued interval may be a sum: see busy_divide(). */
	for (size_t i = 0; i < l->nr; i++)
		if (!nr || l->of[i].state == ANALYSIS_QUEUED ||
		    !interval_extends(&l->of[nr - 1], &l->of[i]))
			l->of[nr++] = l->of[i];
	l->nr = nr;
	return err;
}
