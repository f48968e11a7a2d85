// SPDX-License-Identifier: GPL-2.0-or-later
/* All operations of a trace with their parts: collecting, sorting and finding them */
#include <errno.h>
#include <stdlib.h>

#include "forest.h"

static struct forest_node *add(struct forest *f, enum forest_kind kind, uint64_t of)
{
	struct forest_node *n;

	if (!more_room(&f->of, f->nr, &f->room, sizeof(*f->of)))
		return NULL;
	n = &f->of[f->nr++];
	*n = (struct forest_node){ .kind = kind, .of = of };
	return n;
}

int forest_operation(struct forest *f, const struct analysis_operation *op)
{
	struct forest_node *n = add(f, FOREST_OPERATION, op->parent);

	if (!n)
		return -ENOMEM;
	n->operation = *op;
	/* The analysis frees threads and intervals after this call. */
	n->operation.threads = NULL;
	n->operation.intervals = NULL;
	n->operation.path = NULL;
	return 0;
}

int forest_region(struct forest *f, const struct analysis_region *region)
{
	struct forest_node *n = add(f, FOREST_REGION, region->operation);

	if (!n)
		return -ENOMEM;
	n->region = *region;
	return 0;
}

int forest_note(struct forest *f, const struct analysis_note *note)
{
	struct forest_node *n = add(f, FOREST_NOTE, note->operation);

	if (!n)
		return -ENOMEM;
	n->note = *note;
	return 0;
}

uint64_t forest_begin(const struct forest_node *n)
{
	return n->kind == FOREST_OPERATION ? n->operation.begin :
	       n->kind == FOREST_REGION ? n->region.from : n->note.ns;
}

uint64_t forest_end(const struct forest_node *n)
{
	return n->kind == FOREST_OPERATION ? n->operation.end :
	       n->kind == FOREST_REGION ? n->region.to : n->note.ns;
}

/*
 * Sorts parts by parent and begin. Of parts that begin at the same time, the longer one comes
 * first, because it may contain the other.
 */
static int by_parent(const void *a, const void *b)
{
	const struct forest_node *x = a, *y = b;
	const uint64_t from_x = forest_begin(x), from_y = forest_begin(y);

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (from_x != from_y)
		return from_x < from_y ? -1 : 1;
	if (x->kind == FOREST_REGION && y->kind == FOREST_REGION &&
	    x->region.thread == y->region.thread && x->region.depth != y->region.depth)
		return x->region.depth < y->region.depth ? -1 : 1;
	return (forest_end(x) < forest_end(y)) - (forest_end(x) > forest_end(y));
}

void forest_sort(struct forest *f)
{
	if (f->nr)
		qsort(f->of, f->nr, sizeof(*f->of), by_parent);
}

struct forest_node *forest_parts(const struct forest *f, uint64_t id, size_t *nr)
{
	/* A program may give an operation the id 0. But parts with .of 0 belong to no operation. */
	size_t low = 0, high = id ? f->nr : 0, end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->of[middle].of < id)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; id && end < f->nr && f->of[end].of == id; end++)
		;
	*nr = end - low;
	return f->of + low;
}

void forest_free(struct forest *f)
{
	free(f->of);
	*f = (struct forest){ 0 };
}
