// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots: reading all that a circular session holds, without consuming it.
 *
 * A snapshot saves and resets the reader's state. So it begins with all names and, in each
 * ring, with the oldest sub-buffer. The end of the snapshot restores the state, so that the
 * session's next consumer continues where the previous one stopped.
 *
 * A session has one consumer at a time, which opens and closes the session with request_lock
 * held. So no thread reads the session or its ledgers while the state is saved or restored.
 * Both functions may drop at_lock.
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

	for_each_possible_cpu(cpu) {
		struct at_kring *r = &per_cpu_ptr(ks->cpu, cpu)->events;

		if (begin)
			r->kept = r->reading;
		r->reading = begin ? (struct at_reading){} : r->kept;
	}
}

/* Save the reader's state, and reset it. */
void at_snapshot_begin(struct at_session *s)
{
	struct at_member *m = NULL;

	lockdep_assert_held(&s->request_lock);
	s->snapshot = true;
	/* @kept takes over the reference to the reader's member. */
	s->kept = s->reader;
	memset(&s->reader, 0, sizeof(s->reader));
	while ((m = at_session_next_member(s, m))) {
		m->kept = m->reading;
		at_member_unread(m);
		at_snapshot_rings(m->rings, true);
		at_pause();
	}
	if (s->ks)
		at_snapshot_kernel(s->ks, true);
}

/* Restore the reader's state. */
void at_snapshot_end(struct at_session *s)
{
	struct at_member *m = NULL;

	lockdep_assert_held(&s->request_lock);
	at_reader_reset(s);
	s->reader = s->kept;
	while ((m = at_session_next_member(s, m))) {
		m->reading = m->kept;
		at_snapshot_rings(m->rings, false);
		at_pause();
	}
	if (s->ks)
		at_snapshot_kernel(s->ks, false);
	s->snapshot = false;
}
