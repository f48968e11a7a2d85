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
 * A context stands for an asynchronous object, such as a timer, a socket or a job: something
 * whose callback the loop calls later. It is an operation (asynctrace/operation.h), whose parent
 * is what ran when it was made. So the traces of a program whose loop has contexts show what each
 * callback does, for how long, what caused it, and what is unfinished, without any change of the
 * program. Listeners (asynctrace/listener.h) and local storage (asynctrace/local.h) follow
 * contexts, too.
 *
 * Records are of the category "context". Their name is the provider's, or the type's.
 *
 * A context runs on one thread at a time, and may run on another one the next time; the caller
 * orders that, by a queue's lock for example. at_context_init() comes last in the construction of
 * an object, because listeners may look at the object. Nothing allocates memory for a context of
 * up to two listeners. These are functions: NTRACE does not change them. A signal handler may use
 * contexts that have neither listeners nor values of local storage.
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

/* Providers: kinds of contexts, one bit each, for the masks of listeners */
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
/* All of them */
#define ASYNCTRACE_ASYNC_ALL		0x0fffffffu
/* Work that runs after the present callback. Every mask but _NONE matches it. */
#define ASYNCTRACE_ASYNC_NEXTTICK	0xffffffffu
#define ASYNCTRACE_ASYNC_NONE		0u

struct at_listeners_;
struct at_locals_;

/**
 * struct at_context_type - a kind of contexts with a name of its own
 * @provider: one of ASYNCTRACE_ASYNC_*
 *
 * TRACE_CONTEXT_TYPE() makes it. It stays as long as the process.
 */
struct at_context_type {
	uint32_t provider;
	struct at_site_ begin_;
	struct at_site_ run_;
	uint64_t refs_[3];
};

/* TRACE_CONTEXT_TYPE(variable, provider, name): name is a literal, one of few. */
#define TRACE_CONTEXT_TYPE(variable, provider, name) \
	static struct at_context_type variable = TRACE_CONTEXT_TYPE_(variable, provider, name)

/**
 * struct at_context - a context, to be embedded in the runtime's object
 * @operation: its id, and the id of what caused it; 0: nothing that is known
 * @object: as passed to at_context_init(); listeners get it
 * @provider: one of ASYNCTRACE_ASYNC_*
 *
 * Members may be read from at_context_init() on. The structure must not move.
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
	void **more_;			/* values of listeners from the third on */
	void *values_[2];
	uint32_t gone_;			/* listeners that were removed; one bit each */
	uint32_t created_;		/* listeners that destroy() is for */
	uint32_t ran_;			/* listeners that after() is for */
	uint32_t flags_;
	struct at_locals_ *locals_;
	struct at_locals_ *outer_locals_;
};

/* A context that has nothing but its records */
TRACE_INLINE_ void at_context_set_(struct at_context *context, uint64_t id, uint32_t provider,
				   void *object)
{
	context->operation.id = id;
	context->operation.parent = at_operation_current();
	context->object = object;
	context->provider = provider;
	context->state_ = TRACE_CONTEXT_READY_;
}

/*
 * Makes a context. The current operation is its cause. It takes over the listeners of the
 * thread's current context, and the values of local storage.
 *
 * at_context_init_under(): takes listeners, values and cause from @parent. For objects that the
 * loop itself makes: an accepted connection has the listening socket as its parent. @parent does
 * not run on another thread meanwhile.
 *
 * at_context_init_type(): with a name of the program's own. @parent: NULL: as at_context_init()
 */
TRACE_INLINE_ void at_context_init(struct at_context *context, uint32_t provider, void *object)
{
	struct at_context_type *const type = TRACE_ZERO_;
	struct at_context *const parent = TRACE_ZERO_;
	uint64_t id;

	if (__builtin_expect((at_gate_load_() | at_current_.inherits) == 0, 1)) {
		id = at_id_();
		if (__builtin_expect(id != 0, 1)) {
			at_context_set_(context, id, provider, object);
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
 * Around each call of the object's callback, on one thread: the operation of the context is the
 * current one, and its listeners' before() and after() are called. Runs nest. The end of a run also
 * ends the scopes within it.
 */
TRACE_INLINE_ void at_context_enter(struct at_context *context)
{
	if (__builtin_expect((at_gate_load_() | at_current_.inherits | at_current_.depth |
			      (context->state_ ^ TRACE_CONTEXT_READY_) | at_current_.context |
			      at_operation_current()) == 0, 1)) {
		at_current_.context = TRACE_ADDRESS_(context) | TRACE_LIGHT_;
		at_current_set_(context->operation.id);
		return;
	}
	at_context_enter_(context);
}

TRACE_INLINE_ void at_context_leave(struct at_context *context)
{
	if (__builtin_expect(((at_current_.context ^ TRACE_ADDRESS_(context) ^ TRACE_LIGHT_) |
			      at_current_.depth) == 0, 1)) {
		at_current_.context = 0;
		at_current_set_(0);
		return;
	}
	at_context_leave_(context);
}

/*
 * The object's callback will not be called any more. On any thread; also within a run of the
 * context, which ends the run. The memory may then be freed. A context that ran zero times, such as
 * a cancelled timer, is destroyed like others.
 */
TRACE_INLINE_ void at_context_destroy(struct at_context *context)
{
	if (__builtin_expect((at_gate_load_() | (context->state_ ^ TRACE_CONTEXT_READY_) |
			      at_current_.context) == 0, 1)) {
		context->state_ = TRACE_CONTEXT_DEAD_;
		return;
	}
	at_context_destroy_(context);
}

/* TRACE_CONTEXT_SCOPE(context): enters it until the end of the block. */
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

/* The innermost context that the thread has entered, or NULL */
TRACE_INLINE_ struct at_context *at_context_current(void)
{
	return TRACE_CONTEXT_AT_(at_current_.context & ~TRACE_LIGHT_);
}

/*
 * Ids: of the operation that runs now, and of the one that caused @context (0: none, or it is not
 * known).
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
 * @message: NULL: there is none. Valid during the call of a listener or a handler only
 * @context: innermost context that was entered; NULL: none
 */
struct at_error {
	int error;
	const char *message;
	struct at_context *context;
};

/*
 * Enters @context, calls @fn with @arg, and leaves the context. An error in @fn is a negative
 * result, a call of at_throw() below it, or of at_context_fail(). Then error() of all listeners of
 * the context is called, and after() is not. If no listener has handled the error, the handler of
 * at_unhandled_set() is called, and if that does not take the error, either, the process exits.
 * longjmp(3) and exceptions of C++ must not leave @fn.
 *
 * Returns the result of @fn. 0: also after an error, which a listener or the handler has taken.
 * -EINVAL: misuse, @fn was not called.
 */
int at_context_run(struct at_context *context, int (*fn)(void *arg), void *arg);

/*
 * Reports an error of the current context, and returns: true if a listener has handled it, false
 * if the handler of at_unhandled_set() has taken it.
 */
bool at_context_fail(int error, const char *message);

/*
 * Reports an error and unwinds to the innermost at_context_run(), whose caller goes on. Ends all
 * runs and scopes between, and calls of at_local_run(). For C only: destructors of C++ and cleanup
 * attributes between are not executed. Outside of at_context_run() the process exits.
 */
__attribute__((noreturn)) void at_throw(int error, const char *message);

/*
 * Sets what is called for an error that no listener handles; NULL: nothing. If it returns true,
 * the program goes on. Otherwise, the process prints the error and exits with status 1 by exit(3);
 * functions of on_exit(3) get the status. An error in an error() callback, or in this handler,
 * exits with status 7. Returns the previous handler.
 */
typedef bool (*at_error_handler)(const struct at_error *error);
at_error_handler at_unhandled_set(at_error_handler handler);

/* --- misuse ---------------------------------------------------------------------------- */

/*
 * Misuse, such as leaving a context that was not entered, or using one after it was destroyed, has
 * no effect but these: it is counted; it is recorded as an instant named "misuse"; and in debug
 * mode the process prints both ids and aborts. Debug mode is set by @abort, or by the environment
 * variable ASYNCTRACE_DEBUG=1.
 */
uint64_t at_context_misuses(void);
void at_context_debug(bool abort);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_CONTEXT_H */
