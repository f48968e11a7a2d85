/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: listeners, which are called for the contexts of a program (asynctrace/context.h)
 *
 * A listener is added to the current context of a thread, or to the thread itself while it has
 * entered no context. New contexts inherit listeners from the context that makes them. A listener
 * has a separate value for each context. Its callbacks are called when a context is made, before
 * and after each run, after an error, and when the context is destroyed.
 *
 * All functions may be called on any thread and in callbacks. Signal handlers must not call them.
 */
#ifndef ASYNCTRACE_LISTENER_H
#define ASYNCTRACE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * If create() returns this, the listener's value for the context is its data, the argument of
 * at_listener_new(). NULL is an ordinary value.
 */
#ifdef __cplusplus
#define ASYNCTRACE_KEEP (reinterpret_cast<void *>(UINTPTR_MAX))
#else
#define ASYNCTRACE_KEEP ((void *)UINTPTR_MAX)
#endif

/* Largest number of listeners of a context, and of a thread */
#define ASYNCTRACE_LISTENERS_MAX	32

/**
 * struct at_listener_options - callbacks of a listener; each may be NULL
 * @size: sizeof(struct at_listener_options)
 * @create: called when a context is made. data: argument of at_listener_new(). type: name of the
 *	context's type or provider. Returns the listener's value for the context, or
 *	ASYNCTRACE_KEEP.
 * @before: called before the object's callback
 * @after: called after the object's callback, unless there was an error
 * @error: called after an error in the object's callback, for contexts of all providers. handled:
 *	an earlier listener has handled the error. Returns true if this listener has handled it.
 * @destroy: called when the context is destroyed; the value is not used any more. Called for all
 *	contexts for which create() was called, or would have been called if it were not NULL.
 *	Must not call at_throw().
 *
 * object: argument of at_context_init(). value: the listener's value for the context. For each
 * context, listeners are called in the order in which they were added.
 *
 * A context that is made in a callback has no listeners. Callbacks do not nest. If a callback adds
 * or removes listeners, the change takes effect after the callback. An error in create(), before()
 * or after() counts as unhandled even if error() returns true. After such an error, the callbacks
 * of further listeners are not called. After an error in before(), at_context_run() does not call
 * the object's callback. An error in create() is one of the context in which the new context is
 * made. A callback must not destroy its context.
 */
struct at_listener_options {
	uint32_t size;
	uint32_t reserved;
	void *(*create)(void *data, const char *type, void *object);
	void (*before)(void *object, void *value);
	void (*after)(void *object, void *value);
	bool (*error)(void *object, void *value, const struct at_error *error, bool handled);
	void (*destroy)(void *object, void *value);
};

struct at_listener;

/*
 * Makes a listener, which is not called before at_listener_add(). @data: first value for each
 * context, which create() may replace. @providers: mask of ASYNCTRACE_ASYNC_*; the listener's
 * functions are called only for contexts of these providers, but error() for all contexts. Contexts
 * of other providers also inherit the listener, and pass it on. Returns 0; -EINVAL: @listener or
 * @options is NULL, or the size of *@options is too small; -ENOMEM.
 */
int at_listener_new(struct at_listener **listener, const struct at_listener_options *options,
		    void *data, uint32_t providers);
/*
 * Adds the listener to the current context, or to the thread if it has entered no context. The
 * thread's listeners are removed when it leaves its outermost context. A second call has no effect.
 * Other existing contexts do not get the listener. Returns 0; -EINVAL: @listener is NULL; -ENOMEM;
 * -ENOSPC: the context or the thread has ASYNCTRACE_LISTENERS_MAX listeners.
 */
int at_listener_add(struct at_listener *listener);
/*
 * Removes the listener from all contexts that the thread has entered, and from the thread. Other
 * contexts keep the listener and pass it on. Has no effect if they do not have it. If before() was
 * called for a run, after() is still called. Returns 0; -EINVAL: @listener is NULL; -ENOMEM:
 * nothing has changed.
 */
int at_listener_remove(struct at_listener *listener);
/*
 * Drops the caller's reference. The listener is freed when no context and no thread has it. NULL
 * has no effect.
 */
void at_listener_put(struct at_listener *listener);

/*
 * Returns the listener's value for @context; NULL: the context does not have the listener. In
 * create(), at_listener_value(listener, at_context_current()) is the value for the context that
 * makes the new one. create() may derive the new value from it.
 */
void *at_listener_value(const struct at_listener *listener, const struct at_context *context);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_LISTENER_H */
