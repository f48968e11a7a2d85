// SPDX-License-Identifier: GPL-2.0
/*
 * Assignment of providers to sessions.
 *
 * A provider is in at most one session: the oldest started session that wants the
 * provider. Sessions of privileged users come first. The other started sessions that want
 * the provider are notified that it is taken. When its session ends, the provider goes to
 * the next started session that wants it. A session that is started later takes the
 * providers that are free.
 *
 * A privileged session that is started also takes providers from unprivileged sessions,
 * so that no user can hide a process from the administrator. A session does not get such
 * a provider back.
 */
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "control/monitor.h"
#include "provider/directory.h"
#include "provider/provider.h"
#include "sched/tasks.h"
#include "session/assign.h"
#include "session/budget.h"
#include "session/member.h"
#include "session/places.h"
#include "session/session.h"

/* Providers whose session has ended, and that other sessions may take; under at_lock */
static LIST_HEAD(at_vacant);

/**
 * at_offer_free - may a session take a provider from its present session, if any?
 * @s: the session
 * @p: the provider
 * @start: @s is being started, so a privileged @s may take providers of unprivileged
 *	sessions
 *
 * Return: true if the provider is free for @s.
 */
bool at_offer_free(const struct at_session *s, const struct at_provider *p, bool start)
{
	if (!p->member)
		return true;
	return start && s->owner.privileged && !p->member->session->owner.privileged;
}

/* Take a provider out of its session. The session keeps the records that it has. */
static void at_offer_take_away(struct at_provider *p)
{
	struct at_member *m = p->member;

	at_member_leave(m);
	at_member_gone(m);
	if (m->session->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_notify_started(m->session, p, -EBUSY);
}

/*
 * Add a provider to a session if the memory limit allows it. @m: from at_member_new();
 * NULL if there was no memory. On failure @m stays with the caller.
 */
static int at_offer_take(struct at_session *s, struct at_provider *p, struct at_member *m,
			 bool late)
{
	int err = -ENOMEM;

	if (m) {
		do {
			err = at_memory_check(s, s->nr_holding + 1,
					      s->holding + at_memory_of(s, p), NULL);
		} while (err && at_memory_make_room(s));
	}
	p->refused = err;
	if (err) {
		s->nr_refused++;
		return err;
	}
	if (p->member)
		at_offer_take_away(p);
	at_member_add(m, s, p, late);
	return 0;
}

/* May providers join? @running: to a started session; otherwise before or between runs. */
static bool at_offer_open(const struct at_session *s, bool running)
{
	if (running || s->stopping)
		return running && at_session_runs(s);
	return s->state == ASYNCTRACE_SESSION_STATE_INITIALIZED ||
	       s->state == ASYNCTRACE_SESSION_STATE_STOPPED;
}

/* Progress of an offer: privileged sessions get it first, then the others, each by id. */
struct at_asked {
	bool unprivileged;
	u32 id;
};

static struct at_session *at_offer_ask(const struct at_provider *p, bool running,
				       const struct at_asked *after)
{
	struct at_session *s;

	list_for_each_entry(s, &at_sessions, node)
		if (s->id > after->id && s->owner.privileged != after->unprivileged &&
		    at_offer_open(s, running) && at_session_wants(s, p))
			return s;
	return NULL;
}

/* Returns the next session to which the provider can be offered, or NULL. */
static struct at_session *at_offer_next(const struct at_provider *p, bool running,
					struct at_asked *after)
{
	struct at_session *s = at_offer_ask(p, running, after);

	if (!s && !after->unprivileged) {
		*after = (struct at_asked){ .unprivileged = true };
		s = at_offer_ask(p, running, after);
	}
	if (s)
		after->id = s->id;
	return s;
}

/*
 * Allocate a place in @s for a provider that is in no session. The caller holds
 * references to both. Drops at_lock, because the allocation may block.
 *
 * Return: true if the provider may still join @s. @m: the place, or NULL without memory.
 */
static bool at_offer_place(struct at_session *s, struct at_provider *p, bool running,
			   struct at_member **m)
{
	bool wanted;

	spin_unlock(&at_lock);
	*m = at_member_new(s);
	spin_lock(&at_lock);
	wanted = !p->dead && !p->member && at_offer_open(s, running);
	if (!wanted)
		at_member_drop(*m);
	return wanted;
}

/*
 * Trace the threads of a member that joins late, before its gate is opened. Drops
 * at_lock.
 *
 * Return: true if the caller must open the gate. The session may have been stopped
 * meanwhile, the provider may have left, or at_member_retry() may have opened the gate.
 */
static bool at_offer_tasks(struct at_member *m)
{
	bool wanted;

	/* at_lock is dropped below: the provider may end, and its member may be removed. */
	at_member_get(m);
	if (m->session->ks) {
		m->joining = true;
		spin_unlock(&at_lock);
		at_tasks_add_process(m);
		at_tasks_again();
		spin_lock(&at_lock);
		m->joining = false;
	}
	wanted = m->provider->member == m && at_session_runs(m->session) &&
		 READ_ONCE(m->provider->control->gate) == ASYNCTRACE_GATE_OFF;
	at_member_put(m);
	return wanted;
}

/* Add a provider to a started session. Drops at_lock. */
static void at_offer_late(struct at_session *s, struct at_provider *p, struct at_member *m)
{
	int err = at_offer_take(s, p, m, true);

	if (!err) {
		if (!at_offer_tasks(m))
			return;
		/*
		 * Use a new generation. Under the session's generation, a forked child
		 * would trust what its parent cached about its sites.
		 */
		at_member_start(m, at_next_generation());
		/* Without rings the member waits for a range; at_member_retry() notifies later. */
		if (!m->rings)
			return;
	} else {
		at_member_drop(m);
	}
	at_notify_started(s, p, err);
}

/*
 * Offer a provider to the started sessions until one takes it. The walk goes by session
 * id, because at_lock is dropped in between and each session gets the offer only once.
 */
static void at_offer_running(struct at_provider *p)
{
	struct at_asked at = {};
	struct at_session *s;
	struct at_member *m;
	u32 n = 0;

	while (!p->dead && (s = at_offer_next(p, true, &at))) {
		at_session_get(s);
		if (!p->member && at_offer_place(s, p, true, &m))
			at_offer_late(s, p, m);
		else if (p->member && p->member->session != s && at_offer_open(s, true))
			at_notify_started(s, p, -EBUSY);
		at_session_put(s);
		at_turn(&n);
	}
}

/* Offer a provider to the initialized and stopped sessions until one takes it. */
static void at_offer_waiting(struct at_provider *p)
{
	struct at_asked at = {};
	struct at_session *s;
	struct at_member *m;

	while (!p->dead && !p->member && (s = at_offer_next(p, false, &at))) {
		at_session_get(s);
		if (at_offer_place(s, p, false, &m) && at_offer_take(s, p, m, false))
			at_member_drop(m);
		at_session_put(s);
	}
}

/**
 * at_offer - offer a new provider to sessions
 * @p: the provider
 *
 * Started sessions come first, then initialized and stopped ones. Drops at_lock, so the
 * provider may have ended when this returns.
 *
 * Return: true if a started session records the provider.
 */
bool at_offer(struct at_provider *p)
{
	bool started;

	lockdep_assert_held(&at_lock);
	at_provider_get(p);
	at_offer_running(p);
	at_offer_waiting(p);
	started = p->member && p->member->rings && at_offer_open(p->member->session, true);
	at_provider_put(p);
	return started;
}

/* Drop at_lock after each provider: a user may have many, each wanted by many sessions. */
static void at_offer_fn(struct work_struct *work)
{
	struct at_provider *p;

	do {
		spin_lock(&at_lock);
		p = list_first_entry_or_null(&at_vacant, struct at_provider, vacant);
		if (p) {
			list_del_init(&p->vacant);
			/* The provider may end while at_lock is dropped. */
			at_provider_get(p);
			if (!p->member)
				at_offer_running(p);
			at_provider_put(p);
		}
		spin_unlock(&at_lock);
		cond_resched();
	} while (p);
}

static DECLARE_WORK(at_offer_work, at_offer_fn);

/**
 * at_offer_later - offer a provider to other sessions after its session has ended
 * @p: a provider that lives
 *
 * A worker makes the offer, so that the caller does not wait.
 */
void at_offer_later(struct at_provider *p)
{
	lockdep_assert_held(&at_lock);
	list_move_tail(&p->vacant, &at_vacant);
	queue_work(at_wq, &at_offer_work);
}

/**
 * at_offer_adopt - take the free providers that a session wants
 * @s: a session that has been initialized, or is about to be started
 * @prep: places for the providers, as many as there was memory for
 * @start: @s is about to be started, see at_offer_free()
 *
 * Providers that were refused before are tried again. May drop at_lock; the session's
 * request_lock is held, so its state does not change.
 */
void at_offer_adopt(struct at_session *s, struct at_prepared *prep, bool start)
{
	struct at_walk walk = { .caller = &s->owner, .patterns = s->providers };
	struct at_provider *p;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	s->nr_refused = 0;
	while ((p = at_walk_next(&walk))) {
		if (at_offer_free(s, p, start) && at_session_wants(s, p)) {
			struct at_member *m = at_prepared_take(prep);

			if (at_offer_take(s, p, m, false) && m)
				at_prepared_put(prep, m);
		}
		at_turn(&n);
	}
}

/**
 * at_offer_tell - notify that a session has started, and which wanted providers it did
 *	not get
 * @s: the session, its request_lock held since at_offer_adopt()
 *
 * May drop at_lock. at_offer() notifies of providers that register after
 * at_offer_adopt().
 */
void at_offer_tell(struct at_session *s)
{
	struct at_walk walk = { .caller = &s->owner, .patterns = s->providers };
	struct at_provider *p;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	if (!at_notify_wanted(ASYNCTRACE_EVENT_KINDS_STARTED))
		return;
	at_notify_started(s, NULL, 0);
	while ((p = at_walk_next(&walk))) {
		const struct at_member *m = p->member;
		int err = m ? -EBUSY : p->refused;

		if (err && !(m && m->session == s) && at_session_wants(s, p))
			at_notify_started(s, p, err);
		at_turn(&n);
	}
}
