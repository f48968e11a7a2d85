/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's locks, outermost first: who holds one may take those below it.
 *
 *   at_session.lock        Requests that change a session, one at a time, also while at_mutex
 *                          is let go. Not held while memory is allocated for a user.
 *     at_mutex             The control plane: which providers, sessions and subscribers there
 *                          are, and which provider is in which session. Held for a few steps.
 *       at_cpus_mutex        where the probes' short way leads, on each CPU
 *       at_range.lock        rings of a range of a provider's mapping
 *       at_session.members_lock  the list of members, and what their rings stand for
 *       at_session.clear_lock    what the reader has taken of rings, and what a start cleared
 *       at_clock_log.lock    pairs of clock readings
 *       at_users_lock        what users have
 *       at_tasks_lock        traced threads (raw: the scheduler's probes take it)
 *   at_session.read_lock   One reader at a time; user memory is touched under it. Only the
 *                          consumer's own process waits for it.
 *     at_task_names.lock     names of threads, as kept for the reader
 *   at_range.sem           Faults against the zap of a range: of one process only.
 *     at_provider.space_lock   the address space that a zap goes over
 *   at_provider.slots_lock Slots of a provider's threads.
 *   at_bucket.lock         How fast a provider raises alerts.
 *   at_probes_mutex        The tracepoints' probes; waits for grace periods.
 *   at_online_mutex        CPUs that come up, against sessions that are made.
 *     at_cpus_mutex
 *
 * No lock that another user waits for is held while work is done whose length a user chooses:
 * such work goes in turns, see at_turn().
 */
#ifndef AT_LOCK_H
#define AT_LOCK_H

#include <linux/mutex.h>
#include <linux/sched.h>

extern struct mutex at_mutex;

/* Members, or providers, that the holder of at_mutex looks at before others have their turn */
#define AT_TURN	16

/**
 * at_turn - let those in who wait for at_mutex, now and then
 * @n: calls so far; the caller's, 0 at first
 *
 * What at_mutex protects may be another when this returns.
 */
static inline void at_turn(u32 *n)
{
	if (++*n % AT_TURN)
		return;
	mutex_unlock(&at_mutex);
	cond_resched();
	mutex_lock(&at_mutex);
}

#endif /* AT_LOCK_H */
