// SPDX-License-Identifier: GPL-2.0
/*
 * Clearing at a start: discards records of the session's earlier runs.
 *
 * Only writers advance a ring's position. So a start clears a ring by noting its position, and the
 * reader continues from there at its next look. The start must not wait for the reader, which holds
 * read_lock while it touches user memory. The noted positions have a lock of their own, clear_lock.
 *
 * A thread may still be in a critical section that it entered before the last stop. It
 * may publish its record at any time until its CPU has switched tasks. This record must
 * be cleared, but records of the new run must not. So if writers may not have left a ring
 * yet, its gate is opened only after they have left. The start does not wait for that.
 * Until then sites find the gate shut.
 *
 * While the gate is shut, the ring has only records from before the start, whenever they
 * were published. The reader must skip them. So the reader notes the ring's position
 * itself at each look. The session may be stopped again while a ring is still being
 * cleared; the reader then reports the ring's ledger as final.
 */
#include <linux/spinlock.h>

#include "base/race.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "session/clear.h"
#include "session/member.h"
#include "session/session.h"

/* Is the member's gate open? */
static bool at_member_is_open(const struct at_member *m)
{
	return m->provider->member == m &&
	       READ_ONCE(m->provider->control->gate) != ASYNCTRACE_GATE_OFF;
}

/* Clear a ring up to position @pos. With the session's clear_lock held. */
static void at_clear_note(struct at_clear *clear, const struct at_source *src, u64 pos)
{
	u64 linear = at_pos_linear(pos, src->fallback);

	/* A faulty provider may have moved its position backwards: keep the mark. */
	if (linear <= clear->taken)
		return;
	clear->records = at_source_committed(src, pos);
	WRITE_ONCE(clear->taken, linear);
}

/* Must all records in the ring be cleared? With the session's clear_lock held. */
static bool at_clear_pending(const struct at_clear *clear)
{
	return clear->pending && at_fixed(AT_FIX_CLEARING);
}

/**
 * at_clear_apply - move a cursor behind the cleared part of a ring
 * @s: the session
 * @c: a cursor of the ring
 * @src: the ring
 * @clear: the ring's clear mark
 *
 * Return: true if there may be something to read; false: the ring is still being cleared.
 */
bool at_clear_apply(struct at_session *s, struct at_cursor *c, const struct at_source *src,
		    struct at_clear *clear)
{
	bool pending;

	spin_lock(&s->clear_lock);
	pending = at_clear_pending(clear);
	if (pending)
		at_clear_note(clear, src, src->position(src->arg));
	at_cursor_clear(c, src, clear);
	spin_unlock(&s->clear_lock);
	return !pending;
}

/**
 * at_clear_take - move the cursor behind words that were copied
 * @s: the session
 * @c: the reader's cursor, after at_clear_apply()
 * @clear: the ring's clear mark
 * @next: the cursor behind the words
 *
 * Return: true on success; false: the words have been cleared meanwhile.
 */
bool at_clear_take(struct at_session *s, struct at_cursor *c, const struct at_clear *clear,
		   const struct at_cursor *next)
{
	bool valid;

	spin_lock(&s->clear_lock);
	valid = !at_clear_pending(clear) && clear->taken <= c->taken;
	if (valid)
		*c = *next;
	spin_unlock(&s->clear_lock);
	return valid;
}

/*
 * Set the limit of writers in a ring that is not circular. Writers may reuse words that have been
 * read or cleared. A reader that is copying words while a start clears them learns this from
 * at_clear_take().
 */
static void at_limit_uring(const struct at_range *range, const struct at_rings *r,
			   struct at_uring *ring)
{
	u64 *limit = &at_range_limits(range)[ring->index];
	u64 taken = max(ring->reading.cursor.taken, ring->clear.taken);

	/*
	 * Pairs with the load-acquire of the limit in libasynctrace: writers reuse words
	 * only after they were read.
	 */
	smp_store_release(limit, at_ring_limit(&r->geometry, taken, ring->index == r->nr - 1));
	/*
	 * Pairs with the barrier in at_refuse(), which sets @refused before it sets the limit
	 * to 0. If the store above overwrote that 0, the load below sees @refused set.
	 */
	smp_mb();
	if (READ_ONCE(ring->refused))
		WRITE_ONCE(*limit, 0);
}

void at_clear_limit_uring(struct at_member *m, const struct at_range *range,
			  struct at_rings *r, u32 i)
{
	spin_lock(&m->session->clear_lock);
	at_limit_uring(range, r, &r->ring[i]);
	spin_unlock(&m->session->clear_lock);
}

static void at_limit_kring(struct at_kring *r)
{
	u64 taken = max(r->reading.cursor.taken, r->clear.taken);

	/* Pairs with the load-acquire in at_kring_limit(): writers reuse words that were read. */
	smp_store_release(&r->limit, at_ring_limit(&r->geometry, taken, false));
}

void at_clear_limit_kring(struct at_session *s, struct at_kring *r)
{
	spin_lock(&s->clear_lock);
	at_limit_kring(r);
	spin_unlock(&s->clear_lock);
}

/*
 * Clear the rings @r of a member whose gate is shut. @pending: the gate stays shut, and
 * the rings are still being cleared.
 */
static void at_clear_member(struct at_member *m, struct at_rings *r, bool pending)
{
	struct at_session *s = m->session;
	u32 i;

	/* In the fallback ring, a thread with the old tag can no longer publish. */
	at_rings_tag(r, s->run);
	for (i = 0; i < r->nr; i++) {
		struct at_uring *ring = &r->ring[i];
		struct at_source src;

		at_rings_source(r, i, &src);
		spin_lock(&s->clear_lock);
		/* Include untouched rings: a late writer may be the first to touch one. */
		ring->clear.pending = pending;
		if (READ_ONCE(ring->touched)) {
			at_clear_note(&ring->clear, &src, at_rings_position(r, i));
			if (m->range && !r->geometry.circular)
				at_limit_uring(m->range, r, ring);
		}
		spin_unlock(&s->clear_lock);
	}
}

static void at_clear_kernel(struct at_session *s, bool pending)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct at_kcpu *kc = per_cpu_ptr(s->ks->cpu, cpu);
		struct at_source src;

		at_kring_source(&kc->events, &src);
		spin_lock(&s->clear_lock);
		kc->events.clear.pending = pending;
		at_clear_note(&kc->events.clear, &src, at_kring_position(&kc->events));
		if (!kc->events.geometry.circular)
			at_limit_kring(&kc->events);
		spin_unlock(&s->clear_lock);
	}
}

/**
 * at_clear_begin - clear the records of earlier runs
 * @s: a session, its request_lock held. All gates are shut except those of providers that
 *	joined the run that begins, @s->run
 * @disposition: enum asynctrace_disposition
 *
 * Sets @clearing of members whose gates must stay shut until at_clear_finish(), and
 * @clearing of the session for the kernel's rings. Until then the reader skips these
 * rings. May drop at_lock.
 */
void at_clear_begin(struct at_session *s, u32 disposition)
{
	struct at_member *m = NULL;

	lockdep_assert_held(&at_lock);
	if (disposition == ASYNCTRACE_DISPOSITION_RETAIN)
		return;
	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r;

		at_pause();
		/* The member joined after the run began: all its records are from this run. */
		if (at_member_is_open(m))
			continue;
		r = at_member_rings(m);
		/* Rings whose gate was never open have no records. */
		if (r && r->opened) {
			at_clear_member(m, r, true);
			if (!m->clearing || disposition < m->clearing)
				m->clearing = disposition;
		} else if (disposition == ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE &&
			 m->provider->member == m)
			at_provider_clear_names(m->provider);
		at_rings_put(r);
	}
	if (s->ks && s->ks->listed) {
		at_clear_kernel(s, true);
		s->clearing = true;
	}
}

/**
 * at_clear_finish - clear the records published since at_clear_begin()
 * @s: a session that writers of earlier runs have left, its request_lock held
 *
 * The caller may open the gates that were waiting for this. May drop at_lock.
 */
void at_clear_finish(struct at_session *s)
{
	struct at_member *m = NULL;

	lockdep_assert_held(&at_lock);
	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r = m->clearing ? at_member_rings(m) : NULL;

		if (r)
			at_clear_member(m, r, false);
		at_rings_put(r);
		/*
		 * Clear the names after the records that use them, so that the reader
		 * never finds records without names.
		 */
		if (m->clearing == ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE && m->provider->member == m)
			at_provider_clear_names(m->provider);
		m->clearing = 0;
		at_pause();
	}
	if (s->clearing)
		at_clear_kernel(s, false);
	s->clearing = false;
}
