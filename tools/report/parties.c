// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups the time of an operation by the threads that had a part in it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parties.h"

/* Returns the key of the party: intervals of one state with the same key are one party. */
static uint64_t key_of(const struct analysis_interval *row)
{
	const uint64_t other = fxt_hash((uintptr_t)row->other, row->other_kind);
	const uint64_t key = fxt_hash(fxt_hash((uintptr_t)row->thread, row->reason), other);

	/*
	 * Separate three causes of being queued: the next thread worked on a part of the operation,
	 * on another operation, or on none.
	 */
	if (row->state == ANALYSIS_QUEUED)
		return fxt_hash(key, row->part ? 2 : !row->other_id);
	if (row->state != ANALYSIS_BLOCKED)
		return fxt_hash(key, (uintptr_t)row->cgroup);
	/* The analysis stores each name once, so pointers can be compared. */
	return fxt_hash(fxt_hash(key, row->duration[0] ? (uintptr_t)row->duration : 0),
			row->in[0] ? (uintptr_t)row->in + row->file : 0);
}

static int add_id(struct party *p, const struct analysis_id *id, uint64_t ns)
{
	struct fxt_entry *e = fxt_make(&p->all, fxt_hash(fxt_hash(id->id, (uintptr_t)id->name),
							 (uintptr_t)id->category));

	if (!e)
		return -ENOMEM;
	if (!e->a)
		e->a = (uintptr_t)id;
	e->b += ns;
	return 0;
}

static int by_names(const struct analysis_id *x, const struct analysis_id *y)
{
	int order = (x->id > y->id) - (x->id < y->id);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->category, y->category);
}

/* Moves the ids with the most time to the front; among equal ones the smaller first. */
static void choose_ids(struct party *p)
{
	p->nr_ids = p->all.used;
	fxt_each(&p->all, e) {
		const struct analysis_id *id = (const struct analysis_id *)(uintptr_t)e->a;

		for (size_t i = 0; i < PARTY_IDS_MAX; i++) {
			const struct analysis_id *other = p->ids[i].id;
			uint64_t ns = p->ids[i].ns;

			if (other && (ns > e->b || (ns == e->b && by_names(other, id) <= 0)))
				continue;
			p->ids[i].id = id;
			p->ids[i].ns = e->b;
			if (!other)
				break;
			/* Insert the replaced id at a later place. */
			id = other;
			e->b = ns;
		}
	}
	fxt_table_free(&p->all);
	p->all = (struct fxt_table){ 0 };
}

static int add(struct parties *p, const struct analysis_interval *row)
{
	struct fxt_entry *e = fxt_make(&p->index, key_of(row));
	struct party *party;

	if (!e)
		return -ENOMEM;
	if (!e->a) {
		if (!more_room(&p->of, p->nr, &p->room, sizeof(*p->of)))
			return -ENOMEM;
		p->of[p->nr] = (struct party){ .row = *row };
		e->a = ++p->nr;
	}
	party = &p->of[e->a - 1];
	party->ns += row->to - row->from;
	party->throttled_ns += row->throttled_ns;
	/* Keep the argument, such as a descriptor, only if all intervals have the same one. */
	if (row->argument != party->row.argument || !row->has_argument)
		party->row.has_argument = false;
	return row->other_id ? add_id(party, row->other_id, row->to - row->from) : 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct party *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->row.from > y->row.from) - (x->row.from < y->row.from);
}

int parties_of(const struct analysis_operation *op, enum analysis_state state,
	       struct parties *p)
{
	int err = 0;

	p->nr = 0;
	for (size_t i = 0; i < op->nr_intervals && !err; i++)
		if (op->intervals[i].state == state)
			err = add(p, &op->intervals[i]);
	for (size_t i = 0; i < p->nr; i++)
		choose_ids(&p->of[i]);
	fxt_table_free(&p->index);
	p->index = (struct fxt_table){ 0 };
	if (p->nr)
		qsort(p->of, p->nr, sizeof(*p->of), by_ns);
	return err;
}

void parties_free(struct parties *p)
{
	free(p->of);
	*p = (struct parties){ 0 };
}
