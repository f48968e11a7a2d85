/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control plane's interface to netlink: requests after their attributes were parsed, and
 * views for replies. at_lock protects the lists of providers and sessions. It is not held
 * while user memory is accessed or while an allocation may sleep. base/lock.h lists all locks.
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
 * @refs: references: one of the owner, and one of each dump that lists the names
 * @count: number of names
 * @bytes: bytes of @text in use
 * @text: the names, each NUL-terminated
 */
struct at_strings {
	refcount_t refs;
	u32 count;
	u32 bytes;
	char text[];
};

/**
 * struct at_provider_args - parameters of a registration
 * @name: NUL-terminated, 1..ASYNCTRACE_NAME_MAX bytes
 * @version: a number that the provider chooses
 * @ring_stride: address space that the provider reserves for one ring, bytes: a
 *	power of two, ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 */
struct at_provider_args {
	const char *name;
	u32 version;
	u64 ring_stride;
};

/**
 * struct at_session_args - parameters of a new session
 * @name: NUL-terminated, 1..ASYNCTRACE_NAME_MAX bytes
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @ring_size: bytes of one CPU's ring of one provider, and of the kernel: a
 *	power of two, ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 * @sub_size: bytes of a sub-buffer: a power of two, ASYNCTRACE_SUBBUF_MIN..
 *	ASYNCTRACE_SUBBUF_MAX, at most a quarter of the ring; 0: chosen by the kernel
 * @categories: patterns; NULL: every category. The session takes the list over and sets this
 *	NULL; if it does not, the caller must drop the list with at_strings_put()
 * @providers: patterns of the providers wanted; NULL: all. Taken over like @categories
 * @filter: further restricts the processes; NULL: all. Taken over like @categories
 * @buffers: ring sizes of some providers, may be NULL. Taken over like @categories
 * @sk: the requesting socket; the session ends with it unless detached
 * @portid: port of @sk
 * @caller: the future owner of the session
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
 * struct at_start_args - parameters of a session's start
 * @disposition: enum asynctrace_disposition
 * @additional: patterns in addition to the session's own; NULL: none. If the session starts,
 *	it swaps this list with that of its last run
 */
struct at_start_args {
	u32 disposition;
	struct at_strings *additional;
};

/**
 * struct at_caller - identity and rights of a request's caller
 * @uid: real uid of the sender; the socket's opener has the same unless @admin
 * @gid: real gid of the sender
 * @user_ns: user namespace of the sender
 * @caps: capabilities in @user_ns that both sender and opener are permitted
 * @admin: has CAP_SYS_ADMIN in the initial user namespace
 * @privileged: has CAP_SYS_ADMIN or CAP_PERFMON in the initial user namespace
 */
struct at_caller {
	kuid_t uid;
	kgid_t gid;
	struct user_namespace *user_ns;
	kernel_cap_t caps;
	bool admin;
	bool privileged;
};

/* base/access.c */
struct at_caller at_caller_of(const struct cred *cred);
bool at_caller_is(const struct at_caller *caller, const struct at_caller *whom);
bool at_caller_covers(const struct at_caller *caller, const struct at_caller *whom);

/* Copy a caller for use after the request, with a reference to the user namespace. */
static inline void at_caller_keep(struct at_caller *kept, const struct at_caller *caller)
{
	*kept = *caller;
	get_user_ns(kept->user_ns);
}

static inline void at_caller_drop(const struct at_caller *kept)
{
	put_user_ns(kept->user_ns);
}

/* provider/provider.c */
struct at_file *at_file_by_cookie(u64 cookie);
int at_provider_register(u64 cookie, const struct at_provider_args *args,
			 u32 *id, bool *started, struct netlink_ext_ack *extack);

/*
 * Returns the provider with the lowest id from *id on that the caller may see, and sets *id to
 * its id; NULL if there is none. Releases at_lock now and then. The provider is valid while
 * at_lock is held.
 */
struct at_provider *at_provider_next(u32 *id, const struct at_caller *caller);

/* session/session.c */
struct at_session *at_session_create(struct at_session_args *args,
				     struct netlink_ext_ack *extack);
struct at_session *at_session_find(u32 id, const struct at_caller *caller,
				   struct netlink_ext_ack *extack);
struct at_session *at_session_control(u32 id, const struct at_caller *caller,
				      struct netlink_ext_ack *extack);
struct at_session *at_session_next(u32 *id, const struct at_caller *caller);

/**
 * struct at_session_sums - sums over a session's members and rings
 * @nr_ended: providers of which only sums are left
 * @nr_late: providers that joined after the start
 * @pages: pages of ring memory in use
 * @refused: rings that lack a page because it could not be allocated
 */
struct at_session_sums {
	u32 nr_ended;
	u32 nr_late;
	u64 pages;
	u64 refused;
};

struct at_session_sums at_session_sum(struct at_session *s);

/*
 * Requests on a session return -EALREADY if there is nothing to do: init of an initialized
 * session, start of a started one, stop of one that is not started. They return -EINVAL with a
 * message if a step is missing. The caller has a reference to the session and holds no lock.
 * Formatted messages use AT_ERR_MSG_FMT() of compat.h and have at most 79 bytes.
 */
int at_session_init(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_start(struct at_session *s, struct at_start_args *args,
		     struct netlink_ext_ack *extack);
int at_session_update(struct at_session *s, struct at_strings **categories,
		      struct at_strings **additional, struct netlink_ext_ack *extack);
int at_session_stop(struct at_session *s, struct netlink_ext_ack *extack);
int at_session_terminate(struct at_session *s, struct netlink_ext_ack *extack);
void at_session_owner_gone(const struct net *net, u32 portid);

/* Limit on ring memory, bytes: of one session if @privileged, else of all sessions of a user. */
u64 at_memory_limit(bool privileged);

/**
 * struct at_ring_stats - one ring's ledger
 * @provider: id; 0 for the kernel's rings and for the sums over ended providers
 * @ring: index; nr_rings is the fallback ring
 * @kind: enum asynctrace_ring_kind
 * @committed: records published
 * @delivered: of @committed, records handed to the consumer
 * @overwritten: of @committed, records lost to wraparound
 * @cleared: of @committed, records cleared by a later start
 * @dropped: records that found no room
 * @pages: pages of memory in use
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
 * struct at_ring_walk - position of a walk over a session's rings
 * @member: number of the member; 0: the kernel's rings; U64_MAX: the sums over ended
 *	providers
 * @ring: index of the next ring to report
 */
struct at_ring_walk {
	u64 member;
	u32 ring;
};

u32 at_session_nr_ended(struct at_session *s);
int at_session_rings(struct at_session *s, struct at_ring_walk *at,
		     int (*fn)(const struct at_ring_stats *st, void *arg), void *arg);

#endif /* AT_CONTROL_H */
