// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report of the threads that an operation depended on, like "related goroutines" of go tool trace.
 * These are the threads that worked on it, the wakers of these threads, and the wakers of the
 * wakers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "id.h"
#include "what.h"

/* Wakers of threads that worked on the operation have distance 1, and their wakers 2. */
#define DISTANCE_MAX	2

static const struct sheet_column related_columns[] = {
	COLUMN("operation", "OPERATION", SHEET_TEXT),
	COLUMN("distance", "DISTANCE", SHEET_COUNT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN_OPTIONAL("pid", "PID", SHEET_ID),
	COLUMN("wakeups", "WAKEUPS", SHEET_COUNT),
	COLUMN("woken", "WOKEN", SHEET_TEXT),
	COLUMN_OPTIONAL("woken_tid", "TID", SHEET_ID),
};

/* A wakeup of one thread by another that ended a sleep, or may have ended one */
struct wake {
	uint64_t ns;
	const struct analysis_thread *waker, *woken;
};

struct work {
	struct analysis_operation operation;	/* without intervals and threads */
	const struct analysis_thread **threads;
	size_t nr;
};

struct related {
	struct wake *wakes;
	size_t nr_wakes, room_wakes;
	struct work *works;		/* operations with the id */
	size_t nr_works, room_works;
};

/* A thread that the operation depended on */
struct relative {
	const struct analysis_thread *thread;
	unsigned int distance;
	uint64_t until;			/* later wakeups of the thread did not matter */
	uint64_t wakeups;		/* number of wakeups before .until by which this thread
					   woke threads of a smaller distance */
	const struct analysis_thread *woken;	/* thread that the last of these wakeups woke */
};

/* Relatives of one operation */
struct relatives {
	struct relative *of;
	size_t nr, room;
	struct fxt_table index;		/* analysis_thread_key(): .a index + 1 */
};

static int add_wake(void *arg, const struct analysis_wakeup *w)
{
	struct related *d = ((struct report *)arg)->data;

	/* A wakeup of a thread that is awake changes nothing. */
	if (w->waker_kind != ANALYSIS_OTHER_THREAD || w->awake || w->waker == w->woken)
		return 0;
	if (!more_room(&d->wakes, d->nr_wakes, &d->room_wakes, sizeof(*d->wakes)))
		return -ENOMEM;
	d->wakes[d->nr_wakes++] = (struct wake){
		.ns = w->ns, .waker = w->waker, .woken = w->woken,
	};
	return 0;
}

static int add_work(void *arg, const struct analysis_operation *op)
{
	const struct report *r = arg;
	struct related *d = r->data;
	struct work *work;

	if (!id_is(&op->id, r->id))
		return 0;
	if (!more_room(&d->works, d->nr_works, &d->room_works, sizeof(*d->works)))
		return -ENOMEM;
	work = &d->works[d->nr_works];
	*work = (struct work){ .operation = *op, .nr = op->nr_threads };
	/* The analysis frees threads and intervals after this call. */
	work->operation.threads = NULL;
	work->operation.intervals = NULL;
	work->operation.path = NULL;
	work->threads = malloc((op->nr_threads + 1) * sizeof(*work->threads));
	if (!work->threads)
		return -ENOMEM;
	if (op->nr_threads)
		memcpy(work->threads, op->threads, op->nr_threads * sizeof(*work->threads));
	d->nr_works++;
	return 0;
}

/* Returns the entry of @t. If there is none, makes one with @distance. NULL: no memory */
static struct relative *relative_of(struct relatives *all, const struct analysis_thread *t,
				    unsigned int distance)
{
	struct fxt_entry *e = fxt_make(&all->index, analysis_thread_key(t));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&all->of, all->nr, &all->room, sizeof(*all->of)))
			return NULL;
		all->of[all->nr] = (struct relative){ .thread = t, .distance = distance };
		e->a = ++all->nr;
	}
	return &all->of[e->a - 1];
}

static const struct relative *find(const struct relatives *all, const struct analysis_thread *t)
{
	const struct fxt_entry *e = fxt_find(&all->index, analysis_thread_key(t));

	return e ? &all->of[e->a - 1] : NULL;
}

/* Adds the wakers of all threads at @distance - 1. Wakeups are in order of time. */
static int add_wakers(struct relatives *all, const struct related *d, uint64_t from,
		      unsigned int distance)
{
	for (size_t i = 0; i < d->nr_wakes; i++) {
		const struct wake *w = &d->wakes[i];
		const struct relative *woken = find(all, w->woken);
		struct relative *waker;

		if (!woken || woken->distance != distance - 1 || w->ns < from ||
		    w->ns > woken->until)
			continue;
		waker = relative_of(all, w->waker, distance);
		if (!waker)
			return -ENOMEM;
		/* Skip a thread that already has a smaller distance. */
		if (waker->distance != distance)
			continue;
		waker->until = w->ns;
		waker->wakeups++;
		waker->woken = w->woken;
	}
	return 0;
}

static int add_workers(struct relatives *all, const struct work *work)
{
	for (size_t i = 0; i <= work->nr; i++) {
		/* Include the thread that began the operation, even if it has not worked on it. */
		const struct analysis_thread *t = i < work->nr ? work->threads[i] :
						  work->operation.creator;
		struct relative *worker = t ? relative_of(all, t, 0) : NULL;

		if (t && !worker)
			return -ENOMEM;
		if (t)
			worker->until = work->operation.end;
	}
	return 0;
}

static int by_distance(const void *a, const void *b)
{
	const struct relative *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->wakeups != y->wakeups)
		return x->wakeups > y->wakeups ? -1 : 1;
	return (x->thread->tid > y->thread->tid) - (x->thread->tid < y->thread->tid);
}

static void relative_row(struct sheet *s, const struct analysis_id *id, const struct relative *one)
{
	sheet_row(s);
	sheet_type(s, id->category, id->name);
	sheet_number(s, one->distance);
	sheet_text(s, one->thread->name);
	sheet_number(s, one->thread->tid);
	sheet_number(s, one->thread->pid);
	sheet_number(s, one->wakeups);
	sheet_text(s, one->woken ? one->woken->name : "");
	sheet_number(s, one->woken ? one->woken->tid : 0);
}

static void work_rows(struct report *r, const struct work *work)
{
	const struct related *d = r->data;
	struct relatives all = { 0 };
	int err = add_workers(&all, work);

	for (unsigned int i = 1; i <= DISTANCE_MAX && !err; i++)
		err = add_wakers(&all, d, work->operation.begin, i);
	if (all.nr)
		qsort(all.of, all.nr, sizeof(*all.of), by_distance);
	for (size_t i = 0; i < all.nr && !err; i++)
		relative_row(&r->sheet, &work->operation.id, &all.of[i]);
	r->sheet.failed |= err;
	free(all.of);
	fxt_table_free(&all.index);
}

static int by_time(const void *a, const void *b)
{
	const struct wake *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	return (x->operation.begin > y->operation.begin) -
	       (x->operation.begin < y->operation.begin);
}

static void fill_related(struct report *r)
{
	struct related *d = r->data;

	if (d->nr_wakes)
		qsort(d->wakes, d->nr_wakes, sizeof(*d->wakes), by_time);
	if (d->nr_works)
		qsort(d->works, d->nr_works, sizeof(*d->works), by_begin);
	for (size_t i = 0; i < d->nr_works; i++)
		work_rows(r, &d->works[i]);
}

static void free_related(void *data)
{
	struct related *d = data;

	for (size_t i = 0; i < d->nr_works; i++)
		free(d->works[i].threads);
	free(d->works);
	free(d->wakes);
}

const struct what whats_related[] = {
	{ .name = "related", .rows.operation = add_work, .rows.wakeup = add_wake,
	  .totals_only = true, .whole = true, .takes_id = true, .scheduled = true,
	  .data_size = sizeof(struct related), .fill = fill_related, .free = free_related,
	  COLUMNS(related_columns) },
	{ }
};
