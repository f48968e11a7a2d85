/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: what is recorded, of whom, into how much memory.
 */
#ifndef AT_SESSION_H
#define AT_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "control/control.h"
#include "ring/geometry.h"
#include "session/ended.h"

struct at_buffers;
struct at_charge;
struct at_clock_log;
struct at_filter;
struct at_ksched;
struct at_member;
struct at_task_names;

/* What the consumer is told next; in this order, over and over. */
enum at_phase {
	AT_PHASE_BEGIN,
	AT_PHASE_PROVIDERS,
	AT_PHASE_THREADS,
	AT_PHASE_STRINGS,
	AT_PHASE_NAMES,
	AT_PHASE_EVENTS,
	AT_PHASE_SCHED,
	AT_PHASE_END,
};

/**
 * struct at_reader - where the consumer is; under the session's read_lock
 * @phase: of the pass
 * @member: in the phases that go over members, with a reference; NULL: at the beginning
 * @ring: in those that go over rings
 * @chunks: taken of that ring in this pass
 * @next: that member, or ring, has had its turn in this pass
 * @ended: the sums over providers that had ended before have been told
 * @clock: pairs told
 * @told: chunks in this pass
 * @run: the session's run when this pass began
 * @final: the session was not started then
 * @done: of a snapshot, it has been told
 * @names_to: change of the table of names up to which the pass tells them
 * @names_told: change up to which they were told
 * @names: that were told
 * @names_lost: names lost, as told
 * @names_last: the run that the consumer knows the names to be done with
 */
struct at_reader {
	enum at_phase phase;
	struct at_member *member;
	u32 ring;
	u32 chunks;
	bool next;
	bool ended;
	u64 clock;
	u32 told;
	u32 run;
	bool final;
	bool done;
	unsigned long names_to;
	unsigned long names_told;
	u64 names;
	u64 names_lost;
	u32 names_last;
};

/**
 * struct at_session - see above. What is not said otherwise is constant, or
 * changes under at_lock.
 * @request_lock: one request at a time changes the session. at_lock is let go meanwhile: providers
 *	may join, and leave, but @state, @consumer, @snapshot and the lists stay as they are
 * @ref: held by the list, the consumer, queued work
 * @node: in the list of sessions
 * @id: never used again
 * @name: unique among those of its owner
 * @state: enum asynctrace_session_state
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @geometry: of each of the kernel's rings, and of providers' where nothing else is said
 * @sub_size: bytes of a sub-buffer that were asked for; 0: chosen by the ring's size
 * @buffers: ring sizes of some providers, may be NULL
 * @owner: who made it: what that may see is recorded, ids of users are told as it
 *	calls them; with a reference of its user namespace
 * @charge: the accounts that it is charged to
 * @pid_ns: of the owner, to tell thread and process ids in
 * @sk: the owner's socket, with a reference; NULL where it is detached or terminated
 * @portid: its port
 * @memcg: what the rings are charged to
 * @categories: wanted
 * @additional: likewise, in the present or the last run only
 * @providers: patterns of the names wanted
 * @filter: which processes besides, may be NULL
 * @run: generation that the present or the last run was started with
 * @generation: that it has now
 * @clock: enum asynctrace_clock
 * @clock_log: pairs
 * @ks: scheduling side; NULL: none
 * @names: of its tasks, where nobody may be reading; NULL: in @ks' rings only
 * @members_lock: for changing and walking @members
 * @members: providers in it, also those that have ended and have not been removed
 * @nr_members: members that there have ever been
 * @nr_holding: members that are not done
 * @holding: bytes that these stand for
 * @gone: members that are gone and not done
 * @finished: members that are done and not removed
 * @ended: sums over members that are done
 * @unread: a consumer has gone, and @gone is to be looked at; under at_lock
 * @ended_work: removes members, with a reference on the session
 * @initializing: somebody is getting what it needs for that, without a lock
 * @stopping: its providers are being stopped, or taken out, one after the other: no other
 *	joins meanwhile
 * @beginning: a start is noting what it clears: members that get their rings meanwhile are
 *	opened by that start
 * @nr_refused: providers that did not fit the memory limit, or got no memory, when it
 *	was initialized or started last, or since
 * @clearing: a start is still clearing the kernel's rings
 * @clear_lock: for what the reader has taken of rings, and what has been cleared
 * @quiesce: for the writers of the last run to leave
 * @quiescing: that is under way
 * @again: and there was another run meanwhile
 * @consumer: somebody reads it
 * @was_read: somebody has read it, but for snapshots
 * @snapshot: and that is a snapshot
 * @read_lock: one read at a time
 * @reader: see above
 * @kept: that of the consumer, while a snapshot is read
 * @wait: for something to read
 * @readable: there may be something
 * @free_work: frees it
 * @poll: looks at the rings on behalf of sleeping consumers
 * @poll_period: of it, jiffies
 * @pair_due: when the next clock pair is to be made, jiffies
 */
struct at_session {
	struct kref ref;
	struct mutex request_lock;	/* requests that change it */
	struct list_head node;
	u32 id;
	char name[ASYNCTRACE_NAME_MAX + 1];
	u32 state;
	u32 mode;
	u32 sched;
	u32 flags;
	struct at_geometry geometry;
	u64 sub_size;
	struct at_buffers *buffers;
	struct at_caller owner;
	struct at_charge *charge;
	struct pid_namespace *pid_ns;
	struct sock *sk;
	u32 portid;
	struct mem_cgroup *memcg;
	struct at_strings *categories;
	struct at_strings *additional;
	struct at_strings *providers;
	struct at_filter *filter;
	u32 run;
	u32 generation;
	u32 clock;
	struct at_clock_log *clock_log;
	struct at_ksched *ks;
	struct at_task_names *names;
	spinlock_t members_lock;	/* from @members to @ended */
	struct list_head members;
	u64 nr_members;
	u32 nr_holding;
	u64 holding;
	struct list_head gone;
	struct list_head finished;
	struct at_ended ended;
	bool unread;
	struct delayed_work ended_work;
	bool initializing;
	bool stopping;
	bool beginning;
	u32 nr_refused;
	bool clearing;
	spinlock_t clear_lock;		/* the rings' cursors, as far as said there */
	struct at_quiesce quiesce;
	bool quiescing;
	bool again;
	bool consumer;
	bool was_read;
	bool snapshot;
	struct mutex read_lock;		/* @reader, and the rings' cursors */
	struct at_reader reader;
	struct at_reader kept;
	wait_queue_head_t wait;
	bool readable;
	struct work_struct free_work;
	struct delayed_work poll;
	unsigned long poll_period;
	unsigned long pair_due;
};

/* Does it record: are gates of providers that come to be opened? With at_lock held. */
static inline bool at_session_runs(const struct at_session *s)
{
	return s->state == ASYNCTRACE_SESSION_STATE_STARTED && !s->stopping;
}

extern struct list_head at_sessions;

u32 at_next_generation(void);
void at_session_get(struct at_session *s);
void at_session_put(struct at_session *s);
bool at_session_wants(const struct at_session *s, const struct at_provider *p);
bool at_session_visible(const struct at_session *s, const struct at_caller *caller);
struct at_session *at_session_consume(u32 id, bool snapshot);
void at_session_unconsume(struct at_session *s);
struct at_member *at_session_next_member(struct at_session *s, struct at_member *m);
void at_session_wake(struct at_session *s);
void at_session_poll(struct at_session *s);
int at_sessions_init(void);
void at_sessions_exit(void);

/* requests.c */
int at_session_lock(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_prepare_quiesce(struct at_session *s);
void at_session_terminate_anyway(struct at_session *s);

/* reader.c */
void at_reader_reset(struct at_session *s);
ssize_t at_session_read(struct at_session *s, char __user *buf, size_t count,
			bool nonblock);

#endif /* AT_SESSION_H */
