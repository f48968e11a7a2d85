// SPDX-License-Identifier: GPL-2.0-or-later
/* The reports lints and summary, which counts findings */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "id.h"
#include "lints.h"
#include "terminal.h"
#include "tool.h"
#include "what.h"

#define WIDTH_MIN	80	/* at which the sentences are whole */

static const struct sheet_column columns[] = {
	COLUMN("lint", "LINT", SHEET_TEXT),
	COLUMN("subject", "SUBJECT", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN("count", "COUNT", SHEET_COUNT),
	COLUMN("share", "%", SHEET_SHARE),
	COLUMN("ns", "MS", SHEET_NS),
	COLUMN("meaning", "MEANING", SHEET_TEXT),
	COLUMN("example_type", "TYPE", SHEET_TEXT),
	COLUMN("example_id", "ID", SHEET_TEXT),
	COLUMN("example_thread", "THREAD", SHEET_TEXT),
	COLUMN("example_tid", "TID", SHEET_ID),
	COLUMN("example_at_ns", "AT ms", SHEET_NS),
};

struct data {
	struct lints lints;
	uint64_t orphans;	/* number of rows, of all kinds; only for the summary */
};

static struct lints *lints_of(const struct report *r)
{
	return &((struct data *)r->data)->lints;
}

/* --- rows of the analysis ----------------------------------------------------------- */

/* Skips lints of threads if options choose operations: they belong to no operation. */
static int add_wakeup(void *arg, const struct analysis_wakeup *wakeup)
{
	struct report *r = arg;

	return source_filters_operations(&r->source) ? 0 : lints_wakeup(lints_of(r), wakeup);
}

/*
 * Filters turns by time here and not in the source, because lints_turn_over(), which judges herds,
 * needs all turns.
 */
static int add_turn(void *arg, const struct analysis_turn *turn)
{
	struct report *r = arg;
	int err = 0;

	if (source_filters_operations(&r->source))
		return 0;
	if (source_in_time(&r->source, turn->from))
		err = lints_turn(lints_of(r), turn);
	if (!err)
		err = lints_turn_over(lints_of(r), turn);
	if (!err && turn->woken && source_in_time(&r->source, turn->to))
		err = lints_woken(lints_of(r), turn);
	return err;
}

static int add_begin(void *arg, const struct analysis_begin *begin)
{
	struct report *r = arg;

	return lints_begin(lints_of(r), begin);
}

static int add_operation(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return lints_operation(lints_of(r), op);
}

static int count_orphan(void *arg, const struct analysis_orphan *orphan)
{
	struct data *d = ((struct report *)arg)->data;

	(void)orphan;
	d->orphans++;
	return 0;
}

static void free_data(void *data)
{
	lints_free(&((struct data *)data)->lints);
}

/* Returns false if there is no memory, and notes that in the sheet. */
static bool find(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	struct lints *l = lints_of(r);

	lints_find(l, t->begin > t->end ? 0 : t->end - t->begin);
	r->sheet.failed |= l->failed;
	return !l->failed;
}

/* --- lints ---------------------------------------------------------------------------- */

static void add_subject(struct sheet *s, const struct finding *f)
{
	if (f->thread)
		sheet_text(s, f->thread->name);
	else if (f->lint == LINT_THUNDERING_HERD)
		sheet_text(s, "interrupts");
	else if (f->lint == LINT_MANY_TYPES)
		sheet_text(s, f->type.provider);
	else
		sheet_type(s, f->type.category, f->type.name);
	sheet_number(s, f->thread ? f->thread->tid : 0);
}

static void add_example(struct sheet *s, const struct lint_example *e, uint64_t begin)
{
	char number[ID_TEXT];

	if (e->has_id)
		sheet_type(s, e->id.category, e->id.name);
	else
		sheet_text(s, "");
	sheet_text(s, e->has_id ? id_text(&e->id, number) : "");
	sheet_text(s, e->thread ? e->thread->name : "");
	sheet_number(s, e->thread ? e->thread->tid : 0);
	sheet_number(s, e->ns > begin ? e->ns - begin : 0);
}

static void fill_lints(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	const struct lints *l = lints_of(r);
	struct sheet *s = &r->sheet;

	if (!find(r))
		return;
	for (size_t i = 0; i < l->nr; i++) {
		const struct finding *f = &l->of[i];

		sheet_row(s);
		sheet_text(s, lint_name(f->lint));
		add_subject(s, f);
		sheet_number(s, f->count);
		sheet_share(s, f->part, f->all);
		sheet_number(s, f->ns);
		sheet_text(s, lint_meaning(f->lint));
		add_example(s, &f->example, t->begin);
	}
}

/* --- for people ----------------------------------------------------------------------- */

static bool __attribute__((format(printf, 1, 2))) print_line(const char *fmt, ...)
{
	va_list list;
	const size_t width = terminal_width(stdout);
	char *text;
	int len;

	va_start(list, fmt);
	len = vasprintf(&text, fmt, list);
	va_end(list);
	if (len < 0)
		return false;
	terminal_print_cut(stdout, text, width > WIDTH_MIN ? width : WIDTH_MIN);
	putchar('\n');
	free(text);
	return true;
}

static bool print_subject(const struct finding *f)
{
	const char *name = lint_name(f->lint);

	if (f->thread)
		return print_line("%s: %s/%" PRIu32, name, tool_text(f->thread->name), f->thread->tid);
	if (f->lint == LINT_THUNDERING_HERD)
		return print_line("%s: interrupts", name);
	if (f->lint == LINT_MANY_TYPES)
		return print_line("%s: provider %s", name, tool_text(f->type.provider));
	return print_line("%s: %s%s%s", name, tool_text(f->type.category),
			  f->type.category[0] ? "/" : "", tool_text(f->type.name));
}

static bool print_numbers(const struct finding *f)
{
	static const struct {
		const char *count, *share, *time;
	} words[LINTS] = {
		[LINT_SELF_WAKE] = { "wakeups by itself", "of its wakeups", NULL },
		[LINT_NEVER_YIELDS] = { "long turns", "of the trace", "the longest" },
		[LINT_LOST_WAKE] = { "operations", "of the open ones", "the longest" },
		[LINT_THUNDERING_HERD] = { "herds", "of their wakeups without work", "run for that" },
		[LINT_MANY_TYPES] = { "types", "of the number of operations", NULL },
		[LINT_CREATION_BURST] = { "bursts", "of the operations", NULL },
	};
	const double share = f->all ? 100.0 * f->part / f->all : 0;

	if (!words[f->lint].time)
		return print_line("  %s: %s, %.1f %% %s", words[f->lint].count, tool_count(f->count),
				  share, words[f->lint].share);
	return print_line("  %s: %s, %.1f %% %s, %.3f ms %s", words[f->lint].count,
			  tool_count(f->count), share, words[f->lint].share, f->ns / 1e6,
			  words[f->lint].time);
}

static bool print_example(const struct lint_example *e, uint64_t begin)
{
	const double ms = (e->ns > begin ? e->ns - begin : 0) / 1e6;
	char number[ID_TEXT], *thread = NULL;
	bool enough;

	if (e->thread && asprintf(&thread, ", %s/%" PRIu32, tool_text(e->thread->name),
				  e->thread->tid) < 0)
		return false;
	enough = print_line("  Example: at %.3f ms%s%s%s%s%s", ms, thread ? thread : "",
			    e->has_id ? ", " : "", e->has_id ? tool_text(e->id.name) : "",
			    e->has_id ? " " : "",
			    e->has_id ? tool_text(id_text(&e->id, number)) : "");
	free(thread);
	return enough;
}

static bool print_lints(const struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	const struct lints *l = lints_of(r);
	const size_t nr = r->sheet.limit && l->nr > r->sheet.limit ? r->sheet.limit : l->nr;

	if (!l->nr)
		puts("no lints");
	for (size_t i = 0; i < nr; i++) {
		const struct finding *f = &l->of[i];

		if (i)
			putchar('\n');
		if (!print_subject(f) || !print_numbers(f) ||
		    !print_line("  %s", lint_meaning(f->lint)) || !print_example(&f->example, t->begin))
			return false;
	}
	if (nr < l->nr)
		printf("\nand %zu more; --all shows them\n", l->nr - nr);
	return true;
}

/* --- summary ------------------------------------------------------------------------ */

static const struct sheet_column summary_columns[] = {
	COLUMN("begin_ns", "BEGIN ms", SHEET_NS),
	COLUMN("duration_ns", "DURATION ms", SHEET_NS),
	COLUMN("records", "RECORDS", SHEET_COUNT),
	COLUMN("complete", "OPERATIONS", SHEET_COUNT),
	COLUMN("incomplete", "OPEN", SHEET_COUNT),
	COLUMN("orphans", "ORPHANS", SHEET_COUNT),
	COLUMN_OPTIONAL("switches", "SWITCHES", SHEET_COUNT),
	COLUMN_OPTIONAL("wakeups", "WAKEUPS", SHEET_COUNT),
	COLUMN("losses", "LOSSES", SHEET_COUNT),
	COLUMN_OPTIONAL("throttled", "THROTTLED", SHEET_COUNT),
	COLUMN("lints", "LINTS", SHEET_COUNT),
};

static void fill_summary(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	const bool empty = t->begin > t->end;
	const struct data *d = r->data;

	if (!find(r))
		return;
	sheet_row(&r->sheet);
	sheet_number(&r->sheet, empty ? 0 : t->begin);
	sheet_number(&r->sheet, empty ? 0 : t->end - t->begin);
	sheet_number(&r->sheet, t->records);
	sheet_number(&r->sheet, t->complete);
	sheet_number(&r->sheet, t->incomplete);
	sheet_number(&r->sheet, d->orphans);
	sheet_number(&r->sheet, t->switches);
	sheet_number(&r->sheet, t->wakeups);
	sheet_number(&r->sheet, t->losses + t->filled);
	sheet_number(&r->sheet, t->throttled);
	sheet_number(&r->sheet, d->lints.nr);
}

#define LINTS_OF(n, f, c, o) \
	.name = (n), .totals_only = true, .data_size = sizeof(struct data), .fill = (f), \
	.free = free_data, COLUMNS(c), \
	.rows = { \
		.operation = add_operation, .wakeup = add_wakeup, .turn = add_turn, \
		.begin = add_begin, .orphan = (o), \
	}

const struct what whats_lints[] = {
	{ LINTS_OF("lints", fill_lints, columns, NULL), .print = print_lints, .timed = true,
	  .scheduled = true, .many = true },
	{ LINTS_OF("summary", fill_summary, summary_columns, count_orphan), .whole = true },
	{ }
};
