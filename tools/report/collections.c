// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds collections of garbage in a trace */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collections.h"
#include "fxt/table.h"

/*
 * Is @rec the begin of a collection? Its argument distinguishes it from durations of the program
 * in the same category.
 */
static bool is_begin(const struct fxt_record *rec)
{
	const struct fxt_arg *flags = fxt_arg(rec, "flags");

	return rec->number == ASYNCTRACE_FXT_DURATION_BEGIN && flags &&
	       flags->type == ASYNCTRACE_FXT_ARG_UINT32;
}

int collections_record(struct collections *c, const struct fxt_record *rec)
{
	struct collection *one;
	char *type = NULL;

	if (rec->kind != FXT_EVENT || rec->damaged || !fxt_text_is(&rec->category, "memory") ||
	    (!is_begin(rec) && rec->number != ASYNCTRACE_FXT_DURATION_END))
		return 0;
	if (rec->number == ASYNCTRACE_FXT_DURATION_BEGIN) {
		type = strndup(rec->name.s ? rec->name.s : "", rec->name.len);
		if (!type)
			return -ENOMEM;
	}
	if (!more_room(&c->of, c->nr, &c->room, sizeof(*c->of))) {
		free(type);
		return -ENOMEM;
	}
	one = &c->of[c->nr++];
	*one = (struct collection){
		.from = rec->ns, .pid = rec->thread.pid, .tid = rec->thread.tid, .type = type,
	};
	return 0;
}

/*
 * Sorts by thread and time. At the same time, an end comes before the begin of the next
 * collection.
 */
static int by_thread(const void *a, const void *b)
{
	const struct collection *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return !!x->type - !!y->type;
}

static int by_begin(const void *a, const void *b)
{
	const struct collection *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void collections_pair(struct collections *c, uint64_t end)
{
	struct collection *open = NULL;
	size_t kept = 0;

	if (c->nr)
		qsort(c->of, c->nr, sizeof(*c->of), by_thread);
	for (size_t i = 0; i < c->nr; i++) {
		const struct collection one = c->of[i];
		const bool same = open && open->pid == one.pid && open->tid == one.tid;

		if (one.type) {
			/* The library records no collection within another: an end was lost. */
			if (same)
				open->to = one.from;
			open = &c->of[kept++];
			*open = one;
			open->to = end > one.from ? end : one.from;
		} else if (same) {
			open->to = one.from;
			open->complete = true;
			open = NULL;
		}
	}
	c->nr = kept;
	if (kept)
		qsort(c->of, kept, sizeof(*c->of), by_begin);
}

void collections_free(struct collections *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->of[i].type);
	free(c->of);
	*c = (struct collections){ 0 };
}
