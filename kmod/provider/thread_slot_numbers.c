// SPDX-License-Identifier: GPL-2.0
/*
 * Thread slots: the numbers by which a provider's records name its threads.
 *
 * A record carries a slot number, and only the kernel maps the number to a thread id. So
 * a provider cannot attribute its work to a thread of another process. A number is never
 * reused while the provider lives, so a new thread is not mistaken for an exited thread
 * that had the same id.
 */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "base/race.h"
#include "provider/cells.h"
#include "provider/provider.h"
#include "provider/thread_slot_numbers.h"
#include "sched/tasks.h"
#include "session/member.h"
#include "session/session.h"

/* Prune slots of exited threads when this many slots were added since the last pruning. */
#define AT_SLOTS_KEPT	4096
/* Slots examined in one critical section */
#define AT_SLOTS_BATCH	128
/* Most slots of a provider; later threads get none. */
#define AT_SLOTS_MAX	BIT(20)

/* Charged to the provider's memory cgroup; must not invoke the OOM killer at its limit. */
#define AT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * struct at_slot - slot of one thread
 * @number: slot number
 * @pid: id of the thread
 * @tgid: id of its process
 * @cell: number of the thread's cell, valid while the thread lives; 0: none. Written by the
 *	thread
 * @uncelled: the thread has been counted in at_provider.uncelled
 * @comm: name of the thread when it got the slot, or when a session read it last; under
 *	slots_lock
 * @rcu: for call_rcu()
 */
struct at_slot {
	u32 number;
	struct pid *pid;
	struct pid *tgid;
	u32 cell;
	bool uncelled;
	char comm[ASYNCTRACE_COMM_LEN];
	struct rcu_head rcu;
};

/*
 * Find the slot of a thread by its id in the initial pid namespace. A thread replaces the
 * entry of an exited thread that had the same id. Called under rcu_read_lock(), or with
 * slots_lock held.
 */
static struct at_slot *at_slot_find(struct at_provider *p, const struct pid *pid)
{
	struct at_slot *slot = xa_load(&p->slot_of, pid_nr((struct pid *)pid));

	return slot && slot->pid == pid ? slot : NULL;
}

static void at_slot_free(struct rcu_head *rcu)
{
	struct at_slot *slot = container_of(rcu, struct at_slot, rcu);

	put_pid(slot->pid);
	put_pid(slot->tgid);
	kfree(slot);
}

/*
 * May a session still read slots of exited threads? A session that has not been
 * terminated may need all of them. A terminated session needs the slots up to the one at
 * which the provider left, unless they were read already.
 */
static bool at_slots_wanted(const struct at_provider *p)
{
	const struct at_member *m;

	lockdep_assert_held(&at_lock);
	list_for_each_entry(m, &p->members, of_provider) {
		if (READ_ONCE(m->done))
			continue;
		if (m->session->state != ASYNCTRACE_SESSION_STATE_TERMINATED ||
		    READ_ONCE(m->reading.slots_told) < m->slots_end)
			return true;
	}
	return false;
}

/* Prune slots of exited threads, from slot *@i on. Returns true if slots remain to be examined. */
static bool at_slots_prune_some(struct at_provider *p, unsigned long *i)
{
	struct at_slot *slot;
	u32 n = 0;

	lockdep_assert_held(&p->slots_lock);
	xa_for_each_start(&p->slots, *i, slot, *i) {
		bool gone;

		if (n++ == AT_SLOTS_BATCH)
			return true;
		rcu_read_lock();
		gone = !pid_task(slot->pid, PIDTYPE_PID);
		rcu_read_unlock();
		if (!gone)
			continue;
		xa_erase(&p->slots, *i);
		if (at_slot_find(p, slot->pid) == slot)
			xa_erase(&p->slot_of, pid_nr(slot->pid));
		call_rcu(&slot->rcu, at_slot_free);
	}
	return false;
}

/*
 * Prune slots of exited threads if no session needs them. at_lock is held, so that no session
 * starts meanwhile and records a thread whose slot is then pruned.
 */
static void at_slots_prune(struct at_provider *p)
{
	unsigned long i = 0;
	bool more;

	do {
		spin_lock(&at_lock);
		WRITE_ONCE(p->slots_pruned, READ_ONCE(p->next_slot));
		more = false;
		if (!at_slots_wanted(p)) {
			spin_lock(&p->slots_lock);
			more = at_slots_prune_some(p, &i);
			spin_unlock(&p->slots_lock);
		}
		spin_unlock(&at_lock);
		cond_resched();
	} while (more);
}

static struct at_slot *at_slot_new(void)
{
	struct at_slot *slot = kzalloc(sizeof(*slot), AT_GFP);

	if (!slot)
		return NULL;
	slot->pid = get_pid(task_pid(current));
	slot->tgid = get_pid(task_tgid(current));
	get_task_comm(slot->comm, current);
	return slot;
}

/*
 * Give a slot the next number. Room is reserved before slots_lock is taken, because a
 * session's reader takes this lock and must not wait for memory.
 *
 * Return: the number; -EAGAIN if the caller must try again, because another thread took the
 * number or a reservation was lost; -ENOSPC, -ENOMEM.
 */
static long at_slot_add(struct at_provider *p, struct at_slot *slot)
{
	u32 number = READ_ONCE(p->next_slot);
	int nr = pid_nr(slot->pid);
	long ret = -EAGAIN;

	if (number >= AT_SLOTS_MAX)
		return -ENOSPC;
	/* Do not release a reservation on failure: another thread may rely on it. */
	if (xa_reserve(&p->slots, number, AT_GFP) || xa_reserve(&p->slot_of, nr, AT_GFP))
		return -ENOMEM;
	spin_lock(&p->slots_lock);
	slot->number = number;
	/*
	 * xa_reserve() reserves nothing where there is an entry. So xa_store() fails only if an
	 * exited thread had the id @nr, and its entry was pruned meanwhile.
	 */
	if (p->next_slot == number && !xa_err(xa_store(&p->slot_of, nr, slot, 0))) {
		xa_store(&p->slots, number, slot, 0);
		/* Pairs with the load-acquire in at_slots_last(). */
		smp_store_release(&p->next_slot, number + 1);
		ret = number;
	}
	spin_unlock(&p->slots_lock);
	return ret;
}

/*
 * Give the calling thread a cell, unless it has one. @slot: the thread's slot, which is not pruned
 * while the thread lives.
 */
static u32 at_slot_give_cell(struct at_provider *p, struct at_slot *slot)
{
	u32 cell = slot->cell;

	if (cell)
		return cell;
	cell = at_cell_give(p, slot->pid);
	if (!cell && !slot->uncelled) {
		slot->uncelled = true;
		spin_lock(&p->slots_lock);
		WRITE_ONCE(p->uncelled, p->uncelled + 1);
		spin_unlock(&p->slots_lock);
	}
	WRITE_ONCE(slot->cell, cell);
	/* If the thread was traced already, its entry in the table of tasks lacks the cell. */
	if (cell)
		at_tasks_set_cell(p);
	return cell;
}

/**
 * at_slot_cell - find the cell of a thread
 * @p: the provider
 * @pid: id of the thread
 *
 * May be called in any context. The thread may be ending: see at_cell_hold().
 *
 * Return: the cell's number; 0: the thread has no cell.
 */
u32 at_slot_cell(struct at_provider *p, const struct pid *pid)
{
	struct at_slot *slot;
	u32 cell;

	rcu_read_lock();
	slot = at_slot_find(p, pid);
	cell = slot ? READ_ONCE(slot->cell) : 0;
	rcu_read_unlock();
	return cell;
}

/**
 * at_slot_get - find or make the slot of the calling thread
 * @p: provider of the calling process
 * @cell: out: number of the thread's cell; 0: none. NULL: give it no cell
 *
 * Return: the slot number, the same one each time; -ENOMEM, or -ENOSPC if the provider
 * has had AT_SLOTS_MAX threads.
 */
long at_slot_get(struct at_provider *p, u32 *cell)
{
	struct at_slot *slot;
	long ret;

	if (READ_ONCE(p->next_slot) >
	    READ_ONCE(p->slots_pruned) + at_limit(AT_LIMIT_SLOTS, AT_SLOTS_KEPT))
		at_slots_prune(p);
	rcu_read_lock();
	/* The slot of a live thread is not pruned. */
	slot = at_slot_find(p, task_pid(current));
	rcu_read_unlock();
	if (slot) {
		if (cell)
			*cell = at_slot_give_cell(p, slot);
		return slot->number;
	}
	slot = at_slot_new();
	if (!slot)
		return -ENOMEM;
	do {
		ret = at_slot_add(p, slot);
	} while (ret == -EAGAIN);
	if (ret < 0)
		at_slot_free(&slot->rcu);
	else if (cell)
		*cell = at_slot_give_cell(p, slot);
	return ret;
}

static void at_slot_tell(struct at_slot *slot, struct at_provider *p,
			 struct pid_namespace *ns, struct asynctrace_thread *thread)
{
	char comm[ASYNCTRACE_COMM_LEN];
	struct task_struct *task;

	memset(thread, 0, sizeof(*thread));
	thread->slot = slot->number;
	thread->tid = pid_nr_ns(slot->pid, ns);
	thread->pid = pid_nr_ns(slot->tgid, ns);
	/*
	 * Use the thread's present name, unless it has executed another program since the provider
	 * registered: then use the last name seen.
	 */
	task = pid_task(slot->pid, PIDTYPE_PID);
	if (task) {
		get_task_comm(comm, task);
		/*
		 * Read the name before the mm: exec changes the mm first, so an unchanged
		 * mm means a name of the same program.
		 */
		smp_rmb();
		if (READ_ONCE(task->mm) == p->mm) {
			spin_lock(&p->slots_lock);
			memcpy(slot->comm, comm, sizeof(comm));
			spin_unlock(&p->slots_lock);
		}
	}
	spin_lock(&p->slots_lock);
	memcpy(thread->comm, slot->comm, sizeof(thread->comm));
	spin_unlock(&p->slots_lock);
}

/* The number of the provider's last slot; 0: it has none. All slots up to it have been added. */
u32 at_slots_last(const struct at_provider *p)
{
	/* Pairs with the store-release in at_slot_add(). */
	return smp_load_acquire(&p->next_slot) - 1;
}

/**
 * at_slots_read - read the slots that were added since the last call
 * @p: the provider, live or ended
 * @cursor: number of the last slot read; 0 at first
 * @last: number of the last slot to read, at most at_slots_last()
 * @ns: pid namespace for the ids
 * @threads: output
 * @max: size of @threads
 *
 * Return: number of slots read.
 */
u32 at_slots_read(struct at_provider *p, u32 *cursor, u32 last, struct pid_namespace *ns,
		  struct asynctrace_thread *threads, u32 max)
{
	struct at_slot *slot;
	unsigned long i;
	u32 n = 0;

	rcu_read_lock();
	xa_for_each_range(&p->slots, i, slot, *cursor + 1, last) {
		if (n == max)
			break;
		at_slot_tell(slot, p, ns, &threads[n++]);
		*cursor = i;
	}
	rcu_read_unlock();
	return n;
}

void at_slots_destroy(struct at_provider *p)
{
	struct at_slot *slot;
	unsigned long i;

	/* No thread can find the slots any more, so free them without a grace period. */
	xa_for_each(&p->slots, i, slot) {
		at_slot_free(&slot->rcu);
		cond_resched();
	}
	xa_destroy(&p->slots);
	xa_destroy(&p->slot_of);
}
