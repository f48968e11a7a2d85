/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control plane as netlink.c sees it: what a request becomes once its
 * attributes have been parsed. at_lock serialises what is in these lists. It is not held
 * while user memory is touched, nor while memory is allocated that is charged to somebody;
 * base/lock.h has all locks.
 */
#ifndef AT_CONTROL_H
#define AT_CONTROL_H

#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>

#include "base/lock.h"

struct cred;
struct net;
struct sock;
struct at_buffers;
struct at_caller;
struct at_file;
struct at_filter;
struct at_provider;
struct at_session;

/**
 * struct at_strings - a list of names in one allocation
 * @refs: references: that of the owner, and one of each dump that lists the names
 * @count: names
 * @bytes: of @text in use
 * @text: the names, each ended by a NUL
 */
struct at_strings {
	refcount_t refs;
	u32 count;
	u32 bytes;
	char text[];
};

/**
 * struct at_provider_args - what a registration says
 * @name: NUL-terminated, 1..ASYNCTRACE_NAME_MAX bytes
 * @version: any number
 * @ring_stride: address space the provider reserves for one ring, bytes: a
 *	power of two, ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 */
struct at_provider_args {
	const char *name;
	u32 version;
	u64 ring_stride;
};

/**
 * struct at_session_args - what a session is made of
 * @name: NUL-terminated, 1..ASYNCTRACE_NAME_MAX bytes
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @ring_size: bytes of one CPU's ring of one provider, and of the kernel: a
 *	power of two, ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 * @sub_size: bytes of a sub-buffer: a power of two, ASYNCTRACE_SUBBUF_MIN..
 *	ASYNCTRACE_SUBBUF_MAX, at most a quarter of the ring; 0: chosen
 * @categories: patterns, NULL: every category. Taken over by the session, which
 *	sets this NULL then and drops it with at_strings_put(); the caller drops
 *	what is left
 * @providers: patterns of the providers wanted, NULL: all; taken over likewise
 * @filter: which processes besides, NULL: all; taken over likewise
 * @buffers: ring sizes of some providers, may be NULL; taken over likewise
 * @sk: the requesting socket; the session ends with it unless detached
 * @portid: its port
 * @caller: who is to own the session
 */
struct at_session_args {
	const char *name;
	u32 mode;
	u32 sched;
	u32 flags;
	u64 ring_size;
	u64 sub_size;
	struct at_strings *categories;
	struct at_strings *providers;
	struct at_filter *filter;
	struct at_buffers *buffers;
	struct sock *sk;
	u32 portid;
	const struct at_caller *caller;
};

/**
 * struct at_start_args - how a session is started
 * @disposition: enum asynctrace_disposition
 * @additional: patterns besides the session's own, NULL: none. The session exchanges it for
 *	that of its last run where it starts
 */
struct at_start_args {
	u32 disposition;
	struct at_strings *additional;
};

/**
 * struct at_caller - how the caller of a request is looked at
 * @uid: real uid of sender and socket, which are the same
 * @gid: real gid of the sender
 * @user_ns: that it is in
 * @caps: permitted in there to both sender and socket
 * @admin: CAP_SYS_ADMIN, initial user namespace
 * @privileged: that, or CAP_PERFMON
 */
struct at_caller {
	kuid_t uid;
	kgid_t gid;
	struct user_namespace *user_ns;
	kernel_cap_t caps;
	bool admin;
	bool privileged;
};

/* caller.c */
struct at_caller at_caller_of(const struct cred *cred);
bool at_caller_is(const struct at_caller *caller, const struct at_caller *whom);
bool at_caller_covers(const struct at_caller *caller, const struct at_caller *whom);

/* For longer than the request, with a reference of the namespace. */
static inline void at_caller_keep(struct at_caller *kept, const struct at_caller *caller)
{
	*kept = *caller;
	get_user_ns(kept->user_ns);
}

static inline void at_caller_drop(const struct at_caller *kept)
{
	put_user_ns(kept->user_ns);
}

/* provider.c */
struct at_file *at_file_by_cookie(u64 cookie);
int at_provider_register(u64 cookie, const struct at_provider_args *args,
			 u32 *id, bool *started, struct netlink_ext_ack *extack);

/*
 * The first provider that the caller may see with an id of *id or more; *id
 * becomes its id. NULL where there is none. Pointers are good while at_lock
 * is held; so are those in a view.
 */
struct at_provider *at_provider_next(u32 *id, const struct at_caller *caller);

/**
 * struct at_provider_view - a provider as a reply shows it
 * @id: its id
 * @serial: its serial number
 * @name: its name
 * @version: the number it registered with
 * @ring_stride: the address space it reserves for one ring, bytes
 * @pid: its process; netlink.c translates
 * @uid: its user; netlink.c translates
 * @session: the session it is in, 0: none, or none that the caller may see
 * @started: that session records it now
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @rings: its rings that hold memory
 * @sched_dropped: scheduling records dropped on its behalf; 0 where @session is
 * @names_dropped: names, likewise
 */
struct at_provider_view {
	u32 id;
	u64 serial;
	const char *name;
	u32 version;
	u64 ring_stride;
	struct pid *pid;
	kuid_t uid;
	u32 session;
	bool started;
	u32 flags;
	u32 rings;
	u64 sched_dropped;
	u64 names_dropped;
};

void at_provider_view(const struct at_provider *p, struct at_provider_view *v,
		      const struct at_caller *caller);

/* session.c */
int at_session_create(struct at_session_args *args, u32 *id,
		      struct netlink_ext_ack *extack);
struct at_session *at_session_find(u32 id, const struct at_caller *caller,
				   struct netlink_ext_ack *extack);
struct at_session *at_session_control(u32 id, const struct at_caller *caller,
				      struct netlink_ext_ack *extack);
/* As at_provider_next(). */
struct at_session *at_session_next(u32 *id, const struct at_caller *caller);

/**
 * struct at_session_view - a session as a reply shows it
 * @id: its id
 * @name: its name
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @state: enum asynctrace_session_state
 * @ring_size: as asked for
 * @sub_size: as chosen, 0 while it is not
 * @categories: patterns, may be NULL
 * @providers: patterns, may be NULL
 * @filter: which processes besides, may be NULL
 * @buffers: ring sizes of some providers, may be NULL
 * @uid: its owner
 * @consumed: a descriptor reads it
 * @nr_providers: providers in it, also those that have ended
 * @nr_ended: of them, those that only sums are left of
 * @nr_late: of them, those that joined after the start
 * @nr_refused: providers that did not fit the memory limit, or got no memory
 * @pages: pages of ring memory it holds
 * @refused: pages that could not be had
 * @probe_calls: times a scheduler probe ran, for any session; 0: not for the owner to know
 * @probe_records: of them, times a record was written
 * @generation: of the present or the last run, 0 before the first
 * @threads_missed: threads that the scheduler's probes could not be told of
 */
struct at_session_view {
	u32 id;
	const char *name;
	u32 mode;
	u32 sched;
	u32 flags;
	u32 state;
	u64 ring_size;
	u64 sub_size;
	struct at_strings *categories;
	const struct at_strings *providers;
	const struct at_filter *filter;
	const struct at_buffers *buffers;
	kuid_t uid;
	bool consumed;
	u32 nr_providers;
	u32 nr_ended;
	u32 nr_late;
	u32 nr_refused;
	u64 pages;
	u64 refused;
	u64 probe_calls;
	u64 probe_records;
	u32 generation;
	u64 threads_missed;
};

void at_session_sum(struct at_session *s, struct at_session_view *v);
void at_session_view(const struct at_session *s, struct at_session_view *v);

/*
 * Requests on a session answer -EALREADY where there is nothing to do (init of
 * an initialized one, start of a started one, stop of one that is not started)
 * and -EINVAL where a step is missing, with a message. The caller has a reference of the
 * session, and holds no lock. Formatted messages: AT_ERR_MSG_FMT() of compat.h, at most 79
 * bytes.
 */
int at_session_init(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_start(struct at_session *s, struct at_start_args *args,
		     struct netlink_ext_ack *extack);
int at_session_update(struct at_session *s, struct at_strings **categories,
		      struct at_strings **additional, struct netlink_ext_ack *extack);
int at_session_stop(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_terminate(struct at_session *s, struct netlink_ext_ack *extack);
void at_session_owner_gone(const struct net *net, u32 portid);

/* Bytes of ring memory a session of this caller may stand for. */
u64 at_memory_limit(bool privileged);

/**
 * struct at_ring_stats - one ring's ledger
 * @provider: id, 0 for the kernel, and for the sums of those that have ended
 * @ring: index; nr_rings is the fallback ring
 * @kind: enum asynctrace_ring_kind
 * @committed: records published
 * @delivered: of them, handed to the consumer
 * @overwritten: of them, lost to wrapping
 * @cleared: of them, cleared by a later start
 * @dropped: records that found no room
 * @pages: memory held, in pages
 */
struct at_ring_stats {
	u32 provider;
	u32 ring;
	u32 kind;
	u64 committed;
	u64 delivered;
	u64 overwritten;
	u64 cleared;
	u64 dropped;
	u64 pages;
};

/**
 * struct at_ring_walk - where a walk over a session's rings is
 * @member: number of the member; 0: at the kernel's rings; U64_MAX: at the sums of those
 *	that have ended
 * @ring: of these, the next to tell
 */
struct at_ring_walk {
	u64 member;
	u32 ring;
};

u32 at_session_folds(struct at_session *s);
int at_session_rings(struct at_session *s, struct at_ring_walk *at,
		     int (*fn)(const struct at_ring_stats *st, void *arg), void *arg);

#endif /* AT_CONTROL_H */
