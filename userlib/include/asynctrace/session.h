/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: sessions, for programs that control tracing
 *
 *	struct at_ctl *ctl;
 *	uint32_t id;
 *	int err, fd;
 *	struct at_session_options o = {
 *		.size = sizeof(o), .name = "mine",
 *		.mode = ASYNCTRACE_MODE_STREAMING, .sched = ASYNCTRACE_SCHED_TARGETS,
 *		.flags = ASYNCTRACE_SESSION_FLAGS_REASONS, .ring_size = 1 << 20,
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
 * Return values: unless stated otherwise, a function returns 0 or a negative errno, and stores a
 * message that at_ctl_error() returns.
 *
 * Errors that each function may return: -EPERM: a capability is missing. -ENOENT: there is no such
 * session or provider that the caller may see. -EINVAL: the module rejects a value, or the size of
 * a structure is too small. -ENOMEM. Errors of socket calls.
 *
 * Thread safety: one thread at a time may use a struct at_ctl or a struct at_notifications.
 * Different threads may use different ones at the same time.
 *
 * Signal safety: no function of this header may be called in a signal handler.
 *
 * Blocking: no function waits for a provider. Each may block while the kernel handles other
 * requests.
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

/* --- connection ----------------------------------------------------------- */

/* A connection to the module: one netlink socket. */
struct at_ctl;

/**
 * at_ctl_open - connect to the module
 * @ctl: out: the connection
 *
 * After an error other than -ENOMEM, *@ctl is a connection, too, so that at_ctl_error() can
 * explain the error. Each request on it fails with the same error and message, also if the module
 * is loaded later. Close it in any case.
 *
 * Return: 0; -ENOENT: the module is not loaded; -EPROTO: the module has another
 * ASYNCTRACE_ABI_VERSION.
 */
int at_ctl_open(struct at_ctl **ctl);

/**
 * at_ctl_close - close a connection
 * @ctl: the connection, or NULL
 *
 * Ends the sessions that were created over the connection, unless they are detached. The death
 * of the process does the same.
 */
void at_ctl_close(struct at_ctl *ctl);

/**
 * at_ctl_error - get the message of the last error
 * @ctl: the connection; NULL: the message is that memory is short
 *
 * Return: one line without a final stop: the wrong attribute, the reason, and a remedy if there
 * is one. The text belongs to @ctl and is valid until the next call with it.
 */
const char *at_ctl_error(const struct at_ctl *ctl);

/**
 * struct at_info - the module, and the rights of the caller
 * @size: in: sizeof(struct at_info)
 * @abi: ASYNCTRACE_ABI_VERSION of the module
 * @clock: enum asynctrace_clock: clock of the records' timestamps
 * @nr_cpus: number of rings of CPUs that each provider has
 * @online_cpus: number of online CPUs
 * @privileged: nonzero: the caller has CAP_PERFMON or CAP_SYS_ADMIN
 * @memory_limit: limit on ring memory, bytes: of one session if the caller is privileged,
 *	otherwise of all sessions of the caller's user
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

/* g++ -Wshadow warns that the function hides the constructor of the structure. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
/**
 * at_info - describe the module
 * @ctl: the connection
 * @info: out: the description; the caller sets @info->size
 */
int at_info(struct at_ctl *ctl, struct at_info *info);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* --- session: create ------------------------------------------------------ */

/**
 * struct at_buffer_size - ring size of some providers
 * @provider: a name, or a prefix and a final '*'
 * @ring_size: bytes of one CPU's ring, as in struct at_session_options
 */
struct at_buffer_size {
	const char *provider;
	uint64_t ring_size;
};

/**
 * struct at_session_options - settings of a session
 * @size: sizeof(struct at_session_options)
 * @mode: enum asynctrace_mode: what happens when a ring is full
 * @sched: enum asynctrace_sched: tasks whose scheduling is recorded
 * @flags: enum asynctrace_session_flags
 * @name: 1..ASYNCTRACE_NAME_MAX bytes, unique among the sessions of this user
 * @ring_size: bytes of one CPU's ring: a power of two,
 *	ASYNCTRACE_RING_MIN..ASYNCTRACE_RING_MAX
 * @sub_size: bytes of a sub-buffer: a power of two, ASYNCTRACE_SUBBUF_MIN..
 *	ASYNCTRACE_SUBBUF_MAX, at most a quarter of the ring; 0: the kernel chooses
 * @nr_categories: number of patterns in @categories; 0: every category
 * @categories: patterns [-][PROVIDER/]CATEGORY of 1..ASYNCTRACE_CATEGORY_MAX bytes.
 *	CATEGORY is a name, or a prefix and a final '*'. "PROVIDER/", also a name or a
 *	prefix and a final '*', limits the pattern to these providers. A pattern after '-'
 *	excludes categories, even if another pattern matches. If there are only exclusions,
 *	all other categories are recorded
 * @nr_providers: number of patterns in @providers; 0: every provider that may be recorded
 * @providers: names of providers, or a prefix and a final '*'. The providers need not
 *	exist yet
 * @nr_pids: number of processes in @pids; 0: every process
 * @pids: processes to record, in the caller's pid namespace; with
 *	ASYNCTRACE_SESSION_FLAGS_FOLLOW also their descendants
 * @nr_users: number of users in @users; 0: every user
 * @users: users whose processes to record, in the caller's user namespace
 * @nr_cgroups: number of cgroups in @cgroups; 0: every cgroup
 * @cgroups: cgroups whose processes to record, including descendant cgroups: inode
 *	numbers of their directories in the unified hierarchy
 * @nr_buffers: number of sizes in @buffers
 * @buffers: other ring sizes for some providers; the first match applies. If a provider
 *	has not reserved enough addresses, its rings are smaller
 *
 * Each list has at most ASYNCTRACE_CATEGORIES_MAX items. A provider must match all lists that
 * are not empty. A caller that was compiled before a list was added passes a smaller @size.
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
 * at_session_create - create a session, which is then ready
 * @ctl: the connection
 * @opts: settings
 * @id: out: the session's id
 *
 * The session ends with the connection, unless it is detached.
 *
 * Return: 0; -EEXIST: this user has a session of that name; -EPERM: scheduling of all tasks
 * needs CAP_PERFMON or CAP_SYS_ADMIN; -EDQUOT: this user has too many sessions; -ENOSPC: all
 * users together have too many; -ERANGE: a list is too long; -E2BIG: all lists together are too
 * long for one message; -ESRCH: no such process; -ENOENT: no such cgroup; -EOPNOTSUPP: the
 * kernel has no cgroups.
 */
int at_session_create(struct at_ctl *ctl, const struct at_session_options *opts,
		      uint32_t *id);

/* --- session: control ----------------------------------------------------- */

/**
 * at_session_init - allocate a session's memory and take providers; does not start it
 * @ctl: the connection
 * @id: the session
 *
 * Return: 0, also if the session is initialized already; -EBUSY: another call is initializing it;
 * -ENOSPC: the rings exceed the memory limit, and the message has the arithmetic.
 */
int at_session_init(struct at_ctl *ctl, uint32_t id);

/**
 * struct at_start_options - settings of one run
 * @size: sizeof(struct at_start_options)
 * @disposition: enum asynctrace_disposition: what to do with records and names of earlier
 *	runs; 0: retain them
 * @nr_additional: number of patterns in @additional, at most ASYNCTRACE_CATEGORIES_MAX
 * @additional: categories to record in this run, too, in the same format as the session's.
 *	If the session has no patterns or only exclusions, only exclusions have an effect
 */
struct at_start_options {
	uint32_t size;
	uint32_t disposition;
	size_t nr_additional;
	const char *const *additional;
};

/**
 * at_session_start - start recording
 * @ctl: the connection
 * @id: the session
 * @opts: settings; NULL: retain earlier runs, and add no categories
 *
 * If the start clears earlier runs while a thread may still be writing its last record, the
 * provider of that thread is recorded a moment later.
 *
 * Return: 0, also if the session is started already: then @opts has no effect; -EINVAL: the
 * session is not initialized; -ERANGE: too many patterns.
 */
int at_session_start(struct at_ctl *ctl, uint32_t id, const struct at_start_options *opts);

/**
 * at_session_update - change the categories, also while the session records
 * @ctl: the connection
 * @id: the session
 * @nr: number of patterns in @categories; 0: every category
 * @categories: patterns that replace those of the session and the additional ones of this run
 *
 * No record is lost by the change. An event that began before the change, such as a scoped
 * duration, is still recorded.
 *
 * Return: 0; -ERANGE: too many patterns; -E2BIG: they are too long for one message.
 */
int at_session_update(struct at_ctl *ctl, uint32_t id, size_t nr, const char *const *categories);

/**
 * at_session_stop - stop recording
 * @ctl: the connection
 * @id: the session
 *
 * Return: 0, also if the session is not started.
 */
int at_session_stop(struct at_ctl *ctl, uint32_t id);

/**
 * at_session_destroy - end a session
 * @ctl: the connection
 * @id: the session
 *
 * Records that have not been read are lost.
 *
 * Return: 0, also if this connection has ended the session before.
 */
int at_session_destroy(struct at_ctl *ctl, uint32_t id);

/* --- session: read -------------------------------------------------------- */

/**
 * at_session_open_stream - open a descriptor that takes records out of a session
 * @ctl: the connection
 * @id: the session
 *
 * read(2) of at least ASYNCTRACE_READ_MIN bytes returns one chunk, see linux/asynctrace.h. If
 * there is no chunk, it fails with EAGAIN while the session is started, and otherwise returns 0.
 * poll(2) reports when there is a chunk. The descriptor is non-blocking and closes on exec.
 * Closing it does not change the session. Signal handlers may make read(2) fail with EINTR.
 *
 * Return: the descriptor; -EBUSY: another descriptor reads the session; -EACCES:
 * /dev/asynctrace may not be opened; -EPERM: the session is another user's, or its owner had
 * another group or more capabilities; -ENOENT: the caller may not see the session.
 */
int at_session_open_stream(struct at_ctl *ctl, uint32_t id);

/**
 * at_session_open_snapshot - open a descriptor that copies a circular session
 * @ctl: the connection
 * @id: the session, which must be initialized
 *
 * read(2) returns chunks as at_session_open_stream() describes: all that the rings have when
 * it is first called, beginning with the names. After the last chunk it returns 0. Nothing is
 * taken out of the rings. The session continues, and records that are overwritten before they
 * were read count as overwritten. After closing the descriptor, another can be opened.
 *
 * Return: the descriptor; -EBUSY: another descriptor reads the session; -EINVAL: the session is
 * not circular; other errors of at_session_open_stream().
 */
int at_session_open_snapshot(struct at_ctl *ctl, uint32_t id);

/* --- session: look up ----------------------------------------------------- */

/**
 * struct at_session_info - state of a session
 * @id: its id
 * @state: enum asynctrace_session_state
 * @mode: enum asynctrace_mode
 * @sched: enum asynctrace_sched
 * @flags: enum asynctrace_session_flags
 * @uid: its owner, in the caller's user namespace
 * @providers: number of its providers
 * @late: number of its providers that joined after the start
 * @refused_providers: number of matching providers that are not recorded, because their
 *	rings would exceed the memory limit or there was no memory; counted since the
 *	session was last initialized or started
 * @consumed: a descriptor reads it
 * @ring_size: bytes of one CPU's ring
 * @sub_size: bytes of a sub-buffer
 * @pages: pages of ring memory in use
 * @refused: rings that are closed because a page could not be allocated
 * @probe_calls: calls of the scheduler probes, for all sessions since the module was
 *	loaded; 0 if the session was created without CAP_PERFMON
 * @probe_records: number of @probe_calls that wrote a record
 * @name: its name
 * @nr_categories: number of patterns in @categories; 0: every category
 * @categories: patterns of categories
 * @nr_patterns: number of patterns in @patterns; 0: every provider
 * @patterns: patterns of providers
 * @nr_pids: number of processes in @pids; 0: every process
 * @pids: processes; 0: the process has ended or is not visible to the caller
 * @nr_users: number of users in @users; 0: every user
 * @users: users
 * @nr_cgroups: number of cgroups in @cgroups; 0: every cgroup
 * @cgroups: cgroups
 * @nr_buffers: number of sizes in @buffers
 * @buffers: ring sizes of some providers
 * @generation: generation of the current or the last run; 0: the session was never started
 * @threads_missed: threads of its providers whose scheduling is not recorded, or only from
 *	a later time: the kernel had no memory, or the user had reached the limit on threads,
 *	or another session traces them for another provider of their process
 * @ended: number of its providers whose rings have been freed, so that only sums are left
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

/*
 * at_session_get() and the at_for_each_*() functions call @fn for each item of a list. The item is
 * valid only during the call. @fn must not use the connection. If @fn does not return 0, no more
 * items follow, and the list function returns the value of @fn.
 */

typedef int (*at_session_fn)(const struct at_session_info *session, void *arg);

/* Calls @fn for the session @id. */
int at_session_get(struct at_ctl *ctl, uint32_t id, at_session_fn fn, void *arg);

/* Calls @fn for all sessions that the caller may see, in order of their ids. */
int at_for_each_session(struct at_ctl *ctl, at_session_fn fn, void *arg);

/**
 * struct at_ring_info - the accounts of one ring
 * @provider: id of its provider; 0: a ring of the kernel, or the sums of the last item
 * @ring: index, which is the number of its CPU; nr_cpus of struct at_info: the fallback
 *	ring
 * @kind: enum asynctrace_ring_kind
 * @committed: records published
 * @delivered: of @committed, records handed to the consumer
 * @overwritten: of @committed, records lost to wraparound
 * @cleared: of @committed, records that a later start has cleared
 * @dropped: records that found no room
 * @pages: pages of memory in use
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

typedef int (*at_ring_fn)(const struct at_ring_info *ring, void *arg);

/*
 * Calls @fn for all rings of a session that have memory. A last item of ASYNCTRACE_RING_KIND_ENDED
 * has the sums over rings of providers that have ended or that a privileged session has taken.
 */
int at_for_each_ring(struct at_ctl *ctl, uint32_t session, at_ring_fn fn, void *arg);

/* --- providers ------------------------------------------------------------ */

/**
 * struct at_provider_info - a provider
 * @id: its id; another provider may get it later
 * @version: the version that it registered with
 * @pid: its process, in the caller's pid namespace; 0: not visible there
 * @uid: its user, in the caller's user namespace
 * @session: id of its session; 0: no session that the caller may see
 * @started: a session records it
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @rings: number of its rings that have memory
 * @ring_stride: address space that it reserves for each ring, bytes
 * @name: its name; not necessarily UTF-8
 * @sched_dropped: scheduling records of its threads that the session dropped, because they
 *	found no room or exceeded the provider's share of the kernel's rings
 * @names_dropped: names that the session dropped for the same reasons
 * @serial: its serial number, which no other provider gets while the module is loaded
 * @cells_missing: number of its threads that got no struct asynctrace_cell. Scheduling records of
 *	these threads name no operation
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
	uint32_t cells_missing;
};

typedef int (*at_provider_fn)(const struct at_provider_info *provider, void *arg);

/* Calls @fn for all providers that the caller may see, in order of their ids. */
int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg);

/**
 * struct at_category_info - a category that a provider can record
 * @provider: the provider's id
 * @provider_name: the provider's name
 * @name: name of the category
 * @description: description for users; empty if the provider gave none
 */
struct at_category_info {
	uint32_t provider;
	const char *provider_name;
	const char *name;
	const char *description;
};

typedef int (*at_category_fn)(const struct at_category_info *category, void *arg);

/*
 * Calls @fn for all categories that providers have announced and that the caller may see, one
 * provider after the other.
 */
int at_for_each_category(struct at_ctl *ctl, at_category_fn fn, void *arg);

/* --- notifications -------------------------------------------------------- */

/* A subscription to notifications, with a socket of its own. */
struct at_notifications;

/**
 * at_notifications_open - subscribe to notifications
 * @notifications: out: the subscription
 * @kinds: wanted kinds, ASYNCTRACE_NOTIFICATION_KINDS_*
 * @session: id of the only session wanted; 0: all sessions
 *
 * The subscription gets notifications of objects that the caller may see when it subscribes.
 * After an error other than -ENOMEM, *@notifications is a subscription, too, so that
 * at_notifications_error() can explain the error. Close it in any case.
 *
 * Return: 0; -ENOENT: no such session, or the module is not loaded; -EINVAL: no kind, or an
 * unknown one; -EDQUOT: this user has too many subscriptions; -ENOSPC: all users together have
 * too many.
 */
int at_notifications_open(struct at_notifications **notifications, uint32_t kinds,
			  uint32_t session);

/* Ends a subscription. NULL has no effect. */
void at_notifications_close(struct at_notifications *notifications);

/* Returns the message of the last error, like at_ctl_error(). */
const char *at_notifications_error(const struct at_notifications *notifications);

/*
 * Returns the descriptor of a subscription. poll(2) reports it as readable when there is a
 * notification. Returns the error of at_notifications_open() if the module was not reached.
 */
int at_notifications_fd(const struct at_notifications *notifications);

/**
 * struct at_notification - a notification
 * @size: in: sizeof(struct at_notification)
 * @kind: one of ASYNCTRACE_NOTIFICATION_KINDS_*
 * @session: id of the session; 0: no session that the caller may see
 * @provider: id of the provider; 0: none
 * @pid: the provider's process, in the caller's pid namespace; 0: not visible there
 * @uid: the provider's user, in the caller's user namespace
 * @status: for started: 0, or a positive errno: why the provider is not recorded
 * @generation: for started and stopped: generation of the run
 * @ring: for save-buffer: index of the ring
 * @durable: for save-buffer: number of words of the provider's names
 * @lost: number of notifications lost before this one, because the socket was full; for
 *	alerts also because their provider raised them too fast
 * @position: for save-buffer: end of the full sub-buffers, in words
 * @name: name of the provider if there is one, otherwise of the session
 * @alert: name of the alert; empty for other kinds
 *
 * The texts belong to the subscription and are valid until the next notification.
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

/**
 * at_notifications_next - read the next notification
 * @notifications: the subscription
 * @notification: out: the notification; the caller sets @notification->size
 *
 * Does not wait.
 *
 * Return: 0; -EAGAIN: there is no notification.
 */
int at_notifications_next(struct at_notifications *notifications,
			  struct at_notification *notification);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_SESSION_H */
