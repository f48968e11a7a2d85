/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: its settings, its state, its members, and the progress of its reader
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
#include "session/users.h"

struct at_buffers;
struct at_charge;
struct at_clock_log;
struct at_filter;
struct at_ksched;
struct at_member;
struct at_task_names;

/* Phases of the reader's pass, in this order */
enum at_phase {
	AT_PHASE_BEGIN,
	AT_PHASE_CLOCK,
	AT_PHASE_PROVIDERS,
	AT_PHASE_THREADS,
	AT_PHASE_STRINGS,
	AT_PHASE_NAMES_TABLE,
	AT_PHASE_NAMES,
	AT_PHASE_EVENTS,
	AT_PHASE_SCHED,
	AT_PHASE_RENAMES,
	AT_PHASE_END,
};

/**
 * struct at_reader - progress of the consumer; under @read_lock of the session
 * @phase: phase of the current pass
 * @member: in phases that walk members: the current one, with a reference; NULL: at the
 *	beginning
 * @ring: in phases that walk rings: the current one
 * @members: number of the last member that the session had when this pass began
 * @chunks: number of chunks taken from @ring in this pass; in AT_PHASE_NAMES_TABLE and
 *	AT_PHASE_RENAMES: nonzero if @names_to is that of this phase
 * @next: the pass has reported all of @member, of @ring, of the table of task names or of the clock
 *	pairs, and continues with the next one
 * @ended: the sums over providers that ended before the consumer opened the session were
 *	reported
 * @clock: clock pairs reported
 * @told: chunks reported in this pass
 * @run: the session's run when this pass began
 * @final: the session was not started when this pass began
 * @done: the snapshot has been read to its end
 * @names_to: last change of the table of task names that this pass reports; ULONG_MAX: all
 * @names_told: last change that was reported, from the table or from a ring
 * @names: number of task names reported from the table
 * @names_before: if the table has names that earlier consumers got: number of those names that were
 *	lost before this consumer's first pass
 * @names_lost: number of lost task names, as last reported
 * @names_last: last run for which the consumer got the final state of the names
 */
struct at_reader {
	enum at_phase phase;
	struct at_member *member;
	u32 ring;
	u64 members;
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
	u64 names_before;
	u64 names_lost;
	u32 names_last;
};

/**
 * struct at_session - a session. Its fields are constant or written under at_lock, unless
 *	stated otherwise
 * @request_lock: serialises requests that change the session. A request may drop at_lock:
 *	then providers may join and leave, but @state, @consumer, @snapshot and the lists
 *	of patterns do not change
 * @ref: references: the registry, the consumer, requests, queued work
 * @rcu: frees the structure: look-ups by id take no lock
 * @named: in the hash of sessions by name
 * @id: id of the session; ids are allocated cyclically, so it is not reused soon
 * @name: unique among the sessions of the owner
 * @state: enum asynctrace_session_state
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @geometry: geometry of the kernel's rings, and of the rings of providers that have no
 *	entry in @buffers
 * @sub_size: requested bytes of a sub-buffer; 0: chosen by the ring size
 * @buffers: ring sizes of some providers; may be NULL
 * @owner: credentials of the session's creator, with a reference to the user namespace.
 *	The session records what the owner may see, and reports user ids in that namespace
 * @charge: accounts that the session is charged to
 * @pid_ns: pid namespace of the owner, for thread and process ids in reports
 * @sk: the owner's socket, with a reference; NULL if the session is detached or
 *	terminated
 * @portid: port of @sk
 * @memcg: memory cgroup that the rings are charged to
 * @categories: patterns of the wanted categories
 * @additional: patterns for the current or last run only
 * @providers: patterns of the wanted provider names
 * @filter: filter on processes; may be NULL
 * @run: generation with which the current or last run was started
 * @generation: current generation
 * @clock: enum asynctrace_clock
 * @clock_log: log of clock pairs
 * @ks: scheduling side; NULL: none
 * @names: table of task names; NULL if @ks is NULL
 * @members_lock: protects walks over @members, and changes of the fields from @members to
 *	@ended
 * @members: providers in the session, including ended ones that have not been removed
 * @nr_members: number of members added so far
 * @nr_holding: number of members that are not done, see struct at_member
 * @holding: size of the rings of members that are not done, bytes
 * @holding_gone: size of the rings of the members in @gone, bytes
 * @users: sums over members that are not done, by user
 * @gone: members whose provider is gone, but whose rings have not been freed
 * @finished: members that are done and not removed
 * @ended: accounting totals of members that are done
 * @unread: a consumer has closed the session, and at_ended_fn() has to look at @gone;
 *	under at_lock
 * @ended_work: removes members; holds a reference to the session
 * @initializing: a request is allocating what initialization needs, without a lock. @state is
 *	still ready
 * @promised: bytes of ring memory for which an unprivileged owner stays charged until the
 *	providers have joined that initialization has found; 0: none
 * @sure_first: initialization is still taking the providers that need no share of a user; the
 *	others must wait. Set only in privileged sessions
 * @stopping: providers are being stopped or removed one by one: no other provider may
 *	join
 * @beginning: at_session_run() is noting what to clear. It then opens all gates, also
 *	those of members that get their rings during this time
 * @nr_refused: providers refused since the last initialization or start, for lack of
 *	memory or because of the memory limit
 * @clearing: a start is still clearing the kernel's rings
 * @clear_lock: protects the cursors of the rings, and the positions up to which starts
 *	have cleared the rings
 * @quiesce: waits until the writers of the last run have left
 * @quiet_work: ends the use of @quiesce; holds the reference that at_session_quiesce() took
 * @quiescing: @quiesce is in use
 * @again: another run ended while @quiesce was in use: use it once more
 * @consumer: a descriptor consumes the session
 * @closed: the consumer's descriptor is closed, but @consumer is still set: see
 *	at_session_cleanup()
 * @cleanup_work: calls at_session_cleanup() later; holds a reference to the session
 * @was_read: a descriptor has consumed the session, snapshots excepted
 * @snapshot: the present consumer reads a snapshot
 * @read_lock: serialises read(2)
 * @reader: progress of the present consumer
 * @kept: saved @reader while a snapshot is read, restored after the snapshot
 * @wait: consumers that wait for @readable
 * @wake_work: wakes @wait; holds a reference to the session
 * @readable: there may be something to read
 * @free_work: frees the session
 * @poll: polls the rings on behalf of sleeping consumers
 * @poll_period: period of @poll, jiffies
 * @pair_due: time of the next clock pair, jiffies
 */
struct at_session {
	struct kref ref;
	struct mutex request_lock;	/* one request at a time */
	struct rcu_head rcu;
	struct hlist_node named;
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
	u64 holding_gone;
	struct hlist_head users[AT_USERS_HASH];
	struct list_head gone;
	struct list_head finished;
	struct at_ended ended;
	bool unread;
	struct delayed_work ended_work;
	bool initializing;
	u64 promised;
	bool sure_first;
	bool stopping;
	bool beginning;
	u32 nr_refused;
	bool clearing;
	spinlock_t clear_lock;		/* the rings' cursors and clear marks */
	struct at_quiesce quiesce;
	struct work_struct quiet_work;
	bool quiescing;
	bool again;
	bool consumer;
	bool closed;
	struct delayed_work cleanup_work;
	bool was_read;
	bool snapshot;
	struct mutex read_lock;		/* @reader, and the rings' cursors */
	struct at_reader reader;
	struct at_reader kept;
	wait_queue_head_t wait;
	struct work_struct wake_work;
	bool readable;
	struct work_struct free_work;
	struct delayed_work poll;
	unsigned long poll_period;
	unsigned long pair_due;
};

/*
 * Does the session record, so that gates of joining providers must be opened? With
 * at_lock held.
 */
static inline bool at_session_runs(const struct at_session *s)
{
	return s->state == ASYNCTRACE_SESSION_STATE_STARTED && !s->stopping;
}

/*
 * May the session have no consumer for long? Then periodic work moves task names from the rings to
 * @names, and consumers read @names only. Otherwise @names has the names that earlier consumers
 * got from the rings.
 */
static inline bool at_session_drains_names(const struct at_session *s)
{
	return s->mode == ASYNCTRACE_MODE_CIRCULAR ||
	       s->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED;
}

u32 at_next_generation(void);
u32 at_last_generation(void);
void at_session_get(struct at_session *s);
void at_session_put(struct at_session *s);
/* Returns the queue for work of a session that may wait for memory of its owner. */
static inline struct workqueue_struct *at_session_wq(const struct at_session *s)
{
	return s->owner.privileged ? at_wq : at_user_wq;
}

struct at_session *at_session_from(u32 *id);
bool at_session_has_others(void);
void at_session_unlist(struct at_session *s);
bool at_session_had(const struct at_session *s, const struct at_provider *p);
bool at_session_wants(const struct at_session *s, const struct at_provider *p);
bool at_session_visible(const struct at_session *s, const struct at_caller *caller);
struct at_session *at_session_consume(u32 id, bool snapshot);
void at_session_unconsume(struct at_session *s);
void at_session_unconsumed(struct at_session *s);
struct at_member *at_session_next_member(struct at_session *s, struct at_member *m);
void at_session_wake(struct at_session *s);
void at_session_poll(struct at_session *s);
int at_sessions_init(void);
void at_sessions_exit(void);

/* requests.c */
int at_session_lock(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_prepare_quiesce(struct at_session *s);
void at_session_terminate_anyway(struct at_session *s);
void at_session_cleanup(struct at_session *s);
void at_session_cleanup_init(struct at_session *s);

/* reader.c */
void at_reader_reset(struct at_session *s);
ssize_t at_session_read(struct at_session *s, char __user *buf, size_t count,
			bool nonblock);

#endif /* AT_SESSION_H */
