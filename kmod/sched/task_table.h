/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of traced tasks, which the probes look into at every switch.
 *
 * The table is open-addressed: its slots are an array, and a task is in the first free slot
 * at or behind the one that its address hashes to. Most switches are of tasks that nobody
 * traces, and at most an eighth of the slots is in use, so most look-ups end at the first
 * slot. Readers take no lock. A table that has become too small is copied to a larger one,
 * a few slots at a time.
 */
#ifndef AT_TASK_TABLE_H
#define AT_TASK_TABLE_H

#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

struct at_ksched;
struct at_member;

/**
 * struct at_task - a traced task
 * @task: with a reference
 * @ks: who records it; valid as long as the entry can be found
 * @owner: the session's member whose process it belongs to; valid as @ks is
 * @tid: in the session owner's pid namespace
 * @pid: of its process, there
 * @dead: it has switched out for the last time
 * @gone: next of those that were taken out together
 * @rcu: to free it
 * @of_owner: in the owner's list, or in the pool; under at_tasks_lock
 */
struct at_task {
	struct task_struct *task;
	struct at_ksched *ks;
	struct at_member *owner;
	s32 tid;
	s32 pid;
	bool dead;
	struct at_task *gone;
	struct rcu_head rcu;
	struct hlist_node of_owner;
};

/**
 * struct at_task_table - the slots
 * @rcu: to free it
 * @used: slots that are not NULL; under at_tasks_lock
 * @mask: number of slots, a power of two, less one
 * @slot: the entry of a task; NULL: the slot is free and was never used, so that a look-up
 *	ends here; &at_task_gone: it is free, and a look-up goes on
 */
struct at_task_table {
	struct rcu_head rcu;
	u32 used;
	unsigned long mask;
	struct at_task *slot[];
};

extern struct at_task at_task_gone;

/* Protects changes of the table, members' lists of tasks, and the pool of entries. */
extern raw_spinlock_t at_tasks_lock;
/* The slots of the table in use. That look-ups begin here, saves them an addition. */
extern struct at_task * __rcu *at_task_slots;

/* With interrupts or preemption off, or under rcu_read_lock(). */
static __always_inline struct at_task **at_task_slots_get(void)
{
	return rcu_dereference_raw(at_task_slots);
}

static __always_inline unsigned long at_task_mask(struct at_task **slots)
{
	return container_of(slots, struct at_task_table, slot[0])->mask;
}

/*
 * Where a look-up begins, if this is taken modulo the number of slots. The bits from 32 on of
 * a product with a large odd number depend on the lower half of the address, which tells
 * tasks apart.
 */
static __always_inline unsigned long at_task_hash(const struct task_struct *task)
{
	return (u64)(unsigned long)task * GOLDEN_RATIO_32 >> 32;
}

/**
 * at_task_find_in - look a task up
 * @slots: from at_task_slots_get()
 * @task: the task
 *
 * Return: its entry, or NULL.
 */
static __always_inline struct at_task *at_task_find_in(struct at_task **slots,
						       const struct task_struct *task)
{
	unsigned long mask = at_task_mask(slots), at = at_task_hash(task) & mask;
	struct at_task *e = READ_ONCE(slots[at]);

	while (unlikely(e && e->task != task)) {
		at = (at + 1) & mask;
		e = READ_ONCE(slots[at]);
	}
	return e;
}

/* The same, for whoever looks up one task only. */
static __always_inline struct at_task *at_task_find(const struct task_struct *task)
{
	return at_task_find_in(at_task_slots_get(), task);
}

bool at_task_table_put(struct at_task *e);
void at_task_table_remove(const struct at_task *e);
bool at_task_table_is_tight(void);
void at_task_table_reserve(u32 more);
void at_task_table_each(void (*fn)(struct at_task *e, void *arg), void *arg);
int at_task_table_init(void);
void at_task_table_exit(void);

#endif /* AT_TASK_TABLE_H */
