// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: ready, initialized, started, stopped, terminated.
 *
 * No transition waits for a provider, or for a grace period.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>
#include <net/sock.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/pattern.h"
#include "base/race.h"
#include "base/quiesce.h"
#include "base/quota.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "provider/observe.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "sched/task_names.h"
#include "sched/tasks.h"
#include "session/assign.h"
#include "session/clear.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/places.h"
#include "session/session.h"
#include "session/snapshot.h"

/* How often the rings are looked at: at least, and at most. */
#define AT_POLL_MAX	msecs_to_jiffies(50)
#define AT_POLL_MIN	1
/* How often the clock is compared. */
#define AT_PAIR_PERIOD	HZ

LIST_HEAD(at_sessions);
/* Those in the list, and those that have been terminated and not yet freed. */
static atomic_t at_nr_sessions;

/* The counter may have stopped, or begun anew, while the machine slept. */
static int at_session_pm(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct at_session *s;

	if (event != PM_POST_SUSPEND && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	mutex_lock(&at_mutex);
	list_for_each_entry(s, &at_sessions, node)
		if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
			at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_RESUME);
	mutex_unlock(&at_mutex);
	return NOTIFY_OK;
}

static struct notifier_block at_session_pm_block = {
	.notifier_call = at_session_pm,
};

static u32 at_session_ids;
static u32 at_generations = ASYNCTRACE_GATE_ATTACH;

/* Never one that a gate gives another meaning. */
u32 at_next_generation(void)
{
	lockdep_assert_held(&at_mutex);
	if (++at_generations > ASYNCTRACE_GENERATION_MAX)
		at_generations = ASYNCTRACE_GATE_ATTACH + 1;
	return at_generations;
}

void at_session_get(struct at_session *s)
{
	kref_get(&s->ref);
}

static void at_session_destroy(struct at_session *s)
{
	at_clock_log_free(s->clock_log);
	kvfree(s->categories);
	kvfree(s->additional);
	at_quiesce_destroy(&s->quiesce);
	kvfree(s->providers);
	at_filter_free(s->filter);
	kvfree(s->buffers);
	at_caller_drop(&s->owner);
	put_pid_ns(s->pid_ns);
	mem_cgroup_put(s->memcg);
	if (s->user)
		at_user_uncharge(s->user, s->charged);
	at_user_put(s->user, AT_THING_SESSION);
	kfree(s);
}

static void at_session_free(struct work_struct *work)
{
	struct at_session *s = container_of(work, struct at_session, free_work);
	struct at_member *m, *next;

	list_for_each_entry_safe(m, next, &s->members, node)
		at_member_free(m);
	at_ksched_free(s->ks);
	at_task_names_free(s->names);
	at_session_destroy(s);
	if (atomic_dec_and_test(&at_nr_sessions))
		wake_up_var(&at_nr_sessions);
}

/* Its rings may be large: who ends it does not wait until they are freed. */
static void at_session_release(struct kref *ref)
{
	struct at_session *s = container_of(ref, struct at_session, ref);

	INIT_WORK(&s->free_work, at_session_free);
	queue_work(at_wq, &s->free_work);
}

void at_session_put(struct at_session *s)
{
	kref_put(&s->ref, at_session_release);
}

/**
 * at_session_lock - keep other requests off a session
 * @s: the session, with a reference
 * @extack: for the reason of a refusal
 *
 * Return: 0, with the session's lock and at_mutex held; -ENOENT where the session was ended
 * meanwhile, -EINTR where the caller was killed.
 */
static int at_session_lock(struct at_session *s, struct netlink_ext_ack *extack)
{
	if (mutex_lock_killable(&s->lock))
		return -EINTR;
	mutex_lock(&at_mutex);
	if (s->state != ASYNCTRACE_SESSION_STATE_TERMINATED)
		return 0;
	mutex_unlock(&at_mutex);
	mutex_unlock(&s->lock);
	NL_SET_ERR_MSG(extack, "the session was ended meanwhile");
	return -ENOENT;
}

/* The same for who must go on: a worker, or a descriptor or socket that is closed. */
static void at_session_lock_anyway(struct at_session *s)
{
	mutex_lock(&s->lock);
	mutex_lock(&at_mutex);
}

static void at_session_unlock(struct at_session *s)
{
	mutex_unlock(&at_mutex);
	mutex_unlock(&s->lock);
}

/* The next of the members, which are only ever added to; NULL: the first. */
struct at_member *at_session_next_member(struct at_session *s, struct at_member *m)
{
	spin_lock(&s->members_lock);
	if (!m)
		m = list_first_entry_or_null(&s->members, struct at_member, node);
	else if (list_is_last(&m->node, &s->members))
		m = NULL;
	else
		m = list_next_entry(m, node);
	spin_unlock(&s->members_lock);
	return m;
}

void at_session_wake(struct at_session *s)
{
	WRITE_ONCE(s->readable, true);
	wake_up_interruptible(&s->wait);
}

/*
 * How full is the fullest of the rings that could be read, in percent, and is
 * there anything? Looks at positions only.
 */
static u32 at_session_fill(struct at_session *s, bool *any)
{
	struct at_member *m = NULL;
	u32 i, most = 0;

	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r = at_member_rings(m);
		u64 words = r ? at_ring_words(&r->geometry) : 0;

		for (i = 0; r && i < r->nr; i++) {
			u64 linear, taken = max(READ_ONCE(r->ring[i].reading.cursor.taken),
						READ_ONCE(r->ring[i].clear.taken));

			if (!READ_ONCE(r->ring[i].touched))
				continue;
			linear = at_pos_linear(at_rings_position(r, i), i == r->nr - 1);
			if (linear <= taken)
				continue;
			*any = true;
			most = max_t(u64, most, min_t(u64, linear - taken, words) * 100 / words);
		}
		at_rings_put(r);
	}
	return most;
}

/*
 * What nobody else does while a session runs: writers wake no one, so this looks
 * at their positions; compares the clocks; keeps names; forgets tasks that are
 * gone.
 */
static void at_session_poll_fn(struct work_struct *work)
{
	struct at_session *s = container_of(to_delayed_work(work), struct at_session, poll);
	u32 fill, names = 0;
	bool any = false;

	if (time_after_eq(jiffies, s->pair_due)) {
		at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_RUNNING);
		s->pair_due = jiffies + AT_PAIR_PERIOD;
	}
	at_tasks_again();
	fill = at_session_fill(s, &any);
	if (any || s->ks)
		at_session_wake(s);
	if (s->names) {
		names = at_task_names_fill(s->ks);
		at_task_names_drain(s->names, s->ks);
	}

	if (s->mode == ASYNCTRACE_MODE_STREAMING &&
	    at_notify_wanted(ASYNCTRACE_EVENT_KINDS_SAVE_BUFFER)) {
		mutex_lock(&at_mutex);
		/* Not after subscribers were told that there is no more. */
		if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
			at_notify_full(s);
		mutex_unlock(&at_mutex);
	}

	/* What is overwritten anyhow, and read by nobody, need not be looked at often. */
	if (s->mode == ASYNCTRACE_MODE_CIRCULAR && !READ_ONCE(s->consumer))
		fill = 0;
	/* Twice as often when a ring got a quarter full meanwhile, slower when not. */
	if (max(fill, names) >= 25)
		s->poll_period = max_t(unsigned long, s->poll_period / 2, AT_POLL_MIN);
	else
		s->poll_period = min_t(unsigned long, s->poll_period + 1, AT_POLL_MAX);

	if (READ_ONCE(s->state) == ASYNCTRACE_SESSION_STATE_STARTED &&
	    queue_delayed_work(at_wq, &s->poll, s->poll_period))
		return;
	at_session_put(s);
}

/* Has the session had the provider, and was it taken away by a privileged one? */
static bool at_session_had(const struct at_session *s, const struct at_provider *p)
{
	const struct at_member *m;

	list_for_each_entry(m, &p->members, of_provider)
		if (m->session == s && m != p->member)
			return true;
	return false;
}

bool at_session_wants(const struct at_session *s, const struct at_provider *p)
{
	return at_provider_visible(p, &s->owner) && !at_session_had(s, p) &&
	       at_strings_match(s->providers, p->name) && at_filter_wants(s->filter, p);
}

/*
 * Open the gates that are not: of late providers they may be, and those that are
 * being cleared stay shut.
 */
static void at_session_open(struct at_session *s)
{
	u64 round = at_tasks_round();
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&s->lock);
	if (s->ks && !s->clearing)
		at_ksched_open(s->ks);
	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m && !m->clearing) {
			if (s->ks)
				at_tasks_add_once(m, round);
			if (READ_ONCE(m->provider->control->gate) == ASYNCTRACE_GATE_OFF)
				at_member_start(m, s->generation);
		}
		at_turn(&n);
	}
}

/* Which CPUs writers of the last run may be on */
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

/* The writers of the last run have left; a start may have been waiting for that. */
static void at_session_quiet(struct at_quiesce *q)
{
	struct at_session *s = container_of(q, struct at_session, quiesce);

	at_session_lock_anyway(s);
	if (s->again) {
		s->again = false;
		at_quiesce(q);
		at_session_unlock(s);
		return;
	}
	s->quiescing = false;
	at_clear_finish(s);
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_session_open(s);
	at_session_unlock(s);
	at_session_put(s);
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

static int at_session_geometry(struct at_session_args *args, struct at_geometry *g,
			       struct netlink_ext_ack *extack)
{
	u64 sub;

	if (!is_power_of_2(args->ring_size) || args->ring_size < ASYNCTRACE_RING_MIN ||
	    args->ring_size > ASYNCTRACE_RING_MAX) {
		NL_SET_ERR_MSG(extack,
			       "the ring size is no power of two from 16 KiB to 1 GiB");
		return -ERANGE;
	}
	*g = at_geometry_of(args->ring_size, 0, args->mode == ASYNCTRACE_MODE_CIRCULAR);
	if (!args->sub_size)
		return 0;
	sub = args->sub_size;
	if (!is_power_of_2(sub) || sub < ASYNCTRACE_SUBBUF_MIN ||
	    sub > ASYNCTRACE_SUBBUF_MAX ||
	    sub * ASYNCTRACE_SUBBUFS_MIN > args->ring_size) {
		NL_SET_ERR_MSG(extack,
			       "the sub-buffer size is no power of two from 4 KiB to 512 KiB and a quarter of the ring");
		return -ERANGE;
	}
	*g = at_geometry_of(args->ring_size, sub, g->circular);
	return 0;
}

/* A session that nobody knows yet; takes the lists of @args over. */
static struct at_session *at_session_new(struct at_session_args *args,
					 struct netlink_ext_ack *extack)
{
	struct at_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	struct at_user *user;

	if (!s)
		return ERR_PTR(-ENOMEM);
	at_caller_keep(&s->owner, args->caller);
	s->pid_ns = get_pid_ns(task_active_pid_ns(current));
	s->memcg = get_mem_cgroup_from_mm(current->mm);
	user = at_user_get(args->caller->uid, AT_THING_SESSION);
	if (IS_ERR(user)) {
		if (PTR_ERR(user) == -EDQUOT)
			NL_SET_ERR_MSG(extack, "you have too many sessions: end some");
		at_session_destroy(s);
		return ERR_CAST(user);
	}
	s->user = user;
	s->clock = at_clock_best();
	s->clock_log = at_clock_log_new(s->clock);
	if (!s->clock_log ||
	    at_quiesce_prepare(&s->quiesce, at_session_cpus, at_session_quiet)) {
		at_session_destroy(s);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&s->ref);
	mutex_init(&s->lock);
	strscpy(s->name, args->name, sizeof(s->name));
	s->state = ASYNCTRACE_SESSION_STATE_READY;
	s->mode = args->mode;
	s->sched = args->sched;
	s->flags = args->flags;
	s->portid = args->portid;
	s->sub_size = args->sub_size;
	swap(s->categories, args->categories);
	swap(s->providers, args->providers);
	swap(s->filter, args->filter);
	swap(s->buffers, args->buffers);
	spin_lock_init(&s->members_lock);
	spin_lock_init(&s->clear_lock);
	INIT_LIST_HEAD(&s->members);
	mutex_init(&s->read_lock);
	init_waitqueue_head(&s->wait);
	INIT_DELAYED_WORK(&s->poll, at_session_poll_fn);
	return s;
}

/* A user's sessions have different names, so that a name is enough to say which one. */
static int at_session_check_name(const struct at_session_args *args,
				 struct netlink_ext_ack *extack)
{
	const struct at_session *s;

	lockdep_assert_held(&at_mutex);
	list_for_each_entry(s, &at_sessions, node) {
		if (!uid_eq(s->owner.uid, args->caller->uid) || strcmp(s->name, args->name))
			continue;
		if (s->owner.privileged && !args->caller->privileged)
			NL_SET_ERR_MSG(extack,
				       "a session of yours, made with CAP_PERFMON, has this name");
		else if (!at_session_visible(s, args->caller))
			NL_SET_ERR_MSG(extack,
				       "a session of yours, of another user namespace, has this name");
		else
			NL_SET_ERR_MSG(extack, "you have a session of this name");
		return -EEXIST;
	}
	return 0;
}

/**
 * at_session_create - make a session
 * @args: what it is to be; its lists are taken over
 * @id: out: its id
 * @extack: for the reason of a refusal
 *
 * Return: 0; -EEXIST for a name in use, -EDQUOT beyond what one user may have,
 * -ERANGE, -EPERM, -ENOMEM.
 */
int at_session_create(struct at_session_args *args, u32 *id,
		      struct netlink_ext_ack *extack)
{
	struct at_geometry geometry;
	struct at_session *s;
	int err;

	if (args->sched == ASYNCTRACE_SCHED_ALL && !args->caller->privileged) {
		NL_SET_ERR_MSG(extack, "scheduling of all tasks needs CAP_PERFMON");
		return -EPERM;
	}
	err = at_session_geometry(args, &geometry, extack);
	if (err)
		return err;
	s = at_session_new(args, extack);
	if (IS_ERR(s))
		return PTR_ERR(s);
	s->geometry = geometry;

	mutex_lock(&at_mutex);
	err = at_session_check_name(args, extack);
	if (!err) {
		s->id = ++at_session_ids;
		*id = s->id;
		if (!(s->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED)) {
			s->sk = args->sk;
			sock_hold(s->sk);
			at_netlink_own(s->sk, s->portid);
		}
		list_add_tail(&s->node, &at_sessions);
		atomic_inc(&at_nr_sessions);
	}
	mutex_unlock(&at_mutex);
	if (err)
		at_session_destroy(s);
	return err;
}

/* Of those whom it is visible to. */
static bool at_session_may(const struct at_session *s, const struct at_caller *caller)
{
	return caller->admin || at_caller_is(caller, &s->owner);
}

/**
 * at_session_find - the session that a question is about
 * @id: of it
 * @caller: who asks
 * @extack: for the reason of a refusal
 *
 * Return: the session, which stays while at_mutex is held; ERR_PTR(-ENOENT), also where
 * the caller may not see it.
 */
struct at_session *at_session_find(u32 id, const struct at_caller *caller,
				   struct netlink_ext_ack *extack)
{
	struct at_session *s;

	lockdep_assert_held(&at_mutex);
	list_for_each_entry(s, &at_sessions, node)
		if (s->id == id && at_session_visible(s, caller))
			return s;
	if (caller->privileged)
		NL_SET_ERR_MSG(extack, "no session of this id");
	else
		NL_SET_ERR_MSG(extack, "no session of this id is yours; others' take CAP_PERFMON");
	return ERR_PTR(-ENOENT);
}

/**
 * at_session_control - the session that a request is about
 * @id: of it
 * @caller: who asks
 * @extack: for the reason of a refusal
 *
 * Return: as at_session_find(); ERR_PTR(-EPERM) where the caller sees it, but may not
 * control it.
 */
struct at_session *at_session_control(u32 id, const struct at_caller *caller,
				      struct netlink_ext_ack *extack)
{
	struct at_session *s = at_session_find(id, caller, extack);

	if (IS_ERR(s) || at_session_may(s, caller))
		return s;
	NL_SET_ERR_MSG(extack, "the session is another user's: that takes CAP_SYS_ADMIN");
	return ERR_PTR(-EPERM);
}

/* The session with the lowest id from @id on that @caller may see. */
struct at_session *at_session_next(u32 *id, const struct at_caller *caller)
{
	struct at_session *s;

	lockdep_assert_held(&at_mutex);
	list_for_each_entry(s, &at_sessions, node) {
		if (s->id < *id || !at_session_visible(s, caller))
			continue;
		*id = s->id;
		return s;
	}
	return NULL;
}

/* The session's state is another, which its providers can see. */
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

/**
 * at_session_init - fix buffers and providers
 * @s: a session that is ready
 * @extack: for the reason of a refusal
 *
 * Providers that another session holds are left to it.
 *
 * Return: 0; -EALREADY, -EBUSY where another call is at it, -ENOENT where it was ended
 * meanwhile, -ENOSPC beyond the memory limit, -EINTR, -ENOMEM.
 */
int at_session_init(struct at_session *s, struct netlink_ext_ack *extack)
{
	struct at_prepared prep;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	at_race(AT_RACE_LOCK);
	err = at_session_may_init(s, extack);
	s->initializing |= !err;
	at_session_unlock(s);
	if (err)
		return err;
	at_prepared_init(&prep);
	err = at_prepare(s, &prep, extack);
	at_session_lock_anyway(s);
	s->initializing = false;
	if (!err && s->state == ASYNCTRACE_SESSION_STATE_TERMINATED) {
		NL_SET_ERR_MSG(extack, "the session was ended meanwhile");
		err = -ENOENT;
	}
	if (!err) {
		/* What it points to is there before it is. */
		smp_store_release(&s->ks, prep.ks);
		/* Pairs with the load-acquire in at_tell_cpus(): who finds this finds @ks. */
		smp_store_release(&s->names, prep.names);
		prep.ks = NULL;
		prep.names = NULL;
		WRITE_ONCE(s->state, ASYNCTRACE_SESSION_STATE_INITIALIZED);
		at_offer_adopt(s, &prep, false);
	}
	at_session_unlock(s);
	at_prepared_free(&prep);
	return err;
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
 * Open the gates of a session that may start, and take what is free, for which @prep is.
 *
 * Where it clears rings that writers of the last run may not have left, their gates
 * open when they have: nobody waits for that.
 */
static void at_session_run(struct at_session *s, struct at_start_args *args,
			   struct at_prepared *prep)
{
	u32 generation = at_next_generation();

	if (s->ks)
		at_ksched_list(s->ks);
	at_offer_adopt(s, prep, true);
	at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_START);
	s->pair_due = jiffies + AT_PAIR_PERIOD;
	s->poll_period = AT_POLL_MAX;
	swap(s->additional, args->additional);
	WRITE_ONCE(s->state, ASYNCTRACE_SESSION_STATE_STARTED);
	s->generation = generation;
	/* Pairs with the load-acquire in at_snap(). */
	smp_store_release(&s->run, generation);
	/* Gates may be open from here on: of providers that join while at_mutex is let go. */
	at_clear_begin(s, args->disposition);
	if (!s->quiescing)
		at_clear_finish(s);
	at_session_open(s);
	at_tasks_again();
	at_session_observed(s);
	at_offer_tell(s);
	at_session_get(s);
	if (!queue_delayed_work(at_wq, &s->poll, s->poll_period))
		at_session_put(s);
}

/* Get what a start needs, without a lock. */
static int at_session_prepare_start(struct at_session *s, struct at_prepared *prep,
				    struct netlink_ext_ack *extack)
{
	/* Pairs with the store-release in at_session_init(). */
	struct at_ksched *ks = smp_load_acquire(&s->ks);
	int err = ks ? at_ksched_prepare(ks) : 0;

	if (err) {
		NL_SET_ERR_MSG(extack, "the kernel's tracepoints cannot be used");
		return err;
	}
	at_prepare_members(s, prep, true);
	return 0;
}

/**
 * at_session_start - open the gates
 * @s: a session that is initialized or stopped
 * @args: how; where it succeeds its list is exchanged for that of the last run
 * @extack: for the reason of a refusal
 *
 * Return: 0; -EALREADY where it runs, -EINVAL where it is not initialized, -ENOENT where
 * it was ended meanwhile, -EINTR.
 */
int at_session_start(struct at_session *s, struct at_start_args *args,
		     struct netlink_ext_ack *extack)
{
	struct at_prepared prep;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	err = at_session_may_start(s, extack);
	at_session_unlock(s);
	if (err)
		return err;
	at_prepared_init(&prep);
	err = at_session_prepare_start(s, &prep, extack);
	if (!err)
		err = at_session_lock(s, extack);
	if (!err) {
		/* Others may have started it meanwhile. */
		err = at_session_may_start(s, extack);
		if (!err)
			at_session_run(s, args, &prep);
		at_session_unlock(s);
	}
	at_prepared_free(&prep);
	return err;
}

/**
 * at_session_update - want other categories
 * @s: a session
 * @categories: in: instead of its own; out: those that it had
 * @additional: out: the run's additional ones, which it has no more
 * @extack: for the reason of a refusal
 *
 * Return: 0; -ENOENT where it was ended meanwhile, -EINTR.
 */
int at_session_update(struct at_session *s, struct at_strings **categories,
		      struct at_strings **additional, struct netlink_ext_ack *extack)
{
	struct at_member *m = NULL;
	u32 n = 0;
	int err;

	err = at_session_lock(s, extack);
	if (err)
		return err;
	swap(s->categories, *categories);
	*additional = s->additional;
	s->additional = NULL;
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED) {
		s->generation = at_next_generation();
		while ((m = at_session_next_member(s, m))) {
			at_member_update(m, s->generation);
			at_turn(&n);
		}
	}
	at_session_unlock(s);
	return 0;
}

static void at_session_shut(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&s->lock);
	s->stopping = true;
	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m)
			at_member_stop(m);
		at_turn(&n);
	}
	if (s->ks)
		at_ksched_stop(s->ks);
	at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_STOP);
	/* Pairs with the load-acquire in at_ring_final(). */
	smp_store_release(&s->state, ASYNCTRACE_SESSION_STATE_STOPPED);
	s->stopping = false;
	at_session_observed(s);
	at_notify_full(s);
	at_notify_session(ASYNCTRACE_EVENT_KINDS_STOPPED, s);
	at_session_wake(s);
}

/**
 * at_session_stop - shut the gates
 * @s: a session
 * @extack: for the reason of a refusal
 *
 * Return: 0; -EALREADY where it does not run, -ENOENT where it was ended meanwhile, -EINTR.
 */
int at_session_stop(struct at_session *s, struct netlink_ext_ack *extack)
{
	int err = at_session_lock(s, extack);

	if (err)
		return err;
	if (s->state != ASYNCTRACE_SESSION_STATE_STARTED) {
		NL_SET_ERR_MSG(extack, "the session is not started");
		err = -EALREADY;
	} else {
		at_session_shut(s);
		at_session_quiesce(s);
	}
	at_session_unlock(s);
	return err;
}

/* All providers leave, and none joins meanwhile. */
static void at_session_leave(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	while ((m = at_session_next_member(s, m))) {
		if (m->provider->member == m) {
			at_member_leave(m);
			if (!list_is_singular(&at_sessions))
				at_offer_later(m->provider);
		}
		at_turn(&n);
	}
}

/* End a session that is in the list. */
static void at_session_end(struct at_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_session_shut(s);
	s->stopping = true;
	at_session_leave(s);
	if (s->ks)
		at_ksched_unlist(s->ks);
	list_del_init(&s->node);
	if (s->sk) {
		at_netlink_disown(s->sk, s->portid);
		sock_put(s->sk);
	}
	s->sk = NULL;
	/* As at a stop. */
	smp_store_release(&s->state, ASYNCTRACE_SESSION_STATE_TERMINATED);
	at_notify_session(ASYNCTRACE_EVENT_KINDS_TERMINATED, s);
	at_session_wake(s);
	/* Nobody waits for the poll work: it holds a reference of its own. */
	if (cancel_delayed_work(&s->poll))
		at_session_put(s);
	at_session_put(s);
}

/**
 * at_session_terminate - end a session
 * @s: a session
 * @extack: for the reason of a refusal
 *
 * Its name is free at once. A consumer that has it open can still read what is
 * there.
 *
 * Return: 0; -ENOENT where it was ended meanwhile, -EINTR.
 */
int at_session_terminate(struct at_session *s, struct netlink_ext_ack *extack)
{
	int err = at_session_lock(s, extack);

	if (err)
		return err;
	at_session_end(s);
	at_session_unlock(s);
	return 0;
}

/* The same with the caller's reference, which is dropped, and also where it has ended already */
static void at_session_terminate_anyway(struct at_session *s)
{
	at_session_lock_anyway(s);
	if (s->state != ASYNCTRACE_SESSION_STATE_TERMINATED)
		at_session_end(s);
	at_session_unlock(s);
	at_session_put(s);
}

/* A session that was made on a socket which is closed, with a reference, or NULL */
static struct at_session *at_session_of_closed(const struct net *net, u32 portid)
{
	struct at_session *s, *found = NULL;

	mutex_lock(&at_mutex);
	list_for_each_entry(s, &at_sessions, node) {
		if (!s->sk || s->portid != portid || sock_net(s->sk) != net ||
		    !sock_flag(s->sk, SOCK_DEAD))
			continue;
		at_session_get(s);
		found = s;
		break;
	}
	mutex_unlock(&at_mutex);
	return found;
}

/**
 * at_session_owner_gone - the socket is closed that sessions were made on
 * @net: its namespace
 * @portid: its port, which may already be another's
 */
void at_session_owner_gone(const struct net *net, u32 portid)
{
	struct at_session *s;

	while ((s = at_session_of_closed(net, portid)))
		at_session_terminate_anyway(s);
}

/*
 * A reader that is not the first knows none of the names that the ones before it
 * were told; of records it gets those that nobody has got.
 */
static void at_session_unread(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	memset(&s->reader, 0, sizeof(s->reader));
	while ((m = at_session_next_member(s, m))) {
		at_member_unread(m);
		at_turn(&n);
	}
}

/* May the calling process become the session's consumer? */
static int at_session_may_consume(const struct at_session *s, const struct at_caller *caller,
				  bool snapshot)
{
	/* What is read is what its owner may see, not all of which this one may. */
	if (!at_caller_covers(caller, &s->owner))
		return -EPERM;
	if (s->consumer)
		return -EBUSY;
	return snapshot && s->mode != ASYNCTRACE_MODE_CIRCULAR ? -EINVAL : 0;
}

/**
 * at_session_consume - become a session's consumer
 * @id: of the session
 * @snapshot: read what is there now, and leave it there
 *
 * Return: the session, with a reference; -EINVAL for a snapshot of a session that is not
 * circular; -ENOENT, also where the caller may not see it, -EPERM where he sees it, but may
 * not control it, or not see all that its owner may, -EBUSY where there is one, -EINTR.
 */
struct at_session *at_session_consume(u32 id, bool snapshot)
{
	struct at_caller caller = at_caller_of(current_cred());
	struct at_session *s;
	int err;

	caller.admin = capable(CAP_SYS_ADMIN);
	caller.privileged = perfmon_capable();
	mutex_lock(&at_mutex);
	s = at_session_control(id, &caller, NULL);
	if (!IS_ERR(s))
		at_session_get(s);
	mutex_unlock(&at_mutex);
	if (IS_ERR(s))
		return s;
	err = at_session_lock(s, NULL);
	if (!err) {
		err = at_session_may_consume(s, &caller, snapshot);
		if (!err) {
			s->consumer = true;
			if (snapshot)
				at_snapshot_begin(s);
			else if (s->was_read)
				at_session_unread(s);
			s->was_read |= !snapshot;
		}
		at_session_unlock(s);
	}
	if (!err)
		return s;
	at_session_put(s);
	return ERR_PTR(err);
}

/* The descriptor of a session's consumer is closed; its reference goes. */
void at_session_unconsume(struct at_session *s)
{
	at_session_lock_anyway(s);
	if (s->snapshot) {
		at_snapshot_end(s);
		/* It took the mark that there is something to read. */
		at_session_wake(s);
	}
	s->consumer = false;
	at_session_unlock(s);
	at_session_put(s);
}

int at_sessions_init(void)
{
	return register_pm_notifier(&at_session_pm_block);
}

/* The module is going: nothing has it open, but detached sessions may be left. */
void at_sessions_exit(void)
{
	struct at_session *s;

	unregister_pm_notifier(&at_session_pm_block);
	for (;;) {
		mutex_lock(&at_mutex);
		s = list_first_entry_or_null(&at_sessions, struct at_session, node);
		if (s)
			at_session_get(s);
		mutex_unlock(&at_mutex);
		if (!s)
			break;
		at_session_terminate_anyway(s);
	}
	/* One's poll work may have seen it run, and be behind a timer: no flush waits for that. */
	wait_var_event(&at_nr_sessions, !atomic_read(&at_nr_sessions));
}
