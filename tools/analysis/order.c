// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sorts items by time. A file has records in the order in which rings were read, and records of
 * one ring are mostly sorted. So the items are distributed over a few ascending runs, about one
 * for each ring. A heap of the runs' first items gives the next item.
 *
 * An item is added to the first run whose last item is not later than the item. This keeps the
 * last items of the runs strictly descending. Of two items of equal time, the first one in the
 * file is in the same run as the second one, or in an earlier run. So their order is kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

#define WINDOW_DEFAULT	(1u << 20)
#define WINDOW_MIN	16
/* Items of a block. A run begins small, because a hostile trace may have as many runs as items. */
#define BLOCK_MIN	1
#define BLOCK_MAX	512

/* A part of a run */
struct block {
	struct block *next;
	uint32_t at, nr, room;	/* items before .at have been handed on */
	struct item of[];
};

/* --- the heap ----------------------------------------------------------------- */

static bool before(const struct head *x, const struct head *y)
{
	return x->ns != y->ns ? x->ns < y->ns : x->run < y->run;
}

/* Replaces the first head by @head. */
static void replace_first(struct order *o, const struct head *head)
{
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= o->nr_heads)
			break;
		if (child + 1 < o->nr_heads && before(&o->heads[child + 1], &o->heads[child]))
			child++;
		if (!before(&o->heads[child], head))
			break;
		o->heads[i] = o->heads[child];
		i = child;
	}
	o->heads[i] = *head;
}

/* Adds a head. There is room, because there are no more heads than runs. */
static void push_head(struct order *o, uint64_t ns, size_t run)
{
	const struct head head = { .ns = ns, .run = run };
	size_t i = o->nr_heads++;

	for (; i && before(&head, &o->heads[(i - 1) / 2]); i = (i - 1) / 2)
		o->heads[i] = o->heads[(i - 1) / 2];
	o->heads[i] = head;
}

/* --- runs --------------------------------------------------------------------- */

static bool is_empty(const struct run *r)
{
	return r->first->at == r->first->nr;
}

static struct block *new_block(uint32_t room)
{
	struct block *b = malloc(sizeof(*b) + room * sizeof(b->of[0]));

	if (b)
		*b = (struct block){ .room = room };
	return b;
}

/* Frees empty runs. The others keep their order. */
static void drop_empty(struct order *o)
{
	size_t kept = 0;

	o->nr_heads = 0;
	for (size_t i = 0; i < o->nr_runs; i++) {
		const struct block *first = o->runs[i].first;

		if (is_empty(&o->runs[i])) {
			free(o->runs[i].first);
			continue;
		}
		push_head(o, first->of[first->at].ns, kept);
		o->runs[kept++] = o->runs[i];
	}
	o->nr_runs = kept;
	o->recent = 0;
}

/* Adds a run after all others. Its items are older than the last items of the others. */
static struct run *new_run(struct order *o)
{
	struct run *r;

	if (o->nr_runs > WINDOW_MIN && o->nr_heads < o->nr_runs / 2)
		drop_empty(o);
	if (!more_room(&o->runs, o->nr_runs, &o->room_runs, sizeof(*o->runs)) ||
	    !more_room(&o->heads, o->nr_runs, &o->room_heads, sizeof(*o->heads)))
		return NULL;
	r = &o->runs[o->nr_runs];
	r->first = r->last = new_block(BLOCK_MIN);
	if (!r->first)
		return NULL;
	o->recent = o->nr_runs++;
	return r;
}

/* Returns the run that takes an item of @ns, or NULL if there is no memory. */
static struct run *run_for(struct order *o, uint64_t ns)
{
	size_t low = 0, high = o->nr_runs;

	/* Fast path: the run of the previous item. */
	if (o->recent < o->nr_runs && o->runs[o->recent].newest <= ns &&
	    (!o->recent || o->runs[o->recent - 1].newest > ns))
		return &o->runs[o->recent];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (o->runs[middle].newest <= ns)
			high = middle;
		else
			low = middle + 1;
	}
	/* If the last run is empty, it can take an item of any time. */
	if (low == o->nr_runs && low && is_empty(&o->runs[low - 1]))
		low--;
	if (low == o->nr_runs)
		return new_run(o);
	o->recent = low;
	return &o->runs[low];
}

static int append(struct order *o, const struct item *it)
{
	struct run *r = run_for(o, it->ns);
	struct block *b;

	if (!r)
		return -ENOMEM;
	b = r->last;
	if (is_empty(r)) {
		b->at = b->nr = 0;
		push_head(o, it->ns, r - o->runs);
	} else if (b->nr == b->room) {
		b = new_block(2 * b->room < BLOCK_MAX ? 2 * b->room : BLOCK_MAX);
		if (!b)
			return -ENOMEM;
		r->last->next = b;
		r->last = b;
	}
	b->of[b->nr++] = *it;
	r->newest = it->ns;
	o->nr++;
	return 0;
}

/* Hands on the oldest item. */
static int hand_on(struct analysis *a)
{
	struct order *o = &a->order;
	struct run *r = &o->runs[o->heads[0].run];
	struct block *b = r->first;
	const struct item it = b->of[b->at++];
	int err;

	if (b->at == b->nr && b->next) {
		r->first = b->next;
		free(b);
		b = r->first;
	}
	if (b->at < b->nr)
		replace_first(o, &(struct head){ b->of[b->at].ns, o->heads[0].run });
	else if (--o->nr_heads)
		replace_first(o, &o->heads[o->nr_heads]);
	o->nr--;
	if (o->settled < it.ns)
		o->settled = it.ns;
	err = late_before(a, it.ns);
	return err ? err : engine_item(a, &it);
}

int order_settle(struct analysis *a, uint64_t ns)
{
	int err = 0;

	while (!err && a->order.nr && a->order.heads[0].ns < ns)
		err = hand_on(a);
	return err ? err : late_before(a, ns);
}

int order_add(struct analysis *a, const struct item *it)
{
	struct order *o = &a->order;
	size_t window = a->opts.window ? a->opts.window : WINDOW_DEFAULT;
	int err = 0;

	if (window < WINDOW_MIN)
		window = WINDOW_MIN;
	while (!err && o->nr >= window)
		err = hand_on(a);
	if (err || late_item(a, it))
		return err;
	return append(o, it);
}

void order_free(struct order *o)
{
	for (size_t i = 0; i < o->nr_runs; i++) {
		for (struct block *b = o->runs[i].first, *next; b; b = next) {
			next = b->next;
			free(b);
		}
	}
	free(o->runs);
	free(o->heads);
}
