// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history of a thread is a row of stretches. In each stretch, the thread works on one operation
 * or on none. The stretches of operations with the same name are a group. Each group keeps running
 * sums of its times, so two binary searches find the group's time between two moments.
 *
 * A look-up makes the stretches up to the time that it needs. If a later record changes what the
 * thread worked on from some time on, the stretches from that time on are dropped.
 */
#include <errno.h>
#include <stdlib.h>

#include "busy.h"

/* A stretch of a group */
struct portion {
	uint64_t from, to;
	uint64_t before;	/* sum of the earlier portions of the group */
};

struct group {
	struct analysis_id id;	/* only .name is set */
	bool none;		/* the thread worked on no operation */
	struct portion *of;
	size_t nr, room;
	/* Sums of the current look-up. Parts are parts of the operation that is looked up. */
	uint64_t ns, count, part_ns, part_count;
	bool touched;		/* the current look-up has found a stretch of this group */
};

struct stretch {
	uint64_t from, to;
	const struct operation *op;	/* NULL: none. The thread's work keeps it in memory. */
	struct group *group;
};

/* Indexes of the stretches in which the thread worked on parts of one operation */
struct parts {
	size_t *of;
	size_t nr, room;
};

struct busy {
	struct stretch *of;
	size_t nr, room;
	uint64_t until;			/* the stretches are known before this time */
	uint64_t resume;		/* time in the last stretch from which it may be longer */
	uint64_t version;		/* .busy_version of struct analysis */
	struct group **groups;
	struct group **touched;		/* groups with time in the current look-up */
	size_t nr_groups, room_groups, nr_touched, room_touched;
	struct fxt_table by_name;	/* .a struct group */
	struct fxt_table wholes;	/* id of an operation with parts: .a struct parts */
};

bool busy_usable(const struct analysis *a)
{
	/* An entry at the current time does not count yet: see operation_is_entered(). */
	return a->opts.grouped && (a->over || a->entered_last != a->now);
}

void busy_free(struct thread *t)
{
	struct busy *b = t->busy;

	if (!b)
		return;
	for (size_t i = 0; i < b->nr_groups; i++) {
		free(b->groups[i]->of);
		free(b->groups[i]);
	}
	fxt_each(&b->wholes, e) {
		struct parts *p = (struct parts *)(uintptr_t)e->a;

		if (p)
			free(p->of);
		free(p);
	}
	fxt_table_free(&b->by_name);
	fxt_table_free(&b->wholes);
	free(b->groups);
	free(b->touched);
	free(b->of);
	free(b);
	t->busy = NULL;
}

/* --- stretches ------------------------------------------------------------------------ */

/* Returns the parts of the operation @id, or NULL. */
static struct parts *parts_of(const struct busy *b, uint64_t id)
{
	const struct fxt_entry *e = fxt_find(&b->wholes, fxt_hash(id, 0));

	return e ? (struct parts *)(uintptr_t)e->a : NULL;
}

/* Adds the last stretch to the parts of the operation @id. */
static int add_part(struct busy *b, uint64_t id)
{
	struct fxt_entry *e = fxt_make(&b->wholes, fxt_hash(id, 0));
	struct parts *p;

	if (!e)
		return -ENOMEM;
	if (!e->a)
		e->a = (uintptr_t)calloc(1, sizeof(*p));
	p = (struct parts *)(uintptr_t)e->a;
	if (!p || !more_room(&p->of, p->nr, &p->room, sizeof(*p->of)))
		return -ENOMEM;
	/* An id may be twice among the ancestors of an operation. */
	if (!p->nr || p->of[p->nr - 1] != b->nr - 1)
		p->of[p->nr++] = b->nr - 1;
	return 0;
}

static void pop(struct busy *b)
{
	const struct stretch *s = &b->of[b->nr - 1];

	for (size_t i = 0; s->op && i < ANCESTORS_MAX && s->op->ancestors[i]; i++) {
		struct parts *p = parts_of(b, s->op->ancestors[i]);

		if (p && p->nr && p->of[p->nr - 1] == b->nr - 1)
			p->nr--;
	}
	s->group->nr--;
	b->nr--;
}

/* Returns the group of operations with the name of @id, or of no operation if @id is NULL. */
static struct group *group_of(struct busy *b, const struct analysis_id *id)
{
	struct fxt_entry *e = fxt_make(&b->by_name, id ? fxt_hash((uintptr_t)id->name, 0) :
							 fxt_hash(0, 1));
	struct group *g;

	if (!e || !more_room(&b->groups, b->nr_groups, &b->room_groups, sizeof(*b->groups)) ||
	    !more_room(&b->touched, b->nr_groups, &b->room_touched, sizeof(*b->touched)))
		return NULL;
	if (e->a)
		return (struct group *)(uintptr_t)e->a;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->id = (struct analysis_id){
		.provider = "", .category = "", .name = id ? id->name : "",
	};
	g->none = !id;
	e->a = (uintptr_t)g;
	b->groups[b->nr_groups++] = g;
	return g;
}

/* Sets the end of the last stretch. */
static void set_end(struct busy *b, uint64_t to)
{
	struct stretch *s = &b->of[b->nr - 1];

	s->to = to;
	s->group->of[s->group->nr - 1].to = to;
}

/* Adds a stretch, or makes the last one longer if it has the same operation. */
static int add(struct busy *b, uint64_t from, uint64_t to, const struct operation *op)
{
	struct group *g;
	int err = 0;

	if (b->nr && b->of[b->nr - 1].op == op) {
		set_end(b, to);
		return 0;
	}
	g = group_of(b, op ? &op->out : NULL);
	if (!g || !more_room(&g->of, g->nr, &g->room, sizeof(*g->of)) ||
	    !more_room(&b->of, b->nr, &b->room, sizeof(*b->of)))
		return -ENOMEM;
	g->of[g->nr] = (struct portion){ .from = from, .to = to };
	if (g->nr)
		g->of[g->nr].before = g->of[g->nr - 1].before +
				      g->of[g->nr - 1].to - g->of[g->nr - 1].from;
	g->nr++;
	b->of[b->nr++] = (struct stretch){ .from = from, .to = to, .op = op, .group = g };
	for (size_t i = 0; op && i < ANCESTORS_MAX && op->ancestors[i] && !err; i++)
		err = add_part(b, op->ancestors[i]);
	return err;
}

/* Makes the stretches of @t from @from to @to, in which @op waited, if they are not known. */
static int extend(struct analysis *a, const struct operation *op, struct thread *t, uint64_t from,
		  uint64_t to)
{
	/* Look-ups for @op, and later those for older operations, go back as far as this. */
	uint64_t at = a->oldest && a->oldest->begin < op->begin ? a->oldest->begin : op->begin;
	struct busy *b = t->busy;
	int err = 0;

	if (b && (b->version != a->busy_version || (b->nr && from < b->of[0].from)))
		busy_free(t);
	if (!t->busy)
		t->busy = calloc(1, sizeof(*b));
	b = t->busy;
	if (!b)
		return -ENOMEM;
	b->version = a->busy_version;
	if (b->nr && to <= b->until)
		return 0;
	/* The last work of the last stretch ended only because no later time was looked up. */
	if (b->nr) {
		at = b->resume;
		if (b->of[b->nr - 1].from < at)
			set_end(b, at);
		else
			pop(b);
	}
	while (at < to && !err) {
		uint64_t end;
		const struct work *w = busy_work(t, at, to, &end);

		err = add(b, at, end, id_of(a, w) ? w->op : NULL);
		b->resume = at;
		at = end;
	}
	b->until = to;
	return err;
}

void busy_cut(struct thread *t, uint64_t ns)
{
	struct busy *b = t->busy;

	if (!b || b->until <= ns)
		return;
	while (b->nr && b->of[b->nr - 1].from >= ns)
		pop(b);
	if (b->nr) {
		set_end(b, ns);
		if (b->resume >= ns)
			b->resume = b->of[b->nr - 1].from;
	}
	b->until = ns;
}

void busy_entered(struct analysis *a, const struct operation *op)
{
	a->entered_last = a->now;
	for (size_t i = 0; i < op->works.nr; i++)
		busy_cut(op->works.of[i]->thread, op->works.of[i]->from);
}

void busy_ended(const struct operation *op)
{
	/* If @op was entered at its end or later, works that durations suggest count again. */
	const bool again = op->entered_at >= op->end && op->entered_at != STILL_OPEN;

	for (size_t i = 0; i < op->works.nr; i++)
		busy_cut(op->works.of[i]->thread, again ? op->works.of[i]->from : op->end);
	if (again)
		ends_become_later(op);
}

/* --- look-ups --------------------------------------------------------------------------- */

/*
 * Returns the first of the numbers below @nr for which @end returns a time after @ns, or @nr. @end
 * must return ascending times for ascending numbers.
 */
static inline size_t first_after(size_t nr, uint64_t ns,
				 uint64_t (*end)(const struct busy *b, const void *of, size_t i),
				 const struct busy *b, const void *of)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end(b, of, middle) <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t portion_end(const struct busy *b, const void *of, size_t i)
{
	(void)b;
	return ((const struct group *)of)->of[i].to;
}

static uint64_t stretch_end(const struct busy *b, const void *of, size_t i)
{
	(void)of;
	return b->of[i].to;
}

static uint64_t part_end(const struct busy *b, const void *of, size_t i)
{
	return b->of[((const struct parts *)of)->of[i]].to;
}

/* Returns the length of the part of @from..@to that lies within @row. */
static uint64_t within(const struct analysis_interval *row, uint64_t from, uint64_t to)
{
	if (from < row->from)
		from = row->from;
	if (to > row->to)
		to = row->to;
	return from < to ? to - from : 0;
}

/* Clears the sums of @g, and makes it a group of the current look-up. */
static void touch(struct busy *b, struct group *g)
{
	if (g->touched)
		return;
	g->ns = g->count = g->part_ns = g->part_count = 0;
	g->touched = true;
	b->touched[b->nr_touched++] = g;
}

/* Adds to the sums of @g those of the time of @row. */
static void sum(const struct busy *b, struct group *g, const struct analysis_interval *row)
{
	const size_t first = first_after(g->nr, row->from, portion_end, b, g);
	size_t last = first_after(g->nr, row->to, portion_end, b, g);

	/* The portion around the end of the row belongs to it, too. */
	if (last < g->nr && g->of[last].from < row->to)
		last++;
	if (first >= last)
		return;
	g->count += last - first;
	g->ns += within(row, g->of[first].from, g->of[first].to);
	if (last - first > 1)
		g->ns += g->of[last - 1].before - g->of[first + 1].before +
			 within(row, g->of[last - 1].from, g->of[last - 1].to);
}

/*
 * Sums the stretches of the time of @row by group. Looks at each stretch if the row has fewer of
 * them than there are groups, and otherwise looks up the sums of each group.
 */
static void sum_groups(struct busy *b, const struct analysis_interval *row)
{
	const size_t first = first_after(b->nr, row->from, stretch_end, b, NULL);

	b->nr_touched = 0;
	if (first + b->nr_groups < b->nr && b->of[first + b->nr_groups].from < row->to) {
		for (size_t i = 0; i < b->nr_groups; i++) {
			touch(b, b->groups[i]);
			sum(b, b->groups[i], row);
		}
	} else {
		for (size_t i = first; i < b->nr && b->of[i].from < row->to; i++) {
			const struct stretch *s = &b->of[i];

			touch(b, s->group);
			s->group->count++;
			s->group->ns += within(row, s->from, s->to);
		}
	}
	for (size_t i = 0; i < b->nr_touched; i++)
		b->touched[i]->touched = false;
}

/* Moves the time in which @b worked on parts of @op from the sums of groups to those of parts. */
static void sum_parts(const struct busy *b, const struct operation *op,
		      const struct analysis_interval *row)
{
	const struct parts *p = parts_of(b, op->out.id);

	if (!p)
		return;
	for (size_t i = first_after(p->nr, row->from, part_end, b, p);
	     i < p->nr && b->of[p->of[i]].from < row->to; i++) {
		const struct stretch *s = &b->of[p->of[i]];
		const uint64_t ns = within(row, s->from, s->to);

		s->group->count--;
		s->group->ns -= ns;
		s->group->part_count++;
		s->group->part_ns += ns;
	}
}

int busy_divide(struct analysis *a, const struct operation *op,
		const struct analysis_interval *row, struct thread *next, struct intervals *l)
{
	struct analysis_interval part = *row;
	int err = extend(a, op, next, row->from, row->to);
	struct busy *b = next->busy;

	if (err)
		return err;
	part.thread = thread_at(next, row->to);
	sum_groups(b, row);
	sum_parts(b, op, row);
	for (size_t i = 0; i < b->nr_touched && !err; i++) {
		const struct group *g = b->touched[i];

		part.other_id = g->none ? NULL : &g->id;
		part.part = false;
		part.to = part.from + g->ns;
		part.joined = g->count;
		err = intervals_add(l, &part);
		part.from = part.to;
		part.part = true;
		part.to = part.from + g->part_ns;
		part.joined = g->part_count;
		if (!err)
			err = intervals_add(l, &part);
		part.from = part.to;
	}
	return err;
}
