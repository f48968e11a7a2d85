// SPDX-License-Identifier: GPL-2.0
/*
 * Preallocated entries for threads that traced tasks fork
 *
 * The fork probe cannot allocate. It takes entries from this pool, which a worker refills. All
 * members of sessions share the pool, so members whose processes fork most get no entry from its
 * reserve.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sched/task_pool.h"
#include "sched/task_table.h"
#include "session/member.h"

/* Entries in a full pool */
#define AT_POOL	128
/*
 * If no more than AT_POOL_RESERVE entries are left, only members that took fewer than
 * AT_POOL_SHARE entries since the pool was last full get one.
 */
#define AT_POOL_RESERVE	(AT_POOL / 4)
#define AT_POOL_SHARE	8

/* The following variables are under at_tasks_lock. */
static HLIST_HEAD(at_pool);
static u32 at_pool_size;
/* The number of times that the pool became full */
static u32 at_pool_round;

/**
 * at_task_pool_put - put an unused entry into the pool
 * @e: the entry
 */
void at_task_pool_put(struct at_task *e)
{
	lockdep_assert_held(&at_tasks_lock);
	hlist_add_head(&e->of_owner, &at_pool);
	if (++at_pool_size == AT_POOL)
		at_pool_round++;
}

/* Fill the pool, so that threads forked until the next call find entries. */
void at_task_pool_fill(void)
{
	unsigned long flags;
	struct at_task *e;

	while (READ_ONCE(at_pool_size) < AT_POOL) {
		e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
		if (!e)
			return;
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		at_task_pool_put(e);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
}

/**
 * at_task_pool_take - take an entry for a thread
 * @m: member whose process has the thread
 *
 * Return: the entry; NULL if the pool is empty, or if only the reserve is left and @m has taken
 * its share.
 */
struct at_task *at_task_pool_take(struct at_member *m)
{
	struct at_task *e;

	lockdep_assert_held(&at_tasks_lock);
	if (m->pool_round != at_pool_round) {
		m->pool_round = at_pool_round;
		m->pool_taken = 0;
	}
	if (hlist_empty(&at_pool) ||
	    (at_pool_size <= AT_POOL_RESERVE && m->pool_taken >= AT_POOL_SHARE))
		return NULL;
	e = hlist_entry(at_pool.first, struct at_task, of_owner);
	hlist_del(&e->of_owner);
	at_pool_size--;
	m->pool_taken++;
	return e;
}

/* Should at_task_pool_fill() be called? */
bool at_task_pool_is_tight(void)
{
	lockdep_assert_held(&at_tasks_lock);
	return at_pool_size < AT_POOL / 2;
}

/* Free all entries of the pool. Call this only after the probes have been unregistered. */
void at_task_pool_exit(void)
{
	struct hlist_node *next;
	struct at_task *e;

	hlist_for_each_entry_safe(e, next, &at_pool, of_owner)
		kfree(e);
}
