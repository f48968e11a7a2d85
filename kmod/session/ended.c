// SPDX-License-Identifier: GPL-2.0
/*
 * Ended providers: their ledgers are added to the session's sums, and their members are
 * removed.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "base/quota.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/budget.h"
#include "session/ended.h"
#include "session/member.h"
#include "session/session.h"

/* Traced tasks are freed shortly after their last switch: look again after this time. */
#define AT_ENDED_DELAY	msecs_to_jiffies(50)
/* Limit of list entries that at_member_make_room() looks at */
#define AT_ROOM_LOOKS	64

/**
 * at_member_ledger - fill in the ledger of a ring
 * @m: the member
 * @r: its rings
 * @i: index of the ring
 * @c: the reader's cursor of the ring
 * @st: output, except @st->pages
 *
 * Records that a start has cleared count as cleared, even if the reader has not looked
 * since. Records that a provider published after it left the session count as dropped, as
 * they do for the reader.
 */
void at_member_ledger(struct at_member *m, struct at_rings *r, u32 i,
		      const struct at_cursor *c, struct at_ring_stats *st)
{
	const struct at_uring *ring = &r->ring[i];
	struct at_session *s = m->session;
	struct at_source src;
	struct at_cursor now;
	u64 pos, late = 0;

	at_rings_source(r, i, &src);
	st->provider = m->provider->id;
	st->ring = i;
	st->kind = src.fallback ? ASYNCTRACE_RING_KIND_FALLBACK : ASYNCTRACE_RING_KIND_EVENTS;
	st->committed = at_source_now(&src, &pos);
	spin_lock(&s->clear_lock);
	now = *c;
	at_cursor_clear(&now, &src, &ring->clear);
	/* Pairs with the store-release in at_member_gone(): the ring's stop position is set. */
	if (smp_load_acquire(&m->gone))
		late = min(at_rings_late(r, i, &now, pos), st->committed);
	spin_unlock(&s->clear_lock);
	st->committed = at_cursor_committed(&now, st->committed - late);
	st->delivered = now.delivered;
	st->overwritten = now.overwritten;
	st->cleared = now.cleared;
	st->dropped = at_count_add(at_rings_dropped(r, i), late);
}

static u64 at_stats_unread(const struct at_ring_stats *st)
{
	return st->committed - st->delivered - st->overwritten - st->cleared;
}

/* Has the reader got everything from the rings of a member that has left? */
static bool at_member_empty(struct at_member *m)
{
	struct at_rings *r = m->rings;
	struct at_ring_stats st;
	u32 i;

	/* at_clear_finish() has not yet determined the cleared records. */
	if (m->clearing)
		return false;
	for (i = 0; r && i < r->nr; i++) {
		at_member_ledger(m, r, i, &r->ring[i].reading.cursor, &st);
		if (at_stats_unread(&st) || st.dropped != r->ring[i].reading.told)
			return false;
	}
	return true;
}

/* Add the counts that providers claim. */
static void at_ended_add(struct at_ended *sum, u64 committed, u64 overwritten, u64 cleared,
			 u64 dropped)
{
	sum->committed = at_count_add(sum->committed, committed);
	sum->overwritten = at_count_add(sum->overwritten, overwritten);
	sum->cleared = at_count_add(sum->cleared, cleared);
	sum->dropped = at_count_add(sum->dropped, dropped);
}

/* Add up the ledgers of a member's rings. Count unread records as overwritten. */
static void at_member_sum(struct at_member *m, struct at_ended *sum)
{
	struct at_rings *r = m->rings;
	struct at_ring_stats st;
	u32 i;

	for (i = 0; r && i < r->nr; i++) {
		at_member_ledger(m, r, i, &r->ring[i].reading.cursor, &st);
		sum->delivered += st.delivered;
		at_ended_add(sum, st.committed, st.overwritten + at_stats_unread(&st),
			     st.cleared, st.dropped);
	}
}

/* Get the scheduling records and names dropped for the member's tasks since the last call. */
static void at_member_sum_dropped(struct at_member *m, struct at_ended *sum)
{
	u64 dropped[AT_KRINGS];
	u32 i;

	for (i = 0; i < AT_KRINGS; i++)
		dropped[i] = at_sharer_dropped(&m->sharer, i);
	sum->sched_dropped = dropped[AT_KRING_EVENTS] - m->dropped[AT_KRING_EVENTS];
	sum->names_dropped = dropped[AT_KRING_NAMES] - m->dropped[AT_KRING_NAMES];
	memcpy(m->dropped, dropped, sizeof(dropped));
}

/*
 * Take a member's rings away and add up their ledgers. Called by the session's reader, or
 * with at_lock held for a session without a reader. So calls never run concurrently.
 *
 * Return: the rings, with the member's reference, or NULL.
 */
static struct at_rings *at_member_finish(struct at_member *m)
{
	struct at_session *s = m->session;
	struct at_rings *rings = m->rings;
	struct at_ended sum = {};

	if (m->done)
		return NULL;
	at_member_sum(m, &sum);
	at_member_sum_dropped(m, &sum);
	spin_lock(&s->members_lock);
	WRITE_ONCE(m->rings, NULL);
	WRITE_ONCE(m->done, true);
	at_user_remove(m);
	list_move_tail(&m->ended_node, &s->finished);
	s->ended.providers++;
	s->ended.delivered += sum.delivered;
	at_ended_add(&s->ended, sum.committed, sum.overwritten, sum.cleared, sum.dropped);
	s->ended.sched_dropped += sum.sched_dropped;
	s->ended.names_dropped += sum.names_dropped;
	spin_unlock(&s->members_lock);
	at_contents_put(m->provider);
	at_ended_soon(s);
	return rings;
}

/*
 * Free the rings of one ended provider in @s, because the user of @m has many of them. Prefer
 * the user's oldest one, and take @m if no other is found. Other users' records stay. Look at
 * the first AT_ROOM_LOOKS entries only, because the list may be long.
 */
static void at_member_make_room(struct at_session *s, struct at_member *m)
{
	struct at_member *old, *of_user = m;
	u32 n = 0;

	spin_lock(&s->members_lock);
	list_for_each_entry(old, &m->user->gone, user_node) {
		if (n++ == AT_ROOM_LOOKS)
			break;
		if (old->provider->dead && uid_eq(old->provider->uid, m->provider->uid)) {
			of_user = old;
			break;
		}
	}
	spin_unlock(&s->members_lock);
	at_member_lose(of_user);
}

/**
 * at_member_gone - note that a provider will never return to a session
 * @m: a member that has left
 *
 * Called when the provider ends, and when a privileged session takes it away; twice if
 * both happen. If the session has no consumer and nothing to read, the member's rings are
 * freed at once. A later consumer gets only the sums.
 *
 * An ended provider is charged to its user until it is freed. In a circular session
 * without a consumer, the oldest ended providers of a user are freed before they exhaust that
 * user's quota.
 */
void at_member_gone(struct at_member *m)
{
	struct at_session *s = m->session;

	lockdep_assert_held(&at_lock);
	if (!m->gone) {
		spin_lock(&s->members_lock);
		list_add_tail(&m->ended_node, &s->gone);
		at_user_gone(m);
		spin_unlock(&s->members_lock);
		/* Pairs with the load-acquire in at_ring_final(): stop positions are set. */
		smp_store_release(&m->gone, true);
		at_session_wake(s);
	}
	if (!m->provider->dead)
		return;
	if (m->done)
		at_ended_soon(s);
	else if (!s->consumer && at_member_empty(m))
		at_rings_put(at_member_finish(m));
	else if (s->mode == ASYNCTRACE_MODE_CIRCULAR && !s->consumer &&
		 at_charge_crowded(m->provider->charge))
		at_member_make_room(s, m);
}

/* Called when the reader has got all records of a provider that is gone. */
void at_member_done(struct at_member *m)
{
	at_rings_put(at_member_finish(m));
}

/**
 * at_member_lose - free the unread rings of a provider that is gone
 * @m: a member that is gone and not done; the session has no reader
 *
 * Unread records count as overwritten.
 */
void at_member_lose(struct at_member *m)
{
	lockdep_assert_held(&at_lock);
	at_rings_put(at_member_finish(m));
}

struct at_ended at_ended_read(struct at_session *s)
{
	struct at_ended ended;

	spin_lock(&s->members_lock);
	ended = s->ended;
	spin_unlock(&s->members_lock);
	return ended;
}

/*
 * Has the consumer got the final report of a member that is done? A member that was done before the
 * consumer opened the session needs no report: it is in the sums.
 */
static bool at_member_told(const struct at_member *m)
{
	u32 i;

	if (!at_member_introduced(m))
		return true;
	if (!(READ_ONCE(m->reading.info_told) & ASYNCTRACE_PROVIDER_F_GONE))
		return false;
	for (i = 0; i < AT_KRINGS; i++)
		if (READ_ONCE(m->reading.dropped_told[i]) != at_sharer_dropped(&m->sharer, i))
			return false;
	return true;
}

/*
 * Returns true if probes can no longer find an entry of the member's tasks, and so cannot count
 * drops for the member. This takes a grace period after the last entry was removed.
 */
static bool at_member_quiet(struct at_member *m)
{
	if (!m->session->ks)
		return true;
	if (!m->quiet) {
		if (!at_tasks_none(m))
			return false;
		m->quiet = true;
		m->grace = start_poll_synchronize_rcu();
	}
	return poll_state_synchronize_rcu(m->grace);
}

/* Remove a member. Only walkers that hold a reference can still reach it. */
static void at_member_remove(struct at_member *m)
{
	struct at_session *s = m->session;
	struct at_ended sum;

	lockdep_assert_held(&at_lock);
	at_member_sum_dropped(m, &sum);
	list_del_init(&m->of_provider);
	list_del_init(&m->ended_node);
	spin_lock(&s->members_lock);
	m->removed = true;
	s->ended.late += m->late;
	s->ended.sched_dropped += sum.sched_dropped;
	s->ended.names_dropped += sum.names_dropped;
	spin_unlock(&s->members_lock);
	at_member_put(m);
}

/*
 * Finish the gone members that have nothing to read, after a consumer has closed the session
 * without having got the final counts of these members. at_pause() may drop at_lock, and the list
 * may change then. So each step takes the first member and moves it to the end of the list before
 * it checks the member. Some members may be checked twice, and the order of the list may change.
 */
static void at_ended_unread(struct at_session *s)
{
	/* Upper bound of the number of gone members */
	u32 left = s->nr_holding;
	struct at_member *m;

	for (; left && !s->consumer; left--) {
		spin_lock(&s->members_lock);
		m = list_first_entry_or_null(&s->gone, struct at_member, ended_node);
		if (m)
			list_move_tail(&m->ended_node, &s->gone);
		spin_unlock(&s->members_lock);
		if (!m)
			break;
		if (m->provider->dead && at_member_empty(m))
			at_rings_put(at_member_finish(m));
		at_pause();
	}
}

/*
 * Remove members that are done. If a member still has tasks, or waits for their grace
 * period, this work is queued again with a delay. A reader at the end of a pass and an
 * ending provider queue it, too.
 */
static void at_ended_fn(struct work_struct *work)
{
	struct at_session *s = container_of(to_delayed_work(work), struct at_session, ended_work);
	struct at_member *m, *next;
	bool again = false;
	LIST_HEAD(todo);
	u32 n = 0;

	spin_lock(&at_lock);
	if (s->unread) {
		s->unread = false;
		at_ended_unread(s);
	}
	/* Only this worker takes members off the list, so @todo does not change in between. */
	spin_lock(&s->members_lock);
	list_splice_init(&s->finished, &todo);
	spin_unlock(&s->members_lock);
	list_for_each_entry_safe(m, next, &todo, ended_node) {
		if (m->provider->dead) {
			if (!at_member_quiet(m))
				again = true;
			else if (!s->consumer || at_member_told(m))
				at_member_remove(m);
		}
		at_turn(&n);
	}
	spin_lock(&s->members_lock);
	list_splice(&todo, &s->finished);
	spin_unlock(&s->members_lock);
	at_memory_settle(s);
	spin_unlock(&at_lock);
	if (again && queue_delayed_work(at_wq, &s->ended_work, AT_ENDED_DELAY))
		return;
	at_session_put(s);
}

/* Called when a consumer closes the session. */
void at_ended_unconsumed(struct at_session *s)
{
	lockdep_assert_held(&at_lock);
	s->unread = true;
	at_ended_soon(s);
}

/* Queue the removal of members that are done. */
void at_ended_soon(struct at_session *s)
{
	/* The session may be losing its last reference while one of its former providers ends. */
	if (kref_get_unless_zero(&s->ref) && !queue_delayed_work(at_wq, &s->ended_work, 0))
		at_session_put(s);
}

void at_ended_init(struct at_session *s)
{
	INIT_LIST_HEAD(&s->gone);
	INIT_LIST_HEAD(&s->finished);
	INIT_DELAYED_WORK(&s->ended_work, at_ended_fn);
}
