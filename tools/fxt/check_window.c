// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sorts events and context switches by time. A file has them in the order in which rings were
 * read. So a window of them is sorted at a time: the older half is checked, and the younger half
 * waits for records that may still come between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_priv.h"

#define WINDOW_DEFAULT	(4u << 20)

static int by_time(const void *a, const void *b)
{
	const struct fxt_item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int take(struct fxt_check *c, const struct fxt_item *it)
{
	if (it->type == FXT_ITEM_SWITCH)
		return fxt_cpus_switch(c, it);
	if (it->lost)
		fxt_cpus_loss(c, it);
	return fxt_time_item(c, it);
}

static int settle(struct fxt_check *c, size_t nr)
{
	int err = 0;

	if (!c->nr_items)
		return 0;
	qsort(c->items, c->nr_items, sizeof(*c->items), by_time);
	for (size_t i = 0; i < nr && !err; i++)
		err = take(c, &c->items[i]);
	/* If late events fill the older half, c->settled must not go back to their time. */
	if (nr && c->settled < c->items[nr - 1].ns)
		c->settled = c->items[nr - 1].ns;
	c->nr_items -= nr;
	memmove(c->items, c->items + nr, c->nr_items * sizeof(*c->items));
	return err;
}

static int room(struct fxt_check *c)
{
	size_t window = c->window ? c->window : WINDOW_DEFAULT;
	size_t more = c->room_items ? 2 * c->room_items : 4096;
	struct fxt_item *items;

	if (c->nr_items >= window)
		return settle(c, (c->nr_items + 1) / 2);
	if (c->nr_items < c->room_items)
		return 0;
	items = realloc(c->items, more * sizeof(*items));
	if (!items)
		return -ENOMEM;
	c->items = items;
	c->room_items = more;
	return 0;
}

/*
 * If the event begins a run of a context, stores the context's id. The event has it in the argument
 * "operation", as the library's src/context/records.c writes it.
 */
static void find_context(struct fxt_item *it, const struct fxt_record *rec)
{
	const struct fxt_arg *id;

	if (rec->number != ASYNCTRACE_FXT_DURATION_BEGIN || !fxt_text_is(&rec->category, "context"))
		return;
	id = fxt_arg(rec, "operation");
	if (!id || id->type != ASYNCTRACE_FXT_ARG_UINT64 || !id->u)
		return;
	it->context = true;
	it->id = id->u;
}

int fxt_window_add(struct fxt_check *c, const struct fxt_record *rec)
{
	struct fxt_item *it;
	int err;

	/* Instants and counters need no counterpart and nest in nothing. */
	if (rec->number < ASYNCTRACE_FXT_DURATION_BEGIN)
		return 0;
	err = room(c);
	if (err)
		return err;
	if (rec->ns < c->settled)
		c->tally.late++;
	it = &c->items[c->nr_items++];
	*it = (struct fxt_item){
		.ns = rec->ns, .end_ns = rec->end_ns, .id = rec->id, .offset = rec->offset,
		.tid = rec->thread.tid, .pid = rec->thread.pid, .type = rec->number,
		.category = fxt_name(&c->names, rec->category.s, rec->category.len),
		.name = fxt_name(&c->names, rec->name.s, rec->name.len),
	};
	/* The recorder writes losses on a pseudo thread; programs may use the same name. */
	it->lost = rec->number == ASYNCTRACE_FXT_DURATION &&
		   rec->thread.tid > FXT_TID_REAL_MAX &&
		   fxt_text_is(&rec->name, "lost records");
	find_context(it, rec);
	return it->category == UINT32_MAX || it->name == UINT32_MAX ? -ENOMEM : 0;
}

int fxt_window_switch(struct fxt_check *c, const struct fxt_record *rec)
{
	const int err = room(c);

	if (err)
		return err;
	if (rec->ns < c->settled) {
		/*
		 * Later switches were checked without this one. So forget which thread runs where,
		 * and check no switch until c->settled.
		 */
		c->tally.late++;
		fxt_cpus_loss(c, &(struct fxt_item){ .end_ns = c->settled });
		return 0;
	}
	c->items[c->nr_items++] = (struct fxt_item){
		.ns = rec->ns, .offset = rec->offset, .type = FXT_ITEM_SWITCH, .cpu = rec->cpu,
		.id = rec->out, .tid = rec->in <= FXT_TID_REAL_MAX ? rec->in : 0,
		.inferred = fxt_is_inferred(rec),
	};
	return 0;
}

int fxt_window_end(struct fxt_check *c)
{
	return settle(c, c->nr_items);
}
