/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: operations, in C11 and C++17
 *
 *	struct request { struct at_operation operation; ... };
 *
 *	TRACE_OPERATION_BEGIN(&req->operation, "http", "request", "path", TA_STRING(path));
 *	...
 *	{
 *		TRACE_OPERATION_SCOPE(req->operation.id, "http", "parse");
 *		...	the thread works on the request until the end of the block
 *	}
 *	...
 *	TRACE_OPERATION_END(&req->operation, "http", "request", "status", 200);
 *
 * An operation is work that may outlive blocks and threads: a request, a task, a job. It has an id.
 * Each thread has a current operation. A new operation has the current one as its parent.
 *
 * Category, type and names of arguments are string literals. ARGS are pairs of a name and a
 * value, as in asynctrace/trace.h. An event has at most 15 pairs, of which the library uses some;
 * each macro states how many are left.
 *
 * Ids and current operations also work while nothing is recorded, and with NTRACE.
 *
 * Thread safety: all functions and macros are thread-safe.
 *
 * Signal safety: all may be called in signal handlers, except at_thread_create(). TRACE_LOGF()
 * and at_logf() are as safe as snprintf(3).
 *
 * Cost: only at_thread_create() allocates memory. Apart from it, a call makes a system call or
 * takes a lock only in these cases. The first call in a process registers the process. Once after
 * that, and once after an in-process trace has begun, a macro stores its names, and blocks signals
 * meanwhile. The first record of a thread requests the number (slot) that identifies the thread in
 * records. The first at_traceparent_new() reads a random number. A thread on
 * ASYNCTRACE_PATH_FALLBACK takes a lock for each record. See asynctrace/provider.h.
 */
#ifndef ASYNCTRACE_OPERATION_H
#define ASYNCTRACE_OPERATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/detail/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- operations ----------------------------------------------------------- */

/**
 * struct at_operation - an operation; embedded in the program's own structure
 * @id: unique among the processes that are registered with the module; 0: the operation has not
 *	begun. The upper 20 bits are a number that the module gives to one process at a time, and
 *	later to another one. In a process that is not registered, they are random, so another
 *	process may have the same
 * @parent: id of the operation that this one is a part of; 0: none
 *
 * Only the macros at the begin and the end need the structure. All others need only the id, which
 * may be copied, for instance to a queue or to another process. Copies of the structure end
 * independently of each other.
 */
struct at_operation {
	uint64_t id;
	uint64_t parent;
	uint32_t ended_;
	uint32_t reserved_;
};

#ifdef __cplusplus
#define ASYNCTRACE_OPERATION_INIT {}
#else
#define ASYNCTRACE_OPERATION_INIT { 0, 0, 0, 0 }
#endif

/*
 * Returns the operation that the calling thread works on; 0: none. To move the operation to
 * another thread, pass the id with the work, and enter it there.
 */
TRACE_INLINE_ uint64_t at_operation_current(void)
{
	const uintptr_t context = __atomic_load_n(&at_current_.context, __ATOMIC_RELAXED);

	/* A signal handler may store the id and remove TRACE_LIGHT_ here. */
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	if (__builtin_expect((context & TRACE_LIGHT_) != 0, 0))
		return TRACE_CONTEXT_ID_(context & ~TRACE_CURRENT_BITS_);
	return __atomic_load_n(&at_current_.id, __ATOMIC_RELAXED);
}

/*
 * TRACE_OPERATION_BEGIN(operation, category, type, ARGS): gives *operation a new id, with the
 * current operation as parent, and records its begin if the category is recorded. type: a
 * literal. Reports have a row for each type, so use few. ARGS: up to 14 pairs.
 *
 * TRACE_OPERATION_BEGIN_CHILD(operation, parent, category, type, ARGS): same, but the parent is
 * the operation with the id parent; 0: none.
 *
 * TRACE_OPERATION_END(operation, category, type, ARGS): records the end. category and type must
 * be those of the begin. Any thread of the process may end an operation, but only the first end
 * has an effect. ARGS: up to 15 pairs. Later events of the operation are allowed.
 */
#define TRACE_OPERATION_BEGIN(operation, category, ...) \
	TRACE_OPERATION_BEGIN_(__COUNTER__, operation, at_operation_current(), category, \
			       __VA_ARGS__)
#define TRACE_OPERATION_BEGIN_CHILD(operation, parent, category, ...) \
	TRACE_OPERATION_BEGIN_(__COUNTER__, operation, parent, category, __VA_ARGS__)
#define TRACE_OPERATION_END(operation, category, ...) \
	TRACE_OPERATION_END_(__COUNTER__, operation, category, __VA_ARGS__)

/* at_operation_begin() and the like record this many bytes of a category and of a type. */
#define ASYNCTRACE_OPERATION_TEXT_BYTES	1000

/*
 * Functions for a category and a type that are known only at run time, for example in bindings of
 * other languages. The texts are copied, and longer ones than ASYNCTRACE_OPERATION_TEXT_BYTES are
 * cut. The functions cost more than the macros. The empty category and NULL are never recorded; a
 * type that is NULL is an empty text.
 */
void at_operation_begin(struct at_operation *operation, const char *category, const char *type);
void at_operation_begin_child(struct at_operation *operation, uint64_t parent,
			      const char *category, const char *type);
void at_operation_end(struct at_operation *operation, const char *category, const char *type);

/*
 * TRACE_OPERATION_INSTANT(id, category, name, ARGS): records a moment of an operation. id: an
 * operation of any process. ARGS: up to 14 pairs.
 *
 * TRACE_OPERATION_FOLLOWS(id, category, cause): records that the operation with the id cause is a
 * reason for the operation id, but not its parent. An operation may have several causes.
 */
#define TRACE_OPERATION_INSTANT(id, category, ...) \
	TRACE_OPERATION_INSTANT_(id, category, __VA_ARGS__)
#define TRACE_OPERATION_FOLLOWS(id, category, cause) \
	TRACE_OPERATION_INSTANT_(id, category, "follows from", "cause", TA_UINT64(cause))

/* --- scopes: work of a thread on an operation ----------------------------- */

/**
 * struct at_entered - a scope: a time in which a thread works on an operation
 *
 * Scopes of a thread nest: they must end in the reverse order of their begins. If siglongjmp(3)
 * leaves a scope, the end of the enclosing scope ends it, too. A scope must end on the thread on
 * which it began. An end on another thread has no effect, unless the first thread has ended: the
 * other thread may have got its memory, and then its own scopes end. Code that suspends a function
 * and resumes it later, as coroutines do, must leave the function's scope before and enter it again
 * afterwards, also on the same thread. See at_operation_enter(3) for scopes that end in another
 * order.
 *
 * For a siglongjmp() to a place outside of all scopes: call at_operation_here() at that place
 * before, and at_operation_leave() with its result after the jump. This ends the scopes that were
 * left.
 *
 * When a thread is cancelled or calls pthread_exit(3), C++ ends its scopes, and so does C with
 * -fexceptions. Otherwise the scopes last until the end of the thread.
 */
struct at_entered {
	uint64_t previous_;		/* current operation before the scope */
	struct at_site_ *site_;
	struct at_current_ *thread_;
	uint32_t depth_;		/* number of recorded scopes around the scope */
	uint16_t kind_;
	uint16_t mode_;
};

/*
 * TRACE_OPERATION_SCOPE(id, category, name, ARGS): makes id the current operation of the thread
 * until the end of the block. id: an operation of any process; 0: none. Viewers show the scope as
 * a duration with that name. An operation may be entered any number of times, and by several
 * threads at once. ARGS: up to 12 pairs. The record has the place of the macro in the source.
 *
 * TRACE_OPERATION_ENTER(entered, id, category, name, ARGS): same, until
 * at_operation_leave(entered). entered: a struct at_entered *.
 */
#define TRACE_OPERATION_SCOPE(id, category, ...) \
	TRACE_OPERATION_SCOPE_(__COUNTER__, at_enter_(id), category, __VA_ARGS__)
#define TRACE_OPERATION_ENTER(entered, id, category, ...) \
	((void)(*(entered) = TRACE_ENTERED_(__COUNTER__, at_enter_(id), category, __VA_ARGS__)))

/*
 * TRACE_REGION(category, name, ARGS): records a part of the work on the current operation, or on
 * none, until the end of the block. ARGS: up to 12 pairs. The record has the place of the macro in
 * the source.
 *
 * TRACE_REGION_BEGIN(entered, category, name, ARGS): same, until at_region_end(entered).
 *
 * A region that begins while its category is not recorded is not recorded at all. A region that
 * has not ended when the trace stops is in the trace. TRACE_DURATION() differs: it writes one
 * record at its end.
 */
#define TRACE_REGION(category, ...) \
	TRACE_OPERATION_SCOPE_(__COUNTER__, at_region_(), category, __VA_ARGS__)
#define TRACE_REGION_BEGIN(entered, category, ...) \
	((void)(*(entered) = TRACE_ENTERED_(__COUNTER__, at_region_(), category, __VA_ARGS__)))

#define TRACE_OPERATION_SCOPE_(nr, begin, category, ...) \
	__attribute__((unused, cleanup(at_operation_leave))) \
	struct at_entered TRACE_CAT_(at_scope_, nr) = \
		TRACE_ENTERED_(nr, begin, category, __VA_ARGS__)

/* Like TRACE_OPERATION_ENTER(), with category and name "operation". */
void at_operation_enter(struct at_entered *entered, uint64_t id);

/* The end of *@e has no effect afterwards. */
TRACE_INLINE_ void at_entered_forget_(struct at_entered *e)
{
	struct at_current_ *const nobody = TRACE_ZERO_;

	e->thread_ = nobody;
}

/*
 * Ends a scope, and restores the current operation from before the scope. A call has no effect if
 * the scope has ended already, either by this function or because a recorded scope around it has
 * ended. A call with a structure of zeros has no effect either.
 */
TRACE_INLINE_ void at_operation_leave(struct at_entered *entered)
{
	if (__builtin_expect(entered->thread_ != &at_current_, 0))
		return;
	at_entered_forget_(entered);
	if (__builtin_expect(at_current_.depth != entered->depth_, 0))
		at_entered_end_(entered);
	else
		at_current_restore_(entered->previous_);
}

/*
 * Like at_operation_leave(). Passes a copy: if the address of *@e were passed on, compilers would
 * keep *@e in memory even while it has no effect.
 */
TRACE_INLINE_ void at_entered_undo_(const struct at_entered *e)
{
	struct at_entered copy = *e;

	at_operation_leave(&copy);
}

TRACE_INLINE_ void at_region_end(struct at_entered *entered)
{
	at_operation_leave(entered);
}

/* Returns a scope of the current operation that is not recorded; see struct at_entered. */
TRACE_INLINE_ struct at_entered at_operation_here(void)
{
	struct at_entered e = TRACE_ZERO_;

	if (__builtin_expect((at_current_.context & TRACE_LIGHT_) != 0, 0))
		at_context_complete_();
	e.previous_ = at_current_.id;
	e.thread_ = &at_current_;
	e.depth_ = at_current_.depth;
	return e;
}

/*
 * Like pthread_create(3), but the new thread starts with the current operation of the caller.
 * Returns 0 or an error number of pthread_create(3), which is positive. Not for signal handlers.
 */
int at_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
		     void *arg);

/* --- logs ----------------------------------------------------------------- */

/*
 * TRACE_LOG(category, message), TRACE_LOGF(category, format, ...): records a line of text about
 * the current operation. category: a literal. While the category is not recorded, the message is
 * not evaluated and the text is not formatted. TRACE_LOGF() formats like printf(3), and cuts the
 * text at 1023 bytes.
 */
#define TRACE_LOG(category, message) \
	TRACE_OPERATION_INSTANT_(at_operation_current(), category, "log", \
				 "message", TA_STRING(message))
#define TRACE_LOGF(category, ...) TRACE_LOGF_(__COUNTER__, category, __VA_ARGS__)

/*
 * Same as the macros, but the category need not be a literal. The empty category and NULL are
 * never recorded. A message that is NULL is an empty text.
 */
void at_log(const char *category, const char *message);
__attribute__((format(printf, 2, 3)))
void at_logf(const char *category, const char *format, ...);

/* --- operations of other processes: W3C Trace Context --------------------- */

#define ASYNCTRACE_TRACEPARENT_BYTES	55	/* length of the header's value, without a NUL */

/* Bits of struct at_traceparent.flags */
#define ASYNCTRACE_TRACEPARENT_SAMPLED	1	/* the sender may have recorded its part */
#define ASYNCTRACE_TRACEPARENT_RANDOM	2	/* the last 14 digits of the trace id are random */

/**
 * struct at_traceparent - value of the HTTP header "traceparent" of W3C Trace Context
 * @trace_id: 32 lower-case hexadecimal digits and a NUL: the trace that all its operations are
 *	parts of
 * @operation: the sender's operation, to be used as parent by the receiver
 * @flags: ASYNCTRACE_TRACEPARENT_SAMPLED and ASYNCTRACE_TRACEPARENT_RANDOM. Other bits are ignored:
 *	at_traceparent_parse() clears them, and at_traceparent_format() writes them as 0. In a
 *	value of a later version, at_traceparent_parse() also clears the second flag
 *
 * Records have no place for the trace id. Pass it as an argument: "trace_id",
 * TA_CHAR_ARRAY(t.trace_id, 32).
 */
struct at_traceparent {
	char trace_id[33];
	uint8_t flags;
	uint64_t operation;
};

/*
 * Parses the value of a "traceparent" header of version 00 or later. @bytes: length of @value.
 * Returns 0, or -EINVAL if the value is malformed; *@t is then unchanged.
 */
int at_traceparent_parse(struct at_traceparent *t, const char *value, size_t bytes);
/*
 * Writes the value of a header and a NUL. Returns 0, or -EINVAL if *@t has no trace id or no
 * operation.
 */
int at_traceparent_format(const struct at_traceparent *t,
			  char value[ASYNCTRACE_TRACEPARENT_BYTES + 1]);
/*
 * Makes a new trace id for an operation that came without a header, with the flag
 * ASYNCTRACE_TRACEPARENT_SAMPLED. The trace id depends on the operation's id. The first call in a
 * process makes a system call.
 */
void at_traceparent_new(struct at_traceparent *t, uint64_t operation);

/* --- functions that the macros call --------------------------------------- */

TRACE_INLINE_ struct at_entered at_region_(void)
{
	return at_operation_here();
}

TRACE_INLINE_ struct at_entered at_enter_(uint64_t id)
{
	struct at_entered e = TRACE_ZERO_;

	if (__builtin_expect(!(at_current_.context & TRACE_BUSY_), 0))
		at_context_complete_();
	e.previous_ = at_current_.id;
	e.thread_ = &at_current_;
	e.depth_ = at_current_.depth;
	e.kind_ = TRACE_ENTER_;
	at_current_set_(id);
	return e;
}

/* Counts the scope @e as recorded, and notes its site: its end must be recorded, too. */
TRACE_INLINE_ void at_entered_record_(struct at_entered *e, struct at_site_ *site, uint64_t found)
{
	const uint32_t gate = TRACE_TO_(uint32_t, found);

	if (__builtin_expect(at_current_.gate != gate, 0))
		at_entered_run_(gate);
	e->site_ = site;
	e->mode_ = TRACE_TO_(uint16_t, found >> 32);
	at_current_.depth++;
}

/*
 * Writes the begin of the scope @e. At the call, the arguments have been evaluated. If that threw
 * an exception, the end of *@undo has restored the operation, and @e does not count as recorded.
 */
TRACE_INLINE_ void at_entered_begin_(struct at_entered *e, struct at_entered *undo,
				     struct at_site_ *site, const uint64_t *refs, uint64_t found,
				     const struct at_arg_ *args, unsigned int nargs)
{
	at_entered_forget_(undo);
	at_entered_record_(e, site, found);
	at_event_(site, refs, found, ASYNCTRACE_FXT_DURATION_BEGIN, 0, args, nargs);
}

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_OPERATION_H */
