// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Moves a complete duration before the events that it encloses.
 *
 * A complete duration is written when it ends, so the events that it encloses are before it in
 * the ring. Viewers sort by the time of beginning. If two begin at the same time, viewers let the
 * first one in the file enclose the other. Without a correction, viewers would drop a parent that
 * began in the same nanosecond as its child. A flow event in the first nanosecond would find no
 * duration around it. With a counter of 24 MHz this happens all the time.
 *
 * Each thread has a list of what it did, one after the other. A duration replaces the nodes that
 * it encloses, which are those that began no earlier. In the file, it goes before the first of
 * them that is in the present chunk.
 *
 * Nodes of earlier chunks are written already. If one of them began in the same nanosecond, the
 * duration gets a begin that is one nanosecond earlier, provided that the node before had ended
 * by then. If not, the time stays, and the duration counts as one that viewers may drop.
 *
 * An async event in the first nanosecond moves the duration's begin, too. Viewers do not need
 * this, but the analysis looks for the duration that encloses the event.
 *
 * Between chunks, a list has at most NODES_MAX nodes; a longer list is cut to its last
 * NODES_MAX / 2. The order is not guaranteed for durations that enclose more events.
 *
 * The end of a scope that siglongjmp(3) left has no name and no argument, because the scope's
 * site is unknown then. Viewers drop an end whose name is not that of its begin. So the end
 * gets the names of the begin that it ends, unless they were inline.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "composer.h"

#define NODES_MAX	1024

/* Moves item @i before the item @before, which is an earlier one. */
static void move_before(struct atc_items *l, uint32_t i, uint32_t before)
{
	struct atc_item *it = &l->of[i], *later = &l->of[before];

	l->of[it->prev].next = it->next;
	if (it->next != ATC_NONE)
		l->of[it->next].prev = it->prev;

	it->next = before;
	it->prev = later->prev;
	later->prev = i;
	if (it->prev == ATC_NONE)
		l->head = i;
	else
		l->of[it->prev].next = i;
}

static struct atc_task *touch(struct at_compose *c, struct atc_items *l, struct atc_item *it)
{
	struct atc_task *t = it->slot->task;

	if (t->epoch != c->epoch) {
		t->epoch = c->epoch;
		l->tasks[l->nr_tasks++] = t;
	}
	return t;
}

static int more_nodes(struct atc_task *t)
{
	size_t room = t->room_nodes ? 2 * t->room_nodes : 16;
	struct atc_node *p = atc_realloc(t->nodes, room * sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->nodes = p;
	t->room_nodes = room;
	return 0;
}

static inline int push(struct atc_task *t, const struct atc_item *it, uint32_t i)
{
	struct atc_node *n;

	if (t->nr_nodes == t->room_nodes && more_nodes(t))
		return -ENOMEM;
	n = &t->nodes[t->nr_nodes++];
	n->from = n->begin = n->end = it->ns;
	n->item = i;
	n->open = it->type == ASYNCTRACE_FXT_DURATION_BEGIN;
	n->nests = n->open || it->type >= ASYNCTRACE_FXT_FLOW_BEGIN;
	n->async = it->type >= ASYNCTRACE_FXT_ASYNC_BEGIN && it->type <= ASYNCTRACE_FXT_ASYNC_END;
	return 0;
}

/* Finds a begin for the duration @it, which encloses the list's nodes from @low to before @high. */
static uint64_t begin_of(struct at_compose *c, const struct atc_task *t,
			 const struct atc_item *it, size_t low, size_t high)
{
	uint64_t begin = it->ns, bound = atc_clock_start(&c->clock);
	bool drops = false;

	for (size_t i = low; i < high; i++) {
		const struct atc_node *n = &t->nodes[i];
		uint64_t latest = n->begin - (n->item == ATC_NONE);

		if ((n->nests || n->async) && begin > latest)
			begin = latest;
		drops |= n->nests && it->ns > latest;
	}
	if (begin == it->ns)
		return begin;
	/* The begin of an open duration precedes @it in the file, so equal times are allowed. */
	if (low) {
		const struct atc_node *n = &t->nodes[low - 1];

		bound = n->open || n->end < n->begin ? n->begin : n->end;
	}
	if (begin >= bound && begin < it->ns)
		return begin;
	c->overlaps += drops;
	return it->ns;
}

/* Notes that the present chunk has changed the list of @t from node @i on. */
static void changed_from(struct atc_task *t, size_t i)
{
	if (t->nr_settled > i)
		t->nr_settled = i;
}

static int place_complete(struct at_compose *c, struct atc_items *l, struct atc_task *t,
			  uint32_t i)
{
	struct atc_item *it = &l->of[i];
	struct atc_node *n = t->nodes;
	size_t high = t->nr_nodes, low;
	uint32_t before = ATC_NONE;
	uint64_t from = it->ns;

	/* Skip nodes that are later than the duration: another CPU's chunk may have come first. */
	while (high && !n[high - 1].open && n[high - 1].from > it->end)
		high--;
	for (low = high; low && !n[low - 1].open && n[low - 1].from >= from; low--)
		if (n[low - 1].item != ATC_NONE)
			before = n[low - 1].item;
	it->ns = begin_of(c, t, it, low, high);
	if (before != ATC_NONE)
		move_before(l, i, before);

	/* Replace the enclosed nodes by the duration. */
	if (low == high) {
		int err = push(t, it, i);

		if (err)
			return err;
		n = t->nodes;
		memmove(n + low + 1, n + low, (t->nr_nodes - 1 - low) * sizeof(*n));
	} else {
		memmove(n + low + 1, n + high, (t->nr_nodes - high) * sizeof(*n));
		t->nr_nodes -= high - low - 1;
	}
	changed_from(t, low);
	n[low] = (struct atc_node){
		.from = from, .begin = it->ns, .end = it->end, .item = i, .nests = true,
	};
	return 0;
}

static int push_begin(struct atc_items *l, struct atc_task *t, uint32_t i)
{
	const uint32_t refs = l->of[i].at[0] >> 32;
	const bool is_inline = (refs | refs >> 16) & ASYNCTRACE_FXT_INLINE;
	int err = push(t, &l->of[i], i);
	struct atc_node *n;

	if (err)
		return err;
	n = &t->nodes[t->nr_nodes - 1];
	n->names = is_inline ? 0 : refs;
	n->provider = l->provider->file_id;
	n->generation = l->provider->names;
	return 0;
}

/*
 * An end without names and arguments gets the names of the begin at @n, unless @n began after this
 * end: the ring of a later begin may have been read first.
 */
static void take_names(const struct atc_items *l, struct atc_item *it, const struct atc_node *n)
{
	const bool unnamed = !(it->at[0] >> 32) && !(it->at[0] >> 20 & 0xf);

	if (unnamed && n->begin <= it->ns && n->provider == l->provider->file_id &&
	    n->generation == l->provider->names)
		it->names = n->names;
}

/* An end event merges the matching begin and all later nodes into one node. */
static void place_end(struct atc_items *l, struct atc_task *t, uint32_t i)
{
	struct atc_item *it = &l->of[i];

	while (t->nr_nodes && !t->nodes[t->nr_nodes - 1].open)
		t->nr_nodes--;
	changed_from(t, t->nr_nodes);
	/* Without a begin, the start of the duration is unknown. */
	if (!t->nr_nodes)
		return;
	take_names(l, it, &t->nodes[t->nr_nodes - 1]);
	t->nodes[t->nr_nodes - 1].open = false;
	t->nodes[t->nr_nodes - 1].end = it->ns;
}

static int place(struct at_compose *c, struct atc_items *l, uint32_t i)
{
	struct atc_item *it = &l->of[i];
	struct atc_task *t;

	/* Virtual threads have no complete durations, and blobs and objects belong to no thread. */
	if (it->form != ATC_EVENT)
		return 0;
	t = touch(c, l, it);
	if (it->type == ASYNCTRACE_FXT_DURATION)
		return place_complete(c, l, t, i);
	if (it->type == ASYNCTRACE_FXT_DURATION_END) {
		place_end(l, t, i);
		return 0;
	}
	return it->type == ASYNCTRACE_FXT_DURATION_BEGIN ? push_begin(l, t, i) : push(t, it, i);
}

/*
 * After a chunk was ordered, drops the nodes of instants and counters: durations of later chunks
 * may enclose these events, but need no other begin because of them. If too many nodes are left,
 * drops the first ones. Looks only at the nodes that this chunk has added or changed: a list may be
 * much longer than a chunk.
 */
static void settle(struct atc_task *t)
{
	size_t skip = 0, n = t->nr_settled;

	for (size_t i = n; i < t->nr_nodes; i++) {
		if (!t->nodes[i].nests && !t->nodes[i].async)
			continue;
		t->nodes[n] = t->nodes[i];
		t->nodes[n++].item = ATC_NONE;
	}
	if (n > NODES_MAX)
		skip = n - NODES_MAX / 2;
	if (skip)
		memmove(t->nodes, t->nodes + skip, (n - skip) * sizeof(*t->nodes));
	t->nr_nodes = n - skip;
	t->nr_settled = t->nr_nodes;
}

/* Links all items in the order of the ring. */
static void link_all(struct atc_items *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		l->of[i].prev = i - 1;
		l->of[i].next = i + 1;
	}
	l->head = 0;
	l->of[0].prev = ATC_NONE;
	l->of[l->nr - 1].next = ATC_NONE;
}

/* @l has at least one item. */
int atc_order(struct at_compose *c, struct atc_items *l)
{
	int err = 0;

	/* A chunk has no more threads than records. */
	if (l->room_tasks < l->room) {
		void *p = atc_realloc(l->tasks, l->room * sizeof(struct atc_task *));

		if (!p)
			return -ENOMEM;
		l->tasks = p;
		l->room_tasks = l->room;
	}
	c->epoch++;
	l->nr_tasks = 0;
	link_all(l);
	for (uint32_t i = 0; i < l->nr && !err; i++)
		err = place(c, l, i);
	for (size_t i = 0; i < l->nr_tasks; i++)
		settle(l->tasks[i]);
	return err;
}
