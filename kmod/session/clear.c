// SPDX-License-Identifier: GPL-2.0
/*
 * What a start clears: records of the session's earlier runs.
 *
 * A ring's position only grows, and only its writers move it. So where a ring is
 * to be cleared, it is noted how far it has come; the reader goes on from there at
 * its next look. Nobody waits for the reader, whose lock is held while user memory
 * is touched: what is noted has a lock of its own.
 *
 * A thread may still be in a critical section that it entered before the last
 * stop, and publish its record at any time until its CPU has switched. That one is
 * to be cleared, too, and no record of the new run is. So where writers may not
 * have left yet, the gates to their rings open when they have; the start does not
 * wait for that, and what comes meanwhile finds them shut.
 *
 * Until then all that is in such a ring is of before the start, whenever it was
 * published. The reader gets nothing of it: at each look it notes itself how far the
 * ring has come. So it may find a session stopped again that is still being cleared,
 * and tell that ring's ledger as final.
 */
#include <linux/spinlock.h>

#include "base/race.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "session/clear.h"
#include "session/member.h"
#include "session/session.h"

/* Is its gate open? */
static bool at_member_is_open(const struct at_member *m)
{
	return m->provider->member == m &&
	       READ_ONCE(m->provider->control->gate) != ASYNCTRACE_GATE_OFF;
}

/* With the session's clear_lock held. */
static void at_clear_note(struct at_clear *clear, const struct at_source *src, u64 pos)
{
	u64 linear = at_pos_linear(pos, src->fallback);

	/* A provider may have moved its position backwards. */
	if (linear <= clear->taken)
		return;
	clear->records = at_source_committed(src, pos);
	WRITE_ONCE(clear->taken, linear);
}

/* With the session's clear_lock held: is all that is in the ring to be cleared? */
static bool at_clear_pending(const struct at_clear *clear)
{
	return clear->pending && at_fixed(AT_FIX_CLEARING);
}

/**
 * at_clear_apply - go on from where a ring has been cleared up to
 * @s: the session
 * @c: a place in the ring
 * @src: the ring
 * @clear: what was noted of it
 *
 * Return: whether there may be something to read; false: it is still being cleared.
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
 * at_clear_take - words have been copied: take them
 * @s: the session
 * @c: the reader's place in the ring, at_clear_apply() done
 * @clear: what was noted of it
 * @next: the place behind the words
 *
 * Return: whether they could be; false: they have been cleared meanwhile.
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
 * How far the writers of a ring may go that does not wrap. What is below the limit has been
 * read, or has been cleared: a reader that is still at it finds out.
 */
static void at_limit_uring(const struct at_range *range, const struct at_geometry *g,
			   struct at_uring *ring)
{
	u64 *limit = &at_range_limits(range)[ring->index];
	u64 taken = max(ring->reading.cursor.taken, ring->clear.taken);

	/* Pairs with the load-acquire of the limit in libasynctrace: the words have been read. */
	smp_store_release(limit, at_ring_limit(g, taken));
	/* A fault that refuses a page sets the mark first, and the limit then. */
	smp_mb();
	if (READ_ONCE(ring->refused))
		WRITE_ONCE(*limit, 0);
}

void at_clear_limit_uring(struct at_member *m, const struct at_range *range,
			  struct at_rings *r, u32 i)
{
	spin_lock(&m->session->clear_lock);
	at_limit_uring(range, &r->geometry, &r->ring[i]);
	spin_unlock(&m->session->clear_lock);
}

static void at_limit_kring(struct at_kring *r)
{
	u64 taken = max(r->reading.cursor.taken, r->clear.taken);

	/* Pairs with the load-acquire in at_kring_enter(): words are read. */
	smp_store_release(&r->limit, at_ring_limit(&r->geometry, taken));
}

void at_clear_limit_kring(struct at_session *s, struct at_kring *r)
{
	spin_lock(&s->clear_lock);
	at_limit_kring(r);
	spin_unlock(&s->clear_lock);
}

/* Of a member whose gate is shut, and that has its rings. @pending: and stays so. */
static void at_clear_member(struct at_member *m, struct at_rings *r, bool pending)
{
	struct at_session *s = m->session;
	u32 i;

	/* In the fallback ring this ends who was about to publish. */
	at_rings_tag(r, s->run);
	for (i = 0; i < r->nr; i++) {
		struct at_uring *ring = &r->ring[i];
		struct at_source src;

		at_rings_source(r, i, &src);
		spin_lock(&s->clear_lock);
		/* Of those that nobody has touched, a late writer may be the first to do so. */
		ring->clear.pending = pending;
		if (READ_ONCE(ring->touched)) {
			at_clear_note(&ring->clear, &src, at_rings_position(r, i));
			if (m->range && !r->geometry.circular)
				at_limit_uring(m->range, &r->geometry, ring);
		}
		spin_unlock(&s->clear_lock);
	}
}

static void at_clear_kernel(struct at_session *s, bool pending)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct at_kcpu *kc = READ_ONCE(s->ks->cpu[cpu]);
		struct at_source src;

		if (!kc)
			continue;
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
 * at_clear_begin - clear what there is
 * @s: a session, its lock held; gates are shut but for those of providers that have joined
 *	the run which begins, @s->run
 * @disposition: enum asynctrace_disposition
 *
 * Members whose gates must not be opened before at_clear_finish() have their
 * @clearing set then, and so has the session for the kernel's own rings. Nothing of
 * these is read until then. at_lock is let go now and then.
 */
void at_clear_begin(struct at_session *s, u32 disposition)
{
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	if (disposition == ASYNCTRACE_DISPOSITION_RETAIN)
		return;
	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r;

		at_turn(&n);
		/* It joined since the run began: all of it is of this run. */
		if (at_member_is_open(m))
			continue;
		r = at_member_rings(m);
		/* Nobody ever wrote into a ring that was not open. */
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
 * at_clear_finish - clear what has come since, and will come no more
 * @s: a session that writers of earlier runs have left, its lock held
 *
 * What was waiting for this may be opened then. at_lock is let go now and then.
 */
void at_clear_finish(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	while ((m = at_session_next_member(s, m))) {
		struct at_rings *r = m->clearing ? at_member_rings(m) : NULL;

		if (r)
			at_clear_member(m, r, false);
		at_rings_put(r);
		/* What uses them has been cleared before the reader can find that they changed. */
		if (m->clearing == ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE && m->provider->member == m)
			at_provider_clear_names(m->provider);
		m->clearing = 0;
		at_turn(&n);
	}
	if (s->clearing)
		at_clear_kernel(s, false);
	s->clearing = false;
}
