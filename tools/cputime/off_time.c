// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes the times at which threads had no CPU, from context switches */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cputime/off_time.h"

/* Default limit of the times off CPU in memory, at 32 bytes each */
#define KEPT_MAX	(4u << 20)

#define STILL_OFF	UINT64_MAX

struct window {
	uint64_t from, to;
};

/* A time in which a thread had no CPU */
struct gap {
	uint64_t from, to;
	uint64_t before;	/* sum of the gaps before this one */
	uint32_t holes;		/* number of unknown gaps before this one */
	bool unknown;		/* the thread may have had a CPU */
};

struct track {
	struct gap *of;		/* in order, disjoint */
	size_t nr, room;
	uint64_t floor;		/* turns before this time are not known */
	uint64_t first, last;	/* times of the first and of the last turn */
};

int history_turn(struct history *h, uint64_t ns, uint32_t tid, bool comes)
{
	if (!more_room(&h->turns, h->nr, &h->room, sizeof(*h->turns)))
		return -ENOMEM;
	h->turns[h->nr++] = (struct turn){
		.ns = ns, .order = h->order++, .tid = tid, .comes = comes,
	};
	return 0;
}

int history_lost(struct history *h, uint64_t from, uint64_t to)
{
	size_t first = h->nr_losses, end = h->nr_losses;

	/* Replace losses that touch this one by one loss. */
	while (first && h->losses[first - 1].to >= from)
		first--;
	while (end > first && h->losses[end - 1].from > to)
		end--;
	for (size_t i = first; i < end; i++) {
		from = h->losses[i].from < from ? h->losses[i].from : from;
		to = h->losses[i].to > to ? h->losses[i].to : to;
	}
	if (!more_room(&h->losses, h->nr_losses, &h->room_losses, sizeof(*h->losses)))
		return -ENOMEM;
	memmove(h->losses + first + 1, h->losses + end, (h->nr_losses - end) * sizeof(*h->losses));
	h->losses[first] = (struct window){ from, to };
	h->nr_losses = h->nr_losses - (end - first) + 1;
	return 0;
}

/* Returns the index of the first loss that ends at @ns or later. */
static size_t loss_at(const struct history *h, uint64_t ns)
{
	size_t low = 0, high = h->nr_losses;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (h->losses[middle].to < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool lost_within(const struct history *h, uint64_t from, uint64_t to)
{
	const size_t i = loss_at(h, from);

	return i < h->nr_losses && h->losses[i].from <= to;
}

/*
 * A turn of @t is missing between its last turn and the one at @ns. Finds the time of losses in
 * which it may have happened, from *@from to *@to. Without a loss, these are the times of the two
 * turns.
 */
static void missing_within(const struct history *h, const struct track *t, uint64_t ns,
			   uint64_t *from, uint64_t *to)
{
	const size_t first = loss_at(h, t->last), end = loss_at(h, ns);
	const bool within = end < h->nr_losses && h->losses[end].from <= ns;

	*from = t->last;
	*to = ns;
	if ((first < end || within) && h->losses[first].from > *from)
		*from = h->losses[first].from;
	if (first < end && !within)
		*to = h->losses[end - 1].to;
}

static struct track *track_of(struct history *h, uint32_t tid)
{
	struct fxt_entry *e = fxt_make(&h->threads, (uint64_t)tid + 1);

	if (e && !e->a)
		e->a = (uintptr_t)calloc(1, sizeof(struct track));
	return e ? (struct track *)(uintptr_t)e->a : NULL;
}

static int add_gap(struct history *h, struct track *t, uint64_t from, uint64_t to, bool unknown)
{
	const struct gap *last;

	if (!more_room(&t->of, t->nr, &t->room, sizeof(*t->of)))
		return -ENOMEM;
	last = t->nr ? &t->of[t->nr - 1] : NULL;
	t->of[t->nr++] = (struct gap){
		.from = from, .to = to, .before = last ? last->before + (last->to - last->from) : 0,
		.unknown = unknown, .holes = last ? last->holes + last->unknown : 0,
	};
	h->kept++;
	return 0;
}

static int take_turn(struct history *h, const struct turn *turn)
{
	struct track *t = track_of(h, turn->tid);
	struct gap *last;
	uint64_t from, to;
	int err = 0;

	if (!t)
		return -ENOMEM;
	last = t->nr ? &t->of[t->nr - 1] : NULL;
	if (!t->first) {
		t->first = turn->ns;
		/* The thread had no CPU before, but it is not known since when. */
		if (turn->comes)
			t->floor = turn->ns;
	} else if (turn->comes && last && last->to == STILL_OFF) {
		last->to = turn->ns;
	} else if (turn->comes || (last && last->to == STILL_OFF)) {
		/* Two turns of the same kind follow each other, so one between them is missing. */
		missing_within(h, t, turn->ns, &from, &to);
		if (!turn->comes) {
			last->to = to;
			last->unknown = true;
		} else {
			err = add_gap(h, t, from, to, true);
			if (!err && to < turn->ns)
				err = add_gap(h, t, to, turn->ns, false);
		}
	}
	if (!err && !turn->comes)
		err = add_gap(h, t, turn->ns, STILL_OFF, false);
	t->last = turn->ns;
	return err;
}

/* Drops the older half of each thread's times off CPU. */
static void forget(struct history *h)
{
	h->kept = 0;
	fxt_each(&h->threads, e) {
		struct track *t = (struct track *)(uintptr_t)e->a;
		const size_t half = t->nr / 2;

		if (half) {
			t->floor = t->of[half - 1].to;
			t->nr -= half;
			memmove(t->of, t->of + half, t->nr * sizeof(*t->of));
		}
		h->kept += t->nr;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

int history_settle(struct history *h, uint64_t ns)
{
	size_t done = 0;
	int err = 0;

	if (!h->nr)
		return 0;
	qsort(h->turns, h->nr, sizeof(*h->turns), by_time);
	while (done < h->nr && h->turns[done].ns <= ns && !err)
		err = take_turn(h, &h->turns[done++]);
	h->nr -= done;
	memmove(h->turns, h->turns + done, h->nr * sizeof(*h->turns));
	if (h->kept > (h->kept_max ? h->kept_max : KEPT_MAX))
		forget(h);
	return err;
}

static void track_free(struct track *t)
{
	if (t)
		free(t->of);
	free(t);
}

void history_ended(struct history *h, uint32_t tid, uint64_t ns)
{
	struct fxt_entry *e = fxt_find(&h->threads, (uint64_t)tid + 1);
	struct track *t = e ? (struct track *)(uintptr_t)e->a : NULL;

	if (!t || t->last != ns)
		return;
	h->kept -= t->nr;
	track_free(t);
	fxt_remove(&h->threads, e);
}

/* Returns the number of gaps of @t that begin before @ns. */
static size_t gaps_before(const struct track *t, uint64_t ns)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (t->of[middle].from < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns the sum of the gaps before the one at index @nr, including those that forget() has
 * dropped. *@holes: the number of unknown ones among them
 */
static uint64_t sum_of(const struct track *t, size_t nr, uint32_t *holes)
{
	const struct gap *last = nr ? &t->of[nr - 1] : NULL;

	if (nr < t->nr) {
		*holes = t->of[nr].holes;
		return t->of[nr].before;
	}
	*holes = last ? last->holes + last->unknown : 0;
	return last ? last->before + (last->to - last->from) : 0;
}

bool history_on_cpu(const struct history *h, uint32_t tid, uint64_t from, uint64_t to, bool missed,
		    uint64_t *ns)
{
	const struct fxt_entry *e = fxt_find(&h->threads, (uint64_t)tid + 1);
	const struct track *t = e ? (const struct track *)(uintptr_t)e->a : NULL;
	uint32_t holes_from, holes_to;
	size_t first, end;
	uint64_t off;

	if (lost_within(h, from, to) || (missed && (!t || t->first > from)))
		return false;
	*ns = to - from;
	/* A thread without a switch had a CPU all the time. */
	if (!t)
		return true;
	first = gaps_before(t, from);
	end = gaps_before(t, to);
	if (from < t->floor || (first && t->of[first - 1].to > from) ||
	    (end && t->of[end - 1].to > to))
		return false;
	off = sum_of(t, first, &holes_from);
	*ns -= sum_of(t, end, &holes_to) - off;
	return holes_from == holes_to;
}

void history_free(struct history *h)
{
	fxt_each(&h->threads, e)
		track_free((struct track *)(uintptr_t)e->a);
	fxt_table_free(&h->threads);
	free(h->turns);
	free(h->losses);
}
