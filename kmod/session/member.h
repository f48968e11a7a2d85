/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Membership of a provider in a session
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
struct at_user_sum;

/**
 * struct at_member_reading - what the session's reader has reported of a provider
 * @snapped_gone: the provider was gone when the reader's pass began
 * @info_told: flags last reported; ~0: the provider has not been reported, and will not be if
 *	the member is done
 * @dropped_told: records dropped on behalf of the provider, as last reported
 * @slots_told: last thread slot reported
 * @slots_to: last thread slot that this pass reports: records up to the noted positions use none
 *	behind it
 * @durable_generation: generation of the names last reported
 * @durable_taken: words of names of that generation that were reported
 */
struct at_member_reading {
	bool snapped_gone;
	u32 info_told;
	u64 dropped_told[AT_KRINGS];
	u32 slots_told;
	u32 slots_to;
	u32 durable_generation;
	u32 durable_taken;
};

/**
 * struct at_member - a provider in a session; ended.h explains when a member is removed
 * @ref: references: the session, until the member is removed, and walkers that stand on
 *	the member
 * @node: in the session's list while there is a reference, so that a walker can go on
 *	from its current member
 * @number: from 1 on, in the order of the list
 * @session: the session
 * @provider: the provider, with a reference
 * @rings: the member's rings; NULL while the member waits for a range, and when it is
 *	done. Changed under the session's members_lock
 * @brought: rings that were allocated before the member was added, while the member waits
 *	for a range
 * @range: range of the provider's mapping that contains @rings; NULL before the member has got
 *	one, and after @rings have been taken out of it
 * @bytes: size of the member's rings, counted even while it waits for a range; 0: the
 *	member is done. Changed under the session's members_lock
 * @late: the provider joined after the session was started
 * @joining: a late join is in progress: the gate is opened when the threads are traced
 * @gone: the provider has ended, or a privileged session has taken it away
 * @done: the member is gone, and its rings have been freed, so that the provider's
 *	contents may be freed. Changed under the session's members_lock
 * @removed: walkers skip the member, see at_session_next_member(); under the session's
 *	members_lock
 * @generation: last value of the provider's gate; 0: the gate was never opened
 * @clearing: enum asynctrace_disposition of a start that is still clearing @rings, so
 *	that the gate stays shut; 0: none
 * @sharer: share of the kernel's rings; without accounts if the session has none
 * @tasks: entries of traced tasks; under at_tasks_lock
 * @left: the member has left the session and gets no more entries; under at_tasks_lock
 * @leaving: @leave_work is taking out @tasks, and has moved some of them to its local list;
 *	under at_tasks_lock
 * @lost_live: an entry of a task that was not exiting was taken out; under at_tasks_lock
 * @leave_work: takes out @tasks after the member has left; holds references to the member
 *	and the session
 * @again: the process may have threads without an entry that a later look can add
 * @looks: number of looks for threads; under at_tasks_lock
 * @looked: number of the look that @missing is from; under at_tasks_lock
 * @missing: threads without an entry: those found by the last look, and those forked
 *	since; under at_tasks_lock
 * @pool_round: round of the pool of task entries that @pool_taken refers to; under
 *	at_tasks_lock
 * @pool_taken: entries that the member took from the pool in @pool_round; under
 *	at_tasks_lock
 * @reading: progress of the session's reader
 * @kept: @reading of the session's consumer, while a snapshot is read
 * @of_provider: in the provider's list until the member is removed; under at_lock
 * @ended_node: in at_session.gone or at_session.finished
 * @user: sums of the user who answers for the provider; an unused structure before the member is
 *	added; NULL: the member is done. Changed under the session's members_lock
 * @user_node: in @user->gone; under the session's members_lock
 * @dropped: records dropped on behalf of the member's tasks, as already added to the
 *	session's sums
 * @quiet: the member has left and has no task any more, and @grace began after that;
 *	under at_lock
 * @grace: cookie of an RCU grace period, see @quiet
 * @free_work: frees the member
 * @names: copy of the names, made when the provider cleared them for another session;
 *	NULL: the durable ring has the names
 * @slots_end: last thread slot that existed when the provider left the session
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
	u32 generation;
	u32 clearing;
	struct at_sharer sharer;
	struct hlist_head tasks;
	bool left;
	bool leaving;
	bool lost_live;
	struct work_struct leave_work;
	bool again;
	u32 looks;
	u32 looked;
	u32 missing;
	u32 pool_round;
	u32 pool_taken;
	struct at_member_reading reading;
	struct at_member_reading kept;
	struct list_head of_provider;
	struct list_head ended_node;
	struct at_user_sum *user;
	struct list_head user_node;
	u64 dropped[AT_KRINGS];
	bool quiet;
	unsigned long grace;
	struct work_struct free_work;
	struct at_names *names;
	u32 slots_end;
};

/* Make the session's next reader report the member from the beginning. */
static inline void at_member_unread(struct at_member *m)
{
	m->reading = (struct at_member_reading){ .info_told = ~0 };
}

/* Does the consumer know the provider? Threads, names and records are reported after that. */
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
struct at_rings *at_member_rings(struct at_member *m);
struct at_rings *at_member_hold(struct at_member *m);
void at_member_unhold(struct at_member *m, struct at_rings *rings);

#endif /* AT_MEMBER_H */
