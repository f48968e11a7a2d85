// SPDX-License-Identifier: GPL-2.0
/*
 * Which session gets a provider: one only, the oldest that runs and wants it, and those of
 * privileged users before all others. Who else runs and wants it is told that it is taken.
 * When its session ends it goes to the next of those that run; one that is started later takes
 * what is free. A privileged one takes it away from one that is not, so that no user can hide
 * a process from the administrator; it does not return to where it was taken away.
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

/* Providers whose session has ended, to be offered to the others; under at_lock. */
static LIST_HEAD(at_vacant);

/**
 * at_offer_free - may a session take a provider?
 * @s: the session
 * @p: the provider
 * @start: the session is being started: what an unprivileged one has is free for it
 *
 * Return: whether, as far as it depends on who has it now.
 */
bool at_offer_free(const struct at_session *s, const struct at_provider *p, bool start)
{
	if (!p->member)
		return true;
	return start && s->owner.privileged && !p->member->session->owner.privileged;
}

/* The session that has it gets nothing of it any more, and keeps what it has got. */
static void at_offer_take_away(struct at_provider *p)
{
	struct at_member *m = p->member;

	at_member_leave(m);
	at_member_gone(m);
	if (m->session->state == ASYNCTRACE_SESSION_STATE_STARTED)
		at_notify_started(m->session, p, -EBUSY);
}

/*
 * With room for it, and a place from at_member_new(): NULL, where there was no memory.
 * That stays the caller's where the provider is refused.
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

/* Does it take providers that come: while it runs, or before and between runs? */
static bool at_offer_open(const struct at_session *s, bool running)
{
	if (running || s->stopping)
		return running && at_session_runs(s);
	return s->state == ASYNCTRACE_SESSION_STATE_INITIALIZED ||
	       s->state == ASYNCTRACE_SESSION_STATE_STOPPED;
}

/* Where an offer is: sessions are asked by age, first the privileged ones, then the others. */
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

/* The next one that is to be asked, or NULL */
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
 * A place in @s for a provider that is in none; there are references of both. at_lock is
 * let go meanwhile: nobody waits for a session that waits for memory.
 *
 * Return: whether the two still want each other. @m: the place, or NULL, without memory.
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
 * Trace the threads of a member that joins late, before its gate is opened. at_lock is let
 * go meanwhile.
 *
 * Return: whether the gate is still to be opened: the session may have been stopped, the
 * provider may have left, and at_member_retry() may have opened it.
 */
static bool at_offer_tasks(struct at_member *m)
{
	bool wanted;

	/* The provider may end meanwhile, and its member be removed. */
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

/* To a session that runs. at_lock is let go meanwhile. */
static void at_offer_late(struct at_session *s, struct at_provider *p, struct at_member *m)
{
	int err = at_offer_take(s, p, m, true);

	if (!err) {
		if (!at_offer_tasks(m))
			return;
		/*
		 * Not with the session's: a child of fork would take what
		 * its parent has learned under that for its own.
		 */
		at_member_start(m, at_next_generation());
		/* Else it waits for a range, and is told of when it has one. */
		if (!m->rings)
			return;
	} else {
		at_member_drop(m);
	}
	at_notify_started(s, p, err);
}

/*
 * To those that run, until one takes it. By their ids, as at_lock is let go in between:
 * none is asked twice.
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

/* To those that do not, likewise. */
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
 * at_offer - a provider has come
 * @p: the provider
 *
 * Where no session runs that takes it, one that has been initialized may. at_lock is let
 * go meanwhile, so that it may have ended when this returns.
 *
 * Return: whether a session that runs records it.
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

/* One after the other: a user may have many, of which many sessions want each. */
static void at_offer_fn(struct work_struct *work)
{
	struct at_provider *p;

	do {
		spin_lock(&at_lock);
		p = list_first_entry_or_null(&at_vacant, struct at_provider, vacant);
		if (p) {
			list_del_init(&p->vacant);
			/* It may end meanwhile. */
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
 * at_offer_later - a provider's session has ended
 * @p: a provider that lives
 *
 * It is offered to those that run, in a moment: nobody waits for that.
 */
void at_offer_later(struct at_provider *p)
{
	lockdep_assert_held(&at_lock);
	list_move_tail(&p->vacant, &at_vacant);
	queue_work(at_wq, &at_offer_work);
}

/**
 * at_offer_adopt - take what is free
 * @s: a session that has been initialized, or is about to be started
 * @prep: with as many places as it may need, or as there was memory for
 * @start: which of the two, see at_offer_free()
 *
 * What there was no room for before is tried again. at_lock is let go now and then; the
 * session's lock is held, so that it stays what it is.
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
 * at_offer_tell - tell that a session has started, and of whom it takes nothing
 * @s: the session, its lock held since at_offer_adopt()
 *
 * at_lock is let go now and then. Of providers that came after at_offer_adopt(), at_offer()
 * tells.
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
