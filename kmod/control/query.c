// SPDX-License-Identifier: GPL-2.0
/*
 * Visibility, sums and ledgers of sessions and rings, for replies.
 */
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "session/member.h"
#include "session/session.h"

/*
 * May a caller know that a session exists? A session that was created with CAP_PERFMON may
 * have recorded other users. So its owner's programs without that capability must not see it.
 */
bool at_session_visible(const struct at_session *s, const struct at_caller *caller)
{
	return caller->privileged || (!s->owner.privileged && at_caller_is(caller, &s->owner));
}

/*
 * Add up over a session's members and rings. Holds no lock, because there may be many
 * providers.
 */
struct at_session_sums at_session_sum(struct at_session *s)
{
	/* Pairs with the store-release in at_session_init(). */
	struct at_ksched *ks = smp_load_acquire(&s->ks);
	const struct at_ended ended = at_ended_read(s);
	struct at_session_sums sums = { .nr_ended = ended.providers, .nr_late = ended.late };
	struct at_member *m = NULL;

	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r = at_member_rings(m);
		u32 i;

		sums.nr_late += READ_ONCE(m->late);
		for (i = 0; r && i < r->nr; i++)
			sums.refused += READ_ONCE(r->ring[i].refused);
		if (r)
			sums.pages += atomic_long_read(&r->nr_pages);
		at_rings_put(r);
		cond_resched();
	}
	if (ks)
		sums.pages += at_ksched_pages(ks);
	return sums;
}

/*
 * Fill in a ring's ledger. Records that a start has cleared count as cleared, even if the reader
 * has not noticed the start yet.
 */
static void at_cursor_stats(struct at_session *s, const struct at_cursor *c,
			    const struct at_source *src, const struct at_clear *clear,
			    struct at_ring_stats *st)
{
	struct at_cursor now;

	spin_lock(&s->clear_lock);
	now = *c;
	at_cursor_clear(&now, src, clear);
	spin_unlock(&s->clear_lock);
	st->committed = at_cursor_committed(&now, st->committed);
	st->delivered = now.delivered;
	st->overwritten = now.overwritten;
	st->cleared = now.cleared;
}

static void at_kring_stats(struct at_session *s, struct at_kring *r, u32 cpu, u32 kind,
			   struct at_ring_stats *st)
{
	const struct at_cursor *c = &r->reading.cursor;
	struct at_source src;
	u64 pos;

	at_kring_source(r, &src);
	st->provider = 0;
	st->ring = cpu;
	st->kind = kind;
	st->committed = at_source_now(&src, &pos);
	/*
	 * During a snapshot, the consumer's cursor of a ring of events is in .kept. A snapshot does
	 * not replace the cursors of rings of names, because names are read into a table.
	 */
	if (s->snapshot && kind == ASYNCTRACE_RING_KIND_SCHED)
		c = &r->kept.cursor;
	at_cursor_stats(s, c, &src, &r->clear, st);
	st->dropped = READ_ONCE(r->dropped);
	st->pages = at_kring_pages(r);
}

/* Returns ring @n of the kernel's rings, two for each CPU; NULL if it has not been used. */
static struct at_kring *at_session_kring(struct at_session *s, u32 n)
{
	/* Pairs with the store-release in at_session_init(). */
	struct at_ksched *ks = smp_load_acquire(&s->ks);
	struct at_kcpu *kc;
	struct at_kring *r;

	if (!ks || !cpu_possible(n / 2))
		return NULL;
	kc = per_cpu_ptr(ks->cpu, n / 2);
	r = n & 1 ? &kc->names : &kc->events;
	return READ_ONCE(r->data) || READ_ONCE(r->dropped) ? r : NULL;
}

/* Walk the kernel's rings, two for each CPU. Returns true if @fn has stopped the walk. */
static bool at_session_krings(struct at_session *s, u32 *at,
			      int (*fn)(const struct at_ring_stats *st, void *arg), void *arg)
{
	struct at_ring_stats st;

	for (; *at < 2 * nr_cpu_ids; ++*at) {
		struct at_kring *r = at_session_kring(s, *at);

		if (!r)
			continue;
		at_kring_stats(s, r, *at / 2, *at & 1 ? ASYNCTRACE_RING_KIND_NAMES :
						       ASYNCTRACE_RING_KIND_SCHED, &st);
		if (fn(&st, arg))
			return true;
	}
	return false;
}

/* Fill in the ledger of a provider's ring. Returns false if the ring has not been used. */
static bool at_uring_stats(struct at_member *m, struct at_rings *r, u32 i,
			   struct at_ring_stats *st)
{
	const struct at_uring *ring = &r->ring[i];

	at_member_ledger(m, r, i, m->session->snapshot ? &ring->kept.cursor : &ring->reading.cursor,
			 st);
	st->pages = atomic_read(&ring->nr_pages);
	return st->committed || st->delivered || st->dropped;
}

/* Walk a provider's rings from @i on. Returns the ring at which @fn stopped, or U32_MAX. */
static u32 at_member_urings(struct at_member *m, u32 i,
			    int (*fn)(const struct at_ring_stats *st, void *arg), void *arg)
{
	struct at_rings *r = at_member_rings(m);
	u32 nr = r ? r->nr : 0;
	struct at_ring_stats st;

	for (; i < nr; i++)
		if (at_uring_stats(m, r, i, &st) && fn(&st, arg))
			break;
	at_rings_put(r);
	return i < nr ? i : U32_MAX;
}

/* Continue the walk over members' rings. Returns true if @fn has stopped it. */
static bool at_session_urings(struct at_session *s, struct at_ring_walk *at,
			      int (*fn)(const struct at_ring_stats *st, void *arg), void *arg)
{
	struct at_member *m = NULL;
	bool enough = false;

	while (!enough && (m = at_session_next_member(s, m))) {
		if (m->number > at->member)
			*at = (struct at_ring_walk){ .member = m->number };
		if (m->number == at->member) {
			at->ring = at_member_urings(m, at->ring, fn, arg);
			enough = at->ring != U32_MAX;
		}
		cond_resched();
	}
	at_member_put(m);
	return enough;
}

/* Call @fn for the sums over rings that have been freed. */
static void at_ended_stats(struct at_session *s, struct at_ring_walk *at,
			   int (*fn)(const struct at_ring_stats *st, void *arg), void *arg)
{
	const struct at_ended ended = at_ended_read(s);
	const struct at_ring_stats st = {
		.kind = ASYNCTRACE_RING_KIND_ENDED,
		.committed = ended.committed,
		.delivered = ended.delivered,
		.overwritten = ended.overwritten,
		.cleared = ended.cleared,
		.dropped = ended.dropped,
	};

	at->ring = ended.providers && fn(&st, arg) ? 0 : U32_MAX;
}

/*
 * Returns the number of ended providers whose counts are in the session's sums, modulo 2^32. It
 * changes whenever counts move from a provider's own rings to the sums.
 */
u32 at_session_nr_ended(struct at_session *s)
{
	return at_ended_read(s).providers;
}

/**
 * at_session_rings - walk the ledgers of a session's rings
 * @s: the session, with a reference; no lock is held
 * @at: in: where to begin; out: where to continue
 * @fn: called for each ring that has been used, until it returns nonzero
 * @arg: for @fn
 *
 * The order is: the kernel's rings, two for each CPU; each provider's rings; the sums over
 * ended providers. If a provider ends during the walk, its rings may be reported twice: on
 * their own and in the sums. at_session_nr_ended() changes then.
 *
 * Return: 0, or -EINTR if the caller was killed.
 */
int at_session_rings(struct at_session *s, struct at_ring_walk *at,
		     int (*fn)(const struct at_ring_stats *st, void *arg), void *arg)
{
	/*
	 * A snapshot saves and restores the cursors of the ledgers. It must not begin or end now.
	 */
	if (mutex_lock_killable(&s->request_lock))
		return -EINTR;
	if (!at->member) {
		if (at_session_krings(s, &at->ring, fn, arg))
			goto out;
		*at = (struct at_ring_walk){ .member = 1 };
	}
	if (at->member != U64_MAX) {
		if (at_session_urings(s, at, fn, arg))
			goto out;
		*at = (struct at_ring_walk){ .member = U64_MAX };
	}
	if (!at->ring)
		at_ended_stats(s, at, fn, arg);
out:
	mutex_unlock(&s->request_lock);
	return 0;
}
