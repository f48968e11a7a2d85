// SPDX-License-Identifier: GPL-2.0-or-later
/* Report of event loops: asynctrace/loop.h writes a counter for each round. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "id.h"
#include "what.h"

static const struct sheet_column loop_columns[] = {
	COLUMN("loop", "LOOP", SHEET_TEXT),
	COLUMN("pid", "PID", SHEET_ID),
	COLUMN_OPTIONAL("id", "ID", SHEET_TEXT),
	COLUMN("rounds", "ROUNDS", SHEET_COUNT),
	COLUMN("utilization", "BUSY %", SHEET_SHARE),
	COLUMN("idle_ns", "IDLE ms", SHEET_NS),
	COLUMN("active_ns", "ACTIVE ms", SHEET_NS),
	COLUMN("p50_ns", "P50", SHEET_NS),
	COLUMN("p90_ns", "P90", SHEET_NS),
	COLUMN("p99_ns", "P99", SHEET_NS),
	COLUMN("max_ns", "MAX", SHEET_NS),
	COLUMN("open_ns", "OPEN", SHEET_NS),
};

/* An event loop. Loops of one process with equal names have different ids. */
struct loop {
	uint64_t id;
	uint64_t pid;
	char *name;
	unsigned __int128 idle_ns;
	uint64_t last;		/* end of the last round */
	struct samples delays;
};

/* A struct filled with zeros is valid and empty. */
struct loops {
	struct loop *of;
	size_t nr, room;
	struct fxt_table index;
};

static bool is_loop(const struct loop *l, const struct fxt_record *rec)
{
	return l->id == rec->id && l->pid == rec->thread.pid && fxt_text_is(&rec->name, l->name);
}

static struct loop *loop_of(struct loops *d, const struct fxt_record *rec)
{
	struct fxt_entry *e = fxt_make(&d->index, fxt_hash(rec->id, rec->thread.pid));
	struct loop *l;

	if (!e)
		return NULL;
	/*
	 * The index has only one loop of each hash. Other loops with the same hash are found by a
	 * linear search.
	 */
	if (e->a && is_loop(&d->of[e->a - 1], rec))
		return &d->of[e->a - 1];
	for (size_t i = 0; i < d->nr; i++)
		if (is_loop(&d->of[i], rec))
			return &d->of[i];
	if (!more_room(&d->of, d->nr, &d->room, sizeof(*d->of)))
		return NULL;
	l = &d->of[d->nr];
	*l = (struct loop){
		.id = rec->id, .pid = rec->thread.pid,
		.name = strndup(rec->name.s ? rec->name.s : "", rec->name.len),
	};
	if (!l->name)
		return NULL;
	e->a = ++d->nr;
	return l;
}

static int add_round(void *arg, const struct fxt_record *rec)
{
	const struct fxt_arg *idle, *active;
	struct report *r = arg;
	struct loop *l;

	if (rec->kind != FXT_EVENT || rec->damaged || rec->number != ASYNCTRACE_FXT_COUNTER ||
	    !fxt_text_is(&rec->category, "loop"))
		return 0;
	idle = fxt_arg(rec, "idle");
	active = fxt_arg(rec, "active");
	if (!idle || !active || idle->type != ASYNCTRACE_FXT_ARG_UINT64 ||
	    active->type != ASYNCTRACE_FXT_ARG_UINT64)
		return 0;
	l = loop_of(r->data, rec);
	if (!l)
		return -ENOMEM;
	l->idle_ns += idle->u;
	if (l->last < rec->ns)
		l->last = rec->ns;
	return samples_add(&l->delays, active->u);
}

/* Sorts loops by active time, the busiest first. */
static int by_active_time(const void *a, const void *b)
{
	const struct loop *x = a, *y = b;

	if (x->delays.sum != y->delays.sum)
		return x->delays.sum < y->delays.sum ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static void fill_loops(struct report *r)
{
	static const double percentiles[] = { 50, 90, 99, 100 };
	const uint64_t end = analysis_totals(r->source.analysis)->end;
	struct loops *d = r->data;
	struct sheet *s = &r->sheet;
	char number[ID_TEXT];

	if (d->nr)
		qsort(d->of, d->nr, sizeof(*d->of), by_active_time);
	for (size_t i = 0; i < d->nr; i++) {
		struct loop *l = &d->of[i];
		const struct analysis_id id = { .id = l->id };

		samples_sort(&l->delays);
		sheet_row(s);
		sheet_text(s, l->name);
		sheet_number(s, l->pid);
		sheet_text(s, id_text(&id, number));
		sheet_number(s, l->delays.nr);
		sheet_share(s, l->delays.sum, l->idle_ns + l->delays.sum);
		sheet_sum(s, l->idle_ns);
		sheet_sum(s, l->delays.sum);
		for (size_t p = 0; p < sizeof(percentiles) / sizeof(percentiles[0]); p++)
			sheet_percentile(s, &l->delays, percentiles[p]);
		sheet_number(s, end > l->last ? end - l->last : 0);
	}
}

static void free_loops(void *data)
{
	struct loops *d = data;

	for (size_t i = 0; i < d->nr; i++) {
		samples_free(&d->of[i].delays);
		free(d->of[i].name);
	}
	free(d->of);
	fxt_table_free(&d->index);
}

const struct what whats_loop[] = {
	{ .name = "loop", .record = add_round, .totals_only = true,
	  .data_size = sizeof(struct loops), .fill = fill_loops, .free = free_loops,
	  COLUMNS(loop_columns) },
	{ }
};
