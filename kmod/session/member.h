/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider's place in a session.
 */
#ifndef AT_MEMBER_H
#define AT_MEMBER_H

#include <linux/list.h>
#include <linux/types.h>

#include "ring/cursor.h"
#include "ring/share.h"

struct at_lost;
struct at_names;
struct at_provider;
struct at_range;
struct at_rings;
struct at_session;

/**
 * struct at_member_reading - what a session's reader knows of a provider
 * @snapped_gone: it had ended when the reader's pass began
 * @info_told: which of the flags the consumer knows; ~0: nothing yet
 * @dropped_told: records dropped on its behalf that the consumer knows of
 * @slots_told: thread slots that the consumer knows
 * @durable_generation: of the names that the consumer was told last
 * @durable_taken: words of the durable ring that it has of these
 * @lost_told: rings in @lost that the consumer knows of
 */
struct at_member_reading {
	bool snapped_gone;
	u32 info_told;
	u64 dropped_told[AT_KRINGS];
	u32 slots_told;
	u32 durable_generation;
	u32 durable_taken;
	u32 lost_told;
};

/**
 * struct at_member - see above; lives as long as the session
 * @node: in the session's list; members are only ever added
 * @session: whose
 * @provider: with a reference
 * @rings: its rings; NULL while it waits for a range, and when it has ended and
 *	all was read. Changed under the session's members_lock
 * @brought: the same while it waits for a range: a member gets all that it needs before
 *	it is one
 * @range: where they appear; NULL before, and when they have been taken out
 * @bytes: that its rings stand for, also those that it may still get; 0: it has none any
 *	more. Changed under the session's members_lock
 * @lost: what is left of its rings when others needed the memory, or NULL
 * @ledger: room for that, in a circular session
 * @late: it joined after the session was started
 * @gone: the provider has ended, or a privileged session has taken it away
 * @done: it is gone, and all of it was read or is lost: the provider's contents may go
 * @clearing: enum asynctrace_disposition of a start that is still clearing what its
 *	rings hold: the gate stays shut; 0: none
 * @sharer: its share of the kernel's rings; no accounts where there are none
 * @tasks: entries of its tasks; under at_tasks_lock
 * @missing: of its threads, those that had no entry when they were looked for last, or
 *	when they were made since; under the lock of @tasks
 * @pool_round: of the pool of entries for tasks, in which @pool_taken were taken; both
 *	under the lock of that
 * @pool_taken: entries for its new threads
 * @reading: what the session's reader knows of it
 * @kept: the same of the session's consumer, while a snapshot is read
 * @of_provider: in the provider's list
 * @names: what the durable ring held when the provider had to intern its names anew
 *	for another session; NULL: the ring is as it was
 * @slots_end: the last thread slot that there was when the provider left the session
 */
struct at_member {
	struct list_head node;
	struct at_session *session;
	struct at_provider *provider;
	struct at_rings *rings;
	struct at_rings *brought;
	struct at_range *range;
	u64 bytes;
	struct at_lost *lost;
	struct at_lost *ledger;
	bool late;
	bool gone;
	bool done;
	u32 clearing;
	struct at_sharer sharer;
	struct hlist_head tasks;
	u32 missing;
	u32 pool_round;
	u32 pool_taken;
	struct at_member_reading reading;
	struct at_member_reading kept;
	struct list_head of_provider;
	struct at_names *names;
	u32 slots_end;
};

/**
 * struct at_lost - the ledgers of rings that are no more
 * @nr: of them
 * @ring: each that was used
 * @ring.index: of it
 * @ring.fallback: it was the fallback ring
 * @ring.committed: records published
 * @ring.cleared: of them, cleared by later starts
 * @ring.dropped: records that found no room
 * @ring.cursor: what of it has been taken
 */
struct at_lost {
	u32 nr;
	struct {
		u32 index;
		bool fallback;
		u64 committed;
		u64 cleared;
		u64 dropped;
		struct at_cursor cursor;
	} ring[];
};

/* The session's reader has been told nothing about it. */
static inline void at_member_unread(struct at_member *m)
{
	m->reading = (struct at_member_reading){ .info_told = ~0 };
}

/* Has it been told who that is? What the provider has comes after that. */
static inline bool at_member_introduced(const struct at_member *m)
{
	return m->reading.info_told != ~0;
}

struct at_member *at_member_new(const struct at_session *s);
void at_member_drop(struct at_member *m);
void at_member_add(struct at_member *m, struct at_session *s, struct at_provider *p, bool late);
void at_member_retry(struct at_provider *p);
void at_member_start(struct at_member *m, u32 generation);
void at_member_update(struct at_member *m, u32 generation);
void at_member_stop(struct at_member *m);
void at_member_leave(struct at_member *m);
void at_member_free(struct at_member *m);
struct at_rings *at_member_rings(struct at_member *m);
struct at_rings *at_member_hold(struct at_member *m);
void at_member_unhold(struct at_member *m, struct at_rings *rings);
void at_member_done(struct at_member *m);
void at_member_lose(struct at_member *m);

#endif /* AT_MEMBER_H */
