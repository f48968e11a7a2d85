// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports of what the time of operations was spent on: blame and its variants for single
 * states, critical
 */
#include <inttypes.h>

#include "blame.h"
#include "pprof.h"
#include "samples.h"
#include "tool.h"
#include "what.h"

#define ALL_STATES	((1u << ANALYSIS_STATES) - 1)

static const struct sheet_column columns[] = {
	COLUMN("ns", "MS", SHEET_NS),
	COLUMN("share", "%", SHEET_SHARE),
	COLUMN("count", "TIMES", SHEET_COUNT),
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("state", "STATE", SHEET_TEXT),
	COLUMN("reason", "REASON", SHEET_TEXT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("duration", "IN", SHEET_TEXT),
	COLUMN("other", "OTHER PARTY", SHEET_TEXT),
};

static int add(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return op->complete ? blame_add(r->data, op, op->intervals, op->nr_intervals,
					r->what->states) : 0;
}

static int add_path(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return blame_add(r->data, op, op->path, op->nr_path, r->what->states);
}

static void fill(struct report *r)
{
	struct blame *blame = r->data;

	blame_sort(blame);
	for (size_t i = 0; i < blame->nr; i++) {
		const struct blame_row *b = &blame->of[i];

		sheet_row(&r->sheet);
		sheet_sum(&r->sheet, b->ns);
		sheet_share(&r->sheet, b->ns, blame->ns);
		sheet_number(&r->sheet, b->count);
		sheet_text(&r->sheet, b->type);
		sheet_text(&r->sheet, analysis_state_name(b->state));
		sheet_text(&r->sheet, b->reason);
		sheet_text(&r->sheet, b->thread);
		sheet_text(&r->sheet, b->duration);
		sheet_text(&r->sheet, b->other);
	}
}

/* Prints a frame of a folded stack. ";" separates frames, so it is replaced. */
static void print_frame(const char *text)
{
	const char *clean = tool_text(text);

	for (; *clean; clean++)
		putchar(*clean == ';' ? ',' : *clean);
}

static void print_folded(const struct blame *blame)
{
	const char *frames[BLAME_FRAMES];

	for (size_t i = 0; i < blame->nr; i++) {
		size_t nr = blame_frames(&blame->of[i], frames);

		for (size_t k = 0; k < nr; k++) {
			if (k)
				putchar(';');
			print_frame(frames[k]);
		}
		printf(" %" PRIu64 "\n", sum_limited(blame->of[i].ns));
	}
}

static bool print_stacks(const struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);

	if (r->pprof)
		return pprof_write(stdout, r->data, t->begin > t->end ? 0 : t->end - t->begin);
	print_folded(r->data);
	return true;
}

static void free_data(void *data)
{
	blame_free(data);
}

#define CAUSES(n, s, f) { \
	.name = (n), .states = (s), .rows.operation = (f), .data_size = sizeof(struct blame), \
	.fill = fill, .stacks = print_stacks, .free = free_data, .timed = true, .scheduled = true, \
	.many = true, .grouped = true, COLUMNS(columns) \
}

const struct what whats_causes[] = {
	CAUSES("blame", ALL_STATES, add),
	CAUSES("running", 1u << ANALYSIS_RUNNING, add),
	CAUSES("runnable", 1u << ANALYSIS_RUNNABLE, add),
	CAUSES("blocked", 1u << ANALYSIS_BLOCKED, add),
	CAUSES("queued", 1u << ANALYSIS_QUEUED, add),
	CAUSES("unknown", 1u << ANALYSIS_UNKNOWN, add),
	CAUSES("critical", ALL_STATES, add_path),
	{ }
};
