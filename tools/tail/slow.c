// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps the records that the answers about slow operations depend on. */
#include <errno.h>

#include "priv.h"
#include "report/choose.h"

static bool is_slow(const struct tail *t, const struct analysis_operation *op)
{
	for (size_t i = 0; i < t->opts.nr_bounds; i++)
		if (op->end - op->begin > t->opts.bounds[i].ns &&
		    choose_type(t->opts.bounds[i].type, &op->id))
			return true;
	return false;
}

/* Keeps all records of @c from @from to @to. */
static int cover(struct tail *t, struct tail_covers *c, uint64_t from, uint64_t to,
		 const uint64_t *mark, size_t words)
{
	int err = covers_add(c, from, to, mark, words);

	if (from < t->due)
		t->due = from;
	return err;
}

static int cover_thread(struct tail *t, const struct analysis_thread_state *s, uint64_t from,
			uint64_t to)
{
	struct tail_thread *thread = thread_make(t, s->tid);
	size_t words;
	int err;

	if (!thread)
		return -ENOMEM;
	t->lacks |= thread->lacks;
	words = marks_thread(t->scratch, from, s);
	words += marks_work(t->scratch + words, from, s);
	err = cover(t, &thread->covers, from, to, t->scratch, words);
	for (struct tail_held *h = thread->held; h && !err; h = h->next)
		if (h->entry.ns <= to && (h->entry.ongoing || h->entry.end >= from))
			err = held_want(t, h, false);
	return err;
}

static int cover_cpu(struct tail *t, const struct analysis_cpu_state *s)
{
	struct tail_cpu *c = cpu_make(t, s->cpu);

	if (!c)
		return -ENOMEM;
	return cover(t, &c->covers, s->from, s->to, t->scratch, marks_cpu(t->scratch, s->from, s));
}

/* Keeps begin and end of another operation. */
static int keep_operation(struct tail *t, const struct analysis_other_operation *o)
{
	struct tail_held *h = held_find(t, o->begin_record);
	int err = 0;

	if (window_has(&t->window, o->begin_record)) {
		window_entry(&t->window, o->begin_record)->flags |= ENTRY_KEEP;
		t->lacks |= window_entry(&t->window, o->begin_record)->flags & ENTRY_LARGE;
	} else if (h) {
		err = held_want(t, h, true);
	} else {
		t->lacks = true;
	}
	if (window_has(&t->window, o->end_record))
		window_entry(&t->window, o->end_record)->flags |= ENTRY_KEEP;
	return err;
}

/* Keeps the events of tracepoints that belong to the operation. */
static int note_slow(struct tail *t, const struct analysis_operation *op)
{
	struct fxt_entry *e = fxt_make(&t->slow, fxt_hash(op->id.id, 0));

	if (!e)
		return -ENOMEM;
	if (e->a < op->end)
		e->a = op->end;
	return 0;
}

static int keep(struct tail *t, const struct analysis_operation *op, uint64_t from)
{
	struct analysis_needs needs;
	int err = analysis_needs(t->analysis, op, from, &needs);

	for (size_t i = 0; i < needs.nr_threads && !err; i++)
		err = cover_thread(t, &needs.threads[i], from, needs.until);
	for (size_t i = 0; i < needs.nr_cpus && !err; i++)
		err = cover_cpu(t, &needs.cpus[i]);
	for (size_t i = 0; i < needs.nr_operations && !err; i++)
		err = keep_operation(t, &needs.operations[i]);
	held_write_wanted(t);
	if (!err)
		err = note_slow(t, op);
	if (!err)
		err = cover(t, &t->all, needs.losses_from, needs.until, NULL, 0);
	return err ? err : emit_held_losses(t, needs.losses_from, needs.until);
}

int slow_operation(void *arg, const struct analysis_operation *op)
{
	struct tail *t = arg;
	uint64_t from;
	int err;

	if (!is_slow(t, op))
		return 0;
	if (!window_has(&t->window, op->begin_record) || op->begin <= t->passed) {
		t->counts.left_out++;
		return 0;
	}
	if (window_entry(&t->window, op->begin_record)->flags & ENTRY_LARGE) {
		t->counts.left_out++;
		t->counts.long_names++;
		return 0;
	}
	from = op->begin > t->opts.before ? op->begin - t->opts.before : 1;
	if (from <= t->passed)
		from = t->passed + 1;
	t->counts.operations++;
	t->counts.incomplete += !op->complete;
	window_entry(&t->window, op->begin_record)->flags |= ENTRY_KEEP | ENTRY_SLOW;
	if (op->complete && window_has(&t->window, op->end_record))
		window_entry(&t->window, op->end_record)->flags |= ENTRY_KEEP;
	t->lacks = op->hasty;
	err = keep(t, op, from);
	t->counts.hasty += t->lacks;
	return err;
}

int slow_left_out(void *arg, const struct analysis_operation *op)
{
	struct tail *t = arg;

	t->counts.left_out += is_slow(t, op);
	return 0;
}
