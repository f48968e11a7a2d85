// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks come into the hash when their process joins a session or they are forked
 * in one, and stay through their last switch: the probe marks, a worker frees.
 * Probes allocate and free nothing and take no lock but a raw one.
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

struct hlist_head at_tasks[1 << AT_TASKS_BITS];

/* Protects changes of the hash, members' lists, and the pool. Taken in probes, so raw. */
static DEFINE_RAW_SPINLOCK(at_tasks_lock);
static HLIST_HEAD(at_pool);
static u32 at_pool_size;
static u32 at_pool_round;

/* Of tasks that run another program; under at_tasks_lock. */
static struct at_task *at_execed;

static bool at_rescan;
static bool at_dead;

/* How often members have left and taken out others' tasks; up to which these have them. */
static u64 at_left;
static u64 at_left_done;

/* Dead tasks are looked for in all of the hash: not more often than this. */
#define AT_REAP_DELAY	msecs_to_jiffies(50)

/* What probes leave to others to do. */
static void at_pool_irq(struct irq_work *work);
static DEFINE_IRQ_WORK(at_pool_irq_work, at_pool_irq);
static void at_dead_irq(struct irq_work *work);
static DEFINE_IRQ_WORK(at_dead_irq_work, at_dead_irq);

/*
 * Where a provider is the one who calls, the caller has the session's memory cgroup set
 * active. What cannot be had at once is asked for again by at_pool_fn(), which is on
 * nobody's account: so nobody is killed for it, and at_mutex not held while a cgroup is
 * short of memory, which may be for as long as its user likes.
 */
static struct at_task *at_task_alloc(void)
{
	return kzalloc(sizeof(struct at_task), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
}

static s32 at_task_nr(struct pid *pid, const struct at_ksched *ks)
{
	return ks->ns ? pid_nr_ns(pid, ks->ns) : pid_nr(pid);
}

/* With at_tasks_lock held; the entry becomes visible to the probes. */
static void at_task_insert(struct at_task *e, struct task_struct *task,
			   struct at_ksched *ks, struct at_member *owner)
{
	e->task = get_task_struct(task);
	e->ks = ks;
	e->owner = owner;
	e->tid = at_task_nr(task_pid(task), ks);
	e->pid = at_task_nr(task_tgid(task), ks);
	e->dead = false;
	hlist_add_head_rcu(&e->node, at_task_bucket(task));
	hlist_add_head(&e->of_owner, &owner->tasks);
	at_record_name(ks, task, e->tid, e->pid, task->comm, ASYNCTRACE_TASK_F_PROVIDER,
		       &owner->sharer);
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
 * Out of the hash and of its owner's list, with at_tasks_lock held. It is freed when no
 * probe can see it, see at_tasks_free().
 */
static void at_task_take_out(struct at_task *e, struct at_task **gone)
{
	hlist_del_rcu(&e->node);
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
 * A task that the session's owner cannot see, from the pid namespace he is in, is left
 * to be nobody.
 */
static bool at_task_wanted(struct task_struct *task, const struct at_ksched *ks,
			   const struct at_member *owner)
{
	return !at_task_find(task) && !(task->flags & PF_EXITING) &&
	       !at_task_left(task, owner) && at_task_nr(task_pid(task), ks);
}

/* Returns whether @e was used. */
static bool at_task_add(struct at_task *e, struct task_struct *task,
			struct at_ksched *ks, struct at_member *owner)
{
	unsigned long flags;
	bool add;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	add = at_task_wanted(task, ks, owner);
	if (add)
		at_task_insert(e, task, ks, owner);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	/* Against at_tasks_execed(): it finds the entry, or we find the memory changed. */
	smp_mb();
	if (add && at_task_left(task, owner)) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		at_task_take_out_execed(task);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
	return add;
}

/* Threads of @m that there is no entry for. With at_tasks_lock held. */
static void at_tasks_miss(struct at_member *m, u32 threads)
{
	struct at_ksched *ks = m->session->ks;

	m->missing += threads;
	WRITE_ONCE(ks->missed, ks->missed + threads);
}

/*
 * A look at a process is over, without memory for all of its threads where @missing.
 * Counted are those by which they are more than at the last look and those forked
 * since: one that is missing for several looks counts once. So do two, where the one has
 * ended and the other has come from one that is missing: the fork probe does not know it.
 * One that is forked, and missed, while the others are counted is counted twice.
 */
static void at_tasks_looked(struct at_member *m, u32 missing)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	if (missing > m->missing)
		at_tasks_miss(m, missing - m->missing);
	m->missing = missing;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	/* For the next look. */
	if (missing)
		WRITE_ONCE(at_rescan, true);
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

/* Put entries in for threads of a process, as far as they go. Returns what is left. */
static struct at_task *at_tasks_use(struct at_member *m, struct at_task *spare)
{
	struct task_struct *leader, *t;

	rcu_read_lock();
	leader = pid_task(m->provider->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, t) {
			/* Before it is another's to link. */
			struct at_task *next = spare ? spare->gone : NULL;

			if (!spare)
				break;
			if (at_task_add(spare, t, m->session->ks, m))
				spare = next;
		}
	}
	rcu_read_unlock();
	return spare;
}

/**
 * at_tasks_add_process - add the threads of a process that are not there yet
 * @m: the member whose process it is
 *
 * Entries are allocated outside of the list's RCU section, as many as are missing, so it
 * may take several passes; it ends with one that finds nothing to add, so that a thread
 * forked meanwhile by one that was not yet traced is found, too. Without memory, or with
 * no end, it is tried again by at_pool_fn(): that is no error to who joins or starts.
 */
void at_tasks_add_process(struct at_member *m)
{
	struct at_task *spare = NULL, *e;
	u32 missing, n, passes = 0;

	while ((missing = at_tasks_missing(m)) && passes++ < AT_PASSES) {
		for (n = 0; n < missing; n++) {
			e = at_task_alloc();
			if (!e)
				break;
			e->gone = spare;
			spare = e;
		}
		if (!spare)
			break;
		spare = at_tasks_use(m, spare);
		while (spare) {
			e = spare;
			spare = e->gone;
			kfree(e);
		}
		cond_resched();
	}
	at_tasks_looked(m, missing);
}

/* A number for a round of looks: none of them is at what another has looked at. */
u64 at_tasks_round(void)
{
	static u64 round;

	lockdep_assert_held(&at_mutex);
	return ++round;
}

/**
 * at_tasks_add_once - the same, for all the providers of a process together
 * @m: one of the session's members
 * @round: of looks for the session's members, and nobody else's
 *
 * All have the same threads. There may be thousands of either.
 *
 * Return: whether a look was needed.
 */
bool at_tasks_add_once(struct at_member *m, u64 round)
{
	struct at_provider *first = m->provider->first;

	lockdep_assert_held(&at_mutex);
	if (first->looked == round)
		return false;
	first->looked = round;
	at_tasks_add_process(m);
	return true;
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
	struct mem_cgroup *old = set_active_memcg(ks->memcg);
	struct at_task *e = at_task_alloc();
	unsigned long flags;

	set_active_memcg(old);
	if (!e) {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		WRITE_ONCE(ks->missed, ks->missed + 1);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	} else if (!at_task_add(e, current, ks, m)) {
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
		hlist_add_head(&e->node, &at_pool);
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

/* Look at the members again that may miss a thread: at_mutex is let go after each look. */
static void at_tasks_look(struct at_session *s, bool all)
{
	u64 round = at_tasks_round();
	struct at_member *m = NULL;

	while (s->state == ASYNCTRACE_SESSION_STATE_STARTED &&
	       (m = at_session_next_member(s, m))) {
		if (m->provider->member != m ||
		    (!all && m->provider->first->left <= at_left_done) ||
		    !at_tasks_add_once(m, round))
			continue;
		mutex_unlock(&at_mutex);
		cond_resched();
		mutex_lock(&at_mutex);
	}
}

static void at_pool_fn(struct work_struct *work)
{
	struct at_session *s;
	u32 last = 0;
	u64 left;
	bool all;

	at_tasks_free_execed();
	at_pool_fill();
	all = xchg(&at_rescan, false);
	if (!all && READ_ONCE(at_left) == READ_ONCE(at_left_done))
		return;
	mutex_lock(&at_mutex);
	left = at_left;
	while ((s = at_tasks_next_session(last))) {
		last = s->id;
		at_session_get(s);
		at_tasks_look(s, all);
		at_session_put(s);
	}
	/* Who has left since has queued this again. */
	WRITE_ONCE(at_left_done, left);
	mutex_unlock(&at_mutex);
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
	e = hlist_entry(at_pool.first, struct at_task, node);
	hlist_del(&e->node);
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
	struct at_task *e;

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
	if (e)
		at_task_insert(e, child, from->ks, from->owner);
	else
		at_tasks_miss(from->owner, 1);
	raw_spin_unlock(&at_tasks_lock);
	if (!e)
		WRITE_ONCE(at_rescan, true);
	if (READ_ONCE(at_pool_size) < AT_POOL / 2)
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

/* Take entries out, whosever they are. From process context: a probe must not do this. */
static void at_tasks_remove(bool (*which)(const struct at_task *e, const void *arg),
			    const void *arg)
{
	struct at_task *gone = NULL, *e;
	struct hlist_node *next;
	unsigned long flags;
	u32 i;

	/* Who has the lock after this sees what the caller has changed before. */
	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	for (i = 0; i < ARRAY_SIZE(at_tasks); i++) {
		if (hlist_empty(&at_tasks[i]))
			continue;
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		hlist_for_each_entry_safe(e, next, &at_tasks[i], node)
			if (which(e, arg))
				at_task_take_out(e, &gone);
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	}
	at_tasks_free(gone);
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

	lockdep_assert_held(&at_mutex);
	do {
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
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

void at_tasks_forget(const struct at_ksched *ks)
{
	at_tasks_remove(at_task_of_session, ks);
}

int at_tasks_init(void)
{
	at_pool_fill();
	return 0;
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
	hlist_for_each_entry_safe(e, next, &at_pool, node)
		kfree(e);
}
