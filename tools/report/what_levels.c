// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports of the number of open operations of a type: concurrency, levels. An operation that
 * did not end is open until the end of the trace.
 */
#include <errno.h>
#include <stdlib.h>

#include "fxt/table.h"
#include "types.h"
#include "what.h"

/* The begin or end of an operation */
struct edge {
	uint64_t ns;
	size_t type;
	int step;
};

struct data {
	struct types types;
	struct edge *edges;
	size_t nr, room;
};

/* A time with a constant level */
struct level {
	int64_t level;
	uint64_t from, to;
};

static int add_edge(struct data *d, uint64_t ns, size_t type, int step)
{
	if (!more_room(&d->edges, d->nr, &d->room, sizeof(*d->edges)))
		return -ENOMEM;
	d->edges[d->nr++] = (struct edge){ ns, type, step };
	return 0;
}

static int add(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;
	struct data *d = r->data;
	struct type *t = types_find(&d->types, &op->id);
	int err;

	if (!t)
		return -ENOMEM;
	err = add_edge(d, op->begin, t - d->types.of, 1);
	return err ? err : add_edge(d, op->end, t - d->types.of, -1);
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->type != y->type)
		return x->type > y->type ? 1 : -1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/*
 * Finds the next level of a type: the time from the end of *@l to the next edge at another
 * time. *@edge becomes the edge at which the level ends. Returns false at the end of the trace.
 */
static bool next_level(const struct data *d, size_t type, uint64_t end, size_t *edge,
		       struct level *l)
{
	l->from = l->to;
	for (; *edge < d->nr && d->edges[*edge].type == type && d->edges[*edge].ns <= l->from;
	     ++*edge)
		l->level += d->edges[*edge].step;
	l->to = *edge < d->nr && d->edges[*edge].type == type ? d->edges[*edge].ns : end;
	return l->from < l->to;
}

static void free_data(void *data)
{
	struct data *d = data;

	types_free(&d->types);
	free(d->edges);
}

static void begin_row(struct sheet *s, const struct type *t)
{
	sheet_row(s);
	sheet_type(s, t->category, t->name);
	sheet_text(s, t->provider);
}

/* --- concurrency ---------------------------------------------------------------------- */

static const struct sheet_column concurrency_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("provider", "PROVIDER", SHEET_TEXT),
	COLUMN("count", "COUNT", SHEET_COUNT),
	COLUMN("max", "MAX", SHEET_COUNT),
	COLUMN("max_at_ns", "AT ms", SHEET_NS),
	COLUMN("mean", "MEAN", SHEET_RATIO),
	COLUMN("none", "NONE %", SHEET_SHARE),
	COLUMN("one", "ONE %", SHEET_SHARE),
	COLUMN("more", "MORE %", SHEET_SHARE),
};

static void concurrency_row(struct report *r, size_t type, size_t *edge)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	const uint64_t whole = t->end - t->begin;
	struct data *d = r->data;
	struct level l = { .to = t->begin }, max = { 0 };
	uint64_t ns[3] = { 0 };
	unsigned __int128 sum = 0;
	const size_t first = *edge;

	while (next_level(d, type, t->end, edge, &l)) {
		if (l.level > max.level)
			max = l;
		ns[l.level < 2 ? l.level : 2] += l.to - l.from;
		sum += (unsigned __int128)l.level * (l.to - l.from);
	}
	/* Skip edges at the end of the trace. */
	while (*edge < d->nr && d->edges[*edge].type == type)
		++*edge;
	begin_row(&r->sheet, &d->types.of[type]);
	sheet_number(&r->sheet, (*edge - first) / 2);
	sheet_number(&r->sheet, max.level);
	sheet_number(&r->sheet, max.level ? max.from - t->begin : 0);
	sheet_share(&r->sheet, sum, whole);
	for (int i = 0; i < 3; i++)
		sheet_share(&r->sheet, ns[i], whole);
}

static void sort_edges(struct data *d)
{
	if (d->nr)
		qsort(d->edges, d->nr, sizeof(*d->edges), by_time);
}

static void fill_concurrency(struct report *r)
{
	struct data *d = r->data;
	size_t edge = 0;

	sort_edges(d);
	for (size_t i = 0; i < d->types.nr; i++)
		concurrency_row(r, i, &edge);
}

/* --- levels --------------------------------------------------------------------------- */

static const struct sheet_column levels_columns[] = {
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("provider", "PROVIDER", SHEET_TEXT),
	COLUMN("level", "OPEN", SHEET_COUNT),
	COLUMN("ns", "MS", SHEET_NS),
	COLUMN("share", "    %", SHEET_BAR),
};

/* Returns the time at each level from 0 on, and their number in *@nr. NULL: no memory */
static uint64_t *time_at_levels(struct report *r, size_t type, size_t *edge, size_t *nr)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	struct level l = { .to = t->begin };
	struct data *d = r->data;
	uint64_t *ns = NULL;
	size_t room = 0;

	for (*nr = 0; next_level(d, type, t->end, edge, &l);) {
		for (; *nr <= (size_t)l.level; ns[(*nr)++] = 0)
			if (!more_room(&ns, *nr, &room, sizeof(*ns))) {
				free(ns);
				return NULL;
			}
		ns[l.level] += l.to - l.from;
	}
	while (*edge < d->nr && d->edges[*edge].type == type)
		++*edge;
	return ns ? ns : calloc(1, sizeof(*ns));
}

static void fill_levels(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	struct data *d = r->data;
	size_t edge = 0, nr;

	sort_edges(d);
	for (size_t i = 0; i < d->types.nr; i++) {
		uint64_t *ns = time_at_levels(r, i, &edge, &nr);

		r->sheet.failed |= !ns;
		for (size_t level = 0; ns && level < nr; level++) {
			if (!ns[level])
				continue;
			begin_row(&r->sheet, &d->types.of[i]);
			sheet_number(&r->sheet, level);
			sheet_number(&r->sheet, ns[level]);
			sheet_share(&r->sheet, ns[level], t->end - t->begin);
		}
		free(ns);
	}
}

#define LEVELS(n, f, c) { \
	.name = (n), .rows.operation = add, .totals_only = true, .timed = true, \
	.data_size = sizeof(struct data), .fill = (f), .free = free_data, COLUMNS(c) \
}

const struct what whats_levels[] = {
	LEVELS("concurrency", fill_concurrency, concurrency_columns),
	LEVELS("levels", fill_levels, levels_columns),
	{ }
};
