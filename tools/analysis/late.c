// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A second reading, for traces whose disorder exceeds the window of order.c. Examples are
 * snapshots of large rings, which have one ring after the other, and traces with durations as
 * long as the program. The first reading keeps the items that came too late. The second one
 * hands them on at their time and skips them at their place in the file.
 *
 * Among items with one time, those that came in time precede the late ones in the file. They are
 * handed on before the late ones, so the order of the file is kept.
 */
#include <stdlib.h>

#include "engine.h"

#define LATE_MAX	(2u << 20)

static int by_time(const void *a, const void *b)
{
	const struct late_item *x = *(const struct late_item *const *)a;
	const struct late_item *y = *(const struct late_item *const *)b;

	if (x->item.ns != y->item.ns)
		return x->item.ns < y->item.ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/*
 * Keeps @it for the second reading. If there is no memory, or the limit is reached, the item is not
 * kept: it stays late, and .totals.late counts it.
 */
static void keep(struct analysis *a, const struct item *it)
{
	struct late *l = &a->late;
	struct late_item *kept;

	/* opts.names is set for traces without an end, which cannot be read again. */
	if (a->opts.names || l->nr == LATE_MAX ||
	    !more_room(&l->of, l->nr, &l->room, sizeof(*l->of)) ||
	    !more_room(&l->losses, l->nr_losses, &l->room_losses, sizeof(*l->losses)))
		return;
	kept = &l->of[l->nr++];
	*kept = (struct late_item){ .number = l->items, .item = *it };
	if (it->kind != ITEM_LOSS)
		return;
	kept->item.id = l->nr_losses;
	l->losses[l->nr_losses++] = a->losses.rows[it->id];
}

bool late_item(struct analysis *a, const struct item *it)
{
	struct late *l = &a->late;
	/* A mark never counts as late: it stands in the file next to the record it belongs to. */
	bool late = it->ns < a->order.settled && it->kind != ITEM_MARK;

	l->items++;
	if (!l->by_time) {
		a->totals.late += late;
		if (late && !a->opts.patience)
			keep(a, it);
		return false;
	}
	if (l->left_out < l->nr && l->of[l->left_out].number == l->items) {
		l->left_out++;
		if (it->kind == ITEM_LOSS)
			a->losses.nr_waiting--;
		return true;
	}
	a->totals.late += late;
	return false;
}

int late_before(struct analysis *a, uint64_t ns)
{
	struct late *l = &a->late;
	int err = 0;

	for (; l->by_time && l->handed_on < l->nr && !err; l->handed_on++) {
		struct item it = l->by_time[l->handed_on]->item;

		if (it.ns >= ns)
			break;
		if (it.kind == ITEM_LOSS)
			err = losses_add(a, &l->losses[it.id], &it);
		if (!err)
			err = engine_item(a, &it);
	}
	return err;
}

void late_free(struct late *l)
{
	free(l->of);
	free(l->losses);
	free(l->by_time);
}

struct analysis *analysis_again(struct analysis *a)
{
	struct analysis *again;
	struct late *l;

	if (!a->late.nr || a->late.by_time)
		return NULL;
	again = analysis_new(&a->opts, &a->sink);
	if (!again)
		return NULL;
	l = &again->late;
	l->by_time = malloc(a->late.nr * sizeof(*l->by_time));
	if (!l->by_time) {
		analysis_free(again);
		return NULL;
	}
	/* Kept items refer to names by number, and to providers that come later in the file. */
	again->names = a->names;
	a->names = (struct fxt_names){ 0 };
	again->providers = a->providers;
	a->providers = (struct fxt_table){ 0 };
	again->totals.begin = a->totals.begin;
	l->of = a->late.of;
	l->nr = a->late.nr;
	l->losses = a->late.losses;
	a->late = (struct late){ 0 };
	for (size_t i = 0; i < l->nr; i++)
		l->by_time[i] = &l->of[i];
	qsort(l->by_time, l->nr, sizeof(struct late_item *), by_time);
	analysis_free(a);
	return again;
}
