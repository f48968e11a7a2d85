/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ended providers of a session.
 *
 * A member is removed in two steps:
 *
 * 1. at_member_done(), at_member_lose() or at_member_gone() frees its rings, after they have been
 *    read or if nothing will read them, and adds their ledgers to the session's sums. From then
 *    on the provider's contents may be freed.
 * 2. A worker removes the member itself. It waits until the provider has ended and has no traced
 *    task, and until the session's consumer, if any, has got the final flags and counts.
 *
 * Until step 1 a member counts against the memory limit of the session, and a reader can delay
 * step 2 only for members that have passed step 1. So this limit and the number of live
 * providers bound the number of members.
 */
#ifndef AT_ENDED_H
#define AT_ENDED_H

#include <linux/limits.h>
#include <linux/types.h>

struct at_cursor;
struct at_member;
struct at_ring_stats;
struct at_rings;
struct at_session;

/**
 * struct at_ended - sums over members whose rings have been freed
 * @providers: number of such members
 * @late: number of those that joined late and have been removed
 * @committed: records published
 * @delivered: records delivered to a consumer
 * @overwritten: records lost to wrapping, or freed unread
 * @cleared: records cleared by a later start
 * @dropped: records that found no room
 * @sched_dropped: scheduling records dropped on behalf of the members' tasks
 * @names_dropped: names dropped on behalf of the members' tasks
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

/* Add counts. The sum does not wrap, because a provider that claims a huge count may lie. */
static inline u64 at_count_add(u64 a, u64 b)
{
	return a + b < a ? U64_MAX : a + b;
}

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
