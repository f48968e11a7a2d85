/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: listeners, which follow the contexts of a program (asynctrace/context.h)
 *
 * A listener is added to the current context of a thread, or to the thread itself while it has
 * entered none. Contexts that are made from then on take it over, and theirs do in turn. It
 * has a value of its own for each context. Its callbacks are told when a context is made, before
 * and after each of its runs, of errors, and when it is destroyed.
 *
 * All functions may be called on any thread and in callbacks, not in signal handlers.
 */
#ifndef ASYNCTRACE_LISTENER_H
#define ASYNCTRACE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A result of create(): the value is the listener's data. NULL is a value, too. */
#ifdef __cplusplus
#define ASYNCTRACE_KEEP (reinterpret_cast<void *>(UINTPTR_MAX))
#else
#define ASYNCTRACE_KEEP ((void *)UINTPTR_MAX)
#endif

/* Listeners that a context can have at a time */
#define ASYNCTRACE_LISTENERS_MAX	32

/**
 * struct at_listener_options - what a listener wants to be told; each may be NULL
 * @size: sizeof(struct at_listener_options)
 * @create: a context is made; data: of at_listener_new(); type: name of its provider or type.
 *	Returns the listener's value for this context, or ASYNCTRACE_KEEP.
 * @before: the object's callback is about to be called
 * @after: it has returned. Not called after an error.
 * @error: there was an error in the callback, or below it. Called for contexts of all providers.
 *	handled: an earlier listener has handled it. Returns true if it has handled it.
 * @destroy: the context is destroyed; the value is not used any more. Called for contexts for which
 *	create() was called, or would have been. Must not call at_throw()
 *
 * object: of at_context_init(); data and value are as the listener chose them. Callbacks are called
 * in the order in which listeners were added.
 *
 * A context that is made in a callback has no listeners, and callbacks are not nested. Changes of
 * listeners in a callback take effect after it. An error in create(), before() or after() counts as
 * unhandled whatever error() returns. Then further listeners are not told of the moment, and
 * at_context_run() does not call the object's callback. A callback must not destroy the
 * context that it is called for.
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
 * Makes a listener, which is told nothing before it is added. @data: its value for contexts for
 * which create() returns no other. @providers: ASYNCTRACE_ASYNC_* of the contexts that it wants to
 * be told of. It follows others silently, so that it is told of contexts that these make.
 * -EINVAL, -ENOMEM
 */
int at_listener_new(struct at_listener **listener, const struct at_listener_options *options,
		    void *data, uint32_t providers);
/*
 * Adds it to the current context, or to the thread if it has entered none. The latter lasts
 * until the thread has left a context and is in none again. It does nothing if the listener is
 * there. Contexts that exist are not affected. -ENOMEM; -ENOSPC: there are
 * ASYNCTRACE_LISTENERS_MAX
 */
int at_listener_add(struct at_listener *listener);
/*
 * Removes it from all contexts that the thread has entered, and from the thread. Other contexts
 * keep it, and those that they make get it. Does nothing if it is not there. after() is still
 * called for a run whose before() was. -EINVAL: NULL
 */
int at_listener_remove(struct at_listener *listener);
/* Gives up the caller's reference. The listener exists until no context has it. */
void at_listener_put(struct at_listener *listener);

/*
 * The listener's value for a context; NULL: the context does not have the listener. In create(),
 * at_context_current() is the context whose value a new one may take over.
 */
void *at_listener_value(const struct at_listener *listener, const struct at_context *context);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_LISTENER_H */
