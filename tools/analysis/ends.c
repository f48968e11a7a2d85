// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds what a thread worked on at some time. The works of a thread are in order of their begins.
 * Each work has a bound: its end is not later. A tree over the bounds lets a search skip works that
 * ended before its time, however many there are.
 *
 * The trace shows the end of a work after the work was added. The bound stays as it is until a
 * search comes to that work.
 *
 * Each leaf of the binary tree stands for a group of works that follow each other: none of them has
 * a bound later than the leaf. Each other node has the value of the later one of its two children.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define GROUP	16

static uint64_t later(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/* Makes room for @nr works. */
static int grow(struct ends *e, size_t nr)
{
	const size_t old = e->leaves;
	size_t leaves = old ? old : 1;
	uint64_t *bounds, *nodes;

	if (nr <= old * GROUP)
		return 0;
	while (leaves * GROUP < nr)
		leaves *= 2;
	bounds = realloc(e->bounds, leaves * GROUP * sizeof(*bounds));
	if (!bounds)
		return -ENOMEM;
	memset(bounds + old * GROUP, 0, (leaves - old) * GROUP * sizeof(*bounds));
	e->bounds = bounds;
	nodes = calloc(2 * leaves, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	if (old)
		memcpy(nodes + leaves, e->nodes + old, old * sizeof(*nodes));
	for (size_t i = leaves - 1; i; i--)
		nodes[i] = later(nodes[2 * i], nodes[2 * i + 1]);
	free(e->nodes);
	e->nodes = nodes;
	e->leaves = leaves;
	return 0;
}

/* Lets @leaf and the nodes above it include @bound. */
static void include(struct ends *e, size_t leaf, uint64_t bound)
{
	for (size_t i = e->leaves + leaf; i && e->nodes[i] < bound; i /= 2)
		e->nodes[i] = bound;
}

static void set_bound(struct ends *e, size_t at, uint64_t bound)
{
	e->bounds[at] = bound;
	include(e, at / GROUP, bound);
}

/* Sets @leaf to the latest bound of its group. */
static void settle(struct ends *e, size_t leaf)
{
	size_t i = e->leaves + leaf;
	uint64_t latest = 0;

	for (size_t k = 0; k < GROUP; k++)
		latest = later(latest, e->bounds[leaf * GROUP + k]);
	e->nodes[i] = latest;
	while (i /= 2)
		e->nodes[i] = later(e->nodes[2 * i], e->nodes[2 * i + 1]);
}

/* Inserts the bound of the work at @at. @nr: number of works, with that one */
static int insert(struct ends *e, size_t nr, size_t at, uint64_t bound)
{
	int err = grow(e, nr);

	if (err)
		return err;
	memmove(e->bounds + at + 1, e->bounds + at, (nr - 1 - at) * sizeof(*e->bounds));
	set_bound(e, at, bound);
	/* The last bound of each group has moved to the begin of the next group. */
	for (size_t leaf = at / GROUP + 1; leaf * GROUP < nr; leaf++)
		include(e, leaf, e->bounds[leaf * GROUP]);
	return 0;
}

int ends_insert(struct thread *t, size_t at)
{
	const struct work *w = t->works.of[at];
	int err = insert(&t->ends, t->works.nr, at, work_end(w));

	if (err || (!w->entered && !t->entered_ends.leaves))
		return err;
	return insert(&t->entered_ends, t->works.nr, at, w->entered ? work_end(w) : 0);
}

static void clear(struct ends *e)
{
	if (!e->leaves)
		return;
	memset(e->bounds, 0, e->leaves * GROUP * sizeof(*e->bounds));
	memset(e->nodes, 0, 2 * e->leaves * sizeof(*e->nodes));
}

static void set_bounds(struct thread *t, size_t at)
{
	const struct work *w = t->works.of[at];

	set_bound(&t->ends, at, work_end(w));
	if (w->entered)
		set_bound(&t->entered_ends, at, work_end(w));
}

void ends_forget(struct thread *t)
{
	clear(&t->ends);
	clear(&t->entered_ends);
	for (size_t i = 0; i < t->works.nr; i++)
		set_bounds(t, i);
}

void ends_free(struct thread *t)
{
	free(t->ends.bounds);
	free(t->ends.nodes);
	free(t->entered_ends.bounds);
	free(t->entered_ends.nodes);
	t->ends = t->entered_ends = (struct ends){ 0 };
}

void ends_become_later(const struct operation *op)
{
	for (size_t i = 0; i < op->works.nr; i++) {
		const struct work *w = op->works.of[i];
		const struct works *all = &w->thread->works;
		size_t at = works_after(all, w->from);

		while (at && all->of[at - 1] != w && all->of[at - 1]->from == w->from)
			at--;
		/* The thread may have forgotten @w. */
		if (at && all->of[at - 1] == w)
			set_bounds(w->thread, at - 1);
	}
}

/*
 * Looks at the first @nr leaves. Returns 1 + the number of the last leaf whose value is @ns or
 * later, or 0 if no leaf has such a value.
 */
static size_t last_leaf(const struct ends *e, size_t nr, uint64_t ns)
{
	size_t i = e->leaves + nr - 1;

	while (e->nodes[i] < ns) {
		/* Go up to a node that has a sibling on its left side. */
		while (!(i % 2))
			i /= 2;
		if (i == 1)
			return 0;
		i--;
	}
	while (i < e->leaves)
		i = 2 * i + (e->nodes[2 * i + 1] >= ns);
	return i - e->leaves + 1;
}

/*
 * Returns the last one of the first @nr works of @t that ended at @ns or later, or NULL. @e: .ends
 * of @t, or .entered_ends to find only works with .entered
 */
static struct work *last_until(struct thread *t, struct ends *e, size_t nr, uint64_t ns)
{
	while (nr && e->leaves) {
		const size_t leaf = last_leaf(e, (nr - 1) / GROUP + 1, ns);

		if (!leaf)
			break;
		if (nr > leaf * GROUP)
			nr = leaf * GROUP;
		for (; nr > (leaf - 1) * GROUP; nr--) {
			uint64_t *bound = &e->bounds[nr - 1];

			if (*bound >= ns)
				*bound = work_end(t->works.of[nr - 1]);
			if (*bound >= ns)
				return t->works.of[nr - 1];
		}
		settle(e, leaf - 1);
	}
	return NULL;
}

struct work *work_at(struct thread *t, uint64_t ns)
{
	const size_t nr = ns ? works_after(&t->works, ns - 1) : 0;
	struct work *w = NULL;

	/* An operation that the thread entered has priority over a duration. */
	if (t->changed)
		w = last_until(t, &t->entered_ends, nr, ns);
	return w ? w : last_until(t, &t->ends, nr, ns);
}
