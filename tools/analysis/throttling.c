// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times in which the CPU quota of a cgroup throttled a process. The recorder writes a counter of
 * the process for each interval in which the kernel counted throttling: see asynctrace(5). The
 * kernel counts it at the end of the throttled time, and does not tell which threads waited. So
 * this file only knows a bound of the time that a thread waited for its quota.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "throttling.h"

/* Limit of cgroups of one process, far above the depth of real hierarchies, for hostile files */
#define CGROUPS_MAX	64

/* An interval in which a cgroup was throttled */
struct throttled {
	uint64_t from, to;
	uint64_t ns;		/* summed over CPUs; 0: counted in a later interval */
};

/* A cgroup of a process */
struct quota {
	uint32_t path;		/* name */
	uint64_t longest;	/* length of the longest interval */
	struct throttled *of;	/* in order of .from */
	size_t first, nr, room;
};

struct quotas {
	struct quota *of;
	size_t nr, room;
};

static uint64_t number(const struct fxt_record *rec, const char *name)
{
	const struct fxt_arg *arg = fxt_arg(rec, name);

	return arg && arg->type == ASYNCTRACE_FXT_ARG_UINT64 ? arg->u : 0;
}

int throttling_record(struct analysis *a, const struct fxt_record *rec)
{
	const uint64_t us = number(rec, "interval_us"), throttled = number(rec, "throttled_us");
	struct item it = {
		.ns = rec->ns, .kind = ITEM_THROTTLED, .pid = rec->thread.pid,
		.record = throttled * 1000, .name = fxt_name(&a->names, rec->name.s, rec->name.len),
	};

	if (it.name == NO_NAME)
		return -ENOMEM;
	/*
	 * A counter with neither time nor periods says that the throttling has ended. Only viewers
	 * need it.
	 */
	if ((!throttled && !number(rec, "throttled_periods")) ||
	    us > (UINT64_MAX - rec->ns) / 1000 || throttled > UINT64_MAX / 1000)
		return 0;
	it.id = rec->ns + us * 1000;
	return order_add(a, &it);
}

static const struct quotas *quotas_of(const struct analysis *a, uint32_t pid)
{
	const struct fxt_entry *e = fxt_find(&a->throttled, (uint64_t)pid + 1);

	return e ? (const struct quotas *)(uintptr_t)e->a : NULL;
}

/*
 * Returns the cgroup @path of the process @pid, and makes it if it is new. NULL: no memory; or, if
 * *@full is set, the process has too many cgroups.
 */
static struct quota *quota_make(struct analysis *a, uint32_t pid, uint32_t path, bool *full)
{
	struct fxt_entry *e = fxt_make(&a->throttled, (uint64_t)pid + 1);
	struct quotas *q;

	if (e && !e->a)
		e->a = (uintptr_t)calloc(1, sizeof(*q));
	q = e ? (struct quotas *)(uintptr_t)e->a : NULL;
	if (!q)
		return NULL;
	for (size_t i = 0; i < q->nr; i++)
		if (q->of[i].path == path)
			return &q->of[i];
	*full = q->nr == CGROUPS_MAX;
	if (*full || !fxt_make(&a->cgroups, (uint64_t)path + 1) ||
	    !more_room(&q->of, q->nr, &q->room, sizeof(*q->of)))
		return NULL;
	a->totals.throttled = a->cgroups.used;
	q->of[q->nr] = (struct quota){ .path = path };
	return &q->of[q->nr++];
}

int throttling_item(struct analysis *a, const struct item *it)
{
	bool full = false;
	struct quota *q = quota_make(a, it->pid, it->name, &full);
	size_t at;

	if (full)
		return 0;
	if (!q || !more_room(&q->of, q->nr, &q->room, sizeof(*q->of)))
		return -ENOMEM;
	/* An item that came late belongs before others. */
	for (at = q->nr; at > q->first && q->of[at - 1].from > it->ns; at--)
		;
	memmove(q->of + at + 1, q->of + at, (q->nr - at) * sizeof(*q->of));
	q->of[at] = (struct throttled){ .from = it->ns, .to = it->id, .ns = it->record };
	q->nr++;
	if (it->id - it->ns > q->longest)
		q->longest = it->id - it->ns;
	return 0;
}

/* Returns the index of the first interval that begins at @ns or later. */
static size_t index_of(const struct quota *q, uint64_t ns)
{
	size_t low = q->first, high = q->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (q->of[middle].from < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns an upper bound of the time from @from to @to in which @q throttled a thread. */
static uint64_t bound(const struct quota *q, uint64_t from, uint64_t to)
{
	uint64_t covered = 0, counted = 0, at = from;
	bool counted_later = false;

	for (size_t i = index_of(q, from > q->longest ? from - q->longest : 0);
	     i < q->nr && q->of[i].from < to; i++) {
		const struct throttled *t = &q->of[i];
		const uint64_t begin = t->from > at ? t->from : at;
		const uint64_t end = t->to < to ? t->to : to;

		if (t->to <= from)
			continue;
		if (begin < end) {
			covered += end - begin;
			at = end;
		}
		counted += t->ns;
		counted_later |= !t->ns;
	}
	return counted_later || counted > covered ? covered : counted;
}

uint64_t throttling_within(const struct analysis *a, uint32_t pid, uint64_t from, uint64_t to,
			   const char **path)
{
	const struct quotas *q = a->throttled.used ? quotas_of(a, pid) : NULL;
	uint64_t longest = 0;

	*path = NULL;
	for (size_t i = 0; q && i < q->nr; i++) {
		const uint64_t ns = bound(&q->of[i], from, to);

		if (ns <= longest)
			continue;
		longest = ns;
		*path = text_of(a, q->of[i].path);
	}
	return longest;
}

static void forget(struct quota *q, uint64_t ns)
{
	while (q->first < q->nr && q->of[q->first].to <= ns)
		q->first++;
	if (q->first > q->nr / 2) {
		q->nr -= q->first;
		memmove(q->of, q->of + q->first, q->nr * sizeof(*q->of));
		q->first = 0;
	}
}

void throttling_forget(struct analysis *a, uint64_t ns)
{
	fxt_each(&a->throttled, e) {
		struct quotas *q = (struct quotas *)(uintptr_t)e->a;

		for (size_t i = 0; q && i < q->nr; i++)
			forget(&q->of[i], ns);
	}
}

void throttling_free(struct analysis *a)
{
	fxt_each(&a->throttled, e) {
		struct quotas *q = (struct quotas *)(uintptr_t)e->a;

		for (size_t i = 0; q && i < q->nr; i++)
			free(q->of[i].of);
		if (q)
			free(q->of);
		free(q);
	}
	fxt_table_free(&a->throttled);
	fxt_table_free(&a->cgroups);
}
