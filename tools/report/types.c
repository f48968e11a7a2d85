// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

static struct type *type_of(struct types *t, const struct analysis_id *id)
{
	uint32_t provider = fxt_name(&t->names, id->provider, strlen(id->provider));
	uint32_t category = fxt_name(&t->names, id->category, strlen(id->category));
	uint32_t name = fxt_name(&t->names, id->name, strlen(id->name));
	struct fxt_entry *e;

	if (provider == UINT32_MAX || category == UINT32_MAX || name == UINT32_MAX)
		return NULL;
	e = fxt_make(&t->index, fxt_hash(fxt_hash(provider, category), name));
	if (!e)
		return NULL;
	if (!e->a) {
		if (t->nr == t->room) {
			size_t room = t->room ? 2 * t->room : 16;
			struct type *of = realloc(t->of, room * sizeof(*of));

			if (!of)
				return NULL;
			t->of = of;
			t->room = room;
		}
		t->of[t->nr] = (struct type){
			.provider = t->names.of[provider], .category = t->names.of[category],
			.name = t->names.of[name],
		};
		e->a = ++t->nr;
	}
	return &t->of[e->a - 1];
}

int types_add(struct types *t, const struct analysis_operation *op)
{
	struct type *type = type_of(t, &op->id);

	if (!type)
		return -ENOMEM;
	if (!op->complete) {
		type->incomplete++;
		return 0;
	}
	if (type->nr == type->room) {
		size_t room = type->room ? 2 * type->room : 64;
		uint64_t *latencies = realloc(type->latencies, room * sizeof(*latencies));

		if (!latencies)
			return -ENOMEM;
		type->latencies = latencies;
		type->room = room;
	}
	type->latencies[type->nr++] = op->end - op->begin;
	type->sum_ns += op->end - op->begin;
	for (int s = 0; s < ANALYSIS_STATES; s++)
		type->ns[s] += op->ns[s];
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b)
{
	const struct type *x = a, *y = b;
	int order;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	order = strcmp(x->category, y->category);
	return order ? order : strcmp(x->name, y->name);
}

void types_sort(struct types *t)
{
	for (size_t i = 0; i < t->nr; i++)
		if (t->of[i].nr)
			qsort(t->of[i].latencies, t->of[i].nr, sizeof(uint64_t), by_number);
	if (t->nr)
		qsort(t->of, t->nr, sizeof(*t->of), by_count);
}

size_t percentile_index(size_t nr, double percent)
{
	/* 99.9 % of 1000 are 999, though 99.9 / 100 * 1000 is a little more as a double. */
	double share = percent * nr / 100;
	size_t rank = ceil(share - share * 1e-12);

	return rank ? rank - 1 : 0;
}

uint64_t type_percentile(const struct type *t, double percent)
{
	return t->nr ? t->latencies[percentile_index(t->nr, percent)] : 0;
}

void types_free(struct types *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->of[i].latencies);
	free(t->of);
	fxt_table_free(&t->index);
	fxt_names_free(&t->names);
	*t = (struct types){ 0 };
}
