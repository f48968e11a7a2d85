// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An operation is an async begin and an async end with the same category, name and id. (The
 * recorder makes async ids unique to a process.) Or it is a pair of other events, of which
 * pair.c makes such items.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

/* Operations that wait for the state of a thread that has no scheduling record yet */
#define WAITING_MAX	65536

void operation_put(struct operation *op)
{
	if (!--op->refs)
		free(op);
}

static uint64_t key_of(const struct item *it)
{
	return fxt_hash(fxt_hash(it->id, it->category), it->paired ? 0 : it->name);
}

struct operation *operations_by_id(struct analysis *a, uint64_t id)
{
	struct fxt_entry *e = fxt_find(&a->by_id, fxt_hash(id, 0));

	return e ? (struct operation *)(uintptr_t)e->a : NULL;
}

struct analysis_id id_of_item(const struct analysis *a, const struct item *it)
{
	struct fxt_entry *provider = fxt_find(&a->providers, (uint64_t)it->provider + 1);

	return (struct analysis_id){
		.category = text_of(a, it->paired ? it->name : it->category),
		.name = it->paired ? a->opts.pair->name : text_of(a, it->name), .id = it->id, .pid = it->pid,
		.key = it->paired && it->category != NO_NAME ? text_of(a, it->category) : NULL,
		.provider = provider && provider->a ? text_of(a, provider->a - 1) : "",
	};
}

/* @op, the newest of its key, is no longer open. */
static void close_operation(struct analysis *a, struct operation *op)
{
	struct fxt_entry *key = fxt_find(&a->by_key, op->key);
	struct fxt_entry *id;

	key->a = (uintptr_t)op->same_key;
	if (!key->a)
		fxt_remove(&a->by_key, key);
	if (op->same_id)
		op->same_id->same_id_newer = op->same_id_newer;
	if (op->same_id_newer) {
		op->same_id_newer->same_id = op->same_id;
		return;
	}
	id = fxt_find(&a->by_id, fxt_hash(op->out.id, 0));
	id->a = (uintptr_t)op->same_id;
	if (!id->a)
		fxt_remove(&a->by_id, id);
}

/*
 * A pair's begin takes the place of one with the same key, whose end is missing: else a key that
 * is used again and again would keep all of them open. True: there was one
 */
static bool replace_pair(struct analysis *a, const struct item *it)
{
	struct fxt_entry *key = it->paired ? fxt_find(&a->by_key, key_of(it)) : NULL;

	if (key)
		close_operation(a, (struct operation *)(uintptr_t)key->a);
	return key;
}

int operations_begin(struct analysis *a, const struct item *it)
{
	const bool replaced = replace_pair(a, it);
	struct fxt_entry *key = fxt_make(&a->by_key, key_of(it));
	struct fxt_entry *id = fxt_make(&a->by_id, fxt_hash(it->id, 0));
	struct thread *t = thread_of(a, it->tid);
	struct operation *op = calloc(1, sizeof(*op));

	if (!key || !id || !t || !op) {
		free(op);
		return -ENOMEM;
	}
	*op = (struct operation){
		.out = id_of_item(a, it), .begin_thread = t,
		.begin = it->ns, .end = STILL_OPEN, .key = key->key, .refs = 1,
		.same_key = (struct operation *)(uintptr_t)key->a,
		.same_id = (struct operation *)(uintptr_t)id->a,
		.older = a->newest,
	};
	if (op->same_id)
		op->same_id->same_id_newer = op;
	key->a = (uintptr_t)op;
	id->a = (uintptr_t)op;
	if (a->newest)
		a->newest->newer = op;
	else
		a->oldest = op;
	a->newest = op;
	return op->same_key || replaced ? orphan_event(a, ANALYSIS_BEGUN_AGAIN, it) : 0;
}

int operations_end(struct analysis *a, const struct item *it)
{
	struct fxt_entry *key = fxt_find(&a->by_key, key_of(it));
	struct operation *op = key ? (struct operation *)(uintptr_t)key->a : NULL;

	/* An end that came too late to be put in order may lie before the begin. */
	if (!op || it->ns < op->begin) {
		a->totals.orphans++;
		return orphan_event(a, ANALYSIS_END_ALONE, it);
	}
	close_operation(a, op);
	op->end = it->ns;
	op->end_thread = thread_of(a, it->tid);
	op->ended = true;
	return operations_hand_out(a, op);
}

/* A thread that worked on @op and whose state at its end only a later record tells, or NULL */
static struct thread *unsettled(struct operation *op)
{
	for (; op->nr_settled < op->works.nr; op->nr_settled++) {
		struct thread *t = op->works.of[op->nr_settled]->thread;
		const struct span *last = t->spans.nr > t->spans.first ?
			&t->spans.of[t->spans.nr - 1] : NULL;

		if (!last || (last->pending && last->from < op->end) ||
		    (last->reason == ANALYSIS_LOST && last->state == ANALYSIS_UNKNOWN &&
		     t->lost_until < op->end))
			return t;
	}
	return NULL;
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

/* The row of @op goes out, and @op is forgotten. */
static int row(struct analysis *a, struct operation *op)
{
	struct analysis_operation out = {
		.id = op->out, .begin = op->begin, .end = op->end, .complete = op->ended,
	};
	int err = 0;

	if (op->older)
		op->older->newer = op->newer;
	else
		a->oldest = op->newer;
	if (op->newer)
		op->newer->older = op->older;
	else
		a->newest = op->older;
	if (op->ended)
		a->totals.complete++;
	else
		a->totals.incomplete++;
	if (a->sink.operation) {
		a->intervals.nr = 0;
		a->path.nr = 0;
		err = account(a, op, &out, &a->intervals);
		if (!err && op->ended && !a->opts.totals_only)
			err = critical_path(a, op, &a->path);
		out.intervals = a->intervals.of;
		out.nr_intervals = a->opts.totals_only ? 0 : a->intervals.nr;
		out.path = a->path.of;
		out.nr_path = a->path.nr;
		if (!err)
			err = a->sink.operation(a->sink.arg, &out);
	}
	if (!err && !op->ended)
		err = orphan_operation(a, op);
	works_free(&op->works);
	operation_put(op);
	return err;
}

int operations_hand_out(struct analysis *a, struct operation *op)
{
	struct thread *t = a->over ? NULL : unsettled(op);

	if (t && a->nr_waiting < WAITING_MAX) {
		op->next_waiting = t->waiting;
		t->waiting = op;
		a->nr_waiting++;
		return 0;
	}
	return row(a, op);
}

/* Of those that wait for @t, the ones that ended before @ns */
static int overdue(struct analysis *a, struct thread *t, uint64_t ns)
{
	struct operation **at = &t->waiting, *op;
	int err = 0;

	while ((op = *at) && !err) {
		if (op->end >= ns) {
			at = &op->next_waiting;
			continue;
		}
		*at = op->next_waiting;
		op->next_waiting = NULL;
		a->nr_waiting--;
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

/* The row of @op, which is open, as if it ended at @ns */
static int peek(struct analysis *a, struct operation *op, uint64_t ns,
		int (*row)(void *arg, const struct analysis_operation *op), void *arg)
{
	const bool totals_only = a->opts.totals_only;
	struct analysis_operation out = { .id = op->out, .begin = op->begin, .end = ns };
	int err;

	a->intervals.nr = 0;
	a->opts.totals_only = false;
	op->end = ns;
	err = account(a, op, &out, &a->intervals);
	op->end = STILL_OPEN;
	a->opts.totals_only = totals_only;
	out.intervals = a->intervals.of;
	out.nr_intervals = a->intervals.nr;
	return err ? err : row(arg, &out);
}

int analysis_peek(struct analysis *a, const struct analysis_operation *which, uint64_t ns,
		  int (*row)(void *arg, const struct analysis_operation *op), void *arg)
{
	struct operation *op = which ? operations_by_id(a, which->id.id) : a->oldest;
	int err = 0;

	for (; op && !err; op = which ? op->same_id : op->newer)
		if (!op->ended && op->begin <= ns && (!which || op->begin == which->begin))
			err = peek(a, op, ns, row, arg);
	return err;
}

int operations_finish(struct analysis *a)
{
	int err = 0;

	while (a->oldest && !err) {
		struct operation *op = a->oldest;

		if (!op->ended)
			op->end = a->totals.end > op->begin ? a->totals.end : op->begin;
		err = row(a, op);
	}
	return err;
}
