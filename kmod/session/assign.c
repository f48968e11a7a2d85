// SPDX-License-Identifier: GPL-2.0
/*
 * Assignment of providers to sessions.
 *
 * A provider is in at most one session. A session takes the free providers that it wants
 * when it is initialized and again when it is started, and keeps them while it is stopped.
 * A provider that registers is offered to started sessions first, then to the others. Among
 * them, sessions of privileged users come first, then older ones. Other started sessions that
 * want the provider are notified that it is taken. When its session ends, the provider goes
 * to the next started session that wants it.
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
#include "base/quota.h"
#include "base/race.h"
#include "control/monitor.h"
#include "provider/directory.h"
#include "provider/provider.h"
#include "sched/looks.h"
#include "session/assign.h"
#include "session/budget.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/places.h"
#include "session/session.h"

/* Ended providers whose rings may be freed to make room for one provider */
#define AT_FREED_MAX	4096

/*
 * Providers whose session has ended, and that have not been offered to privileged sessions; under
 * at_lock
 */
static LIST_HEAD(at_vacant);

/**
 * at_offer_free - may a session take a provider, also from the provider's present session?
 * @s: the session
 * @p: the provider
 * @start: @s is being started, so a privileged @s may take providers of unprivileged
 *	sessions
 *
 * Return: true if the provider is free for @s.
 */
bool at_offer_free(const struct at_session *s, const struct at_provider *p, bool start)
{
	lockdep_assert_held(&at_lock);
	if (p->dead || at_session_had(s, p))
		return false;
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
 * NULL if there was no memory. On failure @m stays with the caller. If room must be made, each
 * call frees the rings of one ended provider, increments *@freed and returns -EAGAIN: the caller
 * releases at_lock and tries again.
 */
static int at_offer_take(struct at_session *s, struct at_provider *p, struct at_member *m,
			 bool late, u32 *freed)
{
	int err = -ENOMEM;
	bool counted;

	if (m) {
		err = at_memory_admit(s, p);
		/* The limit ends the loop if other providers take the room that is made. */
		if (err && *freed < AT_FREED_MAX && at_memory_make_room(s, p)) {
			++*freed;
			return -EAGAIN;
		}
	}
	/* The session counts a refused provider once, even if it is offered several times. */
	counted = p->refused && p->refused_by == s->id;
	p->refused = err;
	p->refused_by = s->id;
	if (err) {
		s->nr_refused += !counted;
		return err;
	}
	if (p->member)
		at_offer_take_away(p);
	at_member_add(m, s, p, late);
	return 0;
}

/*
 * May providers join the session now? If @running, only a started session counts. Otherwise only a
 * session before its first run or between two runs counts.
 */
static bool at_offer_open(const struct at_session *s, bool running)
{
	if (running || s->stopping)
		return running && at_session_runs(s);
	return s->state == ASYNCTRACE_SESSION_STATE_INITIALIZED ||
	       s->state == ASYNCTRACE_SESSION_STATE_STOPPED;
}

/**
 * struct at_asked - progress of an offer, which goes to privileged sessions first, then to the
 *	others, both in the order of their ids
 * @privileged: ask the privileged sessions; otherwise the others
 * @id: id of the next session to ask
 * @since: see at_offer_may()
 * @start: a privileged session may take the provider from an unprivileged one, see
 *	at_offer_free()
 * @offer: number of the offer, see struct at_provider
 */
struct at_asked {
	bool privileged;
	u32 id;
	u32 since;
	bool start;
	u64 offer;
};

/*
 * Returns the next session that wants the provider, with a reference, or NULL. Called without
 * locks, because a user may have many sessions with many patterns.
 */
static struct at_session *at_offer_next(const struct at_provider *p, struct at_asked *asked)
{
	struct at_session *s;

	while ((s = at_session_from(&asked->id))) {
		asked->id++;
		if (s->owner.privileged == asked->privileged && at_session_wants(s, p))
			break;
		at_session_put(s);
		cond_resched();
	}
	return s;
}

/* May an offer of a provider go on? Without at_lock the answer may be stale. */
static bool at_offer_lasts(const struct at_provider *p, u64 offer)
{
	return !READ_ONCE(p->dead) && READ_ONCE(p->offer) == offer;
}

/*
 * Trace the threads of a member that joins late, before its gate is opened. May drop at_lock and
 * take it again.
 *
 * Return: true if the caller must open the gate; false if meanwhile the session was stopped, the
 * provider left, or at_member_retry() opened the gate.
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

/*
 * Complete a late join. @err: result of at_offer_take(). If it is 0, trace the threads of the
 * new member @m and open its gate. Notify of the result. May drop at_lock and take it again.
 */
static void at_offer_late(struct at_session *s, struct at_provider *p, struct at_member *m,
			  int err)
{
	if (!err) {
		if (!at_offer_tasks(m))
			return;
		/*
		 * Use a new generation. Under the session's generation, a forked child
		 * would trust what its parent cached about its sites.
		 */
		at_member_start(m, at_next_generation());
		/*
		 * A member without rings waits for a range. at_member_retry() opens its gate
		 * and notifies later.
		 */
		if (!m->rings)
			return;
	}
	at_notify_started(s, p, err);
}

/*
 * May a provider join the session? If @since is 0, the session must be started. Otherwise
 * @since is the generation when the offer began, and the session must be initialized or
 * stopped, or have been started after @since. Without at_lock the answer may be stale.
 */
static bool at_offer_may(const struct at_session *s, u32 since)
{
	switch (READ_ONCE(s->state)) {
	case ASYNCTRACE_SESSION_STATE_STARTED:
		return !since || READ_ONCE(s->run) > since;
	case ASYNCTRACE_SESSION_STATE_INITIALIZED:
	case ASYNCTRACE_SESSION_STATE_STOPPED:
		return since;
	}
	return false;
}

/*
 * Offer a provider to a session that wants it. Called without locks.
 *
 * The session does not get @p if it cannot take providers yet, or if another session keeps @p. In
 * the first case, the session's next start or initialization finds @p. In the second case,
 * at_offer_later() offers @p again when the other session has ended.
 */
static void at_offer_to(struct at_session *s, struct at_provider *p, const struct at_asked *asked)
{
	struct at_member *m = NULL;
	bool free, runs, take;
	u32 freed = 0;
	int err = 0;

	spin_lock(&at_lock);
	free = at_offer_free(s, p, asked->start) && at_offer_may(s, asked->since);
	spin_unlock(&at_lock);
	if (free)
		m = at_member_new(s);
	do {
		spin_lock(&at_lock);
		runs = at_offer_open(s, true);
		take = at_offer_lasts(p, asked->offer) && at_offer_may(s, asked->since) &&
		       at_offer_open(s, runs) && !at_session_had(s, p);
		if (take && !at_offer_free(s, p, asked->start)) {
			if (runs && p->member->session != s)
				at_notify_started(s, p, -EBUSY);
			take = false;
		}
		take &= free && !(s->sure_first && at_memory_shared(s, p));
		err = take ? at_offer_take(s, p, m, runs, &freed) : 0;
		if (take && runs && err != -EAGAIN)
			at_offer_late(s, p, m, err);
		spin_unlock(&at_lock);
		cond_resched();
	} while (err == -EAGAIN);
	if (!take || err)
		at_member_drop(m);
}

/*
 * Offer a provider to all started sessions, either the privileged ones or the others. When one has
 * taken it, the others are notified that the provider is taken.
 */
static void at_offer_running(struct at_provider *p, bool privileged, u64 offer)
{
	struct at_asked asked = { .privileged = privileged, .start = privileged, .offer = offer };
	struct at_session *s;

	while (at_offer_lasts(p, offer) && (s = at_offer_next(p, &asked))) {
		at_offer_to(s, p, &asked);
		at_session_put(s);
	}
}

/*
 * Offer a new provider to the initialized and stopped sessions until one takes it, and to those
 * that have been started since at_offer_running() asked them; either to the privileged sessions or
 * to the others.
 */
static void at_offer_waiting(struct at_provider *p, bool privileged, u32 since)
{
	struct at_asked asked = { .privileged = privileged, .since = since };
	struct at_session *s;

	while (at_offer_lasts(p, 0) && !READ_ONCE(p->member) && (s = at_offer_next(p, &asked))) {
		at_offer_to(s, p, &asked);
		at_session_put(s);
	}
}

/**
 * at_offer - offer a new provider to sessions
 * @p: the provider, with a reference
 * @since: generation when the provider was published
 *
 * Started sessions come first, then initialized and stopped ones. Called without locks.
 *
 * Return: true if a started session records the provider.
 */
bool at_offer(struct at_provider *p, u32 since)
{
	bool started;

	at_offer_running(p, true, 0);
	at_offer_running(p, false, 0);
	at_offer_waiting(p, true, since);
	at_offer_waiting(p, false, since);
	spin_lock(&at_lock);
	started = p->member && p->member->rings && at_offer_open(p->member->session, true);
	spin_unlock(&at_lock);
	return started;
}

/* Take the first provider out of a list of vacant ones. Returns it with a reference, or NULL. */
static struct at_provider *at_offer_first(struct list_head *list, u64 *offer)
{
	struct at_provider *p = list_first_entry_or_null(list, struct at_provider, vacant);

	lockdep_assert_held(&at_lock);
	if (!p)
		return NULL;
	list_del_init(&p->vacant);
	/* The provider may end while at_lock is not held. */
	at_provider_get(p);
	*offer = p->offer;
	return p;
}

/*
 * Offer vacant providers of one user to unprivileged sessions. Each user has a worker, because an
 * unprivileged session may wait for memory of its cgroup, and only its own user's providers are
 * offered to it.
 */
static void at_offer_user_fn(struct work_struct *work)
{
	struct at_backlog *b = container_of(work, struct at_backlog, work);
	struct at_provider *p;
	u64 offer;

	do {
		spin_lock(&at_lock);
		p = at_offer_first(&b->list, &offer);
		if (!p)
			b->busy = false;
		spin_unlock(&at_lock);
		if (p) {
			at_offer_running(p, false, offer);
			at_provider_put(p);
		}
		cond_resched();
	} while (p);
	at_backlog_put(b);
}

/* Leave it to the user's worker to offer a provider to unprivileged sessions. */
static void at_offer_user(struct at_provider *p)
{
	struct at_backlog *b = at_charge_backlog(p->charge);

	lockdep_assert_held(&at_lock);
	list_add_tail(&p->vacant, &b->list);
	if (b->busy)
		return;
	b->busy = true;
	at_backlog_get(b);
	/* The work's last run may not have ended, so do not initialize it again. */
	if (!b->work.func)
		INIT_WORK(&b->work, at_offer_user_fn);
	queue_work(at_user_wq, &b->work);
}

/*
 * Offer vacant providers to privileged sessions, which must not wait for memory of unprivileged
 * users. Those users' own sessions are asked later, and are notified if the provider was taken.
 */
static void at_offer_fn(struct work_struct *work)
{
	struct at_provider *p;
	u64 offer;

	do {
		spin_lock(&at_lock);
		p = at_offer_first(&at_vacant, &offer);
		spin_unlock(&at_lock);
		if (!p)
			break;
		at_offer_running(p, true, offer);
		spin_lock(&at_lock);
		if (at_offer_lasts(p, offer))
			at_offer_user(p);
		spin_unlock(&at_lock);
		at_provider_put(p);
		cond_resched();
	} while (true);
}

static DECLARE_WORK(at_offer_work, at_offer_fn);

/**
 * at_offer_later - offer a provider to other sessions after its session has ended
 * @p: a provider that lives
 *
 * Workers make the offer, so that the caller does not wait: a user may have many providers, each
 * wanted by many sessions. If an earlier offer is still being made, it ends. Otherwise it could
 * give the provider to a session of lower priority.
 */
void at_offer_later(struct at_provider *p)
{
	lockdep_assert_held(&at_lock);
	WRITE_ONCE(p->offer, p->offer + 1);
	list_move_tail(&p->vacant, &at_vacant);
	queue_work(at_wq, &at_offer_work);
}

/* Take a provider that a session wants when it is initialized or started. */
static int at_offer_adopt_one(struct at_session *s, struct at_provider *p, struct at_member *m,
			      bool start)
{
	u32 freed = 0;
	int err;

	do {
		spin_lock(&at_lock);
		/* Forget an earlier refusal by this session: the provider may be free later. */
		if (p->refused_by == s->id)
			p->refused = 0;
		err = at_offer_free(s, p, start) ? at_offer_take(s, p, m, false, &freed) : -EBUSY;
		spin_unlock(&at_lock);
		cond_resched();
	} while (err == -EAGAIN);
	return err;
}

/*
 * Take some of the free providers that a session wants. If @shared, take only those that may use
 * only a share of its memory; otherwise, take only the others. See at_offer_adopt().
 */
static bool at_offer_adopt_some(struct at_session *s, struct at_prepared *prep, bool start,
				bool last, bool shared)
{
	struct at_walk walk = { .caller = &s->owner, .patterns = s->providers };
	struct at_provider *p;
	bool enough = true;

	while ((p = at_walk_next(&walk))) {
		struct at_member *m;

		if (at_memory_shared(s, p) != shared || !at_filter_wants(s->filter, p))
			continue;
		m = at_prepared_take(prep);
		if (!m && !prep->failed && !last) {
			spin_lock(&at_lock);
			enough &= !at_offer_free(s, p, start);
			spin_unlock(&at_lock);
		} else if (at_offer_adopt_one(s, p, m, start) && m) {
			at_prepared_put(prep, m);
		}
		at_race(AT_RACE_JOIN);
	}
	return enough;
}

/**
 * at_offer_adopt - take the free providers that a session wants
 * @s: a session that has been initialized, or is about to be started
 * @prep: places for the providers
 * @start: @s is about to be started, see at_offer_free()
 * @last: refuse providers for which there is no place
 *
 * Providers that were refused before are tried again. The session's request_lock is held, so
 * its state does not change.
 *
 * In a privileged session, providers that may take only their user's share come after the others.
 * at_memory_check() has found room for the others when the session was initialized.
 *
 * Return: false if there was no place for a provider, because more of them have become free since
 * at_prepare_members(). The caller prepares more places and calls again.
 */
bool at_offer_adopt(struct at_session *s, struct at_prepared *prep, bool start, bool last)
{
	lockdep_assert_held(&s->request_lock);
	spin_lock(&at_lock);
	s->nr_refused = 0;
	spin_unlock(&at_lock);
	if (!at_offer_adopt_some(s, prep, start, last, false))
		return false;
	if (!s->owner.privileged)
		return true;
	spin_lock(&at_lock);
	s->sure_first = false;
	spin_unlock(&at_lock);
	return at_offer_adopt_some(s, prep, start, last, true);
}

/**
 * at_offer_started - notify that a session has started
 * @s: the session, its request_lock held
 */
void at_offer_started(struct at_session *s)
{
	lockdep_assert_held(&s->request_lock);
	spin_lock(&at_lock);
	at_notify_started(s, NULL, 0);
	spin_unlock(&at_lock);
}

/*
 * Handle a wanted provider after a start of the session. Returns true if the session has not got it
 * and should try again: an unprivileged session has it, or other sessions have refused it since.
 */
static bool at_offer_missed(struct at_session *s, struct at_provider *p, u32 run)
{
	const struct at_member *m = p->member;

	lockdep_assert_held(&at_lock);
	if (!at_session_runs(s) || s->run != run || p->dead || at_session_had(s, p))
		return false;
	if (!m && p->refused && p->refused_by == s->id)
		at_notify_started(s, p, p->refused);
	else if (!m && p->offer)
		at_offer_later(p);
	else if (m && m->session != s && !at_offer_free(s, p, true))
		at_notify_started(s, p, -EBUSY);
	else
		return m ? m->session != s : p->refused;
	return false;
}

/**
 * at_offer_rest - handle wanted providers that a session did not get when it was started
 * @s: the session, with a reference
 * @run: generation of the start; the work ends if the session is stopped
 *
 * Notifies of providers that were refused or that other sessions have. A provider whose former
 * session ended between at_offer_adopt() and the start is offered again, because that offer found
 * @s not started. If an unprivileged session has got such a provider meanwhile, a privileged @s
 * takes it. at_offer() handles providers that register after at_offer_adopt().
 *
 * Called without locks, because it may allocate memory.
 */
void at_offer_rest(struct at_session *s, u32 run)
{
	struct at_walk walk = { .caller = &s->owner, .patterns = s->providers };
	struct at_asked asked = { .start = true };
	struct at_provider *p;
	bool take;

	while ((p = at_walk_next(&walk))) {
		if (!at_filter_wants(s->filter, p))
			continue;
		spin_lock(&at_lock);
		take = at_offer_missed(s, p, run);
		asked.offer = p->offer;
		spin_unlock(&at_lock);
		if (take)
			at_offer_to(s, p, &asked);
	}
}
