/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: sessions, from the side of who traces
 *
 *	struct at_ctl *ctl;
 *	uint32_t id;
 *	int err, fd;
 *	struct at_session_options o = {
 *		.size = sizeof(o), .name = "mine",
 *		.mode = ASYNCTRACE_MODE_STREAMING, .sched = ASYNCTRACE_SCHED_TARGETS,
 *		.ring_size = 1 << 20,
 *	};
 *
 *	err = at_ctl_open(&ctl);
 *	if (!err)
 *		err = at_session_create(ctl, &o, &id);
 *	if (!err)
 *		err = at_session_init(ctl, id);
 *	if (!err)
 *		err = fd = at_session_open_stream(ctl, id);
 *	if (err >= 0)
 *		err = at_session_start(ctl, id, NULL);
 *	...
 *	if (err < 0)
 *		fprintf(stderr, "%s\n", at_ctl_error(ctl));
 *	at_ctl_close(ctl);
 *
 * Everything goes over one netlink socket. A session that was made over it ends
 * when it is closed, also by the process's death, unless it is detached.
 *
 * A struct at_ctl is used by one thread at a time; different ones do not
 * disturb each other. Nothing here may be called in a signal handler. No call
 * waits for a provider; each may block for as long as the kernel is busy with
 * other requests. Functions return 0 or a negative errno, where nothing else is
 * said, and leave a sentence about the failure for at_ctl_error().
 *
 * Errors that any of them can return: -EPERM (a capability is missing), -ENOENT
 * (no such session or provider, or not the caller's), -EINVAL (a value that the
 * module refuses), -ENOMEM, and what socket calls return.
 */
#ifndef ASYNCTRACE_SESSION_H
#define ASYNCTRACE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>

#ifdef __cplusplus
extern "C" {
#endif

struct at_ctl;

/**
 * at_ctl_open - connect to the module
 * @ctl: out: the connection. Set also where this fails, but with -ENOMEM, so
 *	that at_ctl_error() can say why; at_ctl_close() it in any case
 *
 * -ENOENT: the module is not loaded. -EPROTO: it speaks another
 * ASYNCTRACE_ABI_VERSION.
 */
int at_ctl_open(struct at_ctl **ctl);

/* Ends the sessions made over it. NULL is fine. */
void at_ctl_close(struct at_ctl *ctl);

/*
 * What the last call that failed has to say: the attribute at fault, the
 * reason, the remedy where there is one. One line, no final stop. It belongs to
 * @ctl and changes with the next call. For NULL: about memory.
 */
const char *at_ctl_error(const struct at_ctl *ctl);

/**
 * struct at_info - the module, as this caller meets it
 * @size: in: sizeof(struct at_info)
 * @abi: ASYNCTRACE_ABI_VERSION of the module
 * @clock: enum asynctrace_clock: what records are stamped with
 * @nr_cpus: rings of CPUs that each provider has
 * @online_cpus: CPUs that are online
 * @privileged: nonzero: the caller has CAP_PERFMON or CAP_SYS_ADMIN
 * @memory_limit: bytes of ring memory that a session of this caller may
 *	stand for
 */
struct at_info {
	uint32_t size;
	uint32_t abi;
	uint32_t clock;
	uint32_t nr_cpus;
	uint32_t online_cpus;
	uint32_t privileged;
	uint64_t memory_limit;
};

/* g++ -Wshadow: "hides constructor", because the structure has the function's name. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
int at_info(struct at_ctl *ctl, struct at_info *info);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/**
 * struct at_provider_info - a provider
 * @id: its id
 * @version: the number it registered with
 * @pid: its process, in the caller's pid namespace; 0: not visible there
 * @uid: its user, in the caller's user namespace
 * @session: the session it is in; 0: none that the caller may see
 * @started: a session records it
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @rings: its rings that hold memory
 * @ring_stride: address space it reserves for each ring, bytes
 * @name: its name; not necessarily UTF-8
 * @sched_dropped: scheduling records of its threads that the session dropped: there
 *	was no room, or they were beyond its share of the kernel's rings
 * @names_dropped: the same of names
 * @serial: its serial number: unlike its id, no other provider gets it while the module is
 *	loaded
 */
struct at_provider_info {
	uint32_t id;
	uint32_t version;
	uint32_t pid;
	uint32_t uid;
	uint32_t session;
	bool started;
	uint32_t flags;
	uint32_t rings;
	uint64_t ring_stride;
	const char *name;
	uint64_t sched_dropped;
	uint64_t names_dropped;
	uint64_t serial;
};

/*
 * Called for each of a list. What it is given is gone when it returns. A value
 * other than 0 ends the iteration, and becomes the iteration's value. It must
 * not use the at_ctl.
 */
typedef int (*at_provider_fn)(const struct at_provider_info *provider, void *arg);

/* All providers that the caller may see, by id. */
int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg);

/**
 * struct at_buffer_size - the ring size of some providers
 * @provider: a name, or a prefix and a final '*'
 * @ring_size: bytes, as of struct at_session_options
 */
struct at_buffer_size {
	const char *provider;
	uint64_t ring_size;
};

/**
 * struct at_session_options - what a session is made of
 * @size: sizeof(struct at_session_options)
 * @mode: enum asynctrace_mode; what happens when a ring is full
 * @sched: enum asynctrace_sched; whose scheduling is recorded
 * @flags: enum asynctrace_session_flags
 * @name: 1..ASYNCTRACE_NAME_MAX bytes, unique among this user's sessions
 * @ring_size: of one CPU's ring, bytes: a power of two,
 *	ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 * @sub_size: of a sub-buffer, bytes: a power of two, ASYNCTRACE_SUBBUF_MIN..
 *	ASYNCTRACE_SUBBUF_MAX, at most a quarter of the ring; 0: chosen
 * @nr_categories: patterns in @categories, at most ASYNCTRACE_CATEGORIES_MAX;
 *	0: every category
 * @categories: each [-][PROVIDER/]CATEGORY of 1..ASYNCTRACE_CATEGORY_MAX bytes.
 *	CATEGORY is one's name, or a prefix and a final '*'. Behind "PROVIDER/", a
 *	name or a prefix and a final '*', it is about these providers only. What matches one behind
 *	a '-' is not recorded; where there are only such, everything else is
 * @nr_providers: patterns in @providers; 0: every provider that may be recorded
 * @providers: each the name of a provider, which need not exist yet, or a prefix and a
 *	final '*'
 * @nr_pids: processes in @pids; 0: every one
 * @pids: processes whose providers to record, in the caller's pid namespace; with
 *	ASYNCTRACE_SESSION_FLAGS_FOLLOW in @flags, their descendants' too
 * @nr_users: users in @users; 0: every one
 * @users: whose processes to record, in the caller's user namespace
 * @nr_cgroups: cgroups in @cgroups; 0: every one
 * @cgroups: inode numbers of the directories of cgroups (of the unified hierarchy)
 *	whose processes to record, and those of their descendants
 * @nr_buffers: sizes in @buffers
 * @buffers: other ring sizes for some providers; the first that matches holds. What
 *	a provider has no addresses for is made smaller
 *
 * Of each list at most ASYNCTRACE_CATEGORIES_MAX. A provider must be in all of
 * the lists that are not empty. Lists came after @providers: a caller may have been
 * compiled without them.
 */
struct at_session_options {
	uint32_t size;
	uint32_t mode;
	uint32_t sched;
	uint32_t flags;
	const char *name;
	uint64_t ring_size;
	uint64_t sub_size;
	size_t nr_categories;
	const char *const *categories;
	size_t nr_providers;
	const char *const *providers;
	size_t nr_pids;
	const uint32_t *pids;
	size_t nr_users;
	const uint32_t *users;
	size_t nr_cgroups;
	const uint64_t *cgroups;
	size_t nr_buffers;
	const struct at_buffer_size *buffers;
};

/**
 * at_session_create - make a session; it is ready then
 * @ctl: the connection
 * @opts: what it is made of
 * @id: out: its id
 *
 * -EEXIST: this user has one of that name. -EPERM: scheduling of all tasks
 * needs CAP_PERFMON or CAP_SYS_ADMIN. -ENOSPC: more memory than the limit;
 * the message has the arithmetic. -ERANGE: more than 100 of a list. -E2BIG: together
 * they are too long for a message. -ESRCH: no such process. -ENOENT: no such cgroup. -EOPNOTSUPP: the kernel has no cgroups.
 */
int at_session_create(struct at_ctl *ctl, const struct at_session_options *opts,
		      uint32_t *id);

/* Fix buffers and providers. 0 also where that was done. -ENOSPC: as above. */
int at_session_init(struct at_ctl *ctl, uint32_t id);

/**
 * struct at_start_options - how a session is started
 * @size: sizeof(struct at_start_options)
 * @disposition: enum asynctrace_disposition: what is made of what earlier runs have
 *	left; 0: it is retained
 * @nr_additional: patterns in @additional, at most ASYNCTRACE_CATEGORIES_MAX
 * @additional: categories wanted in this run, besides the session's own; written
 *	as those
 */
struct at_start_options {
	uint32_t size;
	uint32_t disposition;
	size_t nr_additional;
	const char *const *additional;
};

/**
 * at_session_start - record from now on
 * @ctl: the connection
 * @id: the session
 * @opts: how to start; NULL: retain what earlier runs have left, add no categories
 *
 * Returns 0 also if the session was started already. Then it clears and adds nothing.
 * If the start clears, and a thread may still be writing its last record of the run
 * before, the provider of that thread is recorded a moment later.
 * -EINVAL: the session is not initialized. -ERANGE: too many patterns.
 */
int at_session_start(struct at_ctl *ctl, uint32_t id, const struct at_start_options *opts);

/**
 * at_session_update - want other categories, also while it records
 * @ctl: the connection
 * @id: the session
 * @nr: patterns in @categories; 0: every category
 * @categories: instead of those it was made with, and of the run's additional ones
 *
 * What is recorded before and after is not disturbed: nothing is lost over it. What
 * was begun before, as a scoped duration, is still recorded.
 */
int at_session_update(struct at_ctl *ctl, uint32_t id, size_t nr, const char *const *categories);

/* Record no more. 0 also where it was not started. */
int at_session_stop(struct at_ctl *ctl, uint32_t id);

/*
 * End it. What nobody has read is gone. 0 also where it was ended over this
 * connection before.
 */
int at_session_destroy(struct at_ctl *ctl, uint32_t id);

/**
 * at_session_open_stream - a descriptor to read the session from
 * @ctl: the connection
 * @id: the session
 *
 * read(2) with room for ASYNCTRACE_READ_MIN bytes returns one chunk
 * (linux/asynctrace.h), poll(2) tells when there is one. Descriptors are
 * non-blocking and close on exec. Closing it leaves the session as it is.
 *
 * The descriptor, or a negative errno: -EBUSY: another one reads it. -EACCES:
 * /dev/asynctrace may not be opened. -EPERM: the session is another user's, or its
 * owner had another group or a capability more; where the caller may not even see it,
 * -ENOENT.
 */
int at_session_open_stream(struct at_ctl *ctl, uint32_t id);

/**
 * at_session_open_snapshot - a descriptor to read what a circular session holds now
 * @ctl: the connection
 * @id: the session, initialized or later
 *
 * As of at_session_open_stream(), but nothing is taken out: read(2) gives all that the
 * rings hold when it is first called, from the names on, and then returns 0. The
 * session goes on meanwhile, and what is overwritten before it could be read
 * is counted as that. It can be done again, when the descriptor is closed.
 *
 * The descriptor, or a negative errno: as at_session_open_stream(); -EINVAL: the
 * session is not circular.
 */
int at_session_open_snapshot(struct at_ctl *ctl, uint32_t id);

/**
 * struct at_session_info - a session
 * @id: its id
 * @state: enum asynctrace_session_state
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @uid: its owner, in the caller's user namespace
 * @providers: in it
 * @late: of them, those that joined after the start
 * @refused_providers: wanted, but their rings would be beyond the memory limit, or had
 *	no memory, when it was initialized or started last, or since
 * @consumed: a descriptor reads it
 * @ring_size: of one CPU's ring, bytes
 * @sub_size: of a sub-buffer, bytes
 * @pages: of ring memory it holds
 * @refused: pages that could not be had
 * @probe_calls: times a scheduler probe ran, for any session: the tracer's own cost;
 *	0 where the session was made without CAP_PERFMON
 * @probe_records: of them, times a record was written
 * @name: its name
 * @nr_categories: patterns wanted; 0: every category
 * @categories: these
 * @nr_patterns: providers wanted; 0: every one
 * @patterns: these
 * @nr_pids: processes wanted; 0: every one
 * @pids: these; 0: gone, or not visible to the caller
 * @nr_users: users wanted; 0: every one
 * @users: these
 * @nr_cgroups: cgroups wanted; 0: every one
 * @cgroups: these
 * @nr_buffers: other ring sizes
 * @buffers: these
 * @generation: of the present or the last run; 0: there was none
 * @threads_missed: threads of its providers that the kernel had no memory to trace, or that
 *	were beyond what one user may have: what the scheduler did to them is not recorded,
 *	or not from the beginning
 * @ended: of its providers, those that have ended and that only sums are left of
 */
struct at_session_info {
	uint32_t id;
	uint32_t state;
	uint32_t mode;
	uint32_t sched;
	uint32_t flags;
	uint32_t uid;
	uint32_t providers;
	uint32_t late;
	uint32_t refused_providers;
	bool consumed;
	uint64_t ring_size;
	uint64_t sub_size;
	uint64_t pages;
	uint64_t refused;
	uint64_t probe_calls;
	uint64_t probe_records;
	const char *name;
	size_t nr_categories;
	const char *const *categories;
	size_t nr_patterns;
	const char *const *patterns;
	size_t nr_pids;
	const uint32_t *pids;
	size_t nr_users;
	const uint32_t *users;
	size_t nr_cgroups;
	const uint64_t *cgroups;
	size_t nr_buffers;
	const struct at_buffer_size *buffers;
	uint32_t generation;
	uint64_t threads_missed;
	uint32_t ended;
};

/* As at_provider_fn. */
typedef int (*at_session_fn)(const struct at_session_info *session, void *arg);

/* Calls @fn for one session. */
int at_session_get(struct at_ctl *ctl, uint32_t id, at_session_fn fn, void *arg);

/* All sessions that the caller may see, by id. */
int at_for_each_session(struct at_ctl *ctl, at_session_fn fn, void *arg);

/**
 * struct at_ring_info - the ledger of one ring
 * @provider: whose; 0: the kernel's, or of no provider by its @kind
 * @ring: its index, the CPU; nr_cpus: the fallback ring
 * @kind: enum asynctrace_ring_kind
 * @committed: records published
 * @delivered: of them, handed to the consumer
 * @overwritten: of them, lost to the ring's wrapping
 * @cleared: of them, cleared by a later start
 * @dropped: records that found no room
 * @pages: it holds
 */
struct at_ring_info {
	uint32_t provider;
	uint32_t ring;
	uint32_t kind;
	uint64_t committed;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t cleared;
	uint64_t dropped;
	uint64_t pages;
};

/* As at_provider_fn. */
typedef int (*at_ring_fn)(const struct at_ring_info *ring, void *arg);

/*
 * A session's rings that hold memory. The last line, of kind ASYNCTRACE_RING_KIND_ENDED, has
 * the sums over the rings of providers that have ended, if there are such.
 */
int at_for_each_ring(struct at_ctl *ctl, uint32_t session, at_ring_fn fn, void *arg);

/**
 * struct at_category_info - a category that a provider can record
 * @provider: the provider's id
 * @provider_name: its name
 * @name: of the category
 * @description: what it is about, for people; empty where it did not say
 */
struct at_category_info {
	uint32_t provider;
	const char *provider_name;
	const char *name;
	const char *description;
};

/* As at_provider_fn. */
typedef int (*at_category_fn)(const struct at_category_info *category, void *arg);

/* All that providers have announced, if the caller may see them, by provider. */
int at_for_each_category(struct at_ctl *ctl, at_category_fn fn, void *arg);

/* --- events --------------------------------------------------------------------- */

struct at_notifications;

/**
 * at_notifications_open - be told what happens from now on
 * @events: out: the subscription. Set also where this fails, but with -ENOMEM, so
 *	that at_notifications_error() can say why; at_notifications_close() it in any case
 * @kinds: of what: ASYNCTRACE_NOTIFICATION_KINDS_*
 * @session: id of the only session that is wanted; 0: all
 *
 * It has a socket of its own, and may be used beside any struct at_ctl. Told is
 * what the caller may see when it subscribes. -ENOENT: no such session, or the
 * module is not loaded. -EDQUOT: this user has too many of them. -ENOSPC: all
 * users together have too many.
 */
int at_notifications_open(struct at_notifications **events, uint32_t kinds, uint32_t session);

/* NULL is fine. */
void at_notifications_close(struct at_notifications *events);

/* As at_ctl_error(). */
const char *at_notifications_error(const struct at_notifications *events);

/* A descriptor that poll(2) finds readable when there is an event. */
int at_notifications_fd(const struct at_notifications *events);

/**
 * struct at_notification - something has happened
 * @size: in: sizeof(struct at_notification)
 * @kind: one of ASYNCTRACE_NOTIFICATION_KINDS_*
 * @session: id of the session, 0: none, or none that the caller may see
 * @provider: id of the provider, 0: none
 * @pid: its process, in the caller's pid namespace; 0: not visible there
 * @uid: its user, in the caller's user namespace
 * @status: of started: 0, or a positive errno, why the provider's records are not
 *	taken
 * @generation: of started and stopped: that of the run
 * @ring: of save-buffer: the ring
 * @durable: of save-buffer: words of the provider's names
 * @lost: events that were missed before this one: the socket was full, or, of alerts,
 *	their provider raised them too fast
 * @position: of save-buffer: up to which word sub-buffers are full
 * @name: the provider's where there is one, else the session's
 * @alert: the alert's name; empty where it is none
 *
 * Texts belong to the subscription and change with the next event.
 */
struct at_notification {
	uint32_t size;
	uint32_t kind;
	uint32_t session;
	uint32_t provider;
	uint32_t pid;
	uint32_t uid;
	uint32_t status;
	uint32_t generation;
	uint32_t ring;
	uint32_t durable;
	uint32_t lost;
	uint64_t position;
	const char *name;
	const char *alert;
};

/* The next event; does not wait: -EAGAIN where there is none. */
int at_notifications_next(struct at_notifications *events, struct at_notification *event);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_SESSION_H */
