// SPDX-License-Identifier: GPL-2.0
/*
 * Looking for threads of providers' processes that have no entry in the table of traced tasks
 *
 * A look is necessary when a process joins a session, when a session starts, when a thread could
 * not be added, and when a provider leaves whose process has other providers. If memory was short,
 * a worker repeats the look until the thread is added or has ended.
 */
#include <linux/memcontrol.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "base/lock.h"
#include "base/quiesce.h"
#include "base/threads.h"
#include "provider/provider.h"
#include "sched/looks.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/member.h"
#include "session/session.h"

/* Limit of passes over a process that keeps making threads. A worker continues later. */
#define AT_PASSES	8

/* Some members have at_member.again set: at_tasks_fn() must look at them. */
static bool at_rescan;
/*
 * at_left counts members that left while their process had other live providers. A task has one
 * entry, so these providers lose their tasks, too, and at_tasks_fn() adds the tasks again.
 * at_left_done is the value of at_left up to which at_tasks_fn() has done that.
 */
static u64 at_left;
static u64 at_left_done;

/* Count threads of @m that have no entry. With at_tasks_lock held. */
void at_tasks_miss(struct at_member *m, u32 threads)
{
	struct at_ksched *ks = m->session->ks;

	m->missing += threads;
	WRITE_ONCE(ks->missed, ks->missed + threads);
}

/* Have at_tasks_fn() look at the process of @m again. */
void at_tasks_want_look(struct at_member *m)
{
	/* Pairs with the xchg() in at_tasks_add_process(): its look sees the caller's changes. */
	smp_store_release(&m->again, true);
	/* Pairs with the xchg() in at_tasks_fn(), which finds @again. */
	smp_store_release(&at_rescan, true);
}

/*
 * End a look, which is one search for the threads of a process that have no entry. @missing: the
 * number of these threads. @again: a later look may be able to add them.
 *
 * m->missing is the number that the last look found, plus the threads that the fork probe has
 * missed since. Only an excess over it is counted, so a thread that is missing in several looks
 * counts once. The count is not exact in two cases. A missed thread that has ended hides a new
 * one if the fork probe does not know the new thread's parent. A thread that the fork probe
 * misses during a look may count twice.
 */
static void at_tasks_looked(struct at_member *m, u32 look, u32 missing, bool again)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	/* Looks may overlap: ignore this one if a look that began later has already ended. */
	if ((s32)(look - m->looked) > 0) {
		if (missing > m->missing)
			at_tasks_miss(m, missing - m->missing);
		m->missing = missing;
		m->looked = look;
	}
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	if (again)
		at_tasks_want_look(m);
}

/* Begin a look at a process. Returns the number of the look, for at_tasks_looked(). */
static u32 at_tasks_look_begin(struct at_member *m)
{
	unsigned long flags;
	u32 look;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	look = ++m->looks;
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return look;
}

/* Does another session trace the task? Then @ks cannot, because a task has only one entry. */
static bool at_task_elsewhere(const struct task_struct *task, const struct at_ksched *ks)
{
	const struct at_task *e = at_task_kept(task);

	return e && e->ks != ks;
}

/*
 * Returns the number of threads that should be added. @elsewhere: out: threads that cannot be
 * added, because another session traces them for another provider of the process.
 */
static u32 at_tasks_missing(struct at_member *m, u32 *elsewhere)
{
	struct at_threads walk = { .pid = m->provider->pid };
	u32 missing = 0, begins = 0;
	struct task_struct *t;

	*elsewhere = 0;
	rcu_read_lock();
	while ((t = at_threads_next(&walk))) {
		if (walk.begins != begins) {
			missing = 0;
			*elsewhere = 0;
		}
		begins = walk.begins;
		missing += at_task_wanted(t, m->session->ks, m);
		*elsewhere += at_task_elsewhere(t, m->session->ks);
	}
	rcu_read_unlock();
	if (walk.cut)
		at_tasks_want_look(m);
	return missing;
}

/*
 * Add threads of a process, using entries from @spare. Returns the unused entries, and in
 * *@err the error that ended the walk.
 */
static struct at_task *at_tasks_use(struct at_member *m, struct at_task *spare, int *err)
{
	struct at_threads walk = { .pid = m->provider->pid };
	struct task_struct *t;
	int ret;

	rcu_read_lock();
	while (spare && (t = at_threads_next(&walk))) {
		/* Read .gone now: once @spare is in the table, it may be taken out and relinked. */
		struct at_task *next = spare->gone;

		ret = at_task_add(spare, t, m->session->ks, m);
		if (ret < 0) {
			*err = ret;
			break;
		}
		if (!ret)
			spare = next;
	}
	rcu_read_unlock();
	return spare;
}

/**
 * at_tasks_add_process - add the threads of a process that have no entry yet
 * @m: a member of that process; the caller has a reference to its session
 *
 * A process may have any number of threads, so the caller holds no lock that others need.
 * Entries are allocated outside of the RCU section, so several passes may be necessary. The
 * last pass finds no thread to add. So a thread is found even if an untraced thread forked
 * it during an earlier pass.
 *
 * If memory is short, or after AT_PASSES, at_tasks_fn() tries again later. Joining or starting
 * does not fail because of this. Threads beyond the user's quota are tried again only if
 * at_leave_fn() may still lower what the user is charged for.
 */
void at_tasks_add_process(struct at_member *m)
{
	struct mem_cgroup *old = set_active_memcg(m->session->memcg);
	u32 look = at_tasks_look_begin(m), missing, elsewhere, n, passes = 0;
	struct at_task *spare = NULL, *e;
	int err = 0;

	lockdep_assert_not_held(&at_lock);
	xchg(&m->again, false);
	while ((missing = at_tasks_missing(m, &elsewhere)) && !err && passes++ < AT_PASSES) {
		const u32 reserved = missing;

		at_task_table_reserve(reserved);
		for (n = 0; n < missing; n++) {
			e = at_task_alloc();
			if (!e)
				break;
			e->gone = spare;
			spare = e;
		}
		if (spare)
			spare = at_tasks_use(m, spare, &err);
		at_task_table_unreserve(reserved);
		if (!n)
			break;
		while (spare) {
			e = spare;
			spare = e->gone;
			kfree(e);
		}
		cond_resched();
	}
	set_active_memcg(old);
	/* Do not look again for the @elsewhere threads: at_leave_fn() has them added later. */
	at_tasks_looked(m, look, missing + elsewhere,
			missing && (err != -EDQUOT || at_tasks_leaving()));
}

/* Begin a round of looks, in which at_tasks_add_once() looks at each process once. */
u64 at_tasks_round(void)
{
	static u64 round;

	lockdep_assert_held(&at_lock);
	return ++round;
}

/**
 * at_tasks_add_once - add the threads of a process once in a round
 * @m: a member; the caller has a reference to its session
 * @round: from at_tasks_round(); used for members of this session only
 *
 * All providers of a process have the same threads. There may be thousands of providers and
 * of threads. Drops at_lock while threads are added.
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
	/*
	 * If @m has left, its look may have added nothing. So make the next provider of the
	 * process look, although it is in the same round.
	 */
	if (m->left && first->looked == round)
		first->looked = 0;
}

/* Look again at members of a session that may have threads without an entry. */
static void at_tasks_look(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;
	u64 round;

	spin_lock(&at_lock);
	round = at_tasks_round();
	while (s->ks && s->state == ASYNCTRACE_SESSION_STATE_STARTED &&
	       (m = at_session_next_member(s, m))) {
		if (m->provider->member == m &&
		    (READ_ONCE(m->again) || m->provider->first->left > at_left_done))
			at_tasks_add_once(m, round);
		at_turn(&n);
	}
	spin_unlock(&at_lock);
	at_member_put(m);
}

/* Look for threads without an entry. */
static void at_tasks_fn(struct work_struct *work)
{
	u64 left = READ_ONCE(at_left);
	struct at_session *s;
	u32 id = 0;

	if (!xchg(&at_rescan, false) && left == READ_ONCE(at_left_done))
		return;
	for (; (s = at_session_from(&id)); id++) {
		at_tasks_look(s);
		at_session_put(s);
	}
	/*
	 * Store the count of departures that this round began with, not the present one: a member
	 * that left during the round has queued this work again.
	 */
	WRITE_ONCE(at_left_done, left);
}

static DECLARE_WORK(at_tasks_work, at_tasks_fn);

/* Retry threads that could not be added. Called after looks, and periodically. */
void at_tasks_again(void)
{
	if (READ_ONCE(at_rescan))
		queue_work(at_wq, &at_tasks_work);
}

/*
 * Have at_tasks_fn() look at the process of a member that has left, if the process has other live
 * providers. at_provider.parts does not count dead providers.
 */
void at_tasks_leave_others(const struct at_member *m)
{
	struct at_provider *first = m->provider->first;

	lockdep_assert_held(&at_lock);
	if (first->parts <= !m->provider->dead)
		return;
	WRITE_ONCE(at_left, at_left + 1);
	first->left = at_left;
	queue_work(at_wq, &at_tasks_work);
}

void at_looks_exit(void)
{
	flush_work(&at_tasks_work);
}
