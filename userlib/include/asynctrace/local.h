/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: local storage of asynchronous work
 *
 *	at_local_run(user, "alice", serve, request);
 *
 * In this example, at_local_get(user) is "alice" in serve(), in callbacks of all timers, sockets
 * and jobs that serve() makes, and in callbacks of objects that these make.
 *
 * A new context (asynctrace/context.h) inherits the values that are current when it is made. They
 * are current in each of its runs. Storages are independent of each other.
 *
 * All functions may be called on any thread and in callbacks of listeners. Signal handlers must not
 * call them.
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
 * struct at_local_options - callbacks of a storage; each may be NULL
 * @size: sizeof(struct at_local_options)
 * @propagate: called when a context is made while a value is current. If it returns false, the
 *	context does not inherit the value. Must not call functions of this header.
 * @release: called, on any thread, when no context and no thread has the value any more
 */
struct at_local_options {
	uint32_t size;
	uint32_t reserved;
	bool (*propagate)(void *value, struct at_context *context);
	void (*release)(void *value);
};

struct at_local;

/*
 * Makes a storage and stores it in *@local. @options may be NULL. Returns 0; -EINVAL: @local is
 * NULL, or the size of *@options is too small; -ENOMEM.
 */
int at_local_new(struct at_local **local, const struct at_local_options *options);
/*
 * Drops the caller's reference. The storage is freed when no value of it is left. NULL has no
 * effect.
 */
void at_local_put(struct at_local *local);

/* Returns the value that is current on the calling thread, or NULL if there is none. */
void *at_local_get(const struct at_local *local);

/*
 * Calls @fn with @value as the current value, and restores the previous value, also after
 * at_throw(). longjmp(3), pthread_exit(3), cancellation and exceptions of C++ must not leave @fn.
 * @value: NULL: no value. Returns the result of @fn; -ENOMEM: @fn was not called, and
 * @value will not be released.
 */
int at_local_run(struct at_local *local, void *value, int (*fn)(void *arg), void *arg);
/* Like at_local_run() with NULL as the value */
int at_local_exit(struct at_local *local, int (*fn)(void *arg), void *arg);
/*
 * Makes @value the current value until the end of the current run of a context, or of the current
 * call of at_local_run() or at_local_exit(). Outside of these, it is current until the thread ends.
 * Returns 0; -ENOMEM: nothing has changed, and @value will not be released.
 */
int at_local_enter_with(struct at_local *local, void *value);
/*
 * Discards all values that @local has: at_local_get() returns NULL on all threads and in all
 * contexts. Only values that at_local_run() or at_local_enter_with() sets later are current again.
 * The discarded values are released when the contexts that have them are destroyed, or when the
 * thread that has them ends or sets another value.
 */
void at_local_disable(struct at_local *local);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_LOCAL_H */
