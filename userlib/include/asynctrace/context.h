/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: contexts of event loops and runtimes, in C11 and C++17
 *
 *	struct timer { struct at_context context; ... };
 *
 *	at_context_init(&timer->context, ASYNCTRACE_ASYNC_TIMER, timer);
 *	...
 *	at_context_run(&timer->context, timer->callback, timer);	whenever it expires
 *	...
 *	at_context_destroy(&timer->context);
 *
 * A context belongs to an asynchronous object, such as a timer, a socket or a job. The loop calls
 * the object's callback later, once or many times. A run of the context is the time from
 * at_context_enter() to at_context_leave(), around one call of the callback.
 *
 * A context is an operation (asynctrace/operation.h). Its parent is the operation that was current
 * when the context was made. So a trace shows what each callback does, how long it takes, what
 * caused it, and what is unfinished. Only the loop has to contain contexts, not the programs that
 * use the loop. A new context inherits listeners (asynctrace/listener.h) and the values of local
 * storage (asynctrace/local.h).
 *
 * Records are of the category "context". Their name is the provider's, or the type's.
 *
 * A context runs on one thread at a time. The next run may be on another thread; the caller must
 * order the runs, for example by a queue's lock. Call at_context_init() last in the construction
 * of an object, because listeners may look at the object. A context with up to two listeners needs
 * no memory besides its structure. NTRACE has no effect on contexts, which are functions. A signal
 * handler may use contexts that have neither listeners nor values of local storage.
 *
 * Errors: functions that return nothing report no error. Wrong calls count as misuse, see
 * at_context_misuses().
 */
#ifndef ASYNCTRACE_CONTEXT_H
#define ASYNCTRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/detail/context.h>
#include <asynctrace/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Providers: kinds of contexts, with one bit each for the masks of listeners */
#define ASYNCTRACE_ASYNC_CRYPTO		(1u << 0)
#define ASYNCTRACE_ASYNC_FSEVENT	(1u << 1)
#define ASYNCTRACE_ASYNC_FS		(1u << 2)
#define ASYNCTRACE_ASYNC_GETADDRINFO	(1u << 3)
#define ASYNCTRACE_ASYNC_PIPE		(1u << 4)
#define ASYNCTRACE_ASYNC_PROCESS	(1u << 5)
#define ASYNCTRACE_ASYNC_QUERY		(1u << 6)
#define ASYNCTRACE_ASYNC_SHUTDOWN	(1u << 7)
#define ASYNCTRACE_ASYNC_SIGNAL		(1u << 8)
#define ASYNCTRACE_ASYNC_STATWATCHER	(1u << 9)
#define ASYNCTRACE_ASYNC_TCP		(1u << 10)
#define ASYNCTRACE_ASYNC_TIMER		(1u << 11)
#define ASYNCTRACE_ASYNC_TLS		(1u << 12)
#define ASYNCTRACE_ASYNC_TTY		(1u << 13)
#define ASYNCTRACE_ASYNC_UDP		(1u << 14)
#define ASYNCTRACE_ASYNC_ZLIB		(1u << 15)
#define ASYNCTRACE_ASYNC_URING		(1u << 16)
#define ASYNCTRACE_ASYNC_THREADPOOL	(1u << 17)
#define ASYNCTRACE_ASYNC_HTTP		(1u << 18)
#define ASYNCTRACE_ASYNC_USER		(1u << 27)
/* Mask of all providers */
#define ASYNCTRACE_ASYNC_ALL		0x0fffffffu
/* Provider of work that runs after the current callback. Each mask except _NONE matches it. */
#define ASYNCTRACE_ASYNC_NEXTTICK	0xffffffffu
#define ASYNCTRACE_ASYNC_NONE		0u

struct at_listeners_;
struct at_locals_;

/**
 * struct at_context_type - a kind of contexts whose records have a name that the program chooses
 * @provider: one of ASYNCTRACE_ASYNC_*
 *
 * TRACE_CONTEXT_TYPE() defines it as a static variable.
 */
struct at_context_type {
	uint32_t provider;
	struct at_site_ begin_;
	struct at_site_ run_;
	uint64_t refs_[3];
};

/*
 * TRACE_CONTEXT_TYPE(variable, provider, name): defines a type. name is a string literal. A program
 * should have few types, because a trace has room for a limited number of names.
 */
#define TRACE_CONTEXT_TYPE(variable, provider, name) \
	static struct at_context_type variable = TRACE_CONTEXT_TYPE_(variable, provider, name)

/**
 * struct at_context - a context, embedded in the runtime's object
 * @operation: id of the context, and id of the operation that caused it; 0: unknown
 * @object: the object that was passed to at_context_init(), passed on to listeners
 * @provider: one of ASYNCTRACE_ASYNC_*
 *
 * A program may read these members after at_context_init(). The structure must not move.
 */
struct at_context {
	struct at_operation operation;
	void *object;
	uint32_t provider;
	uint32_t state_;
	struct at_context_type *type_;
	struct at_context *outer_;
	struct at_entered entered_;
	struct at_listeners_ *listeners_;
	void **more_;			/* values of listeners after the first two */
	void *values_[2];
	uint32_t gone_;			/* bit mask of removed listeners */
	uint32_t created_;		/* listeners that need destroy() */
	uint32_t ran_;			/* listeners that need after() */
	uint32_t flags_;
	struct at_locals_ *locals_;
	struct at_locals_ *outer_locals_;
};

/*
 * Initializes a context that inherits nothing. The ids are stored together, and so are provider and
 * state, because the number of stores determines the time of at_context_init().
 */
TRACE_INLINE_ void at_context_set_(struct at_context *context, uint64_t id, uint64_t parent,
				   uint32_t provider, void *object)
{
	const uint64_t kind = TRACE_TO_(uint64_t, TRACE_CONTEXT_READY_) << 32 | provider;

	at_store_pair_(&context->operation, id, parent);
	context->object = object;
	__builtin_memcpy(&context->provider, &kind, sizeof(kind));
}

/*
 * Makes a context, whose cause is the current operation. The context inherits the listeners of the
 * thread's current context and the current values of local storage. Without memory for these, the
 * context lacks them, and the call counts as misuse.
 *
 * at_context_init_under(): the context inherits from @parent, which is also its cause. For objects
 * that the loop itself makes: the parent of an accepted connection is the listening socket.
 * @parent must not run on another thread meanwhile. If @parent was destroyed, the call counts as
 * misuse, and acts like at_context_init().
 *
 * at_context_init_type(): like at_context_init_under(), with the name of @type. If @parent is NULL,
 * the context inherits as with at_context_init().
 */
TRACE_INLINE_ void at_context_init(struct at_context *context, uint32_t provider, void *object)
{
	struct at_context_type *const type = TRACE_ZERO_;
	struct at_context *const parent = TRACE_ZERO_;
	uint64_t id;

	if (__builtin_expect((at_gate_load_() | at_context_word_()) == 0, 1)) {
		id = at_id_();
		if (__builtin_expect(id != 0, 1)) {
			at_context_set_(context, id, 0, provider, object);
			return;
		}
	}
	at_context_init_(context, provider, type, object, parent);
}

void at_context_init_under(struct at_context *context, uint32_t provider, void *object,
			   struct at_context *parent);
void at_context_init_type(struct at_context *context, struct at_context_type *type, void *object,
			  struct at_context *parent);

/*
 * Call these before and after each call of the object's callback, on the same thread. Between
 * them, the operation of the context is the current one. They call before() and after() of the
 * context's listeners. Runs of different contexts may nest. The end of a run also ends all scopes
 * that began in it. To enter a context that is entered already, or to leave a context that this
 * thread has not entered, is misuse and has no effect.
 */
TRACE_INLINE_ void at_context_enter(struct at_context *context)
{
	if (__builtin_expect((at_gate_load_() | (context->state_ ^ TRACE_CONTEXT_READY_) |
			      at_context_word_()) == 0, 1)) {
		__atomic_store_n(&at_current_.context, TRACE_ADDRESS_(context) + TRACE_LIGHT_,
				 __ATOMIC_RELAXED);
		return;
	}
	at_context_enter_(context);
}

TRACE_INLINE_ void at_context_leave(struct at_context *context)
{
	if (__builtin_expect(at_context_word_() == TRACE_ADDRESS_(context) + TRACE_LIGHT_, 1)) {
		__atomic_store_n(&at_current_.context, 0, __ATOMIC_RELAXED);
		if (__builtin_expect(__atomic_load_n(&at_current_.id, __ATOMIC_RELAXED) != 0, 0))
			at_context_left_(context);
		return;
	}
	at_context_leave_(context);
}

/*
 * Destroys a context. Call this when the object's callback will not be called any more, also if it
 * was never called. The memory of the context may be freed afterwards. Any thread may destroy a
 * context that no other thread has entered. If the calling thread has entered the context, its run
 * ends, too.
 */
TRACE_INLINE_ void at_context_destroy(struct at_context *context)
{
	if (__builtin_expect((at_gate_load_() | (context->state_ ^ TRACE_CONTEXT_READY_) |
			      at_context_word_()) == 0, 1)) {
		context->state_ = TRACE_CONTEXT_DEAD_;
		return;
	}
	at_context_destroy_(context);
}

/* TRACE_CONTEXT_SCOPE(context): enters the context, and leaves it at the end of the block. */
#define TRACE_CONTEXT_SCOPE(context) TRACE_CONTEXT_SCOPE_(__COUNTER__, context)

TRACE_INLINE_ struct at_context *at_context_scope_(struct at_context *context)
{
	at_context_enter(context);
	return context;
}

TRACE_INLINE_ void at_context_unscope_(struct at_context **context)
{
	at_context_leave(*context);
}

/* Returns the context that the thread has entered last and not left, or NULL. */
TRACE_INLINE_ struct at_context *at_context_current(void)
{
	return TRACE_CONTEXT_AT_(at_context_word_() & ~TRACE_CURRENT_BITS_);
}

/*
 * at_context_execution() returns the id of the thread's current operation. at_context_trigger()
 * returns the id of the operation that caused @context. 0: there is none, or it is unknown.
 */
TRACE_INLINE_ uint64_t at_context_execution(void)
{
	return at_operation_current();
}

TRACE_INLINE_ uint64_t at_context_trigger(const struct at_context *context)
{
	return context->operation.parent;
}

/* --- errors ---------------------------------------------------------------------------- */

/**
 * struct at_error - an error in a callback
 * @error: negative, a negative errno for example
 * @message: a text, or NULL. Valid only during the call of a listener or a handler
 * @context: current context at the time of the error, or NULL
 */
struct at_error {
	int error;
	const char *message;
	struct at_context *context;
};

/*
 * Enters @context, calls @fn with @arg, and leaves the context. @fn reports an error by a negative
 * result, by at_throw() or by at_context_fail(). After an error, error() of all listeners of the
 * current context is called, but not their after(). If no listener handles the error, the handler
 * of at_unhandled_set() is called. If the handler does not handle the error either, the process
 * exits. longjmp(3), pthread_exit(3), cancellation and exceptions of C++ must not leave @fn.
 *
 * Returns the result of @fn; 0 if @fn returned a negative number or called at_throw(); -EINVAL if
 * @context was destroyed or is entered already: @fn was not called.
 */
int at_context_run(struct at_context *context, int (*fn)(void *arg), void *arg);

/*
 * Reports an error of the current context. Returns true if a listener has handled the error, and
 * false if the handler of at_unhandled_set() has. If neither has, the process exits.
 */
bool at_context_fail(int error, const char *message);

/*
 * Reports an error like at_context_fail(), and makes the innermost at_context_run() return 0. Ends
 * all runs, scopes and calls of at_local_run() within that call. For C only: destructors of C++ and
 * functions of the cleanup attribute are not called. Outside of at_context_run(), the process
 * exits.
 */
__attribute__((noreturn)) void at_throw(int error, const char *message);

/*
 * Sets the process's handler of errors that no listener handles; NULL: none. If the handler returns
 * true, the program goes on. If it returns false, or if there is none, the process prints the error
 * and calls exit(3) with status 1; in debug mode, abort(3) if the error was in a callback of a
 * listener. After an error in an error() callback or in this handler, the status is 7. Returns the
 * previous handler.
 */
typedef bool (*at_error_handler)(const struct at_error *error);
at_error_handler at_unhandled_set(at_error_handler handler);

/* --- misuse ---------------------------------------------------------------------------- */

/*
 * Misuse is, for example, to leave a context that was not entered, or to use a context after it was
 * destroyed. The library counts the call, and records it as an instant named "misuse". Most such
 * calls have no other effect. at_context_leave() of a context that is not the innermost one also
 * ends the runs within it.
 *
 * at_context_misuses() returns the number of such calls in this process.
 *
 * In debug mode, the process prints the id of the context and the id of the current context, and
 * aborts. at_context_debug() turns debug mode on (@abort is true) or off. Before its first call,
 * the environment variable ASYNCTRACE_DEBUG=1 turns debug mode on.
 */
uint64_t at_context_misuses(void);
void at_context_debug(bool abort);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_CONTEXT_H */
