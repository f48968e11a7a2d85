// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Items in order of time. A file has records in the order in which rings were read. A
 * ring's records are mostly in order, so the items are a few long runs that ascend. A
 * merge sort that begins with these runs puts them in order; items of one time keep the
 * order of the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define WINDOW_DEFAULT	(1u << 20)
#define WINDOW_MIN	16

/* The end of the run that begins at @i */
static size_t run_end(const struct item *of, size_t i, size_t nr)
{
	do {
		i++;
	} while (i < nr && of[i - 1].ns <= of[i].ns);
	return i;
}

static void merge(struct item *to, const struct item *a, const struct item *a_end,
		  const struct item *b, const struct item *b_end)
{
	while (a < a_end && b < b_end)
		*to++ = b->ns < a->ns ? *b++ : *a++;
	memcpy(to, a, (char *)a_end - (char *)a);
	to += a_end - a;
	memcpy(to, b, (char *)b_end - (char *)b);
}

/* Merge neighbouring runs until one is left. */
static int sort(struct order *o)
{
	struct item *swap;
	size_t runs;

	if (run_end(o->items, 0, o->nr) == o->nr)
		return 0;
	if (o->room_spare < o->nr) {
		free(o->spare);
		o->spare = malloc(o->room * sizeof(*o->spare));
		o->room_spare = o->spare ? o->room : 0;
		if (!o->spare)
			return -ENOMEM;
	}
	do {
		runs = 0;
		for (size_t from = 0; from < o->nr; runs++) {
			size_t middle = run_end(o->items, from, o->nr), end = middle;

			if (middle < o->nr)
				end = run_end(o->items, middle, o->nr);
			merge(o->spare + from, o->items + from, o->items + middle,
			      o->items + middle, o->items + end);
			from = end;
		}
		swap = o->items;
		o->items = o->spare;
		o->spare = swap;
		runs = o->room;
		o->room = o->room_spare;
		o->room_spare = runs;
	} while (run_end(o->items, 0, o->nr) != o->nr);
	return 0;
}

/* Hand on the first @nr, which are in order. */
static int hand_on(struct analysis *a, size_t nr)
{
	struct order *o = &a->order;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		err = engine_item(a, &o->items[i]);
	if (nr)
		o->settled = o->items[nr - 1].ns;
	o->nr -= nr;
	memmove(o->items, o->items + nr, o->nr * sizeof(*o->items));
	return err;
}

int order_settle(struct analysis *a, uint64_t ns)
{
	struct order *o = &a->order;
	size_t nr = 0;
	int err;

	if (!o->nr)
		return 0;
	err = sort(o);
	if (err)
		return err;
	while (nr < o->nr && o->items[nr].ns < ns)
		nr++;
	return hand_on(a, nr);
}

int order_add(struct analysis *a, const struct item *it)
{
	struct order *o = &a->order;
	size_t window = a->opts.window ? a->opts.window : WINDOW_DEFAULT;
	int err;

	if (window < WINDOW_MIN)
		window = WINDOW_MIN;
	/* The younger half waits for what may still come between. */
	if (o->nr >= window) {
		err = sort(o);
		if (!err)
			err = hand_on(a, o->nr / 2);
		if (err)
			return err;
	}
	if (!more_room(&o->items, o->nr, &o->room, sizeof(*o->items)))
		return -ENOMEM;
	if (it->ns < o->settled)
		a->totals.late++;
	o->items[o->nr++] = *it;
	return 0;
}
