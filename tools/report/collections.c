// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds collections of garbage in a trace */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collections.h"
#include "fxt/table.h"

/*
 * Does the begin @rec belong to a duration of the program, which may have the same category? A
 * collection has the argument "flags".
 */
static bool is_own(const struct fxt_record *rec)
{
	const struct fxt_arg *flags = fxt_arg(rec, "flags");

	return !flags || flags->type != ASYNCTRACE_FXT_ARG_UINT32;
}

int collections_record(struct collections *c, const struct fxt_record *rec)
{
	const bool begin = rec->number == ASYNCTRACE_FXT_DURATION_BEGIN;
	char *type;

	if (rec->kind != FXT_EVENT || rec->damaged || !fxt_text_is(&rec->category, "memory") ||
	    (!begin && rec->number != ASYNCTRACE_FXT_DURATION_END))
		return 0;
	type = strndup(rec->name.s ? rec->name.s : "", rec->name.len);
	if (!type || !more_room(&c->of, c->nr, &c->room, sizeof(*c->of))) {
		free(type);
		return -ENOMEM;
	}
	c->of[c->nr] = (struct collection){
		.from = rec->ns, .pid = rec->thread.pid, .tid = rec->thread.tid, .type = type,
		.begin = begin, .own = begin && is_own(rec), .at = c->nr,
	};
	c->nr++;
	return 0;
}

/* Sorts by thread and time. Records of the same time keep the order of the file. */
static int by_thread(const void *a, const void *b)
{
	const struct collection *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
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
	size_t kept = 0, within = 0;

	if (c->nr)
		qsort(c->of, c->nr, sizeof(*c->of), by_thread);
	for (size_t i = 0; i < c->nr; i++) {
		const struct collection one = c->of[i];
		const bool same = open && open->pid == one.pid && open->tid == one.tid;

		if (one.begin && !one.own) {
			/* The library records no collection within another: an end was lost. */
			if (same)
				open->to = one.from;
			open = &c->of[kept++];
			*open = one;
			open->to = end > one.from ? end : one.from;
			within = 0;
			continue;
		}
		/*
		 * Durations of the program may have the collection's name. Count them, so that
		 * their ends are not taken for the end of the collection.
		 */
		if (same && !strcmp(open->type, one.type)) {
			if (one.begin) {
				within++;
			} else if (within) {
				within--;
			} else {
				open->to = one.from;
				open->complete = true;
				open = NULL;
			}
		}
		free(one.type);
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
