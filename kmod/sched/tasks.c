// SPDX-License-Identifier: GPL-2.0
/*
 * Adding and removing traced tasks.
 *
 * A task is added to the table when its process joins a session, or when a traced task
 * forks it. Its entry stays through the last switch: the probe marks it, and a worker frees
 * it. Probes allocate and free nothing, and take only raw spinlocks.
 */
#include <linux/irq_work.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "base/quota.h"
#include "base/threads.h"
#include "provider/provider.h"
#include "provider/thread_slot_numbers.h"
#include "sched/looks.h"
#include "sched/probes.h"
#include "sched/record.h"
#include "sched/sched.h"
#include "sched/task_pool.h"
#include "sched/tasks.h"
#include "session/member.h"
#include "session/session.h"

/* Entries handled in one at_tasks_lock section when a member leaves. */
#define AT_BATCH	64

/*
 * Entries taken out because their tasks run another program; a worker frees them. Under
 * at_tasks_lock.
 */
static struct at_task *at_execed;

/* Some tasks are dead: at_reap_fn() must take out their entries. */
static bool at_dead;

/* Number of members whose at_leave_fn() is not done: they may still be charged for threads. */
static atomic_t at_leaves;

/* Limits how often the whole table is searched for dead tasks. */
#define AT_REAP_DELAY	msecs_to_jiffies(50)

/*
 * Queue work on behalf of probes, which must not wake a task. The irq_work runs in hard interrupt
 * context. Otherwise, on PREEMPT_RT, a real-time task on one CPU could keep the irq_work from
 * running, and it could not be queued on other CPUs.
 */
static void at_tasks_irq(struct irq_work *work);
static struct irq_work at_tasks_irq_work = IRQ_WORK_INIT_HARD(at_tasks_irq);
static void at_dead_irq(struct irq_work *work);
static struct irq_work at_dead_irq_work = IRQ_WORK_INIT_HARD(at_dead_irq);

static s32 at_task_nr(struct pid *pid, const struct at_ksched *ks)
{
	return ks->ns ? pid_nr_ns(pid, ks->ns) : pid_nr(pid);
}

/* Let the probes find the task's cell, if it has one. With at_tasks_lock held. */
static void at_task_find_cell(struct at_task *e, struct pid *pid)
{
	struct at_provider *p = e->owner->provider;
	struct asynctrace_cell *cell = at_cell_hold(p, at_slot_cell(p, pid), pid, &e->hold);

	if (!cell)
		return;
	/*
	 * Pairs with the address dependencies in the probes: a probe that reads the pointer also
	 * sees that the cell's page is held.
	 */
	smp_store_release(&e->operation, &cell->operation);
	/* Pairs with an address dependency in the probes, too. */
	smp_store_release(&e->cell, cell);
}

/*
 * Add an entry to the table. With at_tasks_lock held, and interrupts off, so that the ids are not
 * freed. Returns 0; 1: the task has lost its ids, because another CPU has released it since
 * at_task_wanted(); -EDQUOT: the user has as many traced threads as the quota allows; -ENOSPC: the
 * table is full.
 */
static int at_task_insert(struct at_task *e, struct task_struct *task,
			  struct at_ksched *ks, struct at_member *owner)
{
	struct at_charge *charge = owner->provider->charge;
	struct pid *pid = task_pid(task);

	e->tid = at_task_nr(pid, ks);
	e->pid = at_task_nr(task_tgid(task), ks);
	if (!e->tid || !e->pid)
		return 1;
	if (!at_charge_thread(charge))
		return -EDQUOT;
	e->task = task;
	e->ks = ks;
	e->quick = ks->quick;
	e->owner = owner;
	e->operation = &at_no_operation;
	e->cell = NULL;
	e->salt = (u64)owner->provider->salt_nr << 32;
	/*
	 * Begin with an even number. It is from the clock, so that it most likely differs from the
	 * last number that an earlier entry of the thread wrote to the cell.
	 */
	e->sequence = (u32)at_clock_ticks(ks->clock) << 1;
	e->switches = 0;
	e->dead = false;
	e->leaving = false;
	e->hold.page = NULL;
	if (!at_task_table_put(e)) {
		at_uncharge_thread(charge);
		return -ENOSPC;
	}
	get_task_struct(task);
	hlist_add_head(&e->of_owner, &owner->tasks);
	at_task_find_cell(e, pid);
	at_record_name(ks, task, e->tid, e->pid, task->comm, ASYNCTRACE_TASK_F_PROVIDER,
		       &owner->sharer);
	return 0;
}

/*
 * Does the task run another program? After exec a task may belong to another user. The
 * provider may live on, because another process can share its mm by vfork(2) or clone(2).
 */
static bool at_task_left(const struct task_struct *task, const struct at_member *owner)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);

	/* An exiting task has no mm, but it still has to switch out. */
	return mm && mm != READ_ONCE(owner->provider->mm);
}

/*
 * Take an entry out of the table and of its owner's list, with at_tasks_lock held. Probes may
 * still use the entry: at_tasks_free() frees it.
 */
static void at_task_take_out(struct at_task *e, struct at_task **gone)
{
	WRITE_ONCE(e->leaving, true);
	/*
	 * If a CPU runs the task now, the probe of its switch out finds the entry or sees this. On
	 * a CPU that reorders loads it may miss both. Then the next switch of the CPU is recorded.
	 */
	at_probes_watch(e);
	at_task_table_remove(e);
	/*
	 * If a CPU has switched to the task meanwhile, the probe may have found the entry. Pairs
	 * with the barrier in the kernel's schedule(), which precedes the probe: either the probe
	 * does not find the entry, or at_probes_watch() sees that the task is on the run queue. A
	 * task that comes and sleeps again during these few instructions is missed.
	 */
	smp_mb();
	at_probes_watch(e);
	at_uncharge_thread(e->owner->provider->charge);
	hlist_del(&e->of_owner);
	if (!(e->task->flags & PF_EXITING))
		e->owner->lost_live = true;
	e->gone = *gone;
	*gone = e;
}

/*
 * Take out the entry of a task that runs another program, if it is still there. With
 * at_tasks_lock held.
 */
static void at_task_take_out_execed(const struct task_struct *task)
{
	struct at_task *e = at_task_find(task);

	if (!e || !at_task_left(task, e->owner))
		return;
	at_task_take_out(e, &at_execed);
	irq_work_queue(&at_tasks_irq_work);
}

static void at_task_free(struct rcu_head *rcu)
{
	struct at_task *e = container_of(rcu, struct at_task, rcu);

	at_cell_drop(&e->hold);
	put_task_struct(e->task);
	kfree(e);
}

/*
 * Free entries after a grace period. Not under at_tasks_lock, because call_rcu() may wake a
 * task.
 */
static void at_tasks_free(struct at_task *gone)
{
	while (gone) {
		struct at_task *e = gone;

		gone = e->gone;
		call_rcu(&e->rcu, at_task_free);
	}
}

static void at_tasks_free_execed(void)
{
	struct at_task *gone;
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	gone = at_execed;
	at_execed = NULL;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	at_tasks_free(gone);
}

/*
 * Returns the entry of a task; NULL if it has none or its owner has left. Under RCU or
 * at_tasks_lock.
 */
struct at_task *at_task_kept(const struct task_struct *task)
{
	struct at_task *e = at_task_find(task);

	return e && !READ_ONCE(e->owner->left) ? e : NULL;
}

/*
 * Should the task be added? No task may be added after the member has left or the session has
 * ended, because at_tasks_leave() and at_tasks_forget() run only once. A task without an id in
 * the pid namespace of the session's owner is not added either.
 */
bool at_task_wanted(struct task_struct *task, const struct at_ksched *ks,
		    const struct at_member *owner)
{
	return !READ_ONCE(owner->left) && READ_ONCE(ks->listed) && !at_task_kept(task) &&
	       !(task->flags & PF_EXITING) && !at_task_left(task, owner) &&
	       at_task_nr(task_pid(task), ks);
}

/*
 * Add a task. Returns 0: @e is in use; 1: the task must not be added; or an error of
 * at_task_insert().
 */
int at_task_add(struct at_task *e, struct task_struct *task,
		struct at_ksched *ks, struct at_member *owner)
{
	struct at_task *old, *gone = NULL;
	unsigned long flags;
	int ret = 1;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	if (at_task_wanted(task, ks, owner)) {
		/*
		 * The task still has the entry of a member that has left: at_leave_fn() has not
		 * taken it out yet.
		 */
		old = at_task_find(task);
		if (old)
			at_task_take_out(old, &gone);
		ret = at_task_insert(e, task, ks, owner);
	}
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	at_tasks_free(gone);
	/*
	 * Pairs with the smp_mb() in at_probe_rename(): either that probe finds the entry, or
	 * this function sees the new mm.
	 */
	smp_mb();
	if (!ret && at_task_left(task, owner)) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		at_task_take_out_execed(task);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
	/*
	 * The task may have made its last switch before the entry was in the table. Pairs with the
	 * barrier in the kernel's schedule(), which follows the store of TASK_DEAD: either the
	 * switch probe finds the entry, or this function sees TASK_DEAD. The caller holds the RCU
	 * lock, or @task is the caller.
	 */
	if (!ret && READ_ONCE(task->__state) & TASK_DEAD)
		at_tasks_mark_dead(e);
	return ret;
}

/* May members that have left still be charged for threads? */
bool at_tasks_leaving(void)
{
	return atomic_read(&at_leaves);
}

/* Is the calling thread traced, by any session? */
bool at_tasks_have_current(void)
{
	bool have;

	rcu_read_lock();
	have = at_task_kept(current);
	rcu_read_unlock();
	return have;
}

/**
 * at_tasks_add_current - add the calling thread
 * @m: the member of its provider
 *
 * For a thread with the provider's mm in another thread group, which at_tasks_add_process()
 * does not find. If memory is short, or the user's quota of traced threads is used up, each call
 * counts the thread as missed. The caller gets no error, because the thread can still write its
 * own records.
 */
void at_tasks_add_current(struct at_member *m)
{
	struct at_ksched *ks = m->session->ks;
	struct mem_cgroup *old = set_active_memcg(ks->session->memcg);
	struct at_task *e;
	unsigned long flags;
	int ret;

	at_task_table_reserve(1);
	e = at_task_alloc();
	ret = e ? at_task_add(e, current, ks, m) : -ENOMEM;
	at_task_table_unreserve(1);
	set_active_memcg(old);
	if (ret)
		kfree(e);
	if (ret < 0) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		WRITE_ONCE(ks->missed, ks->missed + 1);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
}

/**
 * at_tasks_set_cell - let the probes find the calling thread's cell
 * @p: provider that has just given the thread a cell
 *
 * Must not be called more often than once for each cell, because all users share
 * at_tasks_lock. If the thread is added later, at_task_insert() finds the cell.
 */
void at_tasks_set_cell(struct at_provider *p)
{
	unsigned long flags;
	struct at_task *e;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	e = at_task_find(current);
	if (e && !e->cell && e->owner->provider == p)
		at_task_find_cell(e, task_pid(current));
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
}

/* Free and allocate memory on behalf of probes. */
static void at_supply_fn(struct work_struct *work)
{
	at_tasks_free_execed();
	at_task_pool_fill();
	at_task_table_adapt();
}

/*
 * Separate from at_tasks_work: a look at the processes of one user may take long, and the threads
 * of other users need entries meanwhile.
 */
static DECLARE_WORK(at_supply_work, at_supply_fn);

static void at_tasks_irq(struct irq_work *work)
{
	queue_work(at_wq, &at_supply_work);
	at_tasks_again();
}

/**
 * at_tasks_add_child - add a new thread if its parent is traced
 * @parent: the task that forks; a thread of the same process for a worker of io_uring
 * @child: the new thread, not yet running; or the calling thread, which has just begun
 *
 * Called by the probes, with interrupts off. Adds nothing if the session has ended,
 * because its tasks are being taken out. Adds nothing while the session is stopped, because
 * the next start looks at the process. A look may have added the child already.
 */
void at_tasks_add_child(const struct task_struct *parent, struct task_struct *child)
{
	const struct at_task *from;
	struct at_task *e;
	bool tight;
	int err;

	raw_spin_lock(&at_tasks_lock);
	from = at_task_kept(parent);
	/*
	 * Pairs with the smp_mb() in at_ksched_open(): either the look after it finds the
	 * child, or this function sees @on.
	 */
	smp_mb();
	if (!from || !READ_ONCE(from->ks->listed) || !READ_ONCE(from->ks->on) ||
	    at_task_find(child)) {
		raw_spin_unlock(&at_tasks_lock);
		return;
	}
	e = at_task_pool_take(from->owner);
	err = e ? at_task_insert(e, child, from->ks, from->owner) : -ENOMEM;
	if (err) {
		at_tasks_miss(from->owner, 1);
		if (err != -EDQUOT)
			at_tasks_want_look(from->owner);
	}
	if (e && err)
		at_task_pool_put(e);
	tight = at_task_pool_is_tight() || at_task_table_is_tight();
	raw_spin_unlock(&at_tasks_lock);
	if (tight)
		irq_work_queue(&at_tasks_irq_work);
}

/**
 * at_tasks_mark_dead - mark the entry of a task that has made its last switch
 * @e: entry of the task
 *
 * Called by the switch probe. at_reap_fn() takes the entry out soon.
 */
void at_tasks_mark_dead(struct at_task *e)
{
	WRITE_ONCE(e->dead, true);
	/*
	 * Pairs with the xchg() in at_reap_fn(): either at_reap_fn() sees @dead, or this
	 * function sees at_dead clear and queues at_reap_fn() again.
	 */
	smp_mb();
	if (READ_ONCE(at_dead))
		return;
	WRITE_ONCE(at_dead, true);
	irq_work_queue(&at_dead_irq_work);
}

/**
 * struct at_tasks_removal - which entries to take out
 * @which: returns true for an entry to take out
 * @arg: argument of @which
 * @gone: list of the entries that were taken out
 */
struct at_tasks_removal {
	bool (*which)(const struct at_task *e, const void *arg);
	const void *arg;
	struct at_task *gone;
};

static void at_task_take_out_if(struct at_task *e, void *arg)
{
	struct at_tasks_removal *r = arg;

	if (r->which(e, r->arg))
		at_task_take_out(e, &r->gone);
}

/*
 * Take out all entries for which @which returns true. May sleep. No such entry is added
 * meanwhile: adding one checks under at_tasks_lock the state that the caller changed before.
 */
static void at_tasks_remove(bool (*which)(const struct at_task *e, const void *arg),
			    const void *arg)
{
	struct at_tasks_removal r = { .which = which, .arg = arg };

	at_task_table_each(at_task_take_out_if, &r);
	at_tasks_free(r.gone);
}

static bool at_task_is_dead(const struct at_task *e, const void *arg)
{
	return READ_ONCE(e->dead);
}

static bool at_task_of_session(const struct at_task *e, const void *arg)
{
	return e->ks == arg;
}

/**
 * at_tasks_execed - take out the entry of a task that runs another program
 * @task: the calling task
 *
 * Called by the rename probe, with interrupts off: exec renames the task.
 */
void at_tasks_execed(const struct task_struct *task)
{
	raw_spin_lock(&at_tasks_lock);
	at_task_take_out_execed(task);
	raw_spin_unlock(&at_tasks_lock);
}

static void at_reap_fn(struct work_struct *work)
{
	if (xchg(&at_dead, false))
		at_tasks_remove(at_task_is_dead, NULL);
}

static DECLARE_DELAYED_WORK(at_reap_work, at_reap_fn);

static void at_reap_soon_fn(struct work_struct *work)
{
	queue_delayed_work(at_wq, &at_reap_work, AT_REAP_DELAY);
}

static DECLARE_WORK(at_reap_soon_work, at_reap_soon_fn);

/*
 * Let a worker start the delayed work. On PREEMPT_RT its timer would not expire if it were started
 * here, on a CPU that a real-time task may occupy.
 */
static void at_dead_irq(struct irq_work *work)
{
	queue_work(at_wq, &at_reap_soon_work);
}

/*
 * Take out the entries of some of a member's tasks. Moves those of exiting tasks to @exiting,
 * because these tasks still have to switch out. Returns true if there may be more.
 */
static bool at_tasks_leave_some(struct at_member *m, struct hlist_head *exiting,
				struct at_task **gone)
{
	unsigned long flags;
	bool more;
	u32 n;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	for (n = 0; n < AT_BATCH && !hlist_empty(&m->tasks); n++) {
		struct at_task *e = hlist_entry(m->tasks.first, struct at_task, of_owner);

		if (e->task->flags & PF_EXITING) {
			hlist_del(&e->of_owner);
			hlist_add_head(&e->of_owner, exiting);
		} else {
			at_task_take_out(e, gone);
		}
	}
	more = !hlist_empty(&m->tasks);
	if (!more)
		hlist_move_list(exiting, &m->tasks);
	m->leaving = more;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return more;
}

/*
 * Take out the entries of a member that has left. A live task may also belong to other
 * providers of the process. A task has only one entry, so at_tasks_fn() adds the task again for
 * one of these. The cost depends on this member's tasks only, because all members may leave at
 * once.
 */
static void at_leave_fn(struct work_struct *work)
{
	struct at_member *m = container_of(work, struct at_member, leave_work);
	struct at_session *s = m->session;
	struct at_task *gone = NULL;
	HLIST_HEAD(exiting);
	bool more;

	do {
		more = at_tasks_leave_some(m, &exiting, &gone);
		at_tasks_free(gone);
		gone = NULL;
		cond_resched();
	} while (more);
	atomic_dec(&at_leaves);
	spin_lock(&at_lock);
	/*
	 * Test @lost_live, because at_tasks_forget() may have taken out entries, too. Reading it
	 * without at_tasks_lock is safe: only entries of exiting tasks are left.
	 */
	if (m->lost_live)
		at_tasks_leave_others(m);
	spin_unlock(&at_lock);
	at_ended_soon(s);
	at_member_put(m);
	at_session_put(s);
}

/**
 * at_tasks_leave - have the entries of a member's tasks taken out
 * @m: a member that leaves its session
 *
 * A worker takes them out, because a process may have any number of threads. Meanwhile the tasks
 * may be added for members of other sessions, see at_task_add(). Until a task is added again,
 * threads that it forks are not traced.
 */
void at_tasks_leave(struct at_member *m)
{
	unsigned long flags;

	lockdep_assert_held(&at_lock);
	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	WRITE_ONCE(m->left, true);
	m->leaving = !hlist_empty(&m->tasks);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	/* Threads that got no entry for this member may now get one for another member. */
	if (READ_ONCE(m->again))
		at_tasks_leave_others(m);
	if (!m->leaving)
		return;
	atomic_inc(&at_leaves);
	at_session_get(m->session);
	at_member_get(m);
	INIT_WORK(&m->leave_work, at_leave_fn);
	queue_work(at_wq, &m->leave_work);
}

/*
 * Returns true if the member has left and has no entry in the table of tasks. A member that has
 * left gets no more entries, so the result stays true.
 */
bool at_tasks_none(const struct at_member *m)
{
	unsigned long flags;
	bool none;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	none = m->left && !m->leaving && hlist_empty(&m->tasks);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return none;
}

void at_tasks_forget(const struct at_ksched *ks)
{
	at_tasks_remove(at_task_of_session, ks);
	/* The table may be too large now. */
	queue_work(at_wq, &at_supply_work);
}

int at_tasks_init(void)
{
	int err = at_task_table_init();

	if (!err)
		at_task_pool_fill();
	return err;
}

static bool at_task_any(const struct at_task *e, const void *arg)
{
	return true;
}

/* Free all entries. The probes are unregistered. */
void at_tasks_exit(void)
{
	irq_work_sync(&at_tasks_irq_work);
	irq_work_sync(&at_dead_irq_work);
	flush_work(&at_supply_work);
	at_looks_exit();
	flush_work(&at_reap_soon_work);
	cancel_delayed_work_sync(&at_reap_work);
	at_tasks_free_execed();
	at_tasks_remove(at_task_any, NULL);
	rcu_barrier();
	at_task_pool_exit();
	at_task_table_exit();
}
