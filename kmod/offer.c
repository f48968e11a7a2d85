// SPDX-License-Identifier: GPL-2.0
/*
 * Which session gets a provider: one only, the oldest that runs and wants it. Who
 * else runs and wants it is told that it is taken. When its session ends it goes to
 * the next of those that run; one that is started later takes what is free.
 */
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "member.h"
#include "memory.h"
#include "notify.h"
#include "offer.h"
#include "provider.h"
#include "quiesce.h"
#include "session.h"
#include "tasks.h"

/* Providers whose session has ended, to be offered to the others; under at_mutex. */
static LIST_HEAD(at_vacant);

static int at_offer_take(struct at_session *s, struct at_provider *p, bool late)
{
	struct mem_cgroup *old;
	int err;

	do {
		err = at_memory_check(s, s->nr_holding + 1, s->holding + at_memory_of(s, p),
				      NULL);
	} while (err && at_memory_make_room(s));
	/* Whoever calls: what the session has is not the caller's to pay. */
	old = set_active_memcg(s->memcg);
	if (!err)
		err = at_member_add(s, p, late);
	if (!err && late && s->ks)
		at_tasks_add_process(p->member);
	set_active_memcg(old);
	if (err)
		s->nr_refused++;
	return err;
}

/* To a session that runs. */
static int at_offer_late(struct at_session *s, struct at_provider *p)
{
	int err = at_offer_take(s, p, true);

	if (!err) {
		/*
		 * Not with the session's: a child of fork would take what
		 * its parent has learned under that for its own.
		 */
		at_member_start(p->member, at_next_generation());
		/* Else it waits for a range, and is told of when it has one. */
		if (!p->member->rings && !p->member->failed)
			return 0;
	}
	at_notify_started(s, p, err ?: p->member->failed ? -ENOMEM : 0);
	return err;
}

/* To those that run, until one takes it. Return: whether one did. */
static bool at_offer_running(struct at_provider *p)
{
	struct at_session *s;

	list_for_each_entry(s, &at_sessions, node) {
		if (s->state != ASYNCTRACE_SESSION_STATE_STARTED || !at_session_wants(s, p))
			continue;
		if (p->member)
			at_notify_started(s, p, -EBUSY);
		else
			at_offer_late(s, p);
	}
	return p->member;
}

/**
 * at_offer - a provider has come
 * @p: the provider
 *
 * Where no session runs that takes it, one that has been initialized may.
 *
 * Return: whether a session that runs records it.
 */
bool at_offer(struct at_provider *p)
{
	struct at_session *s;

	lockdep_assert_held(&at_mutex);
	if (at_offer_running(p))
		return p->member->rings;
	list_for_each_entry(s, &at_sessions, node)
		if (s->state != ASYNCTRACE_SESSION_STATE_READY &&
		    s->state != ASYNCTRACE_SESSION_STATE_STARTED &&
		    at_session_wants(s, p) && !at_offer_take(s, p, false))
			break;
	return false;
}

/* One after the other: a user may have many, of which many sessions want each. */
static void at_offer_fn(struct work_struct *work)
{
	struct at_provider *p;

	do {
		mutex_lock(&at_mutex);
		p = list_first_entry_or_null(&at_vacant, struct at_provider, vacant);
		if (p) {
			list_del_init(&p->vacant);
			if (!p->member)
				at_offer_running(p);
		}
		mutex_unlock(&at_mutex);
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
	lockdep_assert_held(&at_mutex);
	list_move_tail(&p->vacant, &at_vacant);
	queue_work(at_wq, &at_offer_work);
}

/**
 * at_offer_adopt - take what is free
 * @s: a session that is about to be started
 *
 * What there was no room for before is tried again.
 */
void at_offer_adopt(struct at_session *s)
{
	struct at_provider *p;

	lockdep_assert_held(&at_mutex);
	s->nr_refused = 0;
	list_for_each_entry(p, &at_providers, node) {
		struct at_member *m = p->member;

		if (m && m->session == s && m->failed) {
			m->failed = false;
			at_member_retry(p);
		} else if (!m && at_session_wants(s, p)) {
			at_offer_take(s, p, false);
		}
	}
}

/**
 * at_offer_tell - tell that a session has started, and of whom it takes nothing
 * @s: the session
 */
void at_offer_tell(struct at_session *s)
{
	struct at_provider *p;

	lockdep_assert_held(&at_mutex);
	if (!at_notify_wanted(ASYNCTRACE_EVENT_KINDS_STARTED))
		return;
	at_notify_started(s, NULL, 0);
	list_for_each_entry(p, &at_providers, node) {
		const struct at_member *m = p->member;

		if (m && m->session == s ? !m->failed : !at_session_wants(s, p))
			continue;
		at_notify_started(s, p, !m ? -ENOSPC : m->session == s ? -ENOMEM : -EBUSY);
	}
}
