/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of traced tasks, in which the probes look up both tasks of every switch.
 *
 * The table uses open addressing: a task is in the first free slot at or behind the one
 * that its address hashes to. Most switches are of tasks that no session traces. Normally at
 * most an eighth of the slots has a task, and another eighth the mark of a removed one, so most
 * look-ups end at the first slot. Readers take no lock. A table that is too small, or has more
 * marks, is copied to another one, a few slots at a time.
 */
#ifndef AT_TASK_TABLE_H
#define AT_TASK_TABLE_H

#include <linux/asynctrace.h>
#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "provider/cells.h"

struct at_kcpu;
struct at_ksched;
struct at_member;

/**
 * struct at_task - a traced task
 * @task: the task, with a reference
 * @ks: scheduling side of the session that traces the task; valid while the entry can be
 *	found
 * @quick: @ks->quick, which the fast path finds here without reading @ks
 * @owner: member whose process the task belongs to; valid while the entry can be found
 * @tid: thread id in the session owner's pid namespace
 * @pid: id of the task's process in that namespace
 * @operation: address of the word that says which operation the task works on: in @cell, or
 *	at_no_operation. Changes at most once
 * @cell: the task's cell, in the kernel's mapping; NULL: it has none. Changes at most once
 * @salt: salt of the task's process, in bits 32..63 of a word
 * @sequence: last value written to the cell's sequence word
 * @switches: number of times that the task has left a CPU, for the cell
 * @dead: the task has switched out for the last time
 * @leaving: the entry is being taken out of the table
 * @gone: next in a list of entries that were taken out together, or of entries that are not
 *	used yet
 * @hold: keeps @cell from being given to another thread
 * @rcu: frees the entry
 * @of_owner: in @owner's list, or in the pool; under at_tasks_lock
 */
struct at_task {
	struct task_struct *task;
	struct at_ksched *ks;
	struct at_kcpu * __percpu *quick;
	struct at_member *owner;
	s32 tid;
	s32 pid;
	const u64 *operation;
	struct asynctrace_cell *cell;
	u64 salt;
	u32 sequence;
	u64 switches;
	bool dead;
	bool leaving;
	struct at_task *gone;
	struct at_cell_hold hold;
	struct rcu_head rcu;
	struct hlist_node of_owner;
};

/**
 * struct at_task_table - the slots
 * @rcu: frees the table
 * @used: number of slots that are not NULL; under at_tasks_lock
 * @mask: number of slots, a power of two, less one
 * @slot: the entry of a task; NULL: the slot is free, and look-ups end here; &at_task_gone:
 *	the slot is free, and look-ups continue behind it
 */
struct at_task_table {
	struct rcu_head rcu;
	u32 used;
	unsigned long mask;
	struct at_task *slot[];
};

extern struct at_task at_task_gone;

/*
 * The word that at_task.operation points to if the task has no cell. It saves the probes a test
 * for NULL.
 */
extern const u64 at_no_operation;

/* Protects changes of the table, members' lists of tasks, and the pool of entries. */
extern raw_spinlock_t at_tasks_lock;
/* The slots of the table in use. A pointer to the table would cost look-ups an addition. */
extern struct at_task * __rcu *at_task_slots;

/*
 * Returns the slots of the table. The caller has interrupts or preemption off, or holds
 * rcu_read_lock().
 */
static __always_inline struct at_task **at_task_slots_get(void)
{
	return rcu_dereference_raw(at_task_slots);
}

static __always_inline unsigned long at_task_mask(struct at_task **slots)
{
	return container_of(slots, struct at_task_table, slot[0])->mask;
}

/*
 * A look-up begins at this value modulo the number of slots. Bits 32 and up of the product
 * with a large odd number depend on the lower half of the address, in which tasks differ.
 */
static __always_inline unsigned long at_task_hash(const struct task_struct *task)
{
	return (u64)(unsigned long)task * GOLDEN_RATIO_32 >> 32;
}

/*
 * Read a slot once, like READ_ONCE(). With that macro gcc would compute the address of the slot in
 * an instruction of its own, because it does not combine volatile accesses with others.
 */
static __always_inline struct at_task *at_task_in_slot(struct at_task **slots, unsigned long at)
{
	/* Races with writers, which store whole pointers. */
	struct at_task *e = data_race(slots[at]);

	/* Keeps the compiler from reading the slot again. */
	OPTIMIZER_HIDE_VAR(e);
	return e;
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
	struct at_task *e = at_task_in_slot(slots, at);

	while (unlikely(e && e->task != task)) {
		at = (at + 1) & mask;
		e = at_task_in_slot(slots, at);
	}
	return e;
}

/* Look up a single task. The context is that of at_task_slots_get(). */
static __always_inline struct at_task *at_task_find(const struct task_struct *task)
{
	return at_task_find_in(at_task_slots_get(), task);
}

struct at_task *at_task_alloc(void);
bool at_task_table_put(struct at_task *e);
void at_task_table_remove(const struct at_task *e);
bool at_task_table_is_tight(void);
void at_task_table_adapt(void);
void at_task_table_reserve(u32 more);
void at_task_table_unreserve(u32 more);
void at_task_table_each(void (*fn)(struct at_task *e, void *arg), void *arg);
int at_task_table_init(void);
void at_task_table_exit(void);

#endif /* AT_TASK_TABLE_H */
