// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The account of an operation: its state at each instant from its begin to its end. At each
 * instant the operation has the best state of the threads that work on it.
 *
 * The works of each thread on the operation are united. The thread's history cuts them into
 * pieces of one state. Between two neighbouring edges of pieces nothing changes, so the best
 * piece gives the state there. Runnable intervals are then divided by the thread that had the
 * CPU, queued ones by what the next thread worked on meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "engine.h"
#include "throttling.h"

/* A time in which one thread works on the operation, in one state */
struct piece {
	uint64_t from, to;
	struct thread *thread;
	struct piece *next;		/* see struct queue */
	struct analysis_interval row;
};

static int by_thread(const void *a, const void *b)
{
	const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;

	if (x->thread != y->thread)
		return x->thread->out.tid < y->thread->out.tid ? -1 : 1;
	if (x->doubtful != y->doubtful)
		return x->doubtful ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int intervals_add(struct intervals *l, const struct analysis_interval *i)
{
	if (i->from >= i->to)
		return 0;
	if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
		return -ENOMEM;
	l->of[l->nr++] = *i;
	return 0;
}

bool interval_extends(struct analysis_interval *last, const struct analysis_interval *next)
{
	if (last->to != next->from || last->state != next->state ||
	    last->reason != next->reason || last->thread != next->thread ||
	    last->other != next->other || last->other_kind != next->other_kind ||
	    last->other_id != next->other_id || last->duration != next->duration ||
	    last->in != next->in || last->has_argument != next->has_argument ||
	    (next->has_argument && last->argument != next->argument) ||
	    last->file != next->file || last->cgroup != next->cgroup ||
	    last->inferred != next->inferred)
		return false;
	last->to = next->to;
	last->throttled_ns += next->throttled_ns;
	return true;
}

const struct analysis_id *id_of(const struct analysis *a, const struct work *w)
{
	return w && (w->shown || !work_is_doubtful(a, w)) ? &w->op->out : NULL;
}

/* --- pieces ---------------------------------------------------------------------- */

static int add_piece(struct scratch *s, const struct piece *p)
{
	if (!more_room(&s->pieces, s->nr_pieces, &s->room_pieces, sizeof(*s->pieces)))
		return -ENOMEM;
	s->pieces[s->nr_pieces++] = *p;
	return 0;
}

/* Fills @row from span @s of @t. The thread's state is unknown if @s is NULL. */
void span_row(struct analysis *a, const struct thread *t, const struct span *s,
	      uint64_t from, uint64_t to, struct analysis_interval *row)
{
	*row = (struct analysis_interval){
		.from = from, .to = to, .state = ANALYSIS_UNKNOWN, .thread = thread_at(t, from),
		.duration = "", .in = "",
		.reason = from < a->floor ? ANALYSIS_DROPPED : ANALYSIS_UNSCHEDULED,
	};
	if (!s)
		return;
	row->state = s->state;
	row->reason = s->reason;
	row->inferred = s->inferred;
	if (s->duration != NO_NAME)
		row->duration = text_of(a, s->duration);
	if (s->state != ANALYSIS_BLOCKED)
		return;
	if (s->in)
		row->in = text_of(a, s->in - 1);
	row->argument = s->argument;
	row->has_argument = s->has_argument;
	row->file = s->file;
	row->other_kind = s->waker_kind;
	if (s->waker_kind == ANALYSIS_OTHER_THREAD) {
		struct thread *waker = thread_of(a, s->waker);
		uint64_t end;

		if (!waker) {
			row->other_kind = ANALYSIS_OTHER_NONE;
			return;
		}
		span_at(t, s->from, &end);
		row->other = thread_at(waker, end);
		row->other_id = id_of(a, work_of_waker(waker, end));
	}
}

static void forget_state(struct analysis_interval *row, enum analysis_reason reason)
{
	row->state = ANALYSIS_UNKNOWN;
	row->reason = reason;
	row->in = "";
	row->has_argument = false;
	row->file = 0;
	row->other_kind = ANALYSIS_OTHER_NONE;
	row->other = NULL;
	row->other_id = NULL;
}

/*
 * Cuts the time @from..@to, in which @t works on the operation, into pieces of one state. A loss
 * may divide a state into two spans that look alike; they make one piece, because its end may
 * decide which of two threads a row shows.
 * @doubtful: the thread may not have worked on this operation
 */
static int cut(struct analysis *a, struct thread *t, uint64_t from, uint64_t to, bool doubtful)
{
	struct scratch *scratch = &a->scratch;
	const size_t first = scratch->nr_pieces;
	int err = 0;

	while (from < to && !err) {
		uint64_t end;
		const struct span *s = span_at(t, from, &end);
		struct piece *last, p = { .from = from, .thread = t };

		p.to = end < to ? end : to;
		span_row(a, t, s, p.from, p.to, &p.row);
		if (doubtful) {
			forget_state(&p.row, ANALYSIS_LOST);
			p.row.duration = "";
			p.row.inferred = false;
		}
		from = p.to;
		last = scratch->nr_pieces > first ? &scratch->pieces[scratch->nr_pieces - 1] : NULL;
		if (last && interval_extends(&last->row, &p.row))
			last->to = p.to;
		else
			err = add_piece(scratch, &p);
	}
	return err;
}

static int count_thread(struct analysis *a, struct thread *t, uint64_t ns)
{
	struct scratch *s = &a->scratch;

	if (t->counted == a->counted)
		return 0;
	t->counted = a->counted;
	if (!more_room(&s->threads, s->nr_threads, &s->room_threads, sizeof(*s->threads)))
		return -ENOMEM;
	s->threads[s->nr_threads++] = thread_at(t, ns);
	return 0;
}

/* Unites the works of each thread that are equally certain, and cuts them into pieces. */
static int collect(struct analysis *a, const struct operation *op)
{
	struct scratch *s = &a->scratch;
	size_t nr = op->works.nr;
	int err = 0;

	a->counted++;
	s->nr_works = 0;
	s->nr_pieces = 0;
	s->nr_threads = 0;
	if (!nr)
		return 0;
	if (s->room_works < nr) {
		free(s->works);
		s->works = malloc(2 * nr * sizeof(struct work *));
		s->room_works = s->works ? 2 * nr : 0;
		if (!s->works)
			return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		struct work *w = op->works.of[i];

		if (w->entered ? w->from >= w->to : operation_is_entered(op))
			continue;
		w->doubtful = work_is_doubtful(a, w);
		s->works[s->nr_works++] = w;
	}
	nr = s->nr_works;
	if (nr)
		qsort(s->works, nr, sizeof(struct work *), by_thread);
	for (size_t i = 0; i < nr && !err;) {
		struct thread *t = s->works[i]->thread;
		const bool doubtful = s->works[i]->doubtful;
		uint64_t from = s->works[i]->from, to = s->works[i]->to;

		for (i++; i < nr && s->works[i]->thread == t &&
		     s->works[i]->doubtful == doubtful && s->works[i]->from <= to; i++)
			if (s->works[i]->to > to)
				to = s->works[i]->to;
		err = count_thread(a, t, from);
		if (!err)
			err = cut(a, t, from > op->begin ? from : op->begin,
				  to < op->end ? to : op->end, doubtful);
	}
	return err;
}

/* --- the best at each instant ------------------------------------------------------ */

static int add_edge(struct scratch *s, uint64_t ns)
{
	if (!more_room(&s->edges, s->nr_edges, &s->room_edges, sizeof(*s->edges)))
		return -ENOMEM;
	s->edges[s->nr_edges++] = ns;
	return 0;
}

static uint64_t min_ns(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

static int find_edges(struct analysis *a, const struct operation *op)
{
	struct scratch *s = &a->scratch;
	int err;

	s->nr_edges = 0;
	s->lost_until = losses_until(a, op->begin, op->end);
	s->floor = op->begin < a->floor ? min_ns(a->floor, op->end) : 0;
	err = add_edge(s, op->begin);
	if (!err)
		err = add_edge(s, op->end);
	for (size_t i = 0; i < s->nr_pieces && !err; i++) {
		err = add_edge(s, s->pieces[i].from);
		if (!err)
			err = add_edge(s, s->pieces[i].to);
	}
	if (!err && s->lost_until)
		err = add_edge(s, s->lost_until);
	if (!err && s->floor)
		err = add_edge(s, s->floor);
	if (!err)
		qsort(s->edges, s->nr_edges, sizeof(*s->edges), by_time);
	return err;
}

/*
 * Pieces of one state in order of their begins, linked by .next. Pieces that have ended leave
 * lazily, when best() reaches them.
 */
struct queue {
	struct piece *first, *last;
};

static void push(struct queue *q, struct piece *p)
{
	p->next = NULL;
	if (q->first)
		q->last->next = p;
	else
		q->first = p;
	q->last = p;
	p->thread->piece = p;
}

/*
 * Returns the best piece that lasts beyond @from, or NULL. Among equal ones prefers the piece
 * of @last's thread, then the one that began first. @from never decreases from one call to the
 * next.
 */
static const struct piece *best(struct queue queues[ANALYSIS_STATES], uint64_t from,
				const struct piece *last)
{
	for (int state = 0; state < ANALYSIS_STATES; state++) {
		struct queue *q = &queues[state];
		const struct piece *same = last ? last->thread->piece : NULL;

		while (q->first && q->first->to <= from)
			q->first = q->first->next;
		if (!q->first)
			continue;
		return same && same->to > from && (int)same->row.state == state ? same : q->first;
	}
	return NULL;
}

/* Adds @row to @l, or extends the last interval if only the time differs. */
static int go_on(struct intervals *l, const struct analysis_interval *row)
{
	struct analysis_interval *last = l->nr ? &l->of[l->nr - 1] : NULL;

	return last && interval_extends(last, row) ? 0 : intervals_add(l, row);
}

static int sweep(struct scratch *s, struct intervals *l)
{
	const struct piece *last = NULL;
	struct queue queues[ANALYSIS_STATES] = { 0 };
	size_t next = 0;
	int err = 0;

	if (s->nr_pieces)
		qsort(s->pieces, s->nr_pieces, sizeof(*s->pieces), by_begin);
	for (size_t i = 0; i + 1 < s->nr_edges && !err; i++) {
		uint64_t from = s->edges[i], to = s->edges[i + 1];
		struct analysis_interval row;

		if (from == to)
			continue;
		for (; next < s->nr_pieces && s->pieces[next].from <= from; next++)
			push(&queues[s->pieces[next].row.state], &s->pieces[next]);
		last = best(queues, from, last);
		if (last) {
			row = last->row;
			row.from = from;
			row.to = to;
		} else {
			row = (struct analysis_interval){
				.from = from, .to = to, .state = ANALYSIS_QUEUED, .duration = "",
				.in = "",
			};
		}
		if (from < s->floor)
			forget_state(&row, ANALYSIS_DROPPED);
		/* If records were lost, another thread may have worked in a better state. */
		else if (row.state > ANALYSIS_UNKNOWN && from < s->lost_until)
			forget_state(&row, ANALYSIS_LOST);
		err = go_on(l, &row);
	}
	return err;
}

/*
 * If threads exited while they worked on @op, and no thread began to work on it later, @op is not
 * queued for a thread: it stays blocked by the exit. @l: the intervals of @op
 */
static void block_by_exit(const struct analysis *a, const struct operation *op, struct intervals *l)
{
	struct analysis_interval *last = l->nr ? &l->of[l->nr - 1] : NULL;
	const struct work *w = op->exited;

	if (op->ended || !w || !last || last->state != ANALYSIS_QUEUED || last->from < w->to ||
	    w->to < op->worked || work_is_doubtful(a, w) ||
	    (!w->entered && operation_is_entered(op)))
		return;
	last->state = ANALYSIS_BLOCKED;
	last->reason = ANALYSIS_EXITED;
	last->thread = thread_at(w->thread, w->to);
	if (op->exited_in != NO_NAME)
		last->duration = text_of(a, op->exited_in);
}

/* --- causes of waits ------------------------------------------------------------------ */

/* Returns the first span of @t from @s on that is not runnable, or the last span. */
static const struct span *last_of_wait(const struct thread *t, const struct span *s)
{
	size_t low = s - t->spans.of, high = t->spans.nr;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (t->spans.of[middle].wait == s->wait)
			low = middle;
		else
			high = middle;
	}
	return &t->spans.of[low];
}

/*
 * Returns the CPU that @t, runnable at @ns, gets in the end. If no record shows that yet,
 * returns the CPU whose queue @t was put on. Returns NO_CPU if records were lost before @t got
 * a CPU.
 */
unsigned int awaited_cpu(const struct thread *t, uint64_t ns)
{
	uint64_t end;
	const struct span *s = span_at(t, ns, &end);

	if (s)
		s = last_of_wait(t, s);
	return s && (s->state == ANALYSIS_RUNNABLE || s->state == ANALYSIS_RUNNING) ?
	       s->cpu : NO_CPU;
}

/*
 * Splits the runnable interval @row into one part for each thread that had the CPU meanwhile. Also
 * finds the quotas that may have caused the wait. Adds the parts to @l.
 */
int divide_runnable(struct analysis *a, const struct analysis_interval *row, struct intervals *l)
{
	const struct thread *t = thread_of(a, row->thread->tid);
	struct analysis_interval part = *row;
	unsigned int cpu;
	int err = 0;

	if (!t)
		return -ENOMEM;
	cpu = awaited_cpu(t, row->from);
	while (part.from < row->to && !err) {
		struct thread *who = occupant_at(a, cpu, part.from, &part.other_kind, &part.to);

		if (part.to > row->to)
			part.to = row->to;
		part.other = who ? thread_at(who, part.from) : NULL;
		part.other_id = who ? id_of(a, work_at(who, part.from + 1)) : NULL;
		part.throttled_ns = throttling_within(a, row->thread->pid, part.from, part.to,
						      &part.cgroup);
		err = go_on(l, &part);
		part.from = part.to;
	}
	return err;
}

const struct work *busy_work(struct thread *t, uint64_t from, uint64_t to, uint64_t *end)
{
	const struct work *w = work_at(t, from + 1);
	const size_t next = works_after(&t->works, from);

	*end = to;
	if (w && work_end(w) < *end)
		*end = work_end(w);
	if (next < t->works.nr && t->works.of[next]->from < *end)
		*end = t->works.of[next]->from;
	return w;
}

/*
 * Splits the queued interval @row of @op into one part for each operation that @next worked on
 * meanwhile. @next: the thread that works on @op next. Adds the parts to @l.
 */
int divide_queued(struct analysis *a, const struct operation *op,
		  const struct analysis_interval *row, struct thread *next, struct intervals *l)
{
	struct analysis_interval part = *row;
	int err = 0;

	if (next && busy_usable(a))
		return busy_divide(a, op, row, next, l);
	part.thread = next ? thread_at(next, row->to) : NULL;
	while (next && part.from < row->to && !err) {
		const struct work *w = busy_work(next, part.from, row->to, &part.to);

		part.other_id = id_of(a, w);
		part.part = part.other_id && operation_is_part(w->op, op);
		err = go_on(l, &part);
		part.from = part.to;
	}
	return next || err ? err : go_on(l, row);
}

static int by_from(const void *a, const void *b)
{
	const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->thread->out.tid > y->thread->out.tid) -
	       (x->thread->out.tid < y->thread->out.tid);
}

/*
 * Divides the intervals @from of @op, whose works are a->scratch.works, and adds the parts to
 * @to.
 */
static int divide(struct analysis *a, const struct operation *op, const struct intervals *from,
		  struct intervals *to)
{
	struct work **works = a->scratch.works;
	const size_t nr = a->scratch.nr_works;
	size_t next = 0;
	int err = 0;

	if (nr)
		qsort(works, nr, sizeof(*works), by_from);
	for (size_t i = 0; i < from->nr && !err; i++) {
		const struct analysis_interval *row = &from->of[i];

		/* The first work at or after the end of the row */
		while (next < nr && works[next]->from < row->to)
			next++;
		if (row->state == ANALYSIS_RUNNABLE)
			err = divide_runnable(a, row, to);
		else if (row->state == ANALYSIS_QUEUED)
			err = divide_queued(a, op, row,
					    next < nr ? works[next]->thread : op->end_thread, to);
		else
			err = go_on(to, row);
	}
	return err;
}

int account(struct analysis *a, const struct operation *op, struct analysis_operation *row,
	    struct intervals *l, bool whole)
{
	struct intervals *undivided = whole ? &a->whole : l;
	int err;

	undivided->nr = 0;
	err = collect(a, op);
	if (!err)
		err = find_edges(a, op);
	if (!err)
		err = sweep(&a->scratch, undivided);
	if (err)
		return err;
	block_by_exit(a, op, undivided);
	for (size_t i = 0; i < undivided->nr; i++)
		row->ns[undivided->of[i].state] += undivided->of[i].to - undivided->of[i].from;
	row->threads = a->scratch.threads;
	row->nr_threads = a->scratch.nr_threads;
	return whole ? divide(a, op, undivided, l) : 0;
}
