// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of what is in the trace, and what is missing: unfinished, losses, summary */
#include <errno.h>
#include <inttypes.h>

#include "id.h"
#include "what.h"

/* --- unfinished ------------------------------------------------------------------- */

static const struct sheet_column unfinished_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("id", "ID", SHEET_TEXT),
	COLUMN("pid", "PID", SHEET_ID),
	COLUMN("age_ns", "AGE ms", SHEET_NS),
	COLUMN("running_ns", "RUNNING ms", SHEET_NS),
	COLUMN("blocked_ns", "BLOCKED ms", SHEET_NS),
	COLUMN("queued_ns", "QUEUED ms", SHEET_NS),
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
	sheet_textf(&r->sheet, "%s/%s", op->id.category, op->id.name);
	sheet_text(&r->sheet, id_text(&op->id, number));
	sheet_number(&r->sheet, op->id.pid);
	sheet_number(&r->sheet, op->end - op->begin);
	sheet_number(&r->sheet, op->ns[ANALYSIS_RUNNING]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_BLOCKED]);
	sheet_number(&r->sheet, op->ns[ANALYSIS_QUEUED]);
	if (last)
		sheet_textf(&r->sheet, "%s/%" PRIu32, last->name, last->tid);
	else
		sheet_text(&r->sheet, "");
	return r->sheet.failed ? -ENOMEM : 0;
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

/* --- summary ------------------------------------------------------------------------ */

static const struct sheet_column summary_columns[] = {
	COLUMN("begin_ns", "BEGIN ms", SHEET_NS),
	COLUMN("duration_ns", "DURATION ms", SHEET_NS),
	COLUMN("records", "RECORDS", SHEET_COUNT),
	COLUMN("complete", "OPERATIONS", SHEET_COUNT),
	COLUMN("incomplete", "OPEN", SHEET_COUNT),
	COLUMN("orphans", "ORPHANS", SHEET_COUNT),
	COLUMN("switches", "SWITCHES", SHEET_COUNT),
	COLUMN("wakeups", "WAKEUPS", SHEET_COUNT),
	COLUMN("losses", "LOSSES", SHEET_COUNT),
};

static void fill_summary(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	const bool empty = t->begin > t->end;

	sheet_row(&r->sheet);
	sheet_number(&r->sheet, empty ? 0 : t->begin);
	sheet_number(&r->sheet, empty ? 0 : t->end - t->begin);
	sheet_number(&r->sheet, t->records);
	sheet_number(&r->sheet, t->complete);
	sheet_number(&r->sheet, t->incomplete);
	sheet_number(&r->sheet, t->orphans);
	sheet_number(&r->sheet, t->switches);
	sheet_number(&r->sheet, t->wakeups);
	sheet_number(&r->sheet, t->losses);
}

const struct what whats_trace[] = {
	{ .name = "unfinished", .rows.operation = add_unfinished, .timed = true,
	  COLUMNS(unfinished_columns) },
	{ .name = "losses", .rows.loss = add_loss, COLUMNS(losses_columns) },
	{ .name = "summary", .fill = fill_summary, COLUMNS(summary_columns) },
	{ }
};
