// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that enters operations (asynctrace/operation.h) says at each moment what its threads
 * work on. The begin of a scope has the argument "operation". The end of a scope that entered an
 * operation has the argument "resumed". Either argument is the id of the operation that the thread
 * works on from then on. So the analysis finds it without earlier records.
 *
 * If a thread enters an operation, durations around the operation's events do not show which
 * threads work on it. For example, the operation may begin in a duration of a thread that only
 * accepts requests.
 */
#include <errno.h>
#include <stdlib.h>

#include "busy.h"
#include "engine.h"
#include "entered.h"

static int add_work(struct analysis *a, struct thread *t, struct operation *op, uint64_t ns,
		    uint64_t record, uint32_t name)
{
	struct work *w = malloc(sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	*w = (struct work){
		.op = op, .thread = t, .to = STILL_OPEN, .duration = name, .refs = 1,
		.entered = true, .from = ns, .since = ns, .record = record, .made = a->now,
	};
	if (op->entered_at == STILL_OPEN && a->sink.entered)
		a->sink.entered(a->sink.arg, op->begin_record, a->now);
	if (op->entered_at == STILL_OPEN) {
		op->entered_at = a->now;
		busy_entered(a, op);
	}
	op->refs++;
	t->refs++;
	work_lasts(a, w, STILL_OPEN);
	err = works_add(&t->entered, w);
	if (!err)
		err = works_insert(a, t, w);
	if (!err)
		err = operation_work(op, w);
	work_put(w);
	return err;
}

/* Ends the works on the operation that @t entered. @exits: @t exits at @ns */
static void leave(struct analysis *a, struct thread *t, uint64_t ns, bool exits)
{
	const uint32_t in = exits ? durations_innermost(t, ns) : NO_NAME;

	for (size_t i = 0; i < t->entered.nr; i++) {
		struct work *w = t->entered.of[i];

		w->to = ns > w->from ? ns : w->from;
		busy_cut(t, w->to);
		work_lasts(a, w, w->to);
		if (exits && w->to == ns)
			operation_exited(w, in);
	}
	works_free(&t->entered);
}

/* Saves what @t works on for analysis_needs(), before the current record changes it. */
static int note_turnover(struct analysis *a, struct thread *t)
{
	struct turnovers *all = &t->turnovers;

	/* Without a lead, analysis_needs() is not used. */
	if (!a->opts.lead)
		return 0;
	if (!more_room(&all->of, all->nr, &all->room, sizeof(*all->of)))
		return -ENOMEM;
	all->of[all->nr++] = (struct turnover){
		.told = a->now, .operation = t->operation, .newest = t->newest, .known = t->known,
	};
	return 0;
}

size_t entered_open(struct thread *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->entered.nr; i++) {
		if (t->entered.of[i]->op->end != STILL_OPEN)
			work_put(t->entered.of[i]);
		else
			t->entered.of[kept++] = t->entered.of[i];
	}
	t->entered.nr = kept;
	return kept;
}

static bool has_entered(const struct thread *t, const struct operation *op)
{
	for (size_t i = t->entered.nr; i; i--)
		if (t->entered.of[i - 1]->op == op)
			return true;
	return false;
}

/*
 * From @ns on, lets @t also work on the open operations with the id of @op that began at @newest
 * or before. @op is the newest of them.
 */
static int join(struct analysis *a, struct thread *t, struct operation *op, uint64_t ns,
		uint64_t newest, uint64_t record, uint32_t name)
{
	unsigned int nr = 1;
	int err = 0;

	/* Add the newest operation last, so that work_at() prefers it. */
	for (; op && op->async.same_id && nr < ANALYSIS_SAME_ID_MAX; nr++)
		op = operation_of(op->async.same_id);
	operations_crowded(a, op ? operation_of(op->async.same_id) : NULL);
	for (; op && nr-- && !err; op = operation_of(op->async.same_id_newer)) {
		if (op->begin > newest || has_entered(t, op))
			continue;
		t->newest = op->begin;
		err = add_work(a, t, op, ns > op->begin ? ns : op->begin, record, name);
	}
	return err;
}

/*
 * From @from on, @t works on the open operations with the id @id that began at @newest or before.
 * Its work on other operations ends at @ns.
 */
static int work_on(struct analysis *a, struct thread *t, uint64_t ns, uint64_t from, uint64_t id,
		   uint64_t newest, uint64_t record, uint32_t name)
{
	struct operation *op = id ? operations_by_id(a, id, t->out.pid) : NULL;
	int err;

	if (t->known && t->operation == id && (entered_open(t) || !op))
		return 0;
	leave(a, t, ns, false);
	err = note_turnover(a, t);
	t->known = true;
	t->operation = id;
	/* With the first change, entered operations get priority over durations. */
	if (!t->changed)
		busy_cut(t, 0);
	t->changed = from;
	t->newest = 0;
	if (op && a->sink.turn)
		threads_worked(t, &op->out);
	return err ? err : join(a, t, op, from, newest, record, name);
}

int entered_set(struct analysis *a, struct thread *t, uint64_t ns, uint64_t id, uint64_t record,
		uint32_t name)
{
	return work_on(a, t, ns, ns, id, UINT64_MAX, record, name);
}

/*
 * Handles a record that shows the current operation's id again: @t also works on the operations
 * with this id that began since the last such record. So @t works on the same operations as if this
 * record were the first with the id.
 */
static int join_newer(struct analysis *a, struct thread *t, uint64_t newest)
{
	struct operation *op = operations_by_id(a, t->operation, t->out.pid);
	int err;

	if (!op || has_entered(t, op) || op->begin > newest)
		return 0;
	err = note_turnover(a, t);
	return err ? err : join(a, t, op, a->now, newest, 0, NO_NAME);
}

/* A scheduling record shows that @t works on the operation of @w. */
static void show_work(const struct analysis *a, struct thread *t, struct work *w)
{
	/* A loss had made the operation of the work unknown. This record shows the operation. */
	if (!w->shown && a->losses.nr)
		busy_cut(t, w->from);
	w->shown = true;
}

int entered_show(struct analysis *a, struct thread *t, uint64_t ns, uint64_t from, uint64_t id,
		 uint64_t newest)
{
	int err = work_on(a, t, ns, from, id, newest, 0, NO_NAME);

	if (!err && id)
		err = join_newer(a, t, newest);
	for (size_t i = 0; i < t->entered.nr; i++)
		show_work(a, t, t->entered.of[i]);
	return err;
}

int entered_begin(struct analysis *a, struct thread *t, struct duration *d, const struct item *it)
{
	d->scope = true;
	d->category = it->category;
	d->place = it->place;
	d->operation = it->id;
	return entered_set(a, t, it->ns, it->id, d->record, d->name);
}

void entered_operation(struct analysis *a, uint64_t id, uint64_t begin)
{
	/* Only asynctrace writes these marks. */
	struct operation *op = operations_by_id(a, id, 0);

	for (int i = 0; i < ANALYSIS_SAME_ID_MAX && op; i++, op = operation_of(op->async.same_id))
		if (op->begin == begin && op->entered_at == STILL_OPEN) {
			op->entered_at = a->now;
			busy_entered(a, op);
		}
	operations_crowded(a, op);
}

/* Returns the innermost open scope, or NULL. */
static const struct duration *innermost(const struct thread *t)
{
	for (size_t i = t->depth; i; i--) {
		const struct duration *d = &t->stack[i - 1];

		if (d->end == STILL_OPEN && d->scope)
			return d;
	}
	return NULL;
}

/* --- rows of scopes ---------------------------------------------------------------------- */

/* Hands out a row for the scope at @i of the stack of @t, which lasted until @to. */
static int hand_out_region(struct analysis *a, struct thread *t, size_t i, uint64_t to,
			   bool complete)
{
	const struct duration *d = &t->stack[i];
	struct analysis_region row = {
		.thread = thread_at(t, d->begin), .operation = d->operation,
		.category = text_of(a, d->category),
		.name = text_of(a, d->name),
		.place = d->place == NO_NAME ? "" : text_of(a, d->place),
		.from = d->begin, .to = to > d->begin ? to : d->begin,
		.complete = complete, .same_from = UINT64_MAX,
	};

	row.self_ns = row.to - row.from;
	row.self_ns -= d->within < row.self_ns ? d->within : row.self_ns;
	while (i) {
		struct duration *around = &t->stack[--i];

		if (!around->scope || around->end != STILL_OPEN)
			continue;
		row.depth += around->operation == d->operation;
		if (row.same_from == UINT64_MAX && around->name == d->name &&
		    around->category == d->category && around->place == d->place)
			row.same_from = around->begin;
	}
	return a->sink.region(a->sink.arg, &row);
}

/* Adds the time of the scope at @i to the innermost open scope around it. */
static void count_within(struct thread *t, size_t i, uint64_t ns)
{
	while (i) {
		struct duration *around = &t->stack[--i];

		if (!around->scope || around->end != STILL_OPEN)
			continue;
		around->within += ns;
		return;
	}
}

static int region_ended(struct analysis *a, struct thread *t, const struct duration *d, uint64_t ns)
{
	const size_t i = d - t->stack;

	if (!a->sink.region)
		return 0;
	count_within(t, i, ns > d->begin ? ns - d->begin : 0);
	return hand_out_region(a, t, i, ns, true);
}

int entered_end_lost(struct analysis *a, struct thread *t, const struct duration *d, uint64_t ns)
{
	if (!a->sink.region || !d->scope || d->end != STILL_OPEN)
		return 0;
	count_within(t, d - t->stack, ns > d->begin ? ns - d->begin : 0);
	return hand_out_region(a, t, d - t->stack, ns, false);
}

/* Hands out the open scopes of @t, which last until @ns. */
static int regions_open(struct analysis *a, struct thread *t, uint64_t ns)
{
	int err = 0;

	/* Hand out the innermost scope first, because its time is within the others. */
	for (size_t i = t->depth; i-- && !err;)
		err = entered_end_lost(a, t, &t->stack[i], ns);
	return err;
}

int entered_finish(struct analysis *a)
{
	int err = 0;

	fxt_each(&a->threads, e) {
		err = regions_open(a, (struct thread *)(uintptr_t)e->a, a->totals.end);
		if (err)
			break;
	}
	return err;
}

/* --- ends ---------------------------------------------------------------------------------- */

/*
 * Handles the end of a scope or a region. A region (TRACE_REGION) enters no operation, so its end
 * does not name the operation that the thread works on next. The next operation is that of the
 * scope around the region. If no such scope is open, or if its end may be lost, the thread goes on
 * with its operation.
 */
int entered_end(struct analysis *a, struct thread *t, const struct duration *d,
		const struct item *it)
{
	const struct duration *scope = innermost(t);
	const uint64_t around = scope ? scope->operation : 0;
	const bool sure = scope && !durations_doubtful(a, scope);
	const uint64_t id = it->entered ? it->id : sure ? around : t->operation;
	int err;

	/*
	 * The thread does not go on with the operation of the enclosing scope. Either the program
	 * has left scopes in a wrong order, or the begin of the enclosing scope is not in the
	 * trace.
	 */
	if (id != around && a->sink.crossed)
		a->sink.crossed(a->sink.arg, t->out.tid);
	if (scope && scope->operation != id)
		scope = NULL;
	err = entered_set(a, t, it->ns, id, scope ? scope->record : 0,
			  scope ? scope->name : it->name);
	/*
	 * If the next operation is the same, the thread's works on it continue. But the record of
	 * @d is evidence of these works only until here.
	 */
	for (size_t i = 0; d && i < t->entered.nr; i++)
		if (t->entered.of[i]->record == d->record)
			work_lasts(a, t->entered.of[i], it->ns);
	return err || !d || !d->scope ? err : region_ended(a, t, d, it->ns);
}

int entered_exit(struct analysis *a, struct thread *t, uint64_t ns)
{
	int err = regions_open(a, t, ns);

	/* A later thread with this number is not within these scopes. */
	for (size_t i = 0; i < t->depth; i++)
		t->stack[i].scope = false;
	if (err || !t->known)
		return err;
	err = note_turnover(a, t);
	leave(a, t, ns, true);
	t->known = false;
	t->operation = 0;
	return err;
}

/* --- moments ----------------------------------------------------------------------------- */

static const char *name_text(struct analysis *a, const struct fxt_text *text)
{
	const uint32_t name = fxt_name(&a->names, text->s, text->len);

	return name == NO_NAME ? NULL : text_of(a, name);
}

int entered_note(struct analysis *a, const struct fxt_record *rec)
{
	const struct fxt_arg *operation = fxt_arg(rec, "operation"), *text = fxt_arg(rec, "message");
	const struct fxt_arg *cause = fxt_arg(rec, "cause");
	struct analysis_note row = {
		.kind = ANALYSIS_NOTE_INSTANT, .tid = rec->thread.tid, .ns = rec->ns, .text = "",
	};

	if (!operation || operation->type != ASYNCTRACE_FXT_ARG_UINT64)
		return 0;
	row.operation = operation->u;
	row.category = name_text(a, &rec->category);
	row.name = name_text(a, &rec->name);
	if (text && text->type == ASYNCTRACE_FXT_ARG_STRING && fxt_text_is(&rec->name, "log")) {
		row.kind = ANALYSIS_NOTE_LOG;
		row.text = name_text(a, &text->text);
	} else if (cause && cause->type == ASYNCTRACE_FXT_ARG_UINT64 &&
		   fxt_text_is(&rec->name, "follows from")) {
		row.kind = ANALYSIS_NOTE_FOLLOWS;
		row.cause = cause->u;
	}
	if (!row.category || !row.name || !row.text || !thread_of(a, row.tid))
		return -ENOMEM;
	return a->sink.note(a->sink.arg, &row);
}
