// SPDX-License-Identifier: GPL-2.0
/*
 * The table of traced tasks: changed under at_tasks_lock, and replaced by another when its
 * size no longer fits, or when too many of its slots are marked by at_task_gone.
 *
 * While the table is being copied, changes are made to both the old and the new table. Each
 * task that needs the new table helps to copy. So a task that does not run, for example for
 * lack of CPU quota, does not delay the others.
 */
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "base/lock.h"
#include "sched/task_table.h"

#define AT_SLOTS_MIN	1024
#define AT_SLOTS_MAX	BIT(22)
/* Slots handled in one at_tasks_lock section */
#define AT_SLOTS_AT_ONCE	64

DEFINE_RAW_SPINLOCK(at_tasks_lock);
struct at_task * __rcu *at_task_slots;
const u64 at_no_operation;
/* Marks a slot whose task was removed */
struct at_task at_task_gone;

/* The following variables are under at_tasks_lock. */
static u32 at_nr_tasks;
/* The number of tasks that callers of at_task_table_reserve() are about to add */
static u32 at_nr_reserved;
/* The number of times that the table was replaced */
static u32 at_table_turn;
/* The table that the present one is being copied to; NULL: none */
static struct at_task_table *at_next;
/* The first slot that is not copied yet */
static u32 at_copied;

static struct at_task_table *at_table(void)
{
	lockdep_assert_held(&at_tasks_lock);
	return container_of(at_task_slots_get(), struct at_task_table, slot[0]);
}

/* The number of slots */
static u32 at_slots(const struct at_task_table *t)
{
	return t->mask + 1;
}

/* Returns the slot of @task's entry, or the free slot at which a look-up of @task ends. */
static struct at_task **at_slots_find(struct at_task_table *t, const struct task_struct *task)
{
	unsigned long at = at_task_hash(task) & t->mask;
	struct at_task **slot;

	for (;; at = (at + 1) & t->mask) {
		slot = &t->slot[at];
		if (!*slot || (*slot)->task == task)
			return slot;
	}
}

/*
 * Put an entry into the first free slot. Returns false if there is no room: a quarter of the
 * slots stays NULL, so that probe chains end.
 */
static bool at_slots_put(struct at_task_table *t, struct at_task *e)
{
	unsigned long at = at_task_hash(e->task) & t->mask;
	struct at_task **slot;

	for (;; at = (at + 1) & t->mask) {
		slot = &t->slot[at];
		if (!*slot || *slot == &at_task_gone)
			break;
	}
	if (!*slot) {
		if (t->used >= at_slots(t) / 4 * 3)
			return false;
		t->used++;
	}
	/* Pairs with the address dependency in at_task_find(). */
	smp_store_release(slot, e);
	return true;
}

/*
 * Remove an entry. Slots at the end of a probe chain become NULL, so that look-ups end earlier.
 */
static void at_slots_remove(struct at_task_table *t, const struct at_task *e)
{
	struct at_task **slot = at_slots_find(t, e->task);
	unsigned long at = slot - t->slot;

	if (*slot != e)
		return;
	WRITE_ONCE(*slot, &at_task_gone);
	if (t->slot[(at + 1) & t->mask])
		return;
	while (*slot == &at_task_gone) {
		WRITE_ONCE(*slot, NULL);
		t->used--;
		at = (at - 1) & t->mask;
		slot = &t->slot[at];
	}
}

/**
 * at_task_alloc - allocate an entry, charged to the active memory cgroup
 *
 * If the memory is not available at once, this fails, and at_tasks_fn() retries later. Otherwise a
 * process could be killed, or wait as long as a user wants, because the cgroup is short of memory.
 *
 * Return: the entry, or NULL.
 */
struct at_task *at_task_alloc(void)
{
	lockdep_assert_not_held(&at_lock);
	return kzalloc(sizeof(struct at_task), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
}

/**
 * at_task_table_put - add a task, so that the probes find it
 * @e: entry of the task, which has no other entry in the table
 *
 * With at_tasks_lock held.
 *
 * Return: true on success; false if there is no room, and no probe has found the entry.
 */
bool at_task_table_put(struct at_task *e)
{
	lockdep_assert_held(&at_tasks_lock);
	/*
	 * Probes look only into the present table. Put the entry there last: if that fails, no
	 * probe has found the entry, and the caller may free it at once.
	 */
	if (at_nr_tasks >= at_slots(at_table()) / 2 || (at_next && !at_slots_put(at_next, e)))
		return false;
	if (!at_slots_put(at_table(), e)) {
		if (at_next)
			at_slots_remove(at_next, e);
		return false;
	}
	at_nr_tasks++;
	return true;
}

/**
 * at_task_table_remove - remove a task, so that the probes no longer find it
 * @e: entry in the table; may be freed after a grace period
 *
 * With at_tasks_lock held.
 */
void at_task_table_remove(const struct at_task *e)
{
	lockdep_assert_held(&at_tasks_lock);
	at_slots_remove(at_table(), e);
	if (at_next)
		at_slots_remove(at_next, e);
	at_nr_tasks--;
}

/* Returns the number of slots to have for @tasks tasks: @slots if that number fits. */
static u32 at_slots_wanted(u32 slots, u32 tasks)
{
	u32 most = AT_SLOTS_MAX / 8;

	if (tasks > slots / 8)
		return roundup_pow_of_two(min(tasks, most)) * 8;
	if (tasks < slots / 128)
		return max_t(u32, roundup_pow_of_two(tasks + 1) * 8, AT_SLOTS_MIN);
	return slots;
}

/*
 * Do marks of removed tasks make look-ups slow? A mark before an entry stays when its task is gone,
 * so beside one task that lives long, tasks that come and go leave more and more marks.
 */
static bool at_table_is_worn(void)
{
	struct at_task_table *t = at_table();

	return t->used - at_nr_tasks > at_slots(t) / 8;
}

/* Should a worker call at_task_table_adapt()? With at_tasks_lock held. */
bool at_task_table_is_tight(void)
{
	u32 slots = at_slots(at_table());

	return at_next || at_table_is_worn() ||
	       (slots < AT_SLOTS_MAX && at_slots_wanted(slots, at_nr_tasks) > slots);
}

static struct at_task_table *at_table_new(u32 slots)
{
	struct at_task_table *t;

	t = kvzalloc(struct_size(t, slot, slots), GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	if (t)
		t->mask = slots - 1;
	return t;
}

/*
 * Copy a few slots. When the copy ends, returns the table to be freed: the old one, or the
 * new one if added tasks have filled it meanwhile.
 */
static struct at_task_table *at_table_copy(void)
{
	struct at_task_table *from = at_table(), *to = at_next;
	u32 slots = at_slots(from), end = min(at_copied + AT_SLOTS_AT_ONCE, slots);

	for (; at_copied < end; at_copied++) {
		struct at_task *e = from->slot[at_copied];

		if (!e || e == &at_task_gone || *at_slots_find(to, e->task))
			continue;
		if (!at_slots_put(to, e)) {
			at_next = NULL;
			return to;
		}
	}
	if (at_copied < slots)
		return NULL;
	rcu_assign_pointer(at_task_slots, to->slot);
	at_next = NULL;
	at_table_turn++;
	return from;
}

/* Help to copy, and return when no copy is in progress. */
static void at_table_help(void)
{
	struct at_task_table *unused;
	unsigned long flags;
	bool more;

	do {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		unused = at_next ? at_table_copy() : NULL;
		more = at_next;
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
		if (unused)
			kvfree_rcu(unused, rcu);
		cond_resched();
	} while (more);
}

/* Returns the number of slots to have now; 0: the present table fits. */
static u32 at_table_misfit(u32 *turn)
{
	unsigned long flags;
	u32 slots, wanted;
	bool fits;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	slots = at_slots(at_table());
	wanted = at_slots_wanted(slots, at_nr_tasks + at_nr_reserved);
	fits = wanted == slots && !at_table_is_worn();
	*turn = at_table_turn;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return fits ? 0 : wanted;
}

/**
 * at_task_table_adapt - adapt the size of the table
 *
 * Makes the table larger or smaller, or copies it to a table without marks of removed tasks. May
 * sleep. If there is no memory for another table, the table stays unchanged.
 */
void at_task_table_adapt(void)
{
	struct at_task_table *new;
	unsigned long flags;
	u32 slots, turn;

	at_table_help();
	slots = at_table_misfit(&turn);
	if (!slots)
		return;
	new = at_table_new(slots);
	if (!new)
		return;
	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	if (!at_next && turn == at_table_turn) {
		at_next = new;
		at_copied = 0;
		new = NULL;
	}
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	kvfree(new);
	at_table_help();
}

static void at_table_count_reserved(u32 more)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	at_nr_reserved += more;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
}

/**
 * at_task_table_reserve - make room for tasks that are about to be added
 * @more: number of tasks
 *
 * May sleep. Until at_task_table_unreserve(), the table is not made too small for these tasks.
 */
void at_task_table_reserve(u32 more)
{
	at_table_count_reserved(more);
	at_task_table_adapt();
}

/* End what at_task_table_reserve() began with the same @more. */
void at_task_table_unreserve(u32 more)
{
	at_table_count_reserved(-more);
}

/*
 * Call @fn for tasks of a few slots. Returns true, without any call, if the table was
 * replaced.
 */
static bool at_table_some(u32 from, u32 turn, void (*fn)(struct at_task *e, void *arg), void *arg)
{
	struct at_task_table *t = at_table();
	u32 i, end = min(from + AT_SLOTS_AT_ONCE, at_slots(t));

	if (turn != at_table_turn)
		return true;
	for (i = from; i < end; i++)
		if (t->slot[i] && t->slot[i] != &at_task_gone)
			fn(t->slot[i], arg);
	return false;
}

/**
 * at_task_table_each - call a function for all tasks
 * @fn: called with at_tasks_lock held; may remove the task. If the table is replaced
 *	meanwhile, @fn is called twice for some tasks
 * @arg: argument of @fn
 *
 * May skip tasks that are added meanwhile.
 */
void at_task_table_each(void (*fn)(struct at_task *e, void *arg), void *arg)
{
	unsigned long flags;
	u32 i, slots, turn;
	bool again;

	do {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		slots = at_slots(at_table());
		turn = at_table_turn;
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
		again = false;
		for (i = 0; i < slots && !again; i += AT_SLOTS_AT_ONCE) {
			raw_spin_lock_irqsave(&at_tasks_lock, flags);
			again = at_table_some(i, turn, fn, arg);
			raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
			cond_resched();
		}
	} while (again);
}

int at_task_table_init(void)
{
	struct at_task_table *t = at_table_new(AT_SLOTS_MIN);

	if (!t)
		return -ENOMEM;
	RCU_INIT_POINTER(at_task_slots, t->slot);
	return 0;
}

/* Free the table. The probes are unregistered, and no copy is in progress. */
void at_task_table_exit(void)
{
	kvfree(container_of(at_task_slots_get(), struct at_task_table, slot[0]));
}
