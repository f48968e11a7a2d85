/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider's place in a session.
 */
#ifndef AT_MEMBER_H
#define AT_MEMBER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "ring/cursor.h"
#include "ring/share.h"

struct at_names;
struct at_provider;
struct at_range;
struct at_rings;
struct at_session;

/**
 * struct at_member_reading - what a session's reader knows of a provider
 * @snapped_gone: it had ended when the reader's pass began
 * @info_told: which of the flags the consumer knows; ~0: nothing yet, or the member was done
 *	before the consumer came
 * @dropped_told: records dropped on its behalf that the consumer knows of
 * @slots_told: thread slots that the consumer knows
 * @durable_generation: of the names that the consumer was told last
 * @durable_taken: words of the durable ring that it has of these
 */
struct at_member_reading {
	bool snapped_gone;
	u32 info_told;
	u64 dropped_told[AT_KRINGS];
	u32 slots_told;
	u32 durable_generation;
	u32 durable_taken;
};

/**
 * struct at_member - see above; ended.h says when it goes
 * @ref: held by the session until the member is removed, and by each walker that stands
 *	on the member
 * @node: in the session's list, at least as long as anybody has a reference: so a walker
 *	finds the next member from the one that it stands on
 * @number: members are numbered from 1 on in the order of the list
 * @session: whose
 * @provider: with a reference
 * @rings: its rings; NULL while it waits for a range, and when it is done.
 *	Changed under the session's members_lock
 * @brought: the same while it waits for a range: a member gets all that it needs before
 *	it is one
 * @range: where they appear; NULL before, and when they have been taken out
 * @bytes: that its rings stand for, also those that it may still get; 0: it is done.
 *	Changed under the session's members_lock
 * @late: it joined after the session was started
 * @joining: so it does at this moment: its gate is opened when its threads are traced
 * @gone: the provider has ended, or a privileged session has taken it away
 * @done: it is gone, and its rings have been freed: the provider's contents may go.
 *	Changed under the session's members_lock
 * @removed: walkers skip it, see at_session_next_member(); under the session's members_lock
 * @clearing: enum asynctrace_disposition of a start that is still clearing what its
 *	rings hold: the gate stays shut; 0: none
 * @sharer: its share of the kernel's rings; no accounts where there are none
 * @tasks: entries of its tasks; under at_tasks_lock
 * @left: it has left the session, and gets no entry any more; under at_tasks_lock
 * @looks: how often its threads were looked for; under at_tasks_lock
 * @looked: which of these looks @missing is of; under at_tasks_lock
 * @missing: of its threads, those that had no entry when they were looked for last, or
 *	when they were made since; under the lock of @tasks
 * @pool_round: of the pool of entries for tasks, in which @pool_taken were taken; both
 *	under the lock of that
 * @pool_taken: entries for its new threads
 * @reading: what the session's reader knows of it
 * @kept: the same of the session's consumer, while a snapshot is read
 * @of_provider: in the provider's list, until it is removed; under at_lock
 * @ended_node: among the session's members that are gone, or done
 * @dropped: what the session's sums have of records dropped on its tasks' behalf
 * @quiet: it has left and has no task any more, and @grace is a grace period that began
 *	after that; under at_lock
 * @grace: see there
 * @free_work: frees it
 * @names: what the durable ring held when the provider had to intern its names anew
 *	for another session; NULL: the ring is as it was
 * @slots_end: the last thread slot that there was when the provider left the session
 */
struct at_member {
	struct kref ref;
	struct list_head node;
	u64 number;
	struct at_session *session;
	struct at_provider *provider;
	struct at_rings *rings;
	struct at_rings *brought;
	struct at_range *range;
	u64 bytes;
	bool late;
	bool joining;
	bool gone;
	bool done;
	bool removed;
	u32 clearing;
	struct at_sharer sharer;
	struct hlist_head tasks;
	bool left;
	u32 looks;
	u32 looked;
	u32 missing;
	u32 pool_round;
	u32 pool_taken;
	struct at_member_reading reading;
	struct at_member_reading kept;
	struct list_head of_provider;
	struct list_head ended_node;
	u64 dropped[AT_KRINGS];
	bool quiet;
	unsigned long grace;
	struct work_struct free_work;
	struct at_names *names;
	u32 slots_end;
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
void at_member_get(struct at_member *m);
void at_member_put(struct at_member *m);
void at_member_uncount(struct at_member *m);
struct at_rings *at_member_rings(struct at_member *m);
struct at_rings *at_member_hold(struct at_member *m);
void at_member_unhold(struct at_member *m, struct at_rings *rings);

#endif /* AT_MEMBER_H */
