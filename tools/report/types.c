// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects latencies of operations by type */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

struct type *types_find(struct types *t, const struct analysis_id *id)
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
		if (!more_room(&t->of, t->nr, &t->room, sizeof(*t->of)))
			return NULL;
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
	struct type *type = types_find(t, &op->id);

	if (!type)
		return -ENOMEM;
	if (!op->complete) {
		type->incomplete++;
		return 0;
	}
	for (int s = 0; s < ANALYSIS_STATES; s++)
		type->ns[s] += op->ns[s];
	return samples_add(&type->latencies, op->end - op->begin);
}

static int by_count(const void *a, const void *b)
{
	const struct type *x = a, *y = b;
	int order;

	if (x->latencies.nr != y->latencies.nr)
		return x->latencies.nr > y->latencies.nr ? -1 : 1;
	order = strcmp(x->category, y->category);
	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->provider, y->provider);
}

void types_sort(struct types *t)
{
	for (size_t i = 0; i < t->nr; i++)
		samples_sort(&t->of[i].latencies);
	if (t->nr)
		qsort(t->of, t->nr, sizeof(*t->of), by_count);
}

void types_free(struct types *t)
{
	for (size_t i = 0; i < t->nr; i++)
		samples_free(&t->of[i].latencies);
	free(t->of);
	fxt_table_free(&t->index);
	fxt_names_free(&t->names);
	*t = (struct types){ 0 };
}
