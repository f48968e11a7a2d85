// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that change a session: initialize, start, update, stop, terminate.
 *
 * No request waits for a provider, or for writers to leave.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "base/clock.h"
#include "base/quiesce.h"
#include "base/race.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "provider/provider.h"
#include "provider/recording_state.h"
#include "sched/looks.h"
#include "sched/sched.h"
#include "session/assign.h"
#include "session/budget.h"
#include "session/clear.h"
#include "session/member.h"
#include "session/places.h"
#include "session/session.h"

/* Number of attempts to take all wanted providers; more may become free during an attempt */
#define AT_ADOPT_ROUNDS	4

/* Time until at_session_cleanup() tries again to lock the session, jiffies */
#define AT_CLEANUP_DELAY	max_t(unsigned long, HZ / 100, 1)

/**
 * at_session_lock - lock a session against other requests
 * @s: the session, with a reference
 * @extack: for the reason of a failure
 *
 * Return: 0, with request_lock held; -ENOENT if the session has been terminated, -EINTR
 * if the caller was killed.
 */
int at_session_lock(struct at_session *s, struct netlink_ext_ack *extack)
{
	if (mutex_lock_killable(&s->request_lock))
		return -EINTR;
	at_race(AT_RACE_LOCK);
	if (s->state != ASYNCTRACE_SESSION_STATE_TERMINATED)
		return 0;
	mutex_unlock(&s->request_lock);
	NL_SET_ERR_MSG(extack, "the session was ended meanwhile");
	return -ENOENT;
}

static bool at_session_may_open(const struct at_member *m)
{
	return m->provider->member == m && !m->clearing && !m->joining;
}

/*
 * Open the gates that are shut. Skips members that are still being cleared, and members
 * that join late: at_offer_late() opens their gates. May drop at_lock.
 */
static void at_session_open(struct at_session *s)
{
	u64 round = at_tasks_round();
	struct at_member *m = NULL;

	lockdep_assert_held(&s->request_lock);
	if (s->ks && !s->clearing)
		at_ksched_open(s->ks);
	while ((m = at_session_next_member(s, m))) {
		if (s->ks && at_session_may_open(m))
			at_tasks_add_once(m, round);
		/* at_lock may have been dropped: check again. */
		if (at_session_may_open(m) &&
		    READ_ONCE(m->provider->control->gate) == ASYNCTRACE_GATE_OFF)
			at_member_start(m, s->generation);
		at_pause();
	}
}

/* Find the CPUs that may run writers of the last run. */
static void at_session_cpus(struct at_quiesce *q, struct cpumask *cpus)
{
	struct at_session *s = container_of(q, struct at_session, quiesce);
	struct at_member *m = NULL;

	while ((m = at_session_next_member(s, m))) {
		if (!READ_ONCE(m->done))
			at_provider_cpus(m->provider, cpus);
		cond_resched();
	}
}

/*
 * Runs when the writers of the last run have left. If the session was started again before that,
 * opens the gates that the start left shut.
 */
static void at_session_quiet_fn(struct work_struct *work)
{
	struct at_session *s = container_of(work, struct at_session, quiet_work);
	/* Pairs with the store-release in at_session_init(). */
	struct at_ksched *ks = smp_load_acquire(&s->ks);

	/* Probes may still be recording on CPUs that ran no writer. */
	if (ks)
		at_ksched_wait(ks);
	mutex_lock(&s->request_lock);
	spin_lock(&at_lock);
	if (s->again) {
		s->again = false;
		at_quiesce(&s->quiesce);
		spin_unlock(&at_lock);
		mutex_unlock(&s->request_lock);
		return;
	}
	s->quiescing = false;
	at_clear_finish(s);
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_session_open(s);
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	at_session_put(s);
}

/*
 * Called by a worker of at_wq when the writers have left. That worker must not wait for
 * request_lock, whose holder may be a task without CPU quota.
 */
static void at_session_quiet(struct at_quiesce *q)
{
	struct at_session *s = container_of(q, struct at_session, quiesce);

	queue_work(at_session_wq(s), &s->quiet_work);
}

int at_session_prepare_quiesce(struct at_session *s)
{
	INIT_WORK(&s->quiet_work, at_session_quiet_fn);
	return at_quiesce_prepare(&s->quiesce, at_session_cpus, at_session_quiet);
}

static void at_session_quiesce(struct at_session *s)
{
	if (s->quiescing) {
		s->again = true;
		return;
	}
	s->quiescing = true;
	at_session_get(s);
	at_quiesce(&s->quiesce);
}

/* Show the session's new state to its providers. May drop at_lock. */
static void at_session_observed(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m)
			at_observe_update(m->provider);
		at_turn(&n);
	}
}

static int at_session_may_init(const struct at_session *s, struct netlink_ext_ack *extack)
{
	if (s->state != ASYNCTRACE_SESSION_STATE_READY) {
		NL_SET_ERR_MSG(extack, "the session is initialized already");
		return -EALREADY;
	}
	if (s->initializing) {
		NL_SET_ERR_MSG(extack, "the session is being initialized");
		return -EBUSY;
	}
	return 0;
}

static int at_session_may_start(const struct at_session *s, struct netlink_ext_ack *extack)
{
	switch (s->state) {
	case ASYNCTRACE_SESSION_STATE_STARTED:
		NL_SET_ERR_MSG(extack, "the session is started already");
		return -EALREADY;
	case ASYNCTRACE_SESSION_STATE_READY:
		NL_SET_ERR_MSG(extack, "the session is not initialized");
		return -EINVAL;
	case ASYNCTRACE_SESSION_STATE_TERMINATED:
		NL_SET_ERR_MSG(extack, "the session was ended meanwhile");
		return -ENOENT;
	}
	return 0;
}

/*
 * Take the providers that a session wants. @start: the session is about to be started; otherwise
 * it has just been initialized. Releases request_lock while it allocates memory for more of them,
 * and stops if another request has started or ended the session meanwhile. On failure the lock is
 * not held.
 */
static int at_session_adopt(struct at_session *s, struct at_prepared *prep, bool start,
			    struct netlink_ext_ack *extack)
{
	u32 rounds;
	int err;

	for (rounds = 1; !at_offer_adopt(s, prep, start, rounds == AT_ADOPT_ROUNDS); rounds++) {
		mutex_unlock(&s->request_lock);
		at_prepare_members(s, prep, start);
		err = at_session_lock(s, extack);
		if (err)
			return err;
		spin_lock(&at_lock);
		err = at_session_may_start(s, extack);
		spin_unlock(&at_lock);
		if (err) {
			mutex_unlock(&s->request_lock);
			return err;
		}
	}
	return 0;
}

/**
 * at_session_init - initialize a session: allocate its memory and take providers
 * @s: a session that is ready
 * @extack: for the reason of a failure
 *
 * Does not take providers from other sessions.
 *
 * Return: 0; -EALREADY if the session is initialized, -EBUSY if another call is
 * initializing it, -ENOENT if it was terminated meanwhile, -ENOSPC beyond the memory
 * limit, -EINTR, -ENOMEM.
 */
int at_session_init(struct at_session *s, struct netlink_ext_ack *extack)
{
	struct at_prepared prep;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	spin_lock(&at_lock);
	err = at_session_may_init(s, extack);
	s->initializing |= !err;
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	if (err)
		return err;
	at_prepared_init(&prep);
	err = at_prepare(s, &prep, extack);
	if (!err)
		err = at_session_lock(s, extack);
	spin_lock(&at_lock);
	s->initializing = false;
	if (!err) {
		/*
		 * Pairs with the load-acquires in at_session_quiet_fn() and
		 * at_session_prepare_start().
		 */
		smp_store_release(&s->ks, prep.ks);
		/* Pairs with the load-acquires in reader.c: a reader then also sees @ks. */
		smp_store_release(&s->names, prep.names);
		prep.ks = NULL;
		prep.names = NULL;
		WRITE_ONCE(s->state, ASYNCTRACE_SESSION_STATE_INITIALIZED);
		s->sure_first = s->owner.privileged;
	} else {
		at_memory_uncharge(s);
	}
	spin_unlock(&at_lock);
	if (!err) {
		/*
		 * at_session_adopt() fails if another request has started or ended the session, or
		 * if the caller is being killed. The session then keeps the members that it has.
		 */
		if (!at_session_adopt(s, &prep, false, NULL))
			mutex_unlock(&s->request_lock);
		spin_lock(&at_lock);
		s->sure_first = false;
		at_memory_joined(s);
		spin_unlock(&at_lock);
	}
	at_prepared_free(&prep);
	return err;
}

/*
 * Begin a run: clear rings as requested, and open the gates. May drop at_lock.
 *
 * If the start clears a member's rings, and writers of the last run may not have left them,
 * at_session_quiet_fn() opens the member's gate later. The start does not wait.
 */
static void at_session_run(struct at_session *s, struct at_start_args *args)
{
	u32 generation = at_next_generation();

	at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_START);
	swap(s->additional, args->additional);
	s->beginning = true;
	WRITE_ONCE(s->state, ASYNCTRACE_SESSION_STATE_STARTED);
	s->generation = generation;
	/* Pairs with the load-acquire in at_snap(). */
	smp_store_release(&s->run, generation);
	/* From here on, providers may join and gates may be opened whenever at_lock is dropped. */
	at_clear_begin(s, args->disposition);
	s->beginning = false;
	if (!s->quiescing)
		at_clear_finish(s);
	at_session_open(s);
	at_tasks_again();
	at_session_observed(s);
}

/* Allocate what a start needs; called without locks. */
static int at_session_prepare_start(struct at_session *s, struct at_prepared *prep,
				    struct netlink_ext_ack *extack)
{
	/* Pairs with the store-release in at_session_init(). */
	struct at_ksched *ks = smp_load_acquire(&s->ks);
	int err = ks ? at_ksched_prepare(ks) : 0;

	if (err && err != -EINTR)
		NL_SET_ERR_MSG(extack, "the kernel's tracepoints cannot be used");
	if (err)
		return err;
	at_prepare_members(s, prep, true);
	return 0;
}

/**
 * at_session_start - start a session: open the gates
 * @s: a session that is initialized or stopped
 * @args: how to start; on success @args->additional is exchanged with that of the last
 *	run
 * @extack: for the reason of a failure
 *
 * On failure, the session keeps the providers that it has taken.
 *
 * Return: 0; -EALREADY if the session is started, -EINVAL if it is not initialized,
 * -ENOENT if it was terminated meanwhile, -EINTR, or an error of at_ksched_prepare().
 */
int at_session_start(struct at_session *s, struct at_start_args *args,
		     struct netlink_ext_ack *extack)
{
	struct at_prepared prep;
	u32 run = 0;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	spin_lock(&at_lock);
	err = at_session_may_start(s, extack);
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	if (err)
		return err;
	at_prepared_init(&prep);
	err = at_session_prepare_start(s, &prep, extack);
	if (!err)
		err = at_session_lock(s, extack);
	if (!err) {
		spin_lock(&at_lock);
		/* Another request may have started the session meanwhile. */
		err = at_session_may_start(s, extack);
		if (!err && s->ks)
			at_ksched_list(s->ks);
		spin_unlock(&at_lock);
		if (err)
			mutex_unlock(&s->request_lock);
		else
			err = at_session_adopt(s, &prep, true, extack);
	}
	if (!err) {
		spin_lock(&at_lock);
		at_session_run(s, args);
		run = s->run;
		spin_unlock(&at_lock);
		at_offer_started(s);
		at_session_poll(s);
		mutex_unlock(&s->request_lock);
		at_offer_rest(s, run);
	}
	at_prepared_free(&prep);
	return err;
}

/**
 * at_session_update - change the wanted categories
 * @s: a session
 * @categories: in: new patterns; out: the old ones
 * @additional: out: the additional patterns of the run, which end with the update
 * @extack: for the reason of a failure
 *
 * Return: 0; -ENOENT if the session was terminated meanwhile, -EINTR.
 */
int at_session_update(struct at_session *s, struct at_strings **categories,
		      struct at_strings **additional, struct netlink_ext_ack *extack)
{
	struct at_member *m = NULL;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	spin_lock(&at_lock);
	swap(s->categories, *categories);
	*additional = s->additional;
	s->additional = NULL;
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED) {
		s->generation = at_next_generation();
		while ((m = at_session_next_member(s, m))) {
			at_member_update(m, s->generation);
			at_pause();
		}
	}
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	return 0;
}

static void at_session_shut(struct at_session *s)
{
	struct at_member *m = NULL;

	lockdep_assert_held(&s->request_lock);
	s->stopping = true;
	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m)
			at_member_stop(m);
		at_pause();
	}
	if (s->ks)
		at_ksched_stop(s->ks);
	at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_STOP);
	/* Pairs with the load-acquire in at_ring_final(). */
	smp_store_release(&s->state, ASYNCTRACE_SESSION_STATE_STOPPED);
	s->stopping = false;
	at_session_observed(s);
	at_notify_full(s);
	at_notify_session(ASYNCTRACE_NOTIFICATION_KINDS_STOPPED, s);
	at_session_wake(s);
}

/**
 * at_session_stop - stop a session: shut the gates
 * @s: a session
 * @extack: for the reason of a failure
 *
 * Return: 0; -EALREADY if the session is not started, -ENOENT if it was terminated
 * meanwhile, -EINTR.
 */
int at_session_stop(struct at_session *s, struct netlink_ext_ack *extack)
{
	int err = at_session_lock(s, extack);

	if (err)
		return err;
	spin_lock(&at_lock);
	if (s->state != ASYNCTRACE_SESSION_STATE_STARTED) {
		NL_SET_ERR_MSG(extack, "the session is not started");
		err = -EALREADY;
	} else {
		at_session_shut(s);
		at_session_quiesce(s);
	}
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	return err;
}

/* Take all providers out of a session. @s->stopping keeps others from joining. */
static void at_session_leave(struct at_session *s)
{
	struct at_member *m = NULL;

	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m) {
			at_member_leave(m);
			if (at_session_has_others())
				at_offer_later(m->provider);
		}
		at_pause();
	}
}

/*
 * Terminate a session that is in the list. Returns the owner's socket, for at_session_drop_sk()
 * without at_lock, or NULL.
 */
static struct sock *at_session_end(struct at_session *s)
{
	struct sock *sk = s->sk;

	lockdep_assert_held(&s->request_lock);
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_session_shut(s);
	s->stopping = true;
	at_session_leave(s);
	if (s->ks)
		at_ksched_unlist(s->ks);
	at_session_unlist(s);
	if (sk)
		at_netlink_disown(sk, s->portid);
	s->sk = NULL;
	/* Pairs with the load-acquire in at_ring_final(). */
	smp_store_release(&s->state, ASYNCTRACE_SESSION_STATE_TERMINATED);
	at_notify_session(ASYNCTRACE_NOTIFICATION_KINDS_TERMINATED, s);
	at_session_wake(s);
	/* Do not wait for the poll work: it holds a reference of its own. */
	if (cancel_delayed_work(&s->poll))
		at_session_put(s);
	at_session_put(s);
	return sk;
}

/*
 * Drop the reference to the owner's socket; @sk may be NULL. The last reference frees the messages
 * that the socket has not received. Before Linux 6.13 it also ends the socket's dump, which takes
 * mutexes.
 */
static void at_session_drop_sk(struct sock *sk)
{
	might_sleep();
	if (sk)
		sock_put(sk);
}

/**
 * at_session_terminate - terminate a session
 * @s: a session
 * @extack: for the reason of a failure
 *
 * The name can be reused at once. A consumer that has the session open can still read it.
 *
 * Return: 0; -ENOENT if the session was terminated meanwhile, -EINTR.
 */
int at_session_terminate(struct at_session *s, struct netlink_ext_ack *extack)
{
	int err = at_session_lock(s, extack);
	struct sock *sk;

	if (err)
		return err;
	spin_lock(&at_lock);
	sk = at_session_end(s);
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	at_session_drop_sk(sk);
	return 0;
}

/* Terminate a session unless it has been terminated, and drop the caller's reference. */
void at_session_terminate_anyway(struct at_session *s)
{
	struct sock *sk = NULL;

	mutex_lock(&s->request_lock);
	spin_lock(&at_lock);
	if (s->state != ASYNCTRACE_SESSION_STATE_TERMINATED)
		sk = at_session_end(s);
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	at_session_drop_sk(sk);
	at_session_put(s);
}

static bool at_session_try_cleanup(struct at_session *s)
{
	struct sock *sk = NULL;

	if (!mutex_trylock(&s->request_lock))
		return false;
	spin_lock(&at_lock);
	if (s->closed)
		at_session_unconsumed(s);
	if (s->sk && sock_flag(s->sk, SOCK_DEAD))
		sk = at_session_end(s);
	spin_unlock(&at_lock);
	mutex_unlock(&s->request_lock);
	at_session_drop_sk(sk);
	return true;
}

/**
 * at_session_cleanup - do what the closing of a descriptor or socket requires
 * @s: a session whose consumer's descriptor or whose owner's socket is closed. Takes over the
 *	caller's reference
 *
 * Does not wait for request_lock, whose holder may be a task without CPU quota. Any task or kernel
 * thread may drop the last reference to a file, and must not wait for the session's owner. If
 * the lock is not free, work tries again.
 */
void at_session_cleanup(struct at_session *s)
{
	if (at_session_try_cleanup(s) ||
	    !queue_delayed_work(at_wq, &s->cleanup_work, AT_CLEANUP_DELAY))
		at_session_put(s);
}

static void at_session_cleanup_fn(struct work_struct *work)
{
	at_session_cleanup(container_of(to_delayed_work(work), struct at_session, cleanup_work));
}

void at_session_cleanup_init(struct at_session *s)
{
	INIT_DELAYED_WORK(&s->cleanup_work, at_session_cleanup_fn);
}

static bool at_session_is_orphan(const struct at_session *s, const struct net *net, u32 portid)
{
	bool orphan;

	spin_lock(&at_lock);
	orphan = s->sk && s->portid == portid && sock_net(s->sk) == net &&
		 sock_flag(s->sk, SOCK_DEAD);
	spin_unlock(&at_lock);
	return orphan;
}

/**
 * at_session_owner_gone - terminate the sessions of a closed socket
 * @net: network namespace of the socket
 * @portid: port of the socket, which another socket may already use
 *
 * Does not wait for requests. A session that one of them has locked ends soon after it.
 */
void at_session_owner_gone(const struct net *net, u32 portid)
{
	struct at_session *s;
	u32 id = 0;

	for (; (s = at_session_from(&id)); id++) {
		if (at_session_is_orphan(s, net, portid))
			at_session_cleanup(s);
		else
			at_session_put(s);
	}
}
