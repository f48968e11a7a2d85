// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reports threads, sched, its histogram, its occupants (the threads that had the CPU while
 * another one waited) and wakeups. A wait is the time in which a thread was runnable. A wait that
 * began before the thread's first record has an unknown length and is left out. A thread is
 * followed if all of its switches are recorded. Waits that began before that are left out, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "reasons.h"
#include "what.h"

/* --- threads ---------------------------------------------------------------------- */

static const struct sheet_column threads_columns[] = {
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN_OPTIONAL("pid", "PID", SHEET_ID),
	COLUMN("observed_ns", "SEEN ms", SHEET_NS),
	COLUMN("running_ns", "RUNNING", SHEET_NS),
	COLUMN("woken_ns", "WAITING", SHEET_NS),
	COLUMN("preempted_ns", "PREEMPTED", SHEET_NS),
	COLUMN_OPTIONAL("throttled_ns", "QUOTA", SHEET_NS),
	COLUMN("blocked_ns", "BLOCKED", SHEET_NS),
	COLUMN_OPTIONAL("disk_ns", "OF IT DISK", SHEET_NS),
	COLUMN("unknown_ns", "?", SHEET_NS),
	COLUMN_OPTIONAL("inferred_ns", "INFERRED", SHEET_NS),
	COLUMN_OPTIONAL("voluntary", "SLEPT", SHEET_COUNT),
	COLUMN_OPTIONAL("preempted", "PREEMPTED", SHEET_COUNT),
	COLUMN_OPTIONAL("migrations", "MOVED", SHEET_COUNT),
	COLUMN_OPTIONAL("wakeups", "WOKEN", SHEET_COUNT),
	COLUMN_OPTIONAL("wakes", "WAKES", SHEET_COUNT),
	COLUMN_OPTIONAL("last", "AT THE END", SHEET_TEXT),
};

/* The state in which a thread is at the end of the trace: "blocked in futex" */
static void add_last(struct sheet *s, const struct analysis_interval *last)
{
	const char *reason = reason_of(last);

	if (last->state == ANALYSIS_BLOCKED && last->in[0])
		sheet_textf(s, "blocked in %s", reason);
	else if (*reason && last->state != ANALYSIS_UNKNOWN)
		sheet_textf(s, "%s: %s", analysis_state_name(last->state), reason);
	else
		sheet_text(s, analysis_state_name(last->state));
}

static int add_thread_row(void *arg, const struct analysis_thread_row *row)
{
	const uint64_t preempted = row->reason_ns[ANALYSIS_PREEMPTED] +
				   row->reason_ns[ANALYSIS_YIELDED];
	struct report *r = arg;
	struct sheet *s = &r->sheet;

	sheet_row(s);
	sheet_text(s, row->thread->name);
	sheet_number(s, row->thread->tid);
	sheet_number(s, row->thread->pid);
	sheet_number(s, row->to - row->from - row->exited_ns);
	sheet_number(s, row->ns[ANALYSIS_RUNNING]);
	sheet_number(s, row->ns[ANALYSIS_RUNNABLE] - preempted);
	sheet_number(s, preempted);
	sheet_number(s, row->throttled_ns);
	sheet_number(s, row->ns[ANALYSIS_BLOCKED]);
	sheet_number(s, row->reason_ns[ANALYSIS_DISK] + row->reason_ns[ANALYSIS_IOWAIT]);
	sheet_number(s, row->ns[ANALYSIS_UNKNOWN]);
	sheet_number(s, row->inferred_ns);
	sheet_number(s, row->voluntary);
	sheet_number(s, row->preempted);
	sheet_number(s, row->migrations);
	sheet_number(s, row->wakeups);
	sheet_number(s, row->wakes);
	add_last(s, &row->last);
	return s->failed ? -ENOMEM : 0;
}

/* --- waits ------------------------------------------------------------------------- */

/* The time that one thread waited while another one had the CPU */
struct behind {
	const struct analysis_thread *other;	/* NULL: see .kind */
	enum analysis_other kind;
	size_t waiter;		/* index of the waiter */
	uint64_t ns, times;
};

struct waiter {
	const struct analysis_thread *thread;
	struct samples waits;
	uint64_t voluntary, preempted, migrations;
	const struct behind *top;	/* the entry of this waiter with the largest .ns */
};

struct waits {
	struct waiter *waiters;
	struct behind *behind;
	size_t nr_waiters, room_waiters, nr_behind, room_behind;
	struct fxt_table index;		/* key of waiter_of(): .a index of the waiter + 1 */
	struct fxt_table pairs;		/* .a index of the pair + 1 */
};

/*
 * Counts of switches are those of all threads that had one id after each other. A report that has
 * such counts joins these threads, as report threads does.
 */
static bool joins(const struct report *r)
{
	return r->what->rows.thread;
}

static struct waiter *waiter_of(struct report *r, const struct analysis_thread *t)
{
	struct waits *w = r->data;
	struct fxt_entry *e = fxt_make(&w->index, joins(r) ? (uint64_t)t->tid + 1 :
				       analysis_thread_key(t));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&w->waiters, w->nr_waiters, &w->room_waiters, sizeof(*w->waiters)))
			return NULL;
		w->waiters[w->nr_waiters] = (struct waiter){ .thread = t };
		e->a = ++w->nr_waiters;
	}
	return &w->waiters[e->a - 1];
}

static int add_behind(struct waits *w, size_t waiter, const struct analysis_interval *part)
{
	struct fxt_entry *e = fxt_make(&w->pairs, fxt_hash(fxt_hash(waiter, part->other_kind),
							   (uintptr_t)part->other));
	struct behind *b;

	if (!e)
		return -ENOMEM;
	if (!e->a) {
		if (!more_room(&w->behind, w->nr_behind, &w->room_behind, sizeof(*w->behind)))
			return -ENOMEM;
		w->behind[w->nr_behind] = (struct behind){
			.other = part->other, .kind = part->other_kind, .waiter = waiter,
		};
		e->a = ++w->nr_behind;
	}
	b = &w->behind[e->a - 1];
	b->ns += part->to - part->from;
	b->times++;
	return 0;
}

static int add_wait(void *arg, const struct analysis_wait *wait)
{
	struct report *r = arg;
	struct waits *w = r->data;
	struct waiter *t;
	int err;

	if (wait->cut || !wait->exact)
		return 0;
	t = waiter_of(r, wait->thread);
	if (!t)
		return -ENOMEM;
	err = samples_add(&t->waits, wait->to - wait->from);
	for (size_t i = 0; i < wait->nr_parts && !err; i++)
		err = add_behind(w, t - w->waiters, &wait->parts[i]);
	return err;
}

static int add_counts(void *arg, const struct analysis_thread_row *row)
{
	struct report *r = arg;
	struct waiter *t = waiter_of(r, row->thread);

	if (!t)
		return -ENOMEM;
	/* The last one of the threads that had the id */
	t->thread = row->thread;
	t->voluntary = row->voluntary;
	t->preempted = row->preempted;
	t->migrations = row->migrations;
	return 0;
}

static int by_wait(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->waits.sum != y->waits.sum)
		return x->waits.sum > y->waits.sum ? -1 : 1;
	return (x->thread->tid > y->thread->tid) - (x->thread->tid < y->thread->tid);
}

static int by_ns(const void *a, const void *b)
{
	const struct behind *x = a, *y = b;
	const uint32_t s = x->other ? x->other->tid : 0, t = y->other ? y->other->tid : 0;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter > y->waiter ? 1 : -1;
	return s != t ? (s > t ? 1 : -1) : (int)x->kind - (int)y->kind;
}

static void sort_waits(struct waits *w)
{
	if (w->nr_behind)
		qsort(w->behind, w->nr_behind, sizeof(*w->behind), by_ns);
	for (size_t i = w->nr_behind; i; i--)
		w->waiters[w->behind[i - 1].waiter].top = &w->behind[i - 1];
	for (size_t i = 0; i < w->nr_waiters; i++)
		samples_sort(&w->waiters[i].waits);
}

static const char *name_of(const struct analysis_thread *t, enum analysis_other kind)
{
	static const char *const names[] = {
		[ANALYSIS_OTHER_NONE] = "not known", [ANALYSIS_OTHER_THREAD] = "thread",
		[ANALYSIS_OTHER_IDLE] = "idle CPU", [ANALYSIS_OTHER_INTERRUPT] = "interrupt",
		[ANALYSIS_OTHER_HIDDEN] = "hidden task",
	};

	return t && t->name[0] ? t->name : names[kind];
}

static void free_waits(void *data)
{
	struct waits *w = data;

	for (size_t i = 0; i < w->nr_waiters; i++)
		samples_free(&w->waiters[i].waits);
	free(w->waiters);
	free(w->behind);
	fxt_table_free(&w->index);
	fxt_table_free(&w->pairs);
}

/* --- sched ------------------------------------------------------------------------- */

static const struct sheet_column sched_columns[] = {
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN_OPTIONAL("pid", "PID", SHEET_ID),
	COLUMN("waits", "WAITS", SHEET_COUNT),
	COLUMN("p50_ns", "P50 ms", SHEET_NS),
	COLUMN("p99_ns", "P99", SHEET_NS),
	COLUMN("max_ns", "MAX", SHEET_NS),
	COLUMN("sum_ns", "SUM", SHEET_NS),
	COLUMN_OPTIONAL("voluntary", "SLEPT", SHEET_COUNT),
	COLUMN_OPTIONAL("preempted", "PREEMPTED", SHEET_COUNT),
	COLUMN_OPTIONAL("migrations", "MOVED", SHEET_COUNT),
	COLUMN("behind", "BEHIND", SHEET_TEXT),
	COLUMN("behind_share", "%", SHEET_SHARE),
};

static void fill_sched(struct report *r)
{
	struct waits *w = r->data;
	struct sheet *s = &r->sheet;

	sort_waits(w);
	if (w->nr_waiters)
		qsort(w->waiters, w->nr_waiters, sizeof(*w->waiters), by_wait);
	for (size_t i = 0; i < w->nr_waiters; i++) {
		const struct waiter *t = &w->waiters[i];

		/* A thread that had the id before may have been followed. */
		if (!t->thread->followed && !t->waits.nr)
			continue;
		sheet_row(s);
		sheet_text(s, t->thread->name);
		sheet_number(s, t->thread->tid);
		sheet_number(s, t->thread->pid);
		sheet_number(s, t->waits.nr);
		sheet_percentile(s, &t->waits, 50);
		sheet_percentile(s, &t->waits, 99);
		sheet_percentile(s, &t->waits, 100);
		sheet_sum(s, t->waits.sum);
		sheet_number(s, t->voluntary);
		sheet_number(s, t->preempted);
		sheet_number(s, t->migrations);
		sheet_text(s, t->top ? name_of(t->top->other, t->top->kind) : "");
		sheet_share(s, t->top ? t->top->ns : 0, t->waits.sum);
	}
}

static const struct sheet_column histogram_columns[] = {
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	HISTOGRAM_COLUMNS
};

static void fill_histogram(struct report *r)
{
	struct waits *w = r->data;

	sort_waits(w);
	if (w->nr_waiters)
		qsort(w->waiters, w->nr_waiters, sizeof(*w->waiters), by_wait);
	for (size_t i = 0; i < w->nr_waiters; i++) {
		struct histogram h = histogram_of(&w->waiters[i].waits);

		while (histogram_next(&h)) {
			sheet_row(&r->sheet);
			sheet_text(&r->sheet, w->waiters[i].thread->name);
			sheet_number(&r->sheet, w->waiters[i].thread->tid);
			sheet_histogram(&r->sheet, &h);
		}
	}
}

static const struct sheet_column occupants_columns[] = {
	COLUMN("ns", "MS", SHEET_NS),
	COLUMN("share", "%", SHEET_SHARE),
	COLUMN("count", "TIMES", SHEET_COUNT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN("behind", "BEHIND", SHEET_TEXT),
	COLUMN("behind_tid", "TID", SHEET_ID),
};

static void fill_occupants(struct report *r)
{
	struct waits *w = r->data;
	struct sheet *s = &r->sheet;
	unsigned __int128 all = 0;

	sort_waits(w);
	for (size_t i = 0; i < w->nr_waiters; i++)
		all += w->waiters[i].waits.sum;
	for (size_t i = 0; i < w->nr_behind; i++) {
		const struct behind *b = &w->behind[i];
		const struct analysis_thread *t = w->waiters[b->waiter].thread;

		sheet_row(s);
		sheet_number(s, b->ns);
		sheet_share(s, b->ns, all);
		sheet_number(s, b->times);
		sheet_text(s, t->name);
		sheet_number(s, t->tid);
		sheet_text(s, name_of(b->other, b->kind));
		sheet_number(s, b->other ? b->other->tid : 0);
	}
}

/* --- wakeups ------------------------------------------------------------------------ */

static const struct sheet_column wakeups_columns[] = {
	COLUMN("waker", "WAKER", SHEET_TEXT),
	COLUMN("waker_tid", "TID", SHEET_ID),
	COLUMN("woken", "WOKEN", SHEET_TEXT),
	COLUMN("woken_tid", "TID", SHEET_ID),
	COLUMN("count", "WAKEUPS", SHEET_COUNT),
	COLUMN("awake", "AWAKE", SHEET_COUNT),
	COLUMN("p50_ns", "P50 ms", SHEET_NS),
	COLUMN("p99_ns", "P99", SHEET_NS),
	COLUMN("max_ns", "MAX", SHEET_NS),
	COLUMN("sum_ns", "SUM", SHEET_NS),
};

/* Wakeups of one thread by another */
struct couple {
	const struct analysis_thread *waker, *woken;
	enum analysis_other kind;
	uint64_t count, awake;	/* awake: wakeups that found the thread awake */
	struct samples latencies;
};

struct couples {
	struct couple *of;
	size_t nr, room;
	struct fxt_table index;		/* .a index + 1 */
};

static int add_wakeup(void *arg, const struct analysis_wakeup *w)
{
	struct report *r = arg;
	struct couples *all = r->data;
	const uint64_t waker = fxt_hash((uintptr_t)w->waker, w->waker_kind);
	struct fxt_entry *e = fxt_make(&all->index, fxt_hash(waker, (uintptr_t)w->woken));
	struct couple *c;

	if (!e)
		return -ENOMEM;
	if (!e->a) {
		if (!more_room(&all->of, all->nr, &all->room, sizeof(*all->of)))
			return -ENOMEM;
		all->of[all->nr] = (struct couple){
			.waker = w->waker, .woken = w->woken, .kind = w->waker_kind,
		};
		e->a = ++all->nr;
	}
	c = &all->of[e->a - 1];
	c->count++;
	c->awake += w->awake;
	return w->ran && w->exact ? samples_add(&c->latencies, w->latency_ns) : 0;
}

static int by_count(const void *a, const void *b)
{
	const struct couple *x = a, *y = b;
	const uint32_t s = x->waker ? x->waker->tid : 0, t = y->waker ? y->waker->tid : 0;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->woken->tid != y->woken->tid)
		return x->woken->tid > y->woken->tid ? 1 : -1;
	return s != t ? (s > t ? 1 : -1) : (int)x->kind - (int)y->kind;
}

static void fill_wakeups(struct report *r)
{
	struct couples *all = r->data;
	struct sheet *s = &r->sheet;

	if (all->nr)
		qsort(all->of, all->nr, sizeof(*all->of), by_count);
	for (size_t i = 0; i < all->nr; i++) {
		struct couple *c = &all->of[i];

		samples_sort(&c->latencies);
		sheet_row(s);
		sheet_text(s, name_of(c->waker, c->kind));
		sheet_number(s, c->waker ? c->waker->tid : 0);
		sheet_text(s, c->woken->name);
		sheet_number(s, c->woken->tid);
		sheet_number(s, c->count);
		sheet_number(s, c->awake);
		sheet_percentile(s, &c->latencies, 50);
		sheet_percentile(s, &c->latencies, 99);
		sheet_percentile(s, &c->latencies, 100);
		sheet_sum(s, c->latencies.sum);
	}
}

static void free_couples(void *data)
{
	struct couples *all = data;

	for (size_t i = 0; i < all->nr; i++)
		samples_free(&all->of[i].latencies);
	free(all->of);
	fxt_table_free(&all->index);
}

#define WAITS(n, f, c) { \
	.name = (n), .rows.wait = add_wait, .data_size = sizeof(struct waits), .fill = (f), \
	.free = free_waits, .timed = true, .scheduled = true, .many = true, COLUMNS(c) \
}

const struct what whats_sched[] = {
	{ .name = "threads", .rows.thread = add_thread_row, .scheduled = true, .many = true,
	  COLUMNS(threads_columns) },
	{ .name = "sched", .rows.wait = add_wait, .rows.thread = add_counts,
	  .data_size = sizeof(struct waits), .fill = fill_sched, .free = free_waits,
	  .scheduled = true, .many = true, COLUMNS(sched_columns) },
	WAITS("sched-histogram", fill_histogram, histogram_columns),
	WAITS("sched-occupants", fill_occupants, occupants_columns),
	{ .name = "wakeups", .rows.wakeup = add_wakeup, .data_size = sizeof(struct couples),
	  .fill = fill_wakeups, .free = free_couples, .timed = true, .scheduled = true,
	  .many = true,
	  COLUMNS(wakeups_columns) },
	{ }
};
