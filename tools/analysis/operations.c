// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An operation is an async begin and an async end with the same category, name and id. The
 * recorder makes async ids unique to a process. In files of other programs, the process counts,
 * too. An operation may also be a pair of other events, which pair.c turns into such items.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "busy.h"
#include "engine.h"

/*
 * Limit of operations that wait for the state of a thread. Without it, operations of a thread that
 * has no scheduling records would wait until the end of the trace.
 */
#define WAITING_MAX	65536

void operation_put(struct operation *op)
{
	if (!--op->refs)
		free(op);
}

/* Returns the id by which an operation of the process @pid is found. */
static uint64_t id_in(const struct analysis *a, uint64_t id, uint32_t pid)
{
	/* With a pair, the user named an argument that joins events, also of two processes. */
	return a->opts.pair ? id : fxt_async_id(&a->asyncs, id, pid);
}

static uint64_t key_of(const struct analysis *a, const struct item *it)
{
	return fxt_async_key(id_in(a, it->id, it->pid), it->category, it->paired ? 0 : it->name);
}

bool operation_is_entered(const struct operation *op)
{
	const struct analysis *a = op->analysis;

	/* If no thread entered @op, .entered_at is STILL_OPEN, which is later than any time. */
	return op->entered_at < op->end && (op->entered_at < a->now || a->over);
}

bool operation_is_part(const struct operation *op, const struct operation *whole)
{
	for (size_t i = 0; i < ANCESTORS_MAX && op->ancestors[i]; i++)
		if (op->ancestors[i] == whole->out.id)
			return true;
	return false;
}

struct operation *operations_by_id(struct analysis *a, uint64_t id, uint32_t pid)
{
	return operation_of(fxt_async_newest(&a->asyncs, id_in(a, id, pid)));
}

void operations_crowded(struct analysis *a, struct operation *op)
{
	/* If @op was counted before, all older ones were, too. */
	for (; op && !op->crowded; op = operation_of(op->async.same_id)) {
		op->crowded = true;
		a->totals.crowded++;
	}
}

struct analysis_id id_of_item(const struct analysis *a, const struct item *it)
{
	struct fxt_entry *provider = fxt_find(&a->providers, (uint64_t)it->provider + 1);

	return (struct analysis_id){
		.category = text_of(a, it->paired ? it->name : it->category),
		.name = it->paired ? a->opts.pair->name : text_of(a, it->name),
		.id = it->id, .pid = it->pid,
		.key = it->paired && it->category != NO_NAME ? text_of(a, it->category) : NULL,
		.provider = provider && provider->a ? text_of(a, provider->a - 1) : "",
	};
}

/* Reports the end of @op to the sink. Works in durations that are still open end here, too. */
static void tell_end(const struct analysis *a, const struct operation *op)
{
	if (a->sink.ends)
		a->sink.ends(a->sink.arg, op->begin_record, op->end_record, op->end);
	for (size_t i = 0; a->sink.lasts && i < op->works.nr; i++)
		if (op->works.of[i]->to == STILL_OPEN)
			work_lasts(a, op->works.of[i], op->end);
}

/*
 * If an open operation has the key of @it, its done event is missing: closes the operation.
 * Otherwise, a key that is used repeatedly would keep all its operations open. Returns true if an
 * operation was closed.
 */
static bool replace_pair(struct analysis *a, const struct item *it)
{
	struct operation *op = it->paired ?
		operation_of(fxt_async_ended(&a->asyncs, key_of(a, it))) : NULL;

	if (op) {
		fxt_async_end(&a->asyncs, &op->async);
		op->replaced = true;
	}
	return op;
}

/* Stores the parent of @op, which begins by @it, and the parents that this one has. */
static void set_ancestors(struct analysis *a, struct operation *op, const struct item *it)
{
	const struct operation *parent;

	if (!it->entered || a->child != it->id || !a->parent)
		return;
	op->ancestors[0] = a->parent;
	parent = operations_by_id(a, a->parent, it->pid);
	if (!parent)
		return;
	memcpy(&op->ancestors[1], parent->ancestors,
	       sizeof(op->ancestors) - sizeof(op->ancestors[0]));
	op->ancestor_records[0] = parent->begin_record;
	memcpy(&op->ancestor_records[1], parent->ancestor_records,
	       sizeof(op->ancestor_records) - sizeof(op->ancestor_records[0]));
}

int operations_begin(struct analysis *a, const struct item *it)
{
	const bool replaced = replace_pair(a, it);
	struct thread *t = thread_of(a, it->tid);
	struct operation *op = calloc(1, sizeof(*op));
	int err = 0;

	if (!t || !op) {
		free(op);
		return -ENOMEM;
	}
	*op = (struct operation){
		.async = { .key = key_of(a, it), .id = id_in(a, it->id, it->pid) },
		.out = id_of_item(a, it), .begin_thread = t,
		.begin = it->ns, .end = STILL_OPEN, .refs = 1,
		.entered_at = STILL_OPEN, .analysis = a,
		.begin_record = it->record, .wanted = it->wanted,
		.older = a->newest,
	};
	set_ancestors(a, op, it);
	if (fxt_async_begin(&a->asyncs, &op->async)) {
		free(op);
		return -ENOMEM;
	}
	t->refs++;
	if (a->newest)
		a->newest->newer = op;
	else
		a->oldest = op;
	a->newest = op;
	a->nr_operations++;
	if (a->sink.begin && (op->wanted || !a->totals.selection))
		err = a->sink.begin(a->sink.arg, &(struct analysis_begin){
			.id = op->out, .ns = op->begin, .thread = thread_at(t, it->ns),
		});
	if (err)
		return err;
	return op->async.same_key || replaced ? orphan_event(a, ANALYSIS_BEGUN_AGAIN, it) : 0;
}

int operations_end(struct analysis *a, const struct item *it)
{
	struct operation *op = operation_of(fxt_async_ended(&a->asyncs, key_of(a, it)));

	/* An end that came too late to be sorted may lie before the begin. */
	if (!op || it->ns < op->begin) {
		a->totals.orphans++;
		return orphan_event(a, ANALYSIS_END_ALONE, it);
	}
	fxt_async_end(&a->asyncs, &op->async);
	op->end = it->ns;
	busy_ended(op);
	op->end_record = it->record;
	op->end_thread = thread_of(a, it->tid);
	if (op->end_thread)
		op->end_thread->refs++;
	op->ended = true;
	tell_end(a, op);
	return operations_hand_out(a, op);
}

/*
 * Returns a thread that worked on @op and whose state at the end of @op depends on a later
 * record, or NULL.
 */
static struct thread *unsettled(struct operation *op)
{
	for (; op->nr_settled < op->works.nr; op->nr_settled++) {
		const struct work *w = op->works.of[op->nr_settled];
		struct thread *t = w->thread;
		const struct span *last = t->spans.nr > t->spans.first ?
			&t->spans.of[t->spans.nr - 1] : NULL;

		/* Threads entered @op, so work that durations suggest does not count. */
		if (!w->entered && operation_is_entered(op))
			continue;
		if (!last || (last->pending && last->from < op->end) ||
		    (last->reason == ANALYSIS_LOST && last->state == ANALYSIS_UNKNOWN &&
		     t->lost_until < op->end))
			return t;
	}
	return NULL;
}

int operation_work(struct operation *op, struct work *w)
{
	if (op->worked < w->from)
		op->worked = w->from;
	return works_add(&op->works, w);
}

void operation_exited(struct work *w, uint32_t name)
{
	struct operation *op = w->op;

	if (op->end != STILL_OPEN || (op->exited && op->exited->to > w->to))
		return;
	/* Only works of threads that entered the operation count. */
	if (!w->entered && operation_is_entered(op))
		return;
	w->refs++;
	if (op->exited)
		work_put(op->exited);
	op->exited = w;
	op->exited_in = name;
}

void operation_drop_works(struct operation *op)
{
	works_free(&op->works);
	if (op->exited)
		work_put(op->exited);
	op->exited = NULL;
}

void operation_forget(struct operation *op, uint64_t ns)
{
	struct works *w = &op->works;
	size_t kept = 0, settled = 0;

	for (size_t i = 0; i < w->nr; i++) {
		if (work_end(w->of[i]) <= ns) {
			work_put(w->of[i]);
			continue;
		}
		settled += i < op->nr_settled;
		w->of[kept++] = w->of[i];
	}
	w->nr = kept;
	op->nr_settled = settled;
}

static void wait_for(struct analysis *a, struct operation *op, struct thread *t)
{
	op->waits_for = t;
	op->next_waiting = t->waiting;
	op->previous_waiting = NULL;
	if (t->waiting)
		t->waiting->previous_waiting = op;
	t->waiting = op;
	a->nr_waiting++;
}

static void stop_waiting(struct analysis *a, struct operation *op)
{
	if (op->previous_waiting)
		op->previous_waiting->next_waiting = op->next_waiting;
	else
		op->waits_for->waiting = op->next_waiting;
	if (op->next_waiting)
		op->next_waiting->previous_waiting = op->previous_waiting;
	op->waits_for = NULL;
	a->nr_waiting--;
}

/* Returns the newest open part of @whole, or NULL. */
static const struct analysis_id *open_part(const struct analysis *a, const struct operation *whole)
{
	for (const struct operation *op = a->newest; op && op != whole; op = op->older)
		if (!op->ended && operation_is_part(op, whole))
			return &op->out;
	return NULL;
}

/* Hands out the row of @op and frees @op. */
static int row(struct analysis *a, struct operation *op)
{
	struct analysis_operation out = {
		.id = op->out, .parent = op->ancestors[0], .begin = op->begin, .end = op->end,
		.creator = thread_at(op->begin_thread, op->begin), .complete = op->ended,
		.begin_record = op->begin_record, .end_record = op->end_record,
	};
	int err = 0;

	if (op->waits_for)
		stop_waiting(a, op);

	if (op->older)
		op->older->newer = op->newer;
	else
		a->oldest = op->newer;
	if (op->newer)
		op->newer->older = op->older;
	else
		a->newest = op->older;
	if (a->totals.selection && !op->wanted)
		a->totals.context++;
	else if (op->ended)
		a->totals.complete++;
	else
		a->totals.incomplete++;
	if (op->left_out) {
		if (a->sink.left_out)
			err = a->sink.left_out(a->sink.arg, &out);
	} else if (a->sink.operation && (op->wanted || !a->totals.selection)) {
		const bool whole = !a->opts.totals_only &&
				   (!a->sink.whole || a->sink.whole(a->sink.arg, &out));

		if (a->opts.open_parts && whole && !op->ended)
			out.open_part = open_part(a, op);
		out.hasty = !a->over && unsettled(op);
		a->intervals.nr = 0;
		a->path.nr = 0;
		err = account(a, op, &out, &a->intervals, whole);
		a->totals.cut += a->scratch.floor > 0;
		if (!err && op->ended && whole)
			err = critical_path(a, op, &a->path);
		out.intervals = a->intervals.of;
		out.nr_intervals = !whole && op->ended ? 0 : a->intervals.nr;
		out.path = a->path.of;
		out.nr_path = a->path.nr;
		if (!err)
			err = a->sink.operation(a->sink.arg, &out);
	}
	if (!err && !op->ended)
		err = orphan_operation(a, op);
	op->begin_thread->refs--;
	if (op->end_thread)
		op->end_thread->refs--;
	a->nr_operations--;
	operation_drop_works(op);
	operation_put(op);
	return err;
}

int operations_hand_out(struct analysis *a, struct operation *op)
{
	struct thread *t = a->over || op->left_out ? NULL : unsettled(op);

	if (t && a->nr_waiting < WAITING_MAX) {
		wait_for(a, op, t);
		return 0;
	}
	return row(a, op);
}

/* Hands out the operations that ended before @ns and whose rows wait for the state of @t. */
static int overdue(struct analysis *a, struct thread *t, uint64_t ns)
{
	int err = 0;

	for (struct operation *op = t->waiting, *next; op && !err; op = next) {
		next = op->next_waiting;
		if (op->end < ns)
			err = row(a, op);
	}
	return err;
}

int operations_overdue(struct analysis *a, uint64_t ns)
{
	int err = 0;

	if (!a->nr_waiting)
		return 0;
	fxt_each(&a->threads, e) {
		err = overdue(a, (struct thread *)(uintptr_t)e->a, ns);
		if (err)
			break;
	}
	return err;
}

/* Hands out the row of @op, which is open, as if it ended at @ns. */
static int peek(struct analysis *a, struct operation *op, uint64_t ns, bool alone,
		int (*row)(void *arg, const struct analysis_operation *op), void *arg)
{
	struct analysis_operation out = {
		.id = op->out, .parent = op->ancestors[0], .begin = op->begin, .end = ns,
		.creator = thread_at(op->begin_thread, op->begin),
		.open_part = alone ? open_part(a, op) : NULL,
	};
	int err;

	a->intervals.nr = 0;
	op->end = ns;
	err = account(a, op, &out, &a->intervals, true);
	op->end = STILL_OPEN;
	ends_become_later(op);
	out.intervals = a->intervals.of;
	out.nr_intervals = a->intervals.nr;
	return err ? err : row(arg, &out);
}

int analysis_peek(struct analysis *a, const struct analysis_operation *which, uint64_t ns,
		  int (*row)(void *arg, const struct analysis_operation *op), void *arg)
{
	struct operation *op = which ? operations_by_id(a, which->id.id, which->id.pid) :
			       a->oldest;
	int err = 0;

	for (; op && !err; op = which ? operation_of(op->async.same_id) : op->newer)
		if (!op->ended && op->begin <= ns && (!which || op->begin == which->begin))
			err = peek(a, op, ns, which, row, arg);
	return err;
}

int operations_settled(struct analysis *a, struct thread *t)
{
	int err = 0;

	/*
	 * Operations that have to wait for @t again join the list anew, so unlink each one
	 * first.
	 */
	for (struct operation *op = t->waiting, *next; op && !err; op = next) {
		next = op->next_waiting;
		stop_waiting(a, op);
		err = operations_hand_out(a, op);
	}
	return err;
}

/* Leaves @op out: too many operations are open, and it is the oldest. */
static int give_up(struct analysis *a, struct operation *op)
{
	if (!op->replaced)
		fxt_async_end(&a->asyncs, &op->async);
	op->end = a->now > op->begin ? a->now : op->begin;
	busy_ended(op);
	op->end_record = op->begin_record;
	tell_end(a, op);
	op->left_out = true;
	return row(a, op);
}

int analysis_horizon(struct analysis *a, uint64_t ns)
{
	int err = 0;

	a->horizon = ns;
	for (struct operation *op = a->oldest, *newer; op && op->begin <= ns && !err; op = newer) {
		newer = op->newer;
		if (op->ended) {
			err = row(a, op);
			continue;
		}
		op->left_out = true;
		operation_forget(op, ns);
	}
	while (a->opts.open && a->nr_operations > a->opts.open && a->oldest->begin <= ns && !err)
		err = give_up(a, a->oldest);
	return err;
}

int operations_finish(struct analysis *a)
{
	int err = 0;

	while (a->oldest && !err) {
		struct operation *op = a->oldest;

		if (!op->ended) {
			op->end = a->totals.end > op->begin ? a->totals.end : op->begin;
			busy_ended(op);
		}
		err = row(a, op);
	}
	return err;
}
