// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of incomplete data: unfinished, orphans, losses */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fxt/table.h"
#include "id.h"
#include "what.h"

/* --- unfinished ------------------------------------------------------------------- */

static const struct sheet_column unfinished_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("id", "ID", SHEET_TEXT),
	COLUMN("pid", "PID", SHEET_ID),
	COLUMN("age_ns", "AGE ms", SHEET_NS),
	COLUMN("running_ns", "RUNNING", SHEET_NS),
	COLUMN("runnable_ns", "WAITING", SHEET_NS),
	COLUMN("blocked_ns", "BLOCKED", SHEET_NS),
	COLUMN("queued_ns", "QUEUED", SHEET_NS),
	COLUMN("unknown_ns", "?", SHEET_NS),
	COLUMN("thread", "LAST THREAD", SHEET_TEXT),
};

static const struct analysis_thread *last_thread(const struct analysis_operation *op)
{
	for (size_t i = op->nr_intervals; i; i--)
		if (op->intervals[i - 1].thread && op->intervals[i - 1].state != ANALYSIS_QUEUED)
			return op->intervals[i - 1].thread;
	return NULL;
}

static int add_unfinished(void *arg, const struct analysis_operation *op)
{
	const struct analysis_thread *last = last_thread(op);
	struct report *r = arg;
	char number[ID_TEXT];

	if (op->complete)
		return 0;
	sheet_row(&r->sheet);
	sheet_type(&r->sheet, op->id.category, op->id.name);
	sheet_text(&r->sheet, id_text(&op->id, number));
	sheet_number(&r->sheet, op->id.pid);
	sheet_number(&r->sheet, op->end - op->begin);
	sheet_number(&r->sheet, op->ns[ANALYSIS_RUNNING]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_RUNNABLE]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_BLOCKED]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_QUEUED]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_UNKNOWN]);
	if (last)
		sheet_textf(&r->sheet, "%s/%" PRIu32, last->name, last->tid);
	else
		sheet_text(&r->sheet, "");
	return r->sheet.failed ? -ENOMEM : 0;
}

/* --- orphans ------------------------------------------------------------------------ */

static const struct sheet_column orphans_columns[] = {
	COLUMN("at_ns", "AT ms", SHEET_NS),
	COLUMN_OPTIONAL("ns", "NS", SHEET_ID),
	COLUMN("what", "WHAT", SHEET_TEXT),
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("id", "ID", SHEET_TEXT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
};

struct orphans {
	struct analysis_orphan *of;
	size_t nr, room;
};

static int add_orphan(void *arg, const struct analysis_orphan *orphan)
{
	struct report *r = arg;
	struct orphans *o = r->data;

	if (!more_room(&o->of, o->nr, &o->room, sizeof(*o->of)))
		return -ENOMEM;
	o->of[o->nr++] = *orphan;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct analysis_orphan *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? 1 : -1;
	if (x->thread->tid != y->thread->tid)
		return x->thread->tid > y->thread->tid ? 1 : -1;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	return (x->id.id > y->id.id) - (x->id.id < y->id.id);
}

static void fill_orphans(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	struct orphans *o = r->data;
	struct sheet *s = &r->sheet;
	char number[ID_TEXT];

	if (o->nr)
		qsort(o->of, o->nr, sizeof(*o->of), by_time);
	for (size_t i = 0; i < o->nr; i++) {
		const struct analysis_orphan *of = &o->of[i];

		sheet_row(s);
		sheet_number(s, of->ns - t->begin);
		sheet_number(s, of->ns);
		sheet_text(s, analysis_orphan_name(of->kind));
		sheet_type(s, of->id.category, of->id.name);
		sheet_text(s, of->has_id ? id_text(&of->id, number) : "");
		sheet_text(s, of->thread->name);
		sheet_number(s, of->thread->tid);
	}
}

static void free_orphans(void *data)
{
	free(((struct orphans *)data)->of);
}

/* --- losses ------------------------------------------------------------------------- */

static const struct sheet_column losses_columns[] = {
	COLUMN("from_ns", "FROM ms", SHEET_NS),
	COLUMN("to_ns", "TO ms", SHEET_NS),
	COLUMN("provider", "PROVIDER", SHEET_TEXT),
	COLUMN("ring", "RING", SHEET_TEXT),
	COLUMN("dropped", "DROPPED", SHEET_COUNT),
	COLUMN("overwritten", "OVERWRITTEN", SHEET_COUNT),
	COLUMN("malformed", "MALFORMED", SHEET_COUNT),
};

static int add_loss(void *arg, const struct analysis_loss *loss)
{
	struct report *r = arg;

	sheet_row(&r->sheet);
	sheet_number(&r->sheet, loss->from);
	sheet_number(&r->sheet, loss->to);
	sheet_text(&r->sheet, loss->provider);
	sheet_text(&r->sheet, loss->ring);
	sheet_number(&r->sheet, loss->dropped);
	sheet_number(&r->sheet, loss->overwritten);
	sheet_number(&r->sheet, loss->malformed);
	return r->sheet.failed ? -ENOMEM : 0;
}

const struct what whats_trace[] = {
	{ .name = "unfinished", .rows.operation = add_unfinished, .totals_only = true,
	  .timed = true, .scheduled = true, COLUMNS(unfinished_columns) },
	{ .name = "orphans", .rows.orphan = add_orphan, .timed = true, .many = true,
	  .data_size = sizeof(struct orphans), .fill = fill_orphans, .free = free_orphans,
	  COLUMNS(orphans_columns) },
	{ .name = "losses", .rows.loss = add_loss, COLUMNS(losses_columns) },
	{ }
};
