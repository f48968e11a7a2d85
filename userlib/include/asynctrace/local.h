/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: local storage of asynchronous work
 *
 *	at_local_run(user, "alice", serve, request);
 *
 *	at_local_get(user)		is "alice" in serve(), in callbacks of all timers, sockets
 *					and jobs that serve() makes, and in what these make
 *
 * A value belongs to contexts (asynctrace/context.h): each takes over, when it is made, what is
 * current then. Different storages are independent of each other.
 *
 * All functions may be called on any thread and in callbacks of listeners, not in signal handlers.
 */
#ifndef ASYNCTRACE_LOCAL_H
#define ASYNCTRACE_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct at_local_options - a storage; functions may be NULL
 * @size: sizeof(struct at_local_options)
 * @propagate: a context is made while @value is current. false: the context does not take it over.
 *	Must not call functions of this header.
 * @release: no context and no thread has the value any more. On any thread
 */
struct at_local_options {
	uint32_t size;
	uint32_t reserved;
	bool (*propagate)(void *value, struct at_context *context);
	void (*release)(void *value);
};

struct at_local;

/* @options may be NULL. -EINVAL, -ENOMEM */
int at_local_new(struct at_local **local, const struct at_local_options *options);
/* Gives up the caller's reference. The storage exists until no value of it is left. */
void at_local_put(struct at_local *local);

/* The current value; NULL: there is none */
void *at_local_get(const struct at_local *local);

/*
 * Calls @fn with @value as the current value, and returns its result. The value before is the
 * current one again afterwards, also after at_throw(). @value: NULL: there is none. -ENOMEM: @fn
 * was not called, and @value was not taken over.
 */
int at_local_run(struct at_local *local, void *value, int (*fn)(void *arg), void *arg);
/* As at_local_run() with NULL */
int at_local_exit(struct at_local *local, int (*fn)(void *arg), void *arg);
/*
 * Makes @value the current one until the end of the current run, or of the current call of
 * at_local_run() or at_local_exit(). -ENOMEM: @value was not taken over.
 */
int at_local_enter_with(struct at_local *local, void *value);
/*
 * No thread and no context has a value of this storage any more, until the next at_local_run() or
 * at_local_enter_with(). The values are released with the contexts that had them.
 */
void at_local_disable(struct at_local *local);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_LOCAL_H */
