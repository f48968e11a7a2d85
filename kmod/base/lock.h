/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's locks. A lock may be taken while the lock that it is indented under is held. In
 * addition:
 *
 *   - The locks indented under at_lock may be taken without it, also under at_session.read_lock.
 *   - at_range.rings_lock may be taken under at_range.zap_sem.
 *   - at_session.clear_lock may be taken under at_range.rings_lock.
 *   - at_provider.slots_lock may be taken under at_lock and under at_session.read_lock.
 *
 *   at_session.request_lock  Serialises requests that change a session, also while at_lock is
 *                          released. Not held while memory is allocated for a user. The
 *                          release of a file only tries to take it.
 *     at_lock              Registers of providers and subscribers, changes of the register of
 *                          sessions, and which provider is in which session. A spinlock,
 *                          because a mutex holder without CPU quota left would delay all
 *                          other users: see below.
 *       at_range.rings_lock  rings of a range of a provider's mapping
 *       at_session.members_lock  the list of members, the bytes their rings may take, and the
 *                                sums over each user's and over ended members
 *       at_session.clear_lock    how far each ring was read, and cleared by a start
 *       at_clock_log.pairs_lock  pairs of clock readings
 *       at_quota_lock        accounts of users
 *       at_tasks_lock        traced threads (raw: the scheduler's probes take it)
 *   at_session.read_lock   Serialises reads. User memory is accessed under it. Only the
 *                          consumer's own process waits for it.
 *     at_task_names.kept_lock  the table of thread names for the reader
 *   at_range.zap_sem       Excludes faults while a range is zapped; of one process only. Workers
 *                          only try to take it.
 *     at_provider.space_lock   the address space that is zapped
 *   at_provider.slots_lock Slots and cells of a provider's threads.
 *   at_bucket.fill_lock    Rate limit of a provider's alerts.
 *   at_probes_mutex        Registration of the tracepoint probes; waits for grace periods, and
 *                          takes locks of the kernel that all users wait for. Only workers take it,
 *                          because a user's process may run out of CPU quota. at_lock may be
 *                          taken under it.
 *
 * Generic netlink holds its own cb_lock for reading during a request. So a request that waits for
 * its user's memory cgroup delays a module that registers a netlink family, and requests that
 * begin while this module waits.
 *
 * A user must not choose for how long at_lock is held. So memory is allocated and charged under it
 * only with GFP_NOWAIT, and no names are compared with the patterns of several sessions or
 * providers, no threads or processes are visited, and nothing that waits for a device's descriptor
 * or a subscriber's socket is woken under it. A loop over members or providers releases it by
 * at_pause() or at_turn(). A look-up of a session by id does not take it, and a walk over the
 * providers of a session takes it for one step only. The longest sections create a notification for
 * all subscribers that may see it, at most 64 of a user, and send it if that takes a short time,
 * give one provider its patterns, at most 200, or copy a provider's names, at most 256 KiB.
 *
 * The holder of a spinlock is not preempted, so that a CPU quota does not throttle it. With
 * PREEMPT_RT, at_lock sleeps and its holder can be preempted. Before Linux 6.18, a task of the fair
 * class without CPU quota left is then throttled in the kernel. Other users wait until the task's
 * next period, unless a waiter with real-time priority boosts the task. Since Linux 6.18, tasks are
 * throttled only when they return to user space.
 */
#ifndef AT_LOCK_H
#define AT_LOCK_H

#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

extern spinlock_t at_lock;

/* Members or providers that at_lock's holder handles before at_turn() releases the lock */
#define AT_TURN	16
/* Nanoseconds for which at_pause() leaves at_lock to others */
#define AT_TURN_NS	500

/**
 * at_pause - release at_lock for a moment
 *
 * The state that at_lock protects may have changed on return.
 */
static inline void at_pause(void)
{
	spin_unlock(&at_lock);
	cond_resched();
	/*
	 * Some virtual machines have test-and-set spinlocks, which are not fair: a CPU that
	 * retakes the lock at once nearly always wins against the CPUs that wait.
	 */
	ndelay(AT_TURN_NS);
	spin_lock(&at_lock);
}

/**
 * at_turn - call at_pause() once in AT_TURN calls
 * @n: number of calls so far; the caller sets it to 0 before the first
 *
 * A loop calls this after each short step. After a long step it calls at_pause() instead.
 */
static inline void at_turn(u32 *n)
{
	if (!(++*n % AT_TURN))
		at_pause();
}

#endif /* AT_LOCK_H */
