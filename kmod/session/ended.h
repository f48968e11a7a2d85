/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session remembers of providers that have ended.
 *
 * A member goes in two steps.
 *
 * 1. at_member_done() or at_member_lose() frees its rings, when they have been read or
 *    when nobody is going to read them, and adds their ledgers to the session's sums. The
 *    provider's contents may be freed from then on.
 * 2. A worker removes the member itself when the provider has ended, no task of it is
 *    traced any more, and the session's consumer, if there is one, has been told its
 *    final flags and counts.
 *
 * Until step 1 a member is on the account of the session's memory, and no reader can
 * delay step 2 for more members than have passed step 1. So the number of members is
 * bounded by that account and by the number of providers that live.
 */
#ifndef AT_ENDED_H
#define AT_ENDED_H

#include <linux/types.h>

struct at_cursor;
struct at_member;
struct at_ring_stats;
struct at_rings;
struct at_session;

/**
 * struct at_ended - sums over members whose rings have been freed
 * @providers: such members
 * @late: of them, those that joined late and have been removed
 * @committed: records published
 * @delivered: of them, handed to a consumer
 * @overwritten: of them, lost to wrapping, or freed unread
 * @cleared: of them, cleared by a later start
 * @dropped: records that found no room
 * @sched_dropped: scheduling records dropped on behalf of their tasks
 * @names_dropped: names, likewise
 */
struct at_ended {
	u64 providers;
	u64 late;
	u64 committed;
	u64 delivered;
	u64 overwritten;
	u64 cleared;
	u64 dropped;
	u64 sched_dropped;
	u64 names_dropped;
};

void at_ended_init(struct at_session *s);
void at_ended_soon(struct at_session *s);
void at_ended_unconsumed(struct at_session *s);
struct at_ended at_ended_read(struct at_session *s);

void at_member_ledger(struct at_member *m, struct at_rings *r, u32 i,
		      const struct at_cursor *c, struct at_ring_stats *st);
void at_member_gone(struct at_member *m);
void at_member_done(struct at_member *m);
void at_member_lose(struct at_member *m);

#endif /* AT_ENDED_H */
