// SPDX-License-Identifier: GPL-2.0
/*
 * Reading all that a circular session holds, and taking nothing out.
 *
 * What the reader knows is put aside, so that it begins anew: with all names, and
 * in each ring with the oldest sub-buffer that is there. When the snapshot is over
 * the session's consumer, if it ever gets one, goes on where the last one was.
 *
 * There is one consumer at a time, which comes and goes with the session's lock held: so
 * nobody reads while this is done, nor looks at the ledgers. at_lock is let go now and then.
 */
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "session/member.h"
#include "session/session.h"
#include "session/snapshot.h"

static void at_snapshot_rings(struct at_rings *r, bool begin)
{
	u32 i;

	for (i = 0; r && i < r->nr; i++) {
		struct at_uring *ring = &r->ring[i];

		if (begin)
			ring->kept = ring->reading;
		ring->reading = begin ? (struct at_reading){} : ring->kept;
	}
}

static void at_snapshot_kernel(const struct at_ksched *ks, bool begin)
{
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct at_kcpu *kc = READ_ONCE(ks->cpu[cpu]);
		struct at_kring *r;

		if (!kc)
			continue;
		r = &kc->events;
		if (begin)
			r->kept = r->reading;
		r->reading = begin ? (struct at_reading){} : r->kept;
	}
}

/* The session's next reader begins anew. */
void at_snapshot_begin(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&s->request_lock);
	s->snapshot = true;
	/* The reference of the reader's member goes along. */
	s->kept = s->reader;
	memset(&s->reader, 0, sizeof(s->reader));
	while ((m = at_session_next_member(s, m))) {
		m->kept = m->reading;
		at_member_unread(m);
		at_snapshot_rings(m->rings, true);
		at_turn(&n);
	}
	if (s->ks)
		at_snapshot_kernel(s->ks, true);
}

/* The session's next reader goes on where the last one was. */
void at_snapshot_end(struct at_session *s)
{
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&s->request_lock);
	at_reader_reset(s);
	s->reader = s->kept;
	while ((m = at_session_next_member(s, m))) {
		m->reading = m->kept;
		at_snapshot_rings(m->rings, false);
		at_turn(&n);
	}
	if (s->ks)
		at_snapshot_kernel(s->ks, false);
	s->snapshot = false;
}
