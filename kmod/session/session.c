// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: creation, look-up, who may control and read them, freeing, and the periodic work that
 * looks at their rings. requests.c changes their state.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/pattern.h"
#include "base/quiesce.h"
#include "base/quota.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/looks.h"
#include "sched/sched.h"
#include "sched/task_names.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/session.h"
#include "session/snapshot.h"

/* Longest and shortest period of the poll work, jiffies */
#define AT_POLL_MAX	msecs_to_jiffies(50)
#define AT_POLL_MIN	1
/* Period of clock pairs */
#define AT_PAIR_PERIOD	HZ
/* Some clients read ids as signed numbers. */
#define AT_SESSION_ID_MAX	INT_MAX

/*
 * Sessions by id, without terminated ones, whose ids stay reserved until they are freed. Changed
 * under at_lock; look-ups are under RCU.
 */
static DEFINE_XARRAY_ALLOC1(at_sessions);
static u32 at_session_next_id;
/* Sessions that are not terminated, hashed by owner and name; at_lock protects the table */
static DEFINE_HASHTABLE(at_session_names, 8);
/* Number of sessions, including terminated ones that have not been freed */
static atomic_t at_nr_sessions;

/* Log a clock pair at resume: the counter may have stopped or restarted during the sleep. */
static int at_session_pm(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct at_session *s;
	u32 id = 0;

	if (event != PM_POST_SUSPEND && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	for (; (s = at_session_from(&id)); id++) {
		spin_lock(&at_lock);
		if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
			at_clock_mark(s->clock_log, ASYNCTRACE_MOMENT_RESUME);
		spin_unlock(&at_lock);
		at_session_put(s);
	}
	return NOTIFY_OK;
}

static struct notifier_block at_session_pm_block = {
	.notifier_call = at_session_pm,
};

static u32 at_generations = ASYNCTRACE_GATE_ATTACH;

/* A provider's gate holds a generation or a state: skip the values of the states. */
u32 at_next_generation(void)
{
	lockdep_assert_held(&at_lock);
	if (++at_generations > ASYNCTRACE_GENERATION_MAX)
		at_generations = ASYNCTRACE_GATE_ATTACH + 1;
	return at_generations;
}

u32 at_last_generation(void)
{
	lockdep_assert_held(&at_lock);
	return at_generations;
}

void at_session_get(struct at_session *s)
{
	kref_get(&s->ref);
}

static void at_session_destroy(struct at_session *s)
{
	at_clock_log_free(s->clock_log);
	at_strings_put(s->categories);
	at_strings_put(s->additional);
	at_quiesce_destroy(&s->quiesce);
	at_strings_put(s->providers);
	at_filter_free(s->filter);
	kvfree(s->buffers);
	at_caller_drop(&s->owner);
	put_pid_ns(s->pid_ns);
	mem_cgroup_put(s->memcg);
	at_charge_free(s->charge);
	if (s->id)
		xa_erase(&at_sessions, s->id);
	kfree_rcu(s, rcu);
}

static void at_session_free(struct work_struct *work)
{
	struct at_session *s = container_of(work, struct at_session, free_work);
	struct at_member *m, *next;

	list_for_each_entry_safe(m, next, &s->members, node) {
		at_member_free(m);
		cond_resched();
	}
	at_ksched_free(s->ks);
	at_task_names_free(s->names);
	at_session_destroy(s);
	if (atomic_dec_and_test(&at_nr_sessions))
		wake_up_var(&at_nr_sessions);
}

/* A worker frees the session: freeing large rings takes long. */
static void at_session_release(struct kref *ref)
{
	struct at_session *s = container_of(ref, struct at_session, ref);

	INIT_WORK(&s->free_work, at_session_free);
	queue_work(at_session_wq(s), &s->free_work);
}

void at_session_put(struct at_session *s)
{
	kref_put(&s->ref, at_session_release);
}

/**
 * at_session_from - find the session with the lowest id not below @id
 * @id: in: lowest id; out: id of the session
 *
 * Takes no lock.
 *
 * Return: a session that is not terminated, with a reference, or NULL.
 */
struct at_session *at_session_from(u32 *id)
{
	unsigned long next = *id;
	struct at_session *s;

	rcu_read_lock();
	do {
		s = xa_find(&at_sessions, &next, AT_SESSION_ID_MAX, XA_PRESENT);
		*id = next++;
	} while (s && !kref_get_unless_zero(&s->ref));
	rcu_read_unlock();
	return s;
}

/* Is there more than one session, including terminated ones that have not been freed? */
bool at_session_has_others(void)
{
	return atomic_read(&at_nr_sessions) > 1;
}

/**
 * at_session_next_member - iterate over a session's members
 * @s: the session
 * @m: current member of the walk; NULL: none
 *
 * A walk holds no lock between two steps. Its reference keeps the current member in the
 * list, as in klist. A walk skips removed members, because their last reference may be
 * going away.
 *
 * Return: the next member, or the first one, with a reference that the next call drops;
 * NULL at the end. A walk that ends earlier calls at_member_put().
 */
struct at_member *at_session_next_member(struct at_session *s, struct at_member *m)
{
	struct at_member *next;

	spin_lock(&s->members_lock);
	next = list_prepare_entry(m, &s->members, node);
	list_for_each_entry_continue(next, &s->members, node)
		if (!next->removed)
			break;
	if (list_entry_is_head(next, &s->members, node))
		next = NULL;
	else
		at_member_get(next);
	spin_unlock(&s->members_lock);
	at_member_put(m);
	return next;
}

static void at_session_wake_fn(struct work_struct *work)
{
	struct at_session *s = container_of(work, struct at_session, wake_work);

	wake_up_interruptible(&s->wait);
	at_session_put(s);
}

/**
 * at_session_wake - wake the consumer, because there may be something to read
 * @s: the session
 *
 * Work wakes the consumer: callers may hold at_lock, and the consumer chooses the number of
 * waiters.
 */
void at_session_wake(struct at_session *s)
{
	WRITE_ONCE(s->readable, true);
	/*
	 * A thread that begins to wait after this check sees @readable, or the session's new
	 * state. Pairs with the barriers in wait_event_interruptible() and at_poll().
	 */
	if (!wq_has_sleeper(&s->wait))
		return;
	/* The session may be losing its last reference while one of its former providers ends. */
	if (kref_get_unless_zero(&s->ref) && !queue_work(at_wake_wq, &s->wake_work))
		at_session_put(s);
}

/*
 * Returns how full the fullest readable ring is, in percent. @any: set if there is
 * something to read. Looks at positions only.
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
		cond_resched();
	}
	return most;
}

/*
 * Periodic work of a started session. Looks at the positions and wakes the consumer,
 * because writers wake nobody. Logs clock pairs, saves task names, and retries threads
 * that could not be traced.
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
	if (s->ks)
		at_ksched_look(s->ks);
	fill = at_session_fill(s, &any);
	if (any || s->ks)
		at_session_wake(s);
	if (s->names && at_session_drains_names(s)) {
		names = at_task_names_fill(s->ks);
		at_task_names_drain(s->names, s->ks);
	}

	if (s->mode == ASYNCTRACE_MODE_STREAMING &&
	    at_notify_wanted(ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER)) {
		spin_lock(&at_lock);
		/* No SAVE_BUFFER notification may follow the STOPPED notification. */
		if (s->state == ASYNCTRACE_SESSION_STATE_STARTED)
			at_notify_full(s);
		spin_unlock(&at_lock);
	}

	/* A circular session without a consumer wraps anyway, and needs no short period. */
	if (s->mode == ASYNCTRACE_MODE_CIRCULAR && !READ_ONCE(s->consumer))
		fill = 0;
	/* Halve the period if a ring is a quarter full, otherwise lengthen it. */
	if (max(fill, names) >= 25)
		s->poll_period = max_t(unsigned long, s->poll_period / 2, AT_POLL_MIN);
	else
		s->poll_period = min_t(unsigned long, s->poll_period + 1, AT_POLL_MAX);

	if (READ_ONCE(s->state) == ASYNCTRACE_SESSION_STATE_STARTED &&
	    queue_delayed_work(at_session_wq(s), &s->poll, s->poll_period))
		return;
	at_session_put(s);
}

/* Start the poll work. It runs until the session is stopped. */
void at_session_poll(struct at_session *s)
{
	s->pair_due = jiffies + AT_PAIR_PERIOD;
	s->poll_period = AT_POLL_MAX;
	at_session_get(s);
	if (!queue_delayed_work(at_session_wq(s), &s->poll, s->poll_period))
		at_session_put(s);
}

/* Has a privileged session taken the provider away from this session? */
bool at_session_had(const struct at_session *s, const struct at_provider *p)
{
	const struct at_member *m;

	lockdep_assert_held(&at_lock);
	list_for_each_entry(m, &p->members, of_provider)
		if (m->session == s && m != p->member)
			return true;
	return false;
}

/*
 * May and should the session record the provider? Compares many patterns and processes, so the
 * caller holds no lock.
 */
bool at_session_wants(const struct at_session *s, const struct at_provider *p)
{
	return at_provider_visible(p, &s->owner) &&
	       at_strings_match(s->providers, p->name) && at_filter_wants(s->filter, p);
}

/* Make a session without publishing it. Takes over the lists of @args. */
static struct at_session *at_session_new(struct at_session_args *args,
					 struct netlink_ext_ack *extack)
{
	struct at_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	struct at_charge *charge;

	if (!s)
		return ERR_PTR(-ENOMEM);
	at_caller_keep(&s->owner, args->caller);
	s->pid_ns = get_pid_ns(task_active_pid_ns(current));
	s->memcg = get_mem_cgroup_from_mm(current->mm);
	charge = at_charge_new(args->caller->uid, args->caller->user_ns, AT_THING_SESSION);
	if (IS_ERR(charge)) {
		at_charge_explain(PTR_ERR(charge), AT_THING_SESSION, extack);
		at_session_destroy(s);
		return ERR_CAST(charge);
	}
	s->charge = charge;
	s->clock = at_clock_best();
	s->clock_log = at_clock_log_new(s->clock);
	if (!s->clock_log || at_session_prepare_quiesce(s) ||
	    xa_alloc_cyclic(&at_sessions, &s->id, NULL, XA_LIMIT(1, AT_SESSION_ID_MAX),
			    &at_session_next_id, GFP_KERNEL) < 0) {
		/* xa_alloc_cyclic() may have stored an id that it could not take. */
		s->id = 0;
		at_session_destroy(s);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&s->ref);
	mutex_init(&s->request_lock);
	strscpy(s->name, args->name, sizeof(s->name));
	s->state = ASYNCTRACE_SESSION_STATE_READY;
	s->mode = args->mode;
	s->sched = args->sched;
	s->flags = args->flags;
	s->portid = args->portid;
	s->sub_size = args->sub_size;
	s->geometry = at_geometry_of(args->ring_size, args->sub_size,
				     args->mode == ASYNCTRACE_MODE_CIRCULAR);
	swap(s->categories, args->categories);
	swap(s->providers, args->providers);
	swap(s->filter, args->filter);
	swap(s->buffers, args->buffers);
	spin_lock_init(&s->members_lock);
	spin_lock_init(&s->clear_lock);
	INIT_LIST_HEAD(&s->members);
	at_ended_init(s);
	at_session_cleanup_init(s);
	mutex_init(&s->read_lock);
	init_waitqueue_head(&s->wait);
	INIT_WORK(&s->wake_work, at_session_wake_fn);
	INIT_DELAYED_WORK(&s->poll, at_session_poll_fn);
	return s;
}

static u32 at_session_hash(kuid_t uid, const char *name)
{
	return jhash(name, strlen(name), __kuid_val(uid));
}

/* Check that no other session of the user has the name, because a name must identify a session. */
static int at_session_check_name(const struct at_session_args *args,
				 struct netlink_ext_ack *extack)
{
	const struct at_session *s;

	lockdep_assert_held(&at_lock);
	hash_for_each_possible(at_session_names, s, named,
			       at_session_hash(args->caller->uid, args->name)) {
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
 * @args: properties of the session, as at_netlink_session_args() has checked them. The session
 *	takes over the lists
 * @extack: for the reason of a failure
 *
 * Return: the session, with a reference; ERR_PTR() of -EEXIST if the name is in use, -EDQUOT
 * beyond the quota of one user, -ENOSPC beyond the quota of all users together, -ENOMEM.
 */
struct at_session *at_session_create(struct at_session_args *args,
				     struct netlink_ext_ack *extack)
{
	struct at_session *s = at_session_new(args, extack);
	int err;

	if (IS_ERR(s))
		return s;

	spin_lock(&at_lock);
	err = at_session_check_name(args, extack);
	if (!err) {
		if (!(s->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED)) {
			s->sk = args->sk;
			sock_hold(s->sk);
			at_netlink_own(s->sk, s->portid);
		}
		hash_add(at_session_names, &s->named, at_session_hash(s->owner.uid, s->name));
		atomic_inc(&at_nr_sessions);
		at_session_get(s);
		/* The entry is reserved, so this does not allocate. */
		xa_store(&at_sessions, s->id, s, 0);
	}
	spin_unlock(&at_lock);
	if (!err)
		return s;
	at_session_destroy(s);
	return ERR_PTR(err);
}

/* Hide a terminated session from look-ups. at_session_destroy() releases the id. */
void at_session_unlist(struct at_session *s)
{
	lockdep_assert_held(&at_lock);
	hash_del(&s->named);
	xa_store(&at_sessions, s->id, NULL, 0);
}

/* May a caller that sees the session control it? */
static bool at_session_may(const struct at_session *s, const struct at_caller *caller)
{
	return caller->admin || at_caller_is(caller, &s->owner);
}

/**
 * at_session_find - find a session for a query
 * @id: of the session
 * @caller: the caller
 * @extack: for the reason of a failure
 *
 * Return: the session, with a reference; ERR_PTR(-ENOENT) if it does not exist, or the caller
 * may not see it.
 */
struct at_session *at_session_find(u32 id, const struct at_caller *caller,
				   struct netlink_ext_ack *extack)
{
	u32 found = id;
	struct at_session *s = at_session_next(&found, caller);

	if (s && found == id)
		return s;
	if (s)
		at_session_put(s);
	if (caller->privileged)
		NL_SET_ERR_MSG(extack, "no session of this id");
	else
		NL_SET_ERR_MSG(extack, "no session of this id is yours; others' take CAP_PERFMON");
	return ERR_PTR(-ENOENT);
}

/**
 * at_session_control - find a session for a request that changes it
 * @id: of the session
 * @caller: the caller
 * @extack: for the reason of a failure
 *
 * Return: as at_session_find(); ERR_PTR(-EPERM) if the caller may see the session, but
 * not control it.
 */
struct at_session *at_session_control(u32 id, const struct at_caller *caller,
				      struct netlink_ext_ack *extack)
{
	struct at_session *s = at_session_find(id, caller, extack);

	if (IS_ERR(s) || at_session_may(s, caller))
		return s;
	at_session_put(s);
	NL_SET_ERR_MSG(extack, "the session is another user's: that takes CAP_SYS_ADMIN");
	return ERR_PTR(-EPERM);
}

/*
 * Find the session with the lowest id not below @id that @caller may see: see
 * at_session_from().
 */
struct at_session *at_session_next(u32 *id, const struct at_caller *caller)
{
	struct at_session *s;

	for (; (s = at_session_from(id)); ++*id) {
		if (at_session_visible(s, caller))
			return s;
		at_session_put(s);
	}
	return NULL;
}

/*
 * Prepare a session for another reader. The new reader gets all names again, because it has
 * none. It gets only records that no earlier reader got.
 */
static void at_session_unread(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	at_reader_reset(s);
	while ((m = at_session_next_member(s, m))) {
		at_member_unread(m);
		at_turn(&n);
	}
}

/* May the calling process become the session's consumer? */
static int at_session_may_consume(const struct at_session *s, const struct at_caller *caller,
				  bool snapshot)
{
	/* The caller must be allowed to see everything that the session's owner may see. */
	if (!at_caller_covers(caller, &s->owner))
		return -EPERM;
	if (s->consumer)
		return -EBUSY;
	return snapshot && s->mode != ASYNCTRACE_MODE_CIRCULAR ? -EINVAL : 0;
}

/**
 * at_session_consume - become a session's consumer
 * @id: of the session
 * @snapshot: read what the session holds now, without consuming it
 *
 * Return: the session, with a reference; ERR_PTR(-EINVAL) for a snapshot of a session
 * that is not circular; -ENOENT if there is no such session or the caller may not see it,
 * -EPERM if the caller may not control it or may not see all that its owner may, -EBUSY
 * if it has a consumer, -EINTR.
 */
struct at_session *at_session_consume(u32 id, bool snapshot)
{
	struct at_caller caller = at_caller_of(current_cred());
	struct at_session *s;
	int err;

	caller.admin = capable(CAP_SYS_ADMIN);
	caller.privileged = perfmon_capable();
	s = at_session_control(id, &caller, NULL);
	if (IS_ERR(s))
		return s;
	err = at_session_lock(s, NULL);
	if (!err) {
		spin_lock(&at_lock);
		/* The previous consumer need not wait for at_session_cleanup(). */
		if (s->closed)
			at_session_unconsumed(s);
		err = at_session_may_consume(s, &caller, snapshot);
		if (!err) {
			s->consumer = true;
			if (snapshot)
				at_snapshot_begin(s);
			else if (s->was_read)
				at_session_unread(s);
			s->was_read |= !snapshot;
		}
		spin_unlock(&at_lock);
		mutex_unlock(&s->request_lock);
	}
	if (!err)
		return s;
	at_session_put(s);
	return ERR_PTR(err);
}

/* Called when the consumer's descriptor is closed. Takes over its reference. */
void at_session_unconsume(struct at_session *s)
{
	spin_lock(&at_lock);
	s->closed = true;
	spin_unlock(&at_lock);
	at_session_cleanup(s);
}

/* Make a session whose consumer's descriptor is closed free for another. May drop at_lock. */
void at_session_unconsumed(struct at_session *s)
{
	lockdep_assert_held(&s->request_lock);
	lockdep_assert_held(&at_lock);
	if (s->snapshot) {
		at_snapshot_end(s);
		/* The snapshot cleared @readable, but consumed nothing. */
		at_session_wake(s);
	}
	/* An unfinished pass holds a reference to its current member. */
	at_member_put(s->reader.member);
	s->reader.member = NULL;
	s->consumer = false;
	s->closed = false;
	at_ended_unconsumed(s);
}

int at_sessions_init(void)
{
	return register_pm_notifier(&at_session_pm_block);
}

/* Called at module exit. No descriptor is open, but detached sessions may remain. */
void at_sessions_exit(void)
{
	struct at_session *s;
	u32 id = 0;

	unregister_pm_notifier(&at_session_pm_block);
	while ((s = at_session_from(&id)))
		at_session_terminate_anyway(s);
	/*
	 * Poll work that is waiting for its timer holds a reference; flushing the
	 * workqueue would not wait for it.
	 */
	wait_var_event(&at_nr_sessions, !atomic_read(&at_nr_sessions));
}
