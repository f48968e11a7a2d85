// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks that a thread runs on one CPU at a time. The records of each CPU are checked as they come;
 * this check compares CPUs, so it needs switches in order of time.
 *
 * A thread that comes to a second CPU is no breach yet, because the recorder may have inferred its
 * switch out of the first CPU. So the check waits for the record of that switch.
 */
#include <errno.h>

#include "check_priv.h"

/* Clocks of two CPUs may differ by this many nanoseconds. */
#define CLOCK_SLACK	1000

static void leaves(struct fxt_check *c, const struct fxt_item *it)
{
	struct fxt_entry *twice = fxt_find(&c->twice, fxt_hash(it->id, it->cpu));
	struct fxt_entry *on = fxt_find(&c->on, it->id + 1);

	if (twice) {
		if (!it->inferred && twice->a + CLOCK_SLACK < it->ns)
			fxt_found(c, FXT_RULE_TWO_CPUS, twice->b,
				  "thread %llu, %llu ns before it leaves cpu %u",
				  (unsigned long long)it->id,
				  (unsigned long long)(it->ns - twice->a), it->cpu);
		fxt_remove(&c->twice, twice);
	}
	if (on && on->a == it->cpu)
		fxt_remove(&c->on, on);
}

static int comes(struct fxt_check *c, const struct fxt_item *it)
{
	struct fxt_entry *twice = fxt_find(&c->twice, fxt_hash(it->tid, it->cpu));
	struct fxt_entry *on = fxt_find(&c->on, (uint64_t)it->tid + 1);

	/* The thread is back on this CPU, so its earlier switch out of it was not recorded. */
	if (twice)
		fxt_remove(&c->twice, twice);
	if (on && it->inferred)
		return 0;
	if (on && on->a != it->cpu) {
		twice = fxt_make(&c->twice, fxt_hash(it->tid, on->a));
		if (!twice)
			return -ENOMEM;
		twice->a = it->ns;
		twice->b = it->offset;
	}
	on = fxt_make(&c->on, (uint64_t)it->tid + 1);
	if (!on)
		return -ENOMEM;
	on->a = it->cpu;
	return 0;
}

int fxt_cpus_switch(struct fxt_check *c, const struct fxt_item *it)
{
	/* A file with slow operations only does not have all switches of a thread. */
	if (c->selection || it->ns <= c->lost_until)
		return 0;
	if (it->id && it->id <= FXT_TID_REAL_MAX)
		leaves(c, it);
	return it->tid ? comes(c, it) : 0;
}

static void empty(struct fxt_table *t)
{
	fxt_table_free(t);
	*t = (struct fxt_table){ 0 };
}

void fxt_cpus_loss(struct fxt_check *c, const struct fxt_item *it)
{
	/* The loss may hide switches of each thread. */
	empty(&c->on);
	empty(&c->twice);
	if (it->end_ns > c->lost_until)
		c->lost_until = it->end_ns;
}
