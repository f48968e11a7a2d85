/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's locks, outermost first: who holds one may take those below it.
 *
 *   at_session.request_lock  Requests that change a session, one at a time, also while at_lock
 *                          is let go. Not held while memory is allocated for a user.
 *     at_lock              The control plane: which providers, sessions and subscribers there
 *                          are, and which provider is in which session. Held for a few steps,
 *                          and not preempted meanwhile: its holder's quota of CPU time may be
 *                          used up.
 *       at_cpus_lock         where the probes' short way leads, on each CPU
 *       at_range.rings_lock  rings of a range of a provider's mapping
 *       at_session.members_lock  the list of members, what their rings stand for, and the
 *                                sums of those that have ended
 *       at_session.clear_lock    what the reader has taken of rings, and what a start cleared
 *       at_clock_log.pairs_lock  pairs of clock readings
 *       at_quota_lock        accounts of users
 *       at_tasks_lock        traced threads (raw: the scheduler's probes take it)
 *   at_session.read_lock   One reader at a time; user memory is touched under it. Only the
 *                          consumer's own process waits for it.
 *     at_task_names.kept_lock  names of threads, as kept for the reader
 *   at_range.zap_sem       Faults against the zap of a range: of one process only.
 *     at_provider.space_lock   the address space that a zap goes over
 *   at_provider.slots_lock Slots of a provider's threads.
 *   at_bucket.fill_lock    How fast a provider raises alerts.
 *   at_probes_mutex        The tracepoints' probes; waits for grace periods.
 *   at_online_mutex        CPUs that come up, against sessions that are made.
 *     at_cpus_lock
 *
 * No lock that another user waits for is held while work is done whose length a user chooses:
 * such work goes in turns, see at_turn().
 */
#ifndef AT_LOCK_H
#define AT_LOCK_H

#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

extern spinlock_t at_lock;

/* Members, or providers, that the holder of at_lock looks at before others have their turn */
#define AT_TURN	16
/* How long at_turn() leaves the lock to others */
#define AT_TURN_NS	500

/**
 * at_turn - let those in who wait for at_lock, now and then
 * @n: calls so far; the caller's, 0 at first
 *
 * What at_lock protects may be another when this returns.
 */
static inline void at_turn(u32 *n)
{
	if (++*n % AT_TURN)
		return;
	spin_unlock(&at_lock);
	cond_resched();
	/*
	 * Some virtual machines have test-and-set spinlocks, which are not fair: a CPU that
	 * takes the lock again at once nearly always wins it against those that wait.
	 */
	ndelay(AT_TURN_NS);
	spin_lock(&at_lock);
}

#endif /* AT_LOCK_H */
