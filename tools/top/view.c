// SPDX-License-Identifier: GPL-2.0-or-later
/* Selects and sorts the part of a snapshot that is shown */
#include <stdlib.h>
#include <string.h>

#include "view.h"

static const char *const names[VIEW_SORTS] = {
	[VIEW_RATE] = "rate", [VIEW_P50] = "p50", [VIEW_P99] = "p99", [VIEW_MAX] = "max",
	[VIEW_RUNNING] = "running", [VIEW_RUNNABLE] = "runnable", [VIEW_BLOCKED] = "blocked",
	[VIEW_QUEUED] = "queued", [VIEW_UNKNOWN] = "unknown", [VIEW_NAME] = "name",
};

const char *view_sort_name(enum view_sort sort)
{
	return names[sort];
}

bool view_take_sort(struct view *v, const char *text)
{
	for (int i = 0; i < VIEW_SORTS; i++) {
		if (strcmp(text, names[i]))
			continue;
		v->sort = i;
		return true;
	}
	return false;
}

const struct numbers *view_numbers(const struct view *v, const struct type_row *row)
{
	return v->since_start ? &row->all : &row->recent;
}

double view_share(const struct numbers *n, enum analysis_state state)
{
	return n->sum_ns ? n->ns[state] / n->sum_ns : 0;
}

static bool is_wanted(const struct view *v, const struct top_type *t)
{
	char type[TYPE_TEXT_SIZE];

	return !v->filter[0] || strstr(t->provider, v->filter) ||
	       strstr(top_type_text(t, type), v->filter);
}

static double key(const struct view *v, const struct type_row *row)
{
	const struct numbers *n = view_numbers(v, row);

	switch (v->sort) {
	case VIEW_RATE:
		return row->rate;
	case VIEW_P50:
		return n->p50;
	case VIEW_P99:
		return n->p99;
	case VIEW_MAX:
		return n->max;
	case VIEW_RUNNING:
		return view_share(n, ANALYSIS_RUNNING);
	case VIEW_RUNNABLE:
		return view_share(n, ANALYSIS_RUNNABLE);
	case VIEW_BLOCKED:
		return view_share(n, ANALYSIS_BLOCKED);
	case VIEW_QUEUED:
		return view_share(n, ANALYSIS_QUEUED);
	case VIEW_UNKNOWN:
		return view_share(n, ANALYSIS_UNKNOWN);
	default:
		return 0;
	}
}

/* Sorts the largest first, and equal ones by name. */
static int by_key(const void *a, const void *b, void *arg)
{
	const struct type_row *x = *(const struct type_row *const *)a;
	const struct type_row *y = *(const struct type_row *const *)b;
	const struct view *v = arg;
	double p = key(v, x), q = key(v, y);
	int order;

	if (p != q)
		return p > q ? -1 : 1;
	order = strcmp(x->type->category, y->type->category);
	if (!order)
		order = strcmp(x->type->name, y->type->name);
	return order ? order : strcmp(x->type->provider, y->type->provider);
}

void view_apply(struct view *v, const struct snapshot *s)
{
	v->nr_types = 0;
	for (size_t i = 0; i < s->nr_types; i++)
		if (is_wanted(v, s->types[i].type))
			v->types[v->nr_types++] = &s->types[i];
	if (v->nr_types)
		qsort_r(v->types, v->nr_types, sizeof(v->types[0]), by_key, v);
	v->nr_open = 0;
	for (size_t i = 0; i < s->nr_open; i++)
		if (is_wanted(v, s->open[i].type))
			v->open[v->nr_open++] = i;
}
