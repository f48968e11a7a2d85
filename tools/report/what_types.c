// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of types of operations: operations, histogram, diff */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "types.h"
#include "what.h"

static const enum analysis_state states[ANALYSIS_STATES] = {
	ANALYSIS_RUNNING, ANALYSIS_RUNNABLE, ANALYSIS_BLOCKED, ANALYSIS_QUEUED, ANALYSIS_UNKNOWN,
};

/* .first has the types of the first file of diff. The members after it are used only with --log. */
struct data {
	struct types types, first;
	struct analysis_operation *waiting;	/* operations that may still get a log with the
						   text */
	size_t nr, room;
	struct fxt_table chosen;		/* ids of operations with a log or a region that
						   has the text */
};

static bool has_text(const struct report *r, const char *category, const char *text)
{
	return strstr(category, r->log_text) || strstr(text, r->log_text);
}

/* Is the text of --log in the type, as reports print it? */
static bool type_has_text(const struct report *r, const char *category, const char *name)
{
	const size_t len = strlen(category);
	const char *text = r->log_text;

	if (has_text(r, category, name))
		return true;
	for (const char *slash = len ? strchr(text, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		const size_t before = slash - text;

		if (before <= len && !memcmp(category + len - before, text, before) &&
		    !strncmp(name, slash + 1, strlen(slash + 1)))
			return true;
	}
	return false;
}

static int choose(struct data *d, uint64_t id)
{
	return !id || fxt_make(&d->chosen, id) ? 0 : -ENOMEM;
}

static int add(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;
	struct data *d = r->data;

	if (!r->log_text || type_has_text(r, op->id.category, op->id.name))
		return types_add(&d->types, op);
	if (!more_room(&d->waiting, d->nr, &d->room, sizeof(*d->waiting)))
		return -ENOMEM;
	d->waiting[d->nr++] = *op;
	return 0;
}

static int add_region(void *arg, const struct analysis_region *region)
{
	const struct report *r = arg;

	return type_has_text(r, region->category, region->name) ?
	       choose(r->data, region->operation) : 0;
}

static int add_note(void *arg, const struct analysis_note *note)
{
	const struct report *r = arg;

	return note->kind == ANALYSIS_NOTE_LOG && has_text(r, note->category, note->text) ?
	       choose(r->data, note->operation) : 0;
}

/* Adds the operations that have the text of --log. Called when all logs and regions are known. */
static void add_chosen(struct report *r)
{
	struct data *d = r->data;

	for (size_t i = 0; i < d->nr && !r->sheet.failed; i++)
		if (fxt_find(&d->chosen, d->waiting[i].id.id))
			r->sheet.failed = types_add(&d->types, &d->waiting[i]);
	types_sort(&d->types);
}

static void free_data(void *data)
{
	struct data *d = data;

	types_free(&d->types);
	types_free(&d->first);
	free(d->waiting);
	fxt_table_free(&d->chosen);
}

/* --- operations ------------------------------------------------------------------- */

static const struct sheet_column operations_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN_OPTIONAL("provider", "PROVIDER", SHEET_TEXT),
	COLUMN("count", "COUNT", SHEET_COUNT),
	COLUMN("incomplete", "OPEN", SHEET_COUNT),
	COLUMN("p50_ns", "P50 ms", SHEET_NS),
	COLUMN_OPTIONAL("p90_ns", "P90", SHEET_NS),
	COLUMN("p99_ns", "P99", SHEET_NS),
	COLUMN_OPTIONAL("p999_ns", "P99.9", SHEET_NS),
	COLUMN("max_ns", "MAX", SHEET_NS),
	COLUMN("running", "RUN %", SHEET_SHARE),
	COLUMN("runnable", "WAIT", SHEET_SHARE),
	COLUMN("blocked", "BLOCK", SHEET_SHARE),
	COLUMN("queued", "QUEUE", SHEET_SHARE),
	COLUMN("unknown", "?", SHEET_SHARE),
};

static void fill_operations(struct report *r)
{
	static const double percentiles[] = { 50, 90, 99, 99.9, 100 };
	struct data *d = r->data;

	add_chosen(r);
	for (size_t i = 0; i < d->types.nr; i++) {
		const struct type *t = &d->types.of[i];

		sheet_row(&r->sheet);
		sheet_type(&r->sheet, t->category, t->name);
		sheet_text(&r->sheet, t->provider);
		sheet_number(&r->sheet, t->latencies.nr);
		sheet_number(&r->sheet, t->incomplete);
		for (size_t p = 0; p < sizeof(percentiles) / sizeof(percentiles[0]); p++)
			sheet_percentile(&r->sheet, &t->latencies, percentiles[p]);
		for (size_t s = 0; s < ANALYSIS_STATES; s++) {
			if (t->latencies.nr)
				sheet_share(&r->sheet, t->ns[states[s]], t->latencies.sum);
			else
				sheet_absent(&r->sheet);
		}
	}
}

/* --- histogram --------------------------------------------------------------------- */

static const struct sheet_column histogram_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("provider", "PROVIDER", SHEET_TEXT),
	HISTOGRAM_COLUMNS
};

static void fill_histogram(struct report *r)
{
	struct data *d = r->data;

	add_chosen(r);
	for (size_t i = 0; i < d->types.nr; i++) {
		const struct type *t = &d->types.of[i];
		struct histogram h = histogram_of(&t->latencies);

		while (histogram_next(&h)) {
			sheet_row(&r->sheet);
			sheet_type(&r->sheet, t->category, t->name);
			sheet_text(&r->sheet, t->provider);
			sheet_histogram(&r->sheet, &h);
		}
	}
}

#define TYPES(n, f, c, s) { \
	.name = (n), .scheduled = (s), \
	.totals_only = true, .timed = true, .takes_log = true, \
	.data_size = sizeof(struct data), \
	.rows = { .operation = add, .region = add_region, .note = add_note }, \
	.fill = (f), .free = free_data, COLUMNS(c) \
}

const struct what whats_types[] = {
	TYPES("operations", fill_operations, operations_columns, true),
	TYPES("histogram", fill_histogram, histogram_columns, false),
	{ }
};

/* --- diff --------------------------------------------------------------------------- */

static const struct sheet_column diff_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("provider", "PROVIDER", SHEET_TEXT),
	COLUMN("count_a", "COUNT A", SHEET_COUNT),
	COLUMN("count_b", "COUNT B", SHEET_COUNT),
	COLUMN("p50_a_ns", "P50 A ms", SHEET_NS),
	COLUMN_OPTIONAL("p50_b_ns", "P50 B", SHEET_NS),
	COLUMN("p50_diff_ns", "DIFF", SHEET_NS_DIFF),
	COLUMN("p99_a_ns", "P99 A", SHEET_NS),
	COLUMN_OPTIONAL("p99_b_ns", "P99 B", SHEET_NS),
	COLUMN("p99_diff_ns", "DIFF", SHEET_NS_DIFF),
	COLUMN("running_diff_ns", "RUN", SHEET_NS_DIFF),
	COLUMN("runnable_diff_ns", "WAIT", SHEET_NS_DIFF),
	COLUMN("blocked_diff_ns", "BLOCK", SHEET_NS_DIFF),
	COLUMN("queued_diff_ns", "QUEUE", SHEET_NS_DIFF),
	COLUMN("unknown_diff_ns", "?", SHEET_NS_DIFF),
};

static void forget_second(void *data)
{
	struct data *d = data;

	types_free(&d->types);
}

static void keep_first(struct report *r)
{
	struct data *d = r->data;

	d->first = d->types;
	d->types = (struct types){ 0 };
}

static int by_name(const void *a, const void *b)
{
	const struct type *x = *(const struct type *const *)a, *y = *(const struct type *const *)b;
	int order = strcmp(x->category, y->category);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->provider, y->provider);
}

/* Returns the types sorted by name; the caller frees the array. NULL: no memory */
static const struct type **sort_by_name(const struct types *t)
{
	const struct type **sorted = malloc((t->nr + 1) * sizeof(*sorted));

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < t->nr; i++)
		sorted[i] = &t->of[i];
	qsort(sorted, t->nr, sizeof(*sorted), by_name);
	return sorted;
}

/* Returns the type with the names of @type, or NULL. */
static const struct type *same_type(const struct type **sorted, size_t nr, const struct type *type)
{
	const struct type **found = bsearch(&type, sorted, nr, sizeof(*sorted), by_name);

	return found ? *found : NULL;
}

/* Returns the mean time of an operation in @state. There must be complete operations. */
static int64_t mean(const struct type *t, enum analysis_state state)
{
	return t->ns[state] / t->latencies.nr;
}

static void diff_percentile(struct sheet *s, const struct type *a, const struct type *b,
			    double percent)
{
	sheet_percentile(s, &a->latencies, percent);
	sheet_percentile(s, &b->latencies, percent);
	if (a->latencies.nr && b->latencies.nr)
		sheet_diff(s, samples_percentile(&b->latencies, percent) -
			   samples_percentile(&a->latencies, percent));
	else
		sheet_absent(s);
}

/*
 * @a or @b is NULL if that file has no such type. Without a complete operation in one of them,
 * there is no difference.
 */
static void diff_row(struct sheet *s, const struct type *a, const struct type *b)
{
	static const struct type none;
	const struct type *any = a ? a : b;

	a = a ? a : &none;
	b = b ? b : &none;
	sheet_row(s);
	sheet_type(s, any->category, any->name);
	sheet_text(s, any->provider);
	sheet_number(s, a->latencies.nr);
	sheet_number(s, b->latencies.nr);
	diff_percentile(s, a, b, 50);
	diff_percentile(s, a, b, 99);
	for (size_t i = 0; i < ANALYSIS_STATES; i++) {
		if (a->latencies.nr && b->latencies.nr)
			sheet_diff(s, mean(b, states[i]) - mean(a, states[i]));
		else
			sheet_absent(s);
	}
}

static void fill_diff(struct report *r)
{
	const struct type **first, **second;
	struct data *d = r->data;

	types_sort(&d->first);
	types_sort(&d->types);
	first = sort_by_name(&d->first);
	second = sort_by_name(&d->types);
	r->sheet.failed |= !first || !second;
	for (size_t i = 0; i < d->first.nr && !r->sheet.failed; i++)
		diff_row(&r->sheet, &d->first.of[i],
			 same_type(second, d->types.nr, &d->first.of[i]));
	for (size_t i = 0; i < d->types.nr && !r->sheet.failed; i++)
		if (!same_type(first, d->first.nr, &d->types.of[i]))
			diff_row(&r->sheet, NULL, &d->types.of[i]);
	free(first);
	free(second);
}

const struct what what_diff = {
	.name = "diff", .rows.operation = add, .totals_only = true, .timed = true,
	.scheduled = true, .data_size = sizeof(struct data), .next_file = keep_first,
	.fill = fill_diff,
	.free = free_data, .restart = forget_second, COLUMNS(diff_columns)
};
