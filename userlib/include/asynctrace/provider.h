/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: the process as a provider of events
 *
 * A process that uses the macros of asynctrace/trace.h need do nothing here:
 * the first of them registers it, under the name of the program or what
 * ASYNCTRACE_NAME says. Without the module all of it costs nothing and does
 * nothing.
 *
 * Functions return 0 or a negative errno.
 */
#ifndef ASYNCTRACE_PROVIDER_H
#define ASYNCTRACE_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct at_provider_options - how to register
 * @size: sizeof(struct at_provider_options)
 * @version: any number, shown by `asynctrace providers`
 * @name: 1 to 100 bytes; NULL: ASYNCTRACE_NAME, or else the program's name
 * @ring_reserve: address space kept for each CPU's ring, bytes, a power of two
 *	from 16 KiB to 1 GiB; no session can give this process larger rings.
 *	0: 16 MiB. Memory is used for what is written only.
 * @flags: ASYNCTRACE_PROVIDER_*
 * @wait_ms: with ASYNCTRACE_PROVIDER_WAIT_START, milliseconds
 * @started: out, may be NULL: 1 where a session records the process when this
 *	returns, else 0
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

enum at_provider_flags {
	/* Return only when a session records, or after wait_ms. */
	ASYNCTRACE_PROVIDER_WAIT_START	= 1,
};

/*
 * Registers now, or anew under another name. When it returns, a session that
 * waits for this name records it, and one that runs does so at once. The first
 * macro that is reached does the same. Other threads that reach a macro meanwhile
 * wait, one second at most; a record that did not wait counts as dropped.
 * -ENOENT: no module (/dev/asynctrace is absent); -EACCES: no permission; -EPROTO: a
 * module of another version. Thread-safe; a cancellation point with
 * ASYNCTRACE_PROVIDER_WAIT_START only; not for signal handlers.
 */
int at_provider_register(const struct at_provider_options *opts);

/* Withdraws. From then on the macros do nothing until the next register. */
int at_provider_unregister(void);

/**
 * struct at_category - a category that the program can record
 * @name: 1 to 100 bytes
 * @description: what it is about, for people, up to 400 bytes; may be NULL
 */
struct at_category {
	const char *name;
	const char *description;
};

/*
 * Says which categories the program can record, in place of what was said before:
 * `asynctrace categories` lists them. Kept for every registration to come, also of
 * forked children. At most 100, no two of one name. -ERANGE, -EINVAL, -ENOMEM.
 */
int at_provider_announce(const struct at_category *list, size_t n);

/*
 * A descriptor that poll(2) finds readable when what at_provider_observe() tells
 * has changed. It is the library's: it is another after at_provider_register(),
 * and nothing but polling may be done with it. -ESRCH: not registered.
 */
int at_provider_fd(void);

/**
 * struct at_observed - what becomes of the process
 * @size: sizeof(struct at_observed), as the caller knows it
 * @recording: 1 where a session records now
 * @state: of the session that has the process, enum asynctrace_session_state; 0:
 *	there is none
 * @generation: of the run that records, 0 where none does; it is another for
 *	every start
 */
struct at_observed {
	uint32_t size;
	uint32_t recording;
	uint32_t state;
	uint32_t generation;
};

/* The present. Does not wait. -ESRCH: not registered. */
int at_provider_observe(struct at_observed *observed);

/* How this thread's records take their way, and what is in it. */
enum at_path {
	ASYNCTRACE_PATH_NONE		= 0,	/* nowhere: see reason */
	ASYNCTRACE_PATH_RSEQ		= 1,	/* the CPU's ring, by restartable sequence */
	ASYNCTRACE_PATH_FALLBACK	= 2,	/* the fallback ring, under a lock */
};

enum at_reason {
	ASYNCTRACE_REASON_OK		= 0,
	ASYNCTRACE_REASON_UNREGISTERED	= 1,	/* nothing was traced yet, or unregistered */
	ASYNCTRACE_REASON_NO_MODULE	= 2,	/* /dev/asynctrace cannot be opened */
	ASYNCTRACE_REASON_ABI		= 3,	/* library and module differ in version */
	ASYNCTRACE_REASON_REFUSED	= 4,	/* the module refused: see error */
	ASYNCTRACE_REASON_NO_RSEQ	= 5,	/* the C library registered no rseq */
	ASYNCTRACE_REASON_CLOCK		= 6,	/* the machine's counter is not trusted */
	ASYNCTRACE_REASON_TSC_FORBIDDEN	= 7,	/* PR_SET_TSC: this thread may not read it */
	ASYNCTRACE_REASON_NO_MEMBARRIER	= 8,	/* in-process: membarrier(2) lacks rseq */
	ASYNCTRACE_REASON_FORKED	= 9,	/* in-process: the parent is traced, not this child */
	ASYNCTRACE_REASON_NO_SLOT	= 10,	/* the thread could not be given a slot: see error */
	ASYNCTRACE_REASON_MIXED		= 11,	/* two copies of the library, half of each in use */
	ASYNCTRACE_REASON_NOT_RECORDED	= 12,	/* no session records this process now */
};

enum at_backend {
	ASYNCTRACE_BACKEND_NONE		= 0,
	ASYNCTRACE_BACKEND_MODULE	= 1,
	ASYNCTRACE_BACKEND_INPROCESS	= 2,
};

/**
 * struct at_status_info - for diagnosis
 * @size: sizeof(struct at_status_info), as the caller knows it
 * @backend: enum at_backend: who owns the rings
 * @path: enum at_path, of the calling thread
 * @reason: enum at_reason: why it is not the fast one
 * @error: negative errno that belongs to the reason, or 0
 * @recording: whether a session records now
 * @provider: the id that the module gave, or 0
 * @clock: 0 counter, 1 CLOCK_BOOTTIME
 * @names: names interned
 * @names_refused: names that found no room and went with their records
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

int at_status(struct at_status_info *status);
/* A sentence that names the remedy. */
const char *at_reason_text(enum at_reason reason);

/* A number unique in this process, never 0: 1, 2, ... Always works. */
uint64_t at_nonce(void);

/* A moment on the clock of records, in its ticks */
typedef uint64_t trace_ticks_t;

/*
 * The present, for events whose time the program gives: TRACE_VTHREAD_*. Only the ticks of one
 * trace compare. 0: this thread may not read the clock (PR_SET_TSC). Async-signal-safe.
 */
trace_ticks_t at_ticks(void);

/* A number unique on this machine, never 0, for flows between processes. */
uint64_t at_flow_id(void);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_PROVIDER_H */
