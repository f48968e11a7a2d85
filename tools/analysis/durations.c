// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread works on an operation during each duration that directly encloses an async or
 * flow event with the operation's id, as long as the operation is open. If the thread exits in a
 * duration, the duration ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "engine.h"
#include "entered.h"

/* Lists of works longer than this get an index. */
#define SEARCH_MAX	64

void work_put(struct work *w)
{
	if (--w->refs)
		return;
	w->thread->refs--;
	operation_put(w->op);
	free(w);
}

int works_add(struct works *w, struct work *work)
{
	if (!more_room(&w->of, w->nr, &w->room, sizeof(*w->of)))
		return -ENOMEM;
	w->of[w->nr++] = work;
	work->refs++;
	return 0;
}

void works_free(struct works *w)
{
	for (size_t i = w->first; i < w->nr; i++)
		work_put(w->of[i]);
	free(w->of);
	*w = (struct works){ 0 };
}

uint64_t work_end(const struct work *w)
{
	if (!w->entered && operation_is_entered(w->op))
		return w->from;
	return w->to < w->op->end ? w->to : w->op->end;
}

bool durations_doubtful(const struct analysis *a, const struct duration *d)
{
	return !d->complete && d->begin < a->losses.after;
}

bool work_is_doubtful(const struct analysis *a, const struct work *w)
{
	return w->unsure || losses_within(a, w->since, work_end(w));
}

size_t works_after(const struct works *w, uint64_t ns)
{
	size_t low = w->first, high = w->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (w->of[middle]->from <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct work *work_of_waker(struct thread *waker, uint64_t ns)
{
	struct work *w = work_at(waker, ns + 1);

	/*
	 * The record of the wakeup may be the first that shows the waker's operation. Then the
	 * waker's work may begin only at @ns, and work_at() finds it only for a later time.
	 */
	return w && w->shown && w->made == ns ? w : work_at(waker, ns);
}

uint32_t durations_innermost(const struct thread *t, uint64_t ns)
{
	for (size_t i = t->depth; i; i--)
		if (t->stack[i - 1].end >= ns)
			return t->stack[i - 1].name;
	return NO_NAME;
}

/* Without an index, has_work() searches the list. */
static void drop_index(struct duration *d)
{
	fxt_table_free(&d->by_op);
	d->by_op = (struct fxt_table){ 0 };
}

void durations_pop(struct thread *t)
{
	struct duration *d = &t->stack[--t->depth];

	if (!d->works.of)
		return;
	works_free(&d->works);
	drop_index(d);
}

void durations_leave(struct thread *t, uint64_t ns)
{
	while (t->depth && t->stack[t->depth - 1].end < ns)
		durations_pop(t);
}

static void tell_pair(const struct analysis *a, uint64_t begin, uint64_t end, uint64_t ns)
{
	if (a->sink.ends)
		a->sink.ends(a->sink.arg, begin, end, ns);
}

void work_lasts(const struct analysis *a, struct work *w, uint64_t ns)
{
	if (!a->sink.lasts || w->told)
		return;
	w->told = ns != STILL_OPEN;
	a->sink.lasts(a->sink.arg, w->record, ns);
}

static int enter(struct analysis *a, struct thread *t, const struct item *it, uint64_t end)
{
	size_t at;

	/* A duration that ends where this one begins does not enclose it. */
	durations_leave(t, it->ns + 1);
	if (t->depth == ANALYSIS_DEPTH_MAX || t->beyond) {
		t->beyond += end == STILL_OPEN;
		a->totals.deep++;
		tell_pair(a, it->record, it->record, it->ns);
		return 0;
	}
	if (!more_room(&t->stack, t->depth, &t->room, sizeof(*t->stack)))
		return -ENOMEM;
	/* A record that came late may enclose durations that are already on the stack. */
	for (at = t->depth; at && t->stack[at - 1].begin > it->ns; at--)
		;
	memmove(t->stack + at + 1, t->stack + at, (t->depth++ - at) * sizeof(*t->stack));
	t->stack[at] = (struct duration){
		.begin = it->ns, .end = end, .complete = end != STILL_OPEN, .name = it->name,
		.number = ++t->durations, .record = it->record,
	};
	return it->entered ? entered_begin(a, t, &t->stack[at], it) : 0;
}

/* True if a duration inside of the one at @i has a known end after @ns. */
static bool outlasts(const struct thread *t, size_t i, uint64_t ns)
{
	for (; i < t->depth; i++)
		if (t->stack[i].end > ns && t->stack[i].end != STILL_OPEN)
			return true;
	return false;
}

enum ending {
	MAY_END,	/* records that show otherwise may be lost */
	ENDS,
	EXITS,		/* the thread exits */
};

/*
 * True if @w, which seems to end with its duration at @ns, may go on: losses may have taken an end
 * of the duration before the event that shows @w, and after it the begin of another duration of
 * that name. Then the event is in a duration around the two.
 */
static bool work_may_go_on(const struct analysis *a, const struct work *w, uint64_t ns)
{
	return w->unsure && losses_hide(a, w->made, ns);
}

/*
 * Ends the works that last until @d ends, because @d ends at @ns. Works that may go on last as long
 * as their operations. They are doubtful, so the account shows an unknown state. @in: the innermost
 * duration, if the thread exits
 */
static void end_works(struct analysis *a, struct thread *t, const struct duration *d, uint64_t ns,
		      enum ending ending, uint32_t in)
{
	for (size_t i = 0; i < d->works.nr; i++) {
		struct work *w = d->works.of[i];

		if (w->to != STILL_OPEN || (ending == MAY_END && work_may_go_on(a, w, ns)))
			continue;
		/* If the end comes late, the work may have begun after it. */
		w->to = ns > w->from ? ns : w->from;
		busy_cut(t, ns);
		work_lasts(a, w, w->to);
		if (ending == EXITS && w->to == ns)
			operation_exited(w, in);
	}
}

/*
 * Returns 1 + the index of the duration that @it ends, or 0. This is the innermost one without a
 * known end. But if a loss may hide the begins and ends before @it, only a duration of the same
 * name may have ended. An end without a name fits any begin: the library ends a scope in this way
 * if a jump left it.
 *
 * Durations within the one that ended must have ended, too. So if one of them goes on, or if the
 * loss may hide an earlier end of the duration around it, the end belongs to a duration whose begin
 * is lost.
 */
static size_t ended_by(const struct analysis *a, const struct thread *t, const struct item *it)
{
	const bool unnamed = !*text_of(a, it->name);
	const struct duration *innermost = NULL;	/* that has no known end */
	bool goes_on = false;

	for (size_t i = t->depth; i; i--) {
		const struct duration *d = &t->stack[i - 1];

		if (d->end != STILL_OPEN) {
			goes_on |= d->end > it->ns;
			continue;
		}
		if (!durations_doubtful(a, d))
			return i;
		if (unnamed || d->name == it->name) {
			goes_on |= innermost && losses_hide(a, d->begin, innermost->begin);
			return goes_on ? 0 : i;
		}
		if (!innermost)
			innermost = d;
	}
	return 0;
}

/*
 * Removes the innermost duration of @t because one around it ends at @ns. If the innermost one has
 * no known end, its end is lost.
 */
static int pop_within(struct analysis *a, struct thread *t, uint64_t ns, enum ending ending)
{
	struct duration *d = &t->stack[t->depth - 1];
	int err = 0;

	if (d->end == STILL_OPEN) {
		tell_pair(a, d->record, d->record, ns);
		end_works(a, t, d, ns, ending, NO_NAME);
		err = entered_end_lost(a, t, d, ns);
		if (!err)
			err = orphan_duration(a, t, d);
	}
	durations_pop(t);
	return err;
}

/*
 * Removes doubtful durations of @t within one that is known to have ended before @ns. They ended
 * with it at the latest.
 */
static int leave_doubtful(struct analysis *a, struct thread *t, uint64_t ns)
{
	size_t i = 0;
	int err = 0;

	if (!t->depth || t->stack[0].begin >= a->losses.after)
		return 0;
	while (i < t->depth && t->stack[i].end >= ns)
		i++;
	while (t->depth > i + 1 && !err) {
		const struct duration *d = &t->stack[t->depth - 1];

		if (d->end == STILL_OPEN ? !durations_doubtful(a, d) : d->end >= ns)
			break;
		err = pop_within(a, t, t->stack[i].end, ENDS);
	}
	return err;
}

/* Ends the duration that @it is the end of, and the durations inside of it. */
static int end(struct analysis *a, struct thread *t, const struct item *it)
{
	struct duration *d;
	size_t i;
	int err = 0;

	/* The stack was full when this duration began, so the duration is not on it. */
	if (t->beyond) {
		t->beyond--;
		return it->entered ? entered_end(a, t, NULL, it) : 0;
	}
	i = ended_by(a, t, it);
	if (!i) {
		err = it->entered ? entered_end(a, t, NULL, it) : 0;
		return err ? err : orphan_event(a, ANALYSIS_DURATION_END_ALONE, it);
	}
	if (a->sink.crossed && outlasts(t, i, it->ns))
		a->sink.crossed(a->sink.arg, t->out.tid);
	while (t->depth > i && !err)
		err = pop_within(a, t, it->ns, MAY_END);
	if (err)
		return err;
	d = &t->stack[i - 1];
	tell_pair(a, d->record, it->record, it->ns);
	end_works(a, t, d, it->ns, MAY_END, NO_NAME);
	/*
	 * The duration stays on the stack, because an event of the same time may still be
	 * inside.
	 */
	d->end = it->ns;
	err = d->scope || it->entered ? entered_end(a, t, d, it) : 0;
	if (err || d->name == it->name || !*text_of(a, it->name))
		return err;
	return orphan_event(a, ANALYSIS_DURATION_MISMATCH, it);
}

static bool note_operation(struct duration *d, const struct operation *op)
{
	return fxt_make(&d->by_op, (uintptr_t)op);
}

static int make_index(struct duration *d)
{
	for (size_t i = 0; i < d->works.nr; i++) {
		if (!note_operation(d, d->works.of[i]->op)) {
			drop_index(d);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Returns 1 if thread @t works on @op within duration @d, else 0, or a negative errno. Searches the
 * works of @op or of @d, whichever are fewer. If both have many, makes and uses an index.
 */
static int has_work(const struct thread *t, struct duration *d, const struct operation *op)
{
	const struct works *w = op->works.nr < d->works.nr ? &op->works : &d->works;

	if (w->nr > SEARCH_MAX) {
		int err = d->by_op.entries ? 0 : make_index(d);

		return err ? err : !!fxt_find(&d->by_op, (uintptr_t)op);
	}
	for (size_t i = w->nr; i; i--) {
		const struct work *work = w->of[i - 1];

		if (work->op == op && work->thread == t && work->in == d->number)
			return 1;
	}
	return 0;
}

/* Drops works whose operation has ended, because the end of @d does not change them any more. */
static void drop_ended(struct duration *d)
{
	size_t kept = 0;

	drop_index(d);
	for (size_t i = 0; i < d->works.nr; i++) {
		if (d->works.of[i]->op->end != STILL_OPEN)
			work_put(d->works.of[i]);
		else
			d->works.of[kept++] = d->works.of[i];
	}
	d->works.nr = kept;
}

int works_insert(struct analysis *a, struct thread *t, struct work *work)
{
	struct works *w = &t->works;
	size_t at = works_after(w, work->from);
	int err = works_add(w, work);

	if (err)
		return err;
	memmove(w->of + at + 1, w->of + at, (w->nr - 1 - at) * sizeof(*w->of));
	w->of[at] = work;
	err = ends_insert(t, at);
	if (err)
		return err;
	a->history++;
	busy_cut(t, work->from);
	return 0;
}

int durations_exit(struct analysis *a, struct thread *t, uint64_t ns)
{
	const uint32_t in = durations_innermost(t, ns);
	int err = 0;

	t->beyond = 0;
	for (size_t i = 0; i < t->depth && !err; i++) {
		struct duration *d = &t->stack[i];

		/* If the exit comes late, the stack may have durations of a later thread. */
		if (d->end != STILL_OPEN || d->begin > ns)
			continue;
		tell_pair(a, d->record, 0, ns);
		end_works(a, t, d, ns, EXITS, in);
		d->end = ns;
		err = orphan_duration(a, t, d);
	}
	return err;
}

void durations_release(struct analysis *a, struct thread *t)
{
	t->beyond = 0;
	while (t->depth) {
		struct duration *d = &t->stack[t->depth - 1];

		drop_ended(d);
		if (d->works.nr)
			return;
		if (d->end == STILL_OPEN)
			tell_pair(a, d->record, d->record, a->now);
		durations_pop(t);
	}
}

static int work_on(struct analysis *a, struct thread *t, struct duration *d, struct operation *op,
		   const struct item *it)
{
	struct work *w;
	int err = has_work(t, d, op);

	if (err)
		return err < 0 ? err : 0;
	if (d->works.nr >= d->drop_at) {
		drop_ended(d);
		d->drop_at = 2 * d->works.nr + 64;
	}
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct work){
		.op = op, .thread = t, .in = d->number, .to = d->end, .duration = d->name,
		.refs = 1, .unsure = durations_doubtful(a, d),
		.from = d->begin > op->begin ? d->begin : op->begin, .made = it->ns,
		.record = it->record,
	};
	w->since = d->complete ? w->from : d->begin;
	work_lasts(a, w, d->end);
	op->refs++;
	t->refs++;
	err = works_add(&d->works, w);
	if (!err && d->by_op.entries && !note_operation(d, op))
		err = -ENOMEM;
	if (!err)
		err = works_insert(a, t, w);
	if (!err)
		err = operation_work(op, w);
	work_put(w);
	return err;
}

/*
 * Returns the innermost duration around @ns, the time of an event, or NULL. It is the last one on
 * the stack, unless the event came late: then durations that began later are above it.
 */
static struct duration *around(struct thread *t, uint64_t ns)
{
	size_t i;

	durations_leave(t, ns);
	for (i = t->depth; i; i--)
		if (t->stack[i - 1].begin <= ns && t->stack[i - 1].end >= ns)
			return &t->stack[i - 1];
	return NULL;
}

/* Handles an async or flow event: the thread works on the operation with the event's id. */
static int mark(struct analysis *a, struct thread *t, const struct item *it)
{
	struct operation *op = operations_by_id(a, it->id, it->pid);
	struct duration *d = around(t, it->ns);
	int err = 0;

	if (op && a->sink.turn)
		threads_worked(t, &op->out);
	if (it->kind >= ITEM_EVENT + ASYNCTRACE_FXT_FLOW_BEGIN && !d)
		err = orphan_event(a, ANALYSIS_FLOW_ALONE, it);
	if (it->kind == ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_INSTANT && !op)
		err = orphan_event(a, ANALYSIS_STEP_ALONE, it);
	if (!d)
		return err;
	for (int i = 0; i < ANALYSIS_SAME_ID_MAX && op && !err; i++) {
		err = operation_is_entered(op) ? 0 : work_on(a, t, d, op, it);
		op = operation_of(op->async.same_id);
	}
	operations_crowded(a, op);
	return err;
}

int durations_item(struct analysis *a, const struct item *it)
{
	struct thread *t = thread_of(a, it->tid);
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (it->pid && identity_event(t, it->ns, it->pid))
		err = thread_exits(a, t, it->ns ? it->ns - 1 : 0);
	if (err)
		return err;
	if (it->apart)
		return it->kind == ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_BEGIN ?
		       operations_begin(a, it) :
		       it->kind == ITEM_EVENT + ASYNCTRACE_FXT_ASYNC_END ?
		       operations_end(a, it) : 0;
	err = scheduling_seen(a, t, it->ns);
	if (!err)
		err = leave_doubtful(a, t, it->ns);
	if (err)
		return err;
	switch (it->kind - ITEM_EVENT) {
	case ASYNCTRACE_FXT_DURATION_BEGIN:
		return enter(a, t, it, STILL_OPEN);
	case ASYNCTRACE_FXT_DURATION:
		return it->id < it->ns ? 0 : enter(a, t, it, it->id);
	case ASYNCTRACE_FXT_DURATION_END:
		return end(a, t, it);
	case ASYNCTRACE_FXT_ASYNC_BEGIN:
		err = operations_begin(a, it);
		return err ? err : mark(a, t, it);
	case ASYNCTRACE_FXT_ASYNC_END:
		err = mark(a, t, it);
		return err ? err : operations_end(a, it);
	default:
		return mark(a, t, it);
	}
}
