/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: the process as a provider of events
 *
 * A process that uses the macros of asynctrace/trace.h need not call any function of this
 * header. The first macro registers it, under the name in ASYNCTRACE_NAME or the name of the
 * program. Without the module, a macro does nothing and costs a load and a branch.
 *
 * Return values: unless stated otherwise, a function returns 0 or a negative errno.
 *
 * Thread safety: all functions are thread-safe.
 *
 * Signal safety: at_nonce(), at_flow_id(), at_ticks(), at_thread_cpu_ns(), at_status() and
 * at_reason_text() may be called in signal handlers, the others not. at_flow_id() and at_ticks()
 * register the process if it is not registered yet, as a macro does.
 */
#ifndef ASYNCTRACE_PROVIDER_H
#define ASYNCTRACE_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- provider: register --------------------------------------------------- */

enum at_provider_flags {
	/* Return only when a session records the process, or after wait_ms. */
	ASYNCTRACE_PROVIDER_WAIT_START	= 1,
};

/**
 * struct at_provider_options - settings of a registration
 * @size: sizeof(struct at_provider_options)
 * @version: any number, which `asynctrace providers` shows
 * @name: 1 to 100 bytes; NULL: ASYNCTRACE_NAME, or the program's name
 * @ring_reserve: address space reserved for each CPU's ring, bytes, a power of two from
 *	16 KiB to 1 GiB; 0: 16 MiB. Less is reserved if the address space is too small. No
 *	session can give this process larger rings. Memory is used only for what is written
 * @flags: enum at_provider_flags
 * @wait_ms: with ASYNCTRACE_PROVIDER_WAIT_START: longest time to wait, milliseconds
 * @started: out, may be NULL: 1 if a session records the process on return, otherwise 0
 */
struct at_provider_options {
	uint32_t size;
	uint32_t version;
	const char *name;
	uint64_t ring_reserve;
	uint32_t flags;
	uint32_t wait_ms;
	uint32_t *started;
};

/**
 * at_provider_register - register the process, or register it again under another name
 * @opts: settings; NULL: the defaults
 *
 * On return, a started session that matches this provider records it. Another thread that reaches a
 * macro during the registration waits: at most one second for each step of the registration, five
 * if the registering thread is busy, and longer on an overloaded machine. If a thread cannot wait,
 * or gives up, its record counts as dropped. This function is a cancellation point only with
 * ASYNCTRACE_PROVIDER_WAIT_START.
 *
 * Return: 0; -ENOENT: the module is not loaded; -EACCES: /dev/asynctrace may not be opened;
 * -EPROTO: the module has another version; -EINVAL: an option is wrong; -EDQUOT: this user has
 * too many providers; -ENOMEM; -EBUSY: see ASYNCTRACE_REASON_MIXED; or the error of a system call.
 */
int at_provider_register(const struct at_provider_options *opts);

/**
 * at_provider_unregister - end the registration
 *
 * No session records the process until the next at_provider_register(). Earlier records can still
 * be read. A trace that the process itself has started goes on.
 *
 * Return: 0; -ESRCH: the process is not registered; -ENOMEM: there is no memory, and the process
 * is still registered.
 */
int at_provider_unregister(void);

/* --- provider: categories ------------------------------------------------- */

/**
 * struct at_category - a category that the program can record
 * @name: 1 to 100 bytes
 * @description: description for users, up to 400 bytes; may be NULL
 */
struct at_category {
	const char *name;
	const char *description;
};

/**
 * at_provider_announce - announce the categories that the program can record
 * @list: the categories, with different names
 * @n: their number, at most 100
 *
 * Replaces an earlier announcement. `asynctrace categories` lists the categories. The library
 * sends them again with each later registration, also in forked children. Categories that were
 * not announced can be recorded, too.
 *
 * Return: 0; -ERANGE: too many; -EINVAL: a text is too long, or a name is empty or appears
 * twice; -ENOMEM. After an error, the earlier announcement is unchanged.
 */
int at_provider_announce(const struct at_category *list, size_t n);

/* --- provider: observe ---------------------------------------------------- */

/**
 * struct at_observed - is the process recorded?
 * @size: in: sizeof(struct at_observed)
 * @recording: 1 if a session records the process now, otherwise 0
 * @state: enum asynctrace_session_state of the session that has the process; 0: none
 * @generation: a number that is new after each start of the session and each change of its
 *	categories; 0 if @recording is 0
 */
struct at_observed {
	uint32_t size;
	uint32_t recording;
	uint32_t state;
	uint32_t generation;
};

/**
 * at_provider_observe - find out whether the process is recorded
 * @observed: out: the answer; the caller sets @observed->size
 *
 * Does not wait.
 *
 * Return: 0; -ESRCH: the process is not registered, or has closed the library's descriptor;
 * -EINVAL: @observed is NULL, or its size is too small.
 */
int at_provider_observe(struct at_observed *observed);

/**
 * at_provider_fd - get a descriptor that reports changes
 *
 * poll(2) reports the descriptor as readable when the result of at_provider_observe() has
 * changed. The descriptor belongs to the library: the program must only poll it. It changes with
 * at_provider_register() and in a forked child.
 *
 * Return: the descriptor; -ESRCH: the process is not registered, or has closed the descriptor.
 */
int at_provider_fd(void);

/* --- status: how the calling thread records ------------------------------- */

/* Destination of a thread's records. */
enum at_path {
	ASYNCTRACE_PATH_NONE		= 0,	/* none; see reason */
	ASYNCTRACE_PATH_RSEQ		= 1,	/* the CPU's ring, by restartable sequence */
	ASYNCTRACE_PATH_FALLBACK	= 2,	/* the fallback ring, under a lock */
};

/* Reason why a thread does not use ASYNCTRACE_PATH_RSEQ. */
enum at_reason {
	ASYNCTRACE_REASON_OK		= 0,	/* it does use that path */
	ASYNCTRACE_REASON_UNREGISTERED	= 1,	/* no macro was reached yet, or unregistered */
	ASYNCTRACE_REASON_NO_MODULE	= 2,	/* /dev/asynctrace cannot be opened */
	ASYNCTRACE_REASON_ABI		= 3,	/* library and module have different versions */
	ASYNCTRACE_REASON_REFUSED	= 4,	/* the module refused to register; see error */
	ASYNCTRACE_REASON_NO_RSEQ	= 5,	/* the C library registered no rseq */
	ASYNCTRACE_REASON_CLOCK		= 6,	/* the machine's counter is not trusted */
	ASYNCTRACE_REASON_TSC_FORBIDDEN	= 7,	/* PR_SET_TSC forbids reading the counter */
	ASYNCTRACE_REASON_NO_MEMBARRIER	= 8,	/* in-process: membarrier(2) lacks rseq */
	ASYNCTRACE_REASON_FORKED	= 9,	/* in-process: only the parent is traced */
	ASYNCTRACE_REASON_NO_SLOT	= 10,	/* the thread got no number (slot); see error */
	ASYNCTRACE_REASON_MIXED		= 11,	/* parts of two copies of the library in use */
	ASYNCTRACE_REASON_NOT_RECORDED	= 12,	/* no session records this process now */
	ASYNCTRACE_REASON_REGISTERING	= 13,	/* another thread registers the process now */
};

/* Owner of the rings. */
enum at_backend {
	ASYNCTRACE_BACKEND_NONE		= 0,	/* no rings */
	ASYNCTRACE_BACKEND_MODULE	= 1,	/* the kernel module */
	ASYNCTRACE_BACKEND_INPROCESS	= 2,	/* this process; see asynctrace/inprocess.h */
};

/**
 * struct at_status_info - diagnosis of the calling thread
 * @size: in: sizeof(struct at_status_info)
 * @backend: enum at_backend
 * @path: enum at_path
 * @reason: enum at_reason
 * @error: negative errno that belongs to @reason, or 0
 * @recording: 1 if a session or an in-process trace records the process now, otherwise 0
 * @provider: id that the module or the in-process trace gave to the process, or 0
 * @clock: enum asynctrace_clock: 0: the counter, 1: CLOCK_BOOTTIME
 * @names: number of names interned
 * @names_refused: number of trace sites whose names found no room, so that each record
 *	carries them
 */
struct at_status_info {
	uint32_t size;
	uint32_t backend;
	uint32_t path;
	uint32_t reason;
	int32_t error;
	uint32_t recording;
	uint32_t provider;
	uint32_t clock;
	uint32_t names;
	uint32_t names_refused;
};

/**
 * at_status - find out where the records of the calling thread go
 * @status: out: the diagnosis; the caller sets @status->size
 *
 * Return: 0; -EINVAL: @status is NULL, or its size is too small.
 */
int at_status(struct at_status_info *status);

/* Returns a sentence that explains a reason and names a remedy. The text is constant. */
const char *at_reason_text(enum at_reason reason);

/* --- clock and ids -------------------------------------------------------- */

/* A moment on the clock of the records, in its ticks. */
typedef uint64_t trace_ticks_t;

/**
 * at_ticks - read the clock, for events whose time the program gives (TRACE_VTHREAD_*)
 *
 * Ticks may be compared only within one trace.
 *
 * Return: ticks; 0: this thread may not read the clock, because it called prctl(PR_SET_TSC) before
 * its first at_ticks() and its first record. A later prctl(PR_SET_TSC) must not forbid the clock:
 * the thread would get SIGSEGV. See TRACE_VTHREAD_DURATION_BEGIN(3).
 */
trace_ticks_t at_ticks(void);

/*
 * Returns the CPU time of the calling thread in nanoseconds, as CLOCK_THREAD_CPUTIME_ID has it.
 * Makes no system call while a session with scheduling records the thread. Async-signal-safe, and
 * does not change errno.
 */
uint64_t at_thread_cpu_ns(void);

/* Returns a number that is unique in this process: 1, 2, ... Cannot fail. */
uint64_t at_nonce(void);

/*
 * Returns a number for flows between processes, which is as unique as the id of an operation: see
 * struct at_operation in asynctrace/operation.h. Never 0.
 */
uint64_t at_flow_id(void);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_PROVIDER_H */
