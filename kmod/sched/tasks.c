// SPDX-License-Identifier: GPL-2.0
/*
 * A task comes into the table when its process joins a session, or when it is forked in
 * one, and stays through its last switch: the probe marks it, a worker frees it. Probes
 * allocate and free nothing, and take no lock but a raw one.
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
#include "provider/provider.h"
#include "sched/record.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/member.h"
#include "session/session.h"

/* Entries at hand for threads that are forked; refilled when half are gone. */
#define AT_POOL	128
/* The last of them are for members that have not taken so many since it was full. */
#define AT_POOL_RESERVE	(AT_POOL / 4)
#define AT_POOL_SHARE	8
/* A process that makes threads all the time is not waited for longer than so many passes. */
#define AT_PASSES	8
/* Entries taken out at a time when a process leaves. */
#define AT_BATCH	64

/* Entries for threads that are forked; this and what follows is under at_tasks_lock. */
static HLIST_HEAD(at_pool);
static u32 at_pool_size;
static u32 at_pool_round;

/* Of tasks that run another program. */
static struct at_task *at_execed;

static bool at_rescan;
static bool at_dead;

/* How often members have left and taken out others' tasks; up to which these have them. */
static u64 at_left;
static u64 at_left_done;

/* Dead tasks are looked for in all of the table: not more often than this. */
#define AT_REAP_DELAY	msecs_to_jiffies(50)

/* What probes leave to others to do. */
static void at_pool_irq(struct irq_work *work);
static DEFINE_IRQ_WORK(at_pool_irq_work, at_pool_irq);
static void at_dead_irq(struct irq_work *work);
static DEFINE_IRQ_WORK(at_dead_irq_work, at_dead_irq);

/*
 * On the account of the memory cgroup that is active. Memory that cannot be had at once is
 * asked for again by at_pool_fn(), which is on no account: so no process is killed for it,
 * and none waits while a cgroup is short of memory, which its user may make last.
 */
static struct at_task *at_task_alloc(void)
{
	return kzalloc(sizeof(struct at_task), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
}

static s32 at_task_nr(struct pid *pid, const struct at_ksched *ks)
{
	return ks->ns ? pid_nr_ns(pid, ks->ns) : pid_nr(pid);
}

/*
 * Have the probes see an entry. With at_tasks_lock held. Returns 0; -EDQUOT: the user has as
 * many traced threads as a user may have; -ENOSPC: the table is full.
 */
static int at_task_insert(struct at_task *e, struct task_struct *task,
			  struct at_ksched *ks, struct at_member *owner)
{
	struct at_charge *charge = owner->provider->charge;

	if (!at_charge_thread(charge))
		return -EDQUOT;
	e->task = task;
	e->ks = ks;
	e->owner = owner;
	e->tid = at_task_nr(task_pid(task), ks);
	e->pid = at_task_nr(task_tgid(task), ks);
	e->dead = false;
	if (!at_task_table_put(e)) {
		at_uncharge_thread(charge);
		return -ENOSPC;
	}
	get_task_struct(task);
	hlist_add_head(&e->of_owner, &owner->tasks);
	at_record_name(ks, task, e->tid, e->pid, task->comm, ASYNCTRACE_TASK_F_PROVIDER,
		       &owner->sharer);
	return 0;
}

/*
 * A process may run another program, and be another user's then, while somebody else
 * keeps the memory that the provider is: to vfork(2) and clone(2) that is no error.
 */
static bool at_task_left(const struct task_struct *task, const struct at_member *owner)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);

	/* One that exits has none, and still a switch to make. */
	return mm && mm != READ_ONCE(owner->provider->mm);
}

/*
 * Take an entry out of the table and of its owner's list, with at_tasks_lock held. It is
 * freed when no probe can see it, see at_tasks_free().
 */
static void at_task_take_out(struct at_task *e, struct at_task **gone)
{
	at_task_table_remove(e);
	at_uncharge_thread(e->owner->provider->charge);
	hlist_del(&e->of_owner);
	e->gone = *gone;
	*gone = e;
}

/* With at_tasks_lock held. It may have been taken out meanwhile. */
static void at_task_take_out_execed(const struct task_struct *task)
{
	struct at_task *e = at_task_find(task);

	if (!e || !at_task_left(task, e->owner))
		return;
	at_task_take_out(e, &at_execed);
	irq_work_queue(&at_pool_irq_work);
}

static void at_task_free(struct rcu_head *rcu)
{
	struct at_task *e = container_of(rcu, struct at_task, rcu);

	put_task_struct(e->task);
	kfree(e);
}

/* Outside of the lock: call_rcu() may wake somebody. */
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
 * Not after the member has left, nor after the session's end: at_tasks_leave() and
 * at_tasks_forget(), which take its tasks out, do not come again. A task that the session's
 * owner cannot see, from the pid namespace he is in, is left to be nobody.
 */
static bool at_task_wanted(struct task_struct *task, const struct at_ksched *ks,
			   const struct at_member *owner)
{
	return !READ_ONCE(owner->left) && READ_ONCE(ks->listed) && !at_task_find(task) &&
	       !(task->flags & PF_EXITING) && !at_task_left(task, owner) &&
	       at_task_nr(task_pid(task), ks);
}

/* Returns 0: @e was used; 1: the task is not to be added; or the error of at_task_insert(). */
static int at_task_add(struct at_task *e, struct task_struct *task,
		       struct at_ksched *ks, struct at_member *owner)
{
	unsigned long flags;
	int ret = 1;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	if (at_task_wanted(task, ks, owner))
		ret = at_task_insert(e, task, ks, owner);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	/* Against at_tasks_execed(): it finds the entry, or we find the memory changed. */
	smp_mb();
	if (!ret && at_task_left(task, owner)) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		at_task_take_out_execed(task);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
	return ret;
}

/* Threads of @m that there is no entry for. With at_tasks_lock held. */
static void at_tasks_miss(struct at_member *m, u32 threads)
{
	struct at_ksched *ks = m->session->ks;

	m->missing += threads;
	WRITE_ONCE(ks->missed, ks->missed + threads);
}

/*
 * A look at a process is over: @missing of its threads have no entry. If @again, the reason
 * may pass, and the next look may find entries for them.
 *
 * Counted are those by which they are more than at the last look, and those forked since. So
 * a thread that is missing in several looks counts once. Two threads also count once if the
 * first has ended and the second was forked by a thread without an entry, which the fork
 * probe does not know. A thread that is forked and missed while the others are being counted
 * counts twice.
 */
static void at_tasks_looked(struct at_member *m, u32 look, u32 missing, bool again)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	/* Several may look at the same time: the one that began last counts. */
	if ((s32)(look - m->looked) > 0) {
		if (missing > m->missing)
			at_tasks_miss(m, missing - m->missing);
		m->missing = missing;
		m->looked = look;
	}
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	if (missing && again)
		WRITE_ONCE(at_rescan, true);
}

/* A number for a look that begins. */
static u32 at_tasks_look_begin(struct at_member *m)
{
	unsigned long flags;
	u32 look;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	look = ++m->looks;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return look;
}

static u32 at_tasks_missing(const struct at_member *m)
{
	struct task_struct *leader, *t;
	u32 missing = 0;

	rcu_read_lock();
	leader = pid_task(m->provider->pid, PIDTYPE_TGID);
	if (leader)
		for_each_thread(leader, t)
			missing += at_task_wanted(t, m->session->ks, m);
	rcu_read_unlock();
	return missing;
}

/*
 * Put entries in for threads of a process, as far as they go. Returns what is left, and in
 * *@err the error at which it stopped.
 */
static struct at_task *at_tasks_use(struct at_member *m, struct at_task *spare, int *err)
{
	struct task_struct *leader, *t;
	int ret;

	rcu_read_lock();
	leader = pid_task(m->provider->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, t) {
			/* Before it is another's to link. */
			struct at_task *next = spare ? spare->gone : NULL;

			if (!spare)
				break;
			ret = at_task_add(spare, t, m->session->ks, m);
			if (ret < 0) {
				*err = ret;
				break;
			}
			if (!ret)
				spare = next;
		}
	}
	rcu_read_unlock();
	return spare;
}

/**
 * at_tasks_add_process - add the threads of a process that are not there yet
 * @m: the member whose process it is; the caller has a reference to its session
 *
 * A process may have as many threads as its user likes, so the caller holds no lock that
 * others wait for. Entries are allocated outside of the list's RCU section, as many as are
 * missing, so it may take several passes; it ends with one that finds nothing to add, so
 * that a thread forked meanwhile by one that was not yet traced is found, too. Without
 * memory, or with no end, it is tried again by at_pool_fn(): that is no error to who joins
 * or starts. Threads beyond what one user may have traced are not tried again.
 */
void at_tasks_add_process(struct at_member *m)
{
	struct mem_cgroup *old = set_active_memcg(m->session->memcg);
	u32 look = at_tasks_look_begin(m), missing, n, passes = 0;
	struct at_task *spare = NULL, *e;
	int err = 0;

	lockdep_assert_not_held(&at_lock);
	while ((missing = at_tasks_missing(m)) && !err && passes++ < AT_PASSES) {
		at_task_table_reserve(missing);
		for (n = 0; n < missing; n++) {
			e = at_task_alloc();
			if (!e)
				break;
			e->gone = spare;
			spare = e;
		}
		if (!spare)
			break;
		spare = at_tasks_use(m, spare, &err);
		while (spare) {
			e = spare;
			spare = e->gone;
			kfree(e);
		}
		cond_resched();
	}
	set_active_memcg(old);
	at_tasks_looked(m, look, missing, err != -EDQUOT);
}

/* A number for a round of looks: none of them is at what another has looked at. */
u64 at_tasks_round(void)
{
	static u64 round;

	lockdep_assert_held(&at_lock);
	return ++round;
}

/**
 * at_tasks_add_once - the same, for all the providers of a process together
 * @m: one of the session's members; the caller has a reference to the session
 * @round: of looks for the session's members, and for no other's
 *
 * All have the same threads. There may be thousands of either. at_lock is let go while they
 * are added.
 */
void at_tasks_add_once(struct at_member *m, u64 round)
{
	struct at_provider *first = m->provider->first;

	lockdep_assert_held(&at_lock);
	if (first->looked == round)
		return;
	first->looked = round;
	spin_unlock(&at_lock);
	at_tasks_add_process(m);
	cond_resched();
	spin_lock(&at_lock);
}

/* Whether the calling thread is traced, by whichever session. */
bool at_tasks_have_current(void)
{
	bool have;

	rcu_read_lock();
	have = at_task_find(current);
	rcu_read_unlock();
	return have;
}

/**
 * at_tasks_add_current - for a thread of the provider's mm that is not in its thread group
 * @m: the provider's member
 *
 * Without memory it is not traced, which is counted, each time that it asks; it is in no
 * list that another look goes over. That is no error to the thread: its own records are
 * worth more than what the scheduler does to it.
 */
void at_tasks_add_current(struct at_member *m)
{
	struct at_ksched *ks = m->session->ks;
	struct mem_cgroup *old = set_active_memcg(ks->session->memcg);
	struct at_task *e = at_task_alloc();
	unsigned long flags;

	set_active_memcg(old);
	if (!e) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		WRITE_ONCE(ks->missed, ks->missed + 1);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	} else if (at_task_add(e, current, ks, m)) {
		kfree(e);
	}
}

/* Enough that threads forked until the next look find an entry each. */
static void at_pool_fill(void)
{
	unsigned long flags;
	struct at_task *e;

	while (READ_ONCE(at_pool_size) < AT_POOL) {
		e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
		if (!e)
			return;
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		hlist_add_head(&e->of_owner, &at_pool);
		if (++at_pool_size == AT_POOL)
			at_pool_round++;
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
}

/* Those that run, one after the other, in the order in which they were made. */
static struct at_session *at_tasks_next_session(u32 after)
{
	struct at_session *s;

	list_for_each_entry(s, &at_sessions, node)
		if (s->id > after && s->ks && s->state == ASYNCTRACE_SESSION_STATE_STARTED)
			return s;
	return NULL;
}

/* Look at the members again that may miss a thread. at_lock is let go now and then. */
static void at_tasks_look(struct at_session *s, bool all)
{
	u64 round = at_tasks_round();
	struct at_member *m = NULL;
	u32 n = 0;

	while (s->state == ASYNCTRACE_SESSION_STATE_STARTED &&
	       (m = at_session_next_member(s, m))) {
		if (m->provider->member == m &&
		    (all || m->provider->first->left > at_left_done))
			at_tasks_add_once(m, round);
		at_turn(&n);
	}
	at_member_put(m);
}

static void at_pool_fn(struct work_struct *work)
{
	struct at_session *s;
	u32 last = 0;
	u64 left;
	bool all;

	at_tasks_free_execed();
	at_pool_fill();
	at_task_table_reserve(0);
	all = xchg(&at_rescan, false);
	if (!all && READ_ONCE(at_left) == READ_ONCE(at_left_done))
		return;
	spin_lock(&at_lock);
	left = at_left;
	while ((s = at_tasks_next_session(last))) {
		last = s->id;
		at_session_get(s);
		at_tasks_look(s, all);
		at_session_put(s);
	}
	/* Who has left since has queued this again. */
	WRITE_ONCE(at_left_done, left);
	spin_unlock(&at_lock);
}

static DECLARE_WORK(at_pool_work, at_pool_fn);

static void at_pool_irq(struct irq_work *work)
{
	queue_work(at_wq, &at_pool_work);
}

/* An entry for a thread of @m, with at_tasks_lock held; NULL: none that it may have. */
static struct at_task *at_pool_take(struct at_member *m)
{
	struct at_task *e;

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

/**
 * at_tasks_add_child - a task has made a thread, which is traced if it is
 * @parent: the task
 * @child: the new thread, not yet running
 *
 * From the fork probe, with interrupts off. Where the session's tasks are being
 * taken out, a child must not come in behind that; while it is stopped, a start finds
 * it in its process. It may be there already, found there.
 */
void at_tasks_add_child(const struct task_struct *parent, struct task_struct *child)
{
	const struct at_task *from;
	bool tight, again = false;
	struct at_task *e;
	int err;

	raw_spin_lock(&at_tasks_lock);
	from = at_task_find(parent);
	/* Pairs with at_ksched_open(): that look finds the child, or we that it is on. */
	smp_mb();
	if (!from || !READ_ONCE(from->ks->listed) || !READ_ONCE(from->ks->on) ||
	    at_task_find(child)) {
		raw_spin_unlock(&at_tasks_lock);
		return;
	}
	e = at_pool_take(from->owner);
	err = e ? at_task_insert(e, child, from->ks, from->owner) : -ENOMEM;
	if (err) {
		at_tasks_miss(from->owner, 1);
		again = err != -EDQUOT;
	}
	if (e && err) {
		hlist_add_head(&e->of_owner, &at_pool);
		at_pool_size++;
	}
	tight = at_pool_size < AT_POOL / 2 || at_task_table_is_tight();
	raw_spin_unlock(&at_tasks_lock);
	if (again)
		WRITE_ONCE(at_rescan, true);
	if (tight)
		irq_work_queue(&at_pool_irq_work);
}

/**
 * at_tasks_mark_dead - a task has made its last switch
 * @e: its entry
 *
 * From the switch probe. It is taken out in a moment, whether or not a session runs.
 */
void at_tasks_mark_dead(struct at_task *e)
{
	WRITE_ONCE(e->dead, true);
	/* Pairs with the xchg() of who takes them out: he finds it, or we that he has begun. */
	smp_mb();
	if (READ_ONCE(at_dead))
		return;
	WRITE_ONCE(at_dead, true);
	irq_work_queue(&at_dead_irq_work);
}

/**
 * struct at_tasks_removal - which entries to take out
 * @which: tells whether one is meant
 * @arg: for @which
 * @gone: those that were taken out
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
 * Take entries out, whosever they are. In process context. Nobody adds such entries any
 * more: who adds one asks, under at_tasks_lock, what the caller has changed.
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
 * at_tasks_execed - a task runs another program: its provider's it is no more
 * @task: the task that calls
 *
 * From the rename probe, with interrupts off; asked at each renaming, of which one
 * is where a program is begun.
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

static void at_dead_irq(struct irq_work *work)
{
	queue_delayed_work(at_wq, &at_reap_work, AT_REAP_DELAY);
}

/* After a look, and from time to time: what could not be had, may be had by the worker. */
void at_tasks_again(void)
{
	if (READ_ONCE(at_rescan))
		queue_work(at_wq, &at_pool_work);
}

/**
 * at_tasks_leave - a member's tasks are traced no more
 * @m: a member that leaves its session
 *
 * Those that exit still have a switch to make, and stay in the member's list; they
 * fork nobody. Those that live may be other providers', too, which get them in a moment:
 * a task has one entry. This costs what the member has, for all members may leave at once.
 */
void at_tasks_leave(struct at_member *m)
{
	struct at_provider *p = m->provider;
	struct at_task *gone = NULL;
	HLIST_HEAD(exiting);
	unsigned long flags;
	bool more;
	u32 n;

	lockdep_assert_held(&at_lock);
	do {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		WRITE_ONCE(m->left, true);
		for (n = 0; n < AT_BATCH && !hlist_empty(&m->tasks); n++) {
			struct at_task *e = hlist_entry(m->tasks.first, struct at_task, of_owner);

			if (e->task->flags & PF_EXITING) {
				hlist_del(&e->of_owner);
				hlist_add_head(&e->of_owner, &exiting);
			} else {
				at_task_take_out(e, &gone);
			}
		}
		more = !hlist_empty(&m->tasks);
		if (!more)
			hlist_move_list(&exiting, &m->tasks);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	} while (more);
	/* One that is dead is no part any more. */
	if (gone && p->first->parts > !p->dead) {
		WRITE_ONCE(at_left, at_left + 1);
		p->first->left = at_left;
		queue_work(at_wq, &at_pool_work);
	}
	at_tasks_free(gone);
}

/* Has a member that has left no entry any more? It gets none, so that this stays true. */
bool at_tasks_none(const struct at_member *m)
{
	unsigned long flags;
	bool none;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	none = m->left && hlist_empty(&m->tasks);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return none;
}

void at_tasks_forget(const struct at_ksched *ks)
{
	at_tasks_remove(at_task_of_session, ks);
	/* The table may be too large now. */
	queue_work(at_wq, &at_pool_work);
}

int at_tasks_init(void)
{
	int err = at_task_table_init();

	if (!err)
		at_pool_fill();
	return err;
}

static bool at_task_any(const struct at_task *e, const void *arg)
{
	return true;
}

/* The probes are gone. */
void at_tasks_exit(void)
{
	struct hlist_node *next;
	struct at_task *e;

	irq_work_sync(&at_pool_irq_work);
	irq_work_sync(&at_dead_irq_work);
	flush_work(&at_pool_work);
	cancel_delayed_work_sync(&at_reap_work);
	at_tasks_free_execed();
	at_tasks_remove(at_task_any, NULL);
	rcu_barrier();
	hlist_for_each_entry_safe(e, next, &at_pool, of_owner)
		kfree(e);
	at_task_table_exit();
}
