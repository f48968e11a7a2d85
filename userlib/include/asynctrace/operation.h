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
 * An operation is a piece of work that outlives blocks and threads: a request, a task, a
 * job. Its id is a number that no other operation on this machine has. Each thread has a
 * current operation. A new operation has the current one as its parent.
 *
 * Category, type and names of arguments are string literals, and arguments are as in
 * asynctrace/trace.h: up to 15 pairs, of which some belong to the library, see below. All
 * functions and macros but at_thread_create() may be called in any thread and, but for
 * the formatted logs, in signal handlers. None allocates memory, takes a lock or makes a
 * system call, except the one that registers the process and the first of each thread
 * (see asynctrace/provider.h). Ids and current operations work also while nothing is
 * recorded, and with NTRACE.
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

/* --- operations ---------------------------------------------------------------------- */

/**
 * struct at_operation - an operation, to be embedded in what the program has for it
 * @id: unique among all processes of the machine; 0: it has not begun
 * @parent: id of the operation that it is a part of; 0: it has none
 *
 * The macros need the structure at the begin and at the end only. Work in between needs the
 * id, which may be copied: to a queue, to another process. Copies of the structure end
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
 * The operation that the calling thread works on; 0: none. To hand it over, pass it along
 * with the work and enter it there.
 */
TRACE_INLINE_ uint64_t at_operation_current(void)
{
	return __atomic_load_n(&at_current_.id, __ATOMIC_RELAXED);
}

/*
 * TRACE_OPERATION_BEGIN(operation, category, type, ARGS): gives *operation a new id and the
 * current operation as parent, and records its begin, if the category is recorded. type: a
 * literal, one of few: reports have a row for each. ARGS: up to 14 pairs.
 *
 * TRACE_OPERATION_BEGIN_CHILD(operation, parent, category, type, ARGS): has the operation with
 * the id parent as its parent; 0: none.
 *
 * TRACE_OPERATION_END(operation, category, type, ARGS): records its end, in any thread of the
 * process that began it, with category and type of the begin. The second end of an
 * operation has no effect. ARGS: up to 15 pairs. Events of the operation may follow.
 */
#define TRACE_OPERATION_BEGIN(operation, category, ...) \
	TRACE_OPERATION_BEGIN_(__COUNTER__, operation, at_operation_current(), category, \
			       __VA_ARGS__)
#define TRACE_OPERATION_BEGIN_CHILD(operation, parent, category, ...) \
	TRACE_OPERATION_BEGIN_(__COUNTER__, operation, parent, category, __VA_ARGS__)
#define TRACE_OPERATION_END(operation, category, ...) \
	TRACE_OPERATION_END_(__COUNTER__, operation, category, __VA_ARGS__)

/*
 * Functions for callers that know category and type at run time only, such as bindings of other
 * languages. Texts are copied. They cost more than the macros.
 */
void at_operation_begin(struct at_operation *operation, const char *category, const char *type);
void at_operation_begin_child(struct at_operation *operation, uint64_t parent,
			      const char *category, const char *type);
void at_operation_end(struct at_operation *operation, const char *category, const char *type);

/*
 * TRACE_OPERATION_INSTANT(id, category, name, ARGS): a moment of an operation. id: of any
 * process. ARGS: up to 14 pairs.
 *
 * TRACE_OPERATION_FOLLOWS(id, category, cause): the operation with the id cause is a reason
 * for the operation id, without being its parent. An operation may have many.
 */
#define TRACE_OPERATION_INSTANT(id, category, ...) \
	TRACE_OPERATION_INSTANT_(id, category, __VA_ARGS__)
#define TRACE_OPERATION_FOLLOWS(id, category, cause) \
	TRACE_OPERATION_INSTANT_(id, category, "follows from", "cause", TA_UINT64(cause))

/* --- work on an operation --------------------------------------------------------------- */

/**
 * struct at_entered - a scope: time in which a thread works on an operation
 *
 * Scopes of a thread nest. The end of a scope also ends those within it that have not ended,
 * because siglongjmp(3) left them. Scopes end on the thread on which they began; on another
 * thread the end has no effect. Code that moves a stack to another thread, as coroutines do,
 * leaves before and enters afterwards.
 *
 * After siglongjmp() to a place outside of all scopes, at_operation_leave() with what
 * at_operation_here() returned there ends those that were left.
 *
 * A thread that is cancelled, or that calls pthread_exit(3), ends its scopes in C++ and in C
 * that is compiled with -fexceptions. Otherwise they last until the thread's end.
 */
struct at_entered {
	uint64_t previous_;		/* current operation before */
	struct at_site_ *site_;
	struct at_current_ *thread_;
	uint32_t depth_;		/* recorded scopes around it */
	uint16_t kind_;
	uint16_t mode_;
};

/*
 * TRACE_OPERATION_SCOPE(id, category, name, ARGS): the operation id, of any process, is the
 * thread's current one until the end of the block. 0: the thread works on none. Viewers show
 * the time as a duration of that name. An operation may be entered any number of times, by
 * several threads at a time. ARGS: up to 13 pairs.
 *
 * TRACE_OPERATION_ENTER(entered, id, category, name, ARGS): the same until
 * at_operation_leave(entered). entered: a struct at_entered *.
 */
#define TRACE_OPERATION_SCOPE(id, category, ...) \
	TRACE_OPERATION_SCOPE_(__COUNTER__, at_enter_(id), category, __VA_ARGS__)
#define TRACE_OPERATION_ENTER(entered, id, category, ...) \
	((void)(*(entered) = TRACE_ENTERED_(__COUNTER__, at_enter_(id), category, __VA_ARGS__)))

/*
 * TRACE_REGION(category, name, ARGS): a part of the work on the current operation, or of work
 * on none, until the end of the block. TRACE_REGION_BEGIN(entered, category, name, ARGS): until
 * at_region_end(entered). ARGS: up to 13 pairs.
 *
 * A region that began while its category was not recorded is not recorded, and neither is its
 * end. TRACE_DURATION() differs: it writes one record at its end, so a trace that stops before
 * that does not show it.
 */
#define TRACE_REGION(category, ...) \
	TRACE_OPERATION_SCOPE_(__COUNTER__, at_region_(), category, __VA_ARGS__)
#define TRACE_REGION_BEGIN(entered, category, ...) \
	((void)(*(entered) = TRACE_ENTERED_(__COUNTER__, at_region_(), category, __VA_ARGS__)))

#define TRACE_OPERATION_SCOPE_(nr, begin, category, ...) \
	__attribute__((unused, cleanup(at_operation_leave))) \
	struct at_entered TRACE_CAT_(at_scope_, nr) = \
		TRACE_ENTERED_(nr, begin, category, __VA_ARGS__)

/* Of category and name "operation" */
void at_operation_enter(struct at_entered *entered, uint64_t id);

/*
 * Ends a scope: the current operation is the one of before. A second call, or a call with a
 * structure that is zero, has no effect.
 */
TRACE_INLINE_ void at_operation_leave(struct at_entered *entered)
{
	struct at_current_ *const nobody = TRACE_ZERO_;

	if (__builtin_expect(entered->thread_ != &at_current_, 0))
		return;
	at_current_set_(entered->previous_);
	if (__builtin_expect(at_current_.depth != entered->depth_, 0))
		at_entered_end_(entered);
	entered->thread_ = nobody;
}

TRACE_INLINE_ void at_region_end(struct at_entered *entered)
{
	at_operation_leave(entered);
}

/* A scope of the current operation that is not recorded: see struct at_entered. */
TRACE_INLINE_ struct at_entered at_operation_here(void)
{
	struct at_entered e = TRACE_ZERO_;

	e.previous_ = at_operation_current();
	e.thread_ = &at_current_;
	e.depth_ = at_current_.depth;
	return e;
}

/* As pthread_create(3); the new thread works on the current operation until it leaves. */
int at_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
		     void *arg);

/* --- logs --------------------------------------------------------------------------------- */

/*
 * TRACE_LOG(category, message), TRACE_LOGF(category, format, ...): a line of text about the
 * current operation. category: a literal. The message is evaluated, and the text formatted as
 * by printf(3), only while the category is recorded. A formatted text is cut at 1023 bytes.
 * TRACE_LOGF() is as safe in a signal handler as snprintf(3).
 */
#define TRACE_LOG(category, message) \
	TRACE_OPERATION_INSTANT_(at_operation_current(), category, "log", \
				 "message", TA_STRING(message))
#define TRACE_LOGF(category, ...) TRACE_LOGF_(__COUNTER__, category, __VA_ARGS__)

/* Like the macros, with a category that need not be a literal */
void at_log(const char *category, const char *message);
__attribute__((format(printf, 2, 3)))
void at_logf(const char *category, const char *format, ...);

/* --- other processes --------------------------------------------------------------------- */

#define ASYNCTRACE_TRACEPARENT_BYTES	55	/* of the header's value, without a NUL */

/**
 * struct at_traceparent - value of the header "traceparent" of W3C Trace Context
 * @trace_id: 32 lower-case hexadecimal digits: the whole of which all operations are parts
 * @operation: the sender's operation, which the receiver's operations have as parent
 * @flags: 1: the sender may have recorded it
 *
 * Pass trace_id as an argument of operations: "trace_id", TA_CHAR_ARRAY(t.trace_id, 32).
 */
struct at_traceparent {
	char trace_id[33];
	uint8_t flags;
	uint64_t operation;
};

/*
 * Reads a header's value of @bytes bytes, of version 00 or a later one. -EINVAL: it is none, and
 * *@t is unchanged.
 */
int at_traceparent_parse(struct at_traceparent *t, const char *value, size_t bytes);
/* Writes the header's value and a NUL. -EINVAL: *@t has no trace id or no operation. */
int at_traceparent_format(const struct at_traceparent *t,
			  char value[ASYNCTRACE_TRACEPARENT_BYTES + 1]);
/*
 * For an operation that comes with no header: a new trace id, which depends on the
 * operation's id. The first call in a process makes a system call.
 */
void at_traceparent_new(struct at_traceparent *t, uint64_t operation);

/* --- what the macros call ------------------------------------------------------------------ */

TRACE_INLINE_ struct at_entered at_region_(void)
{
	return at_operation_here();
}

TRACE_INLINE_ struct at_entered at_enter_(uint64_t id)
{
	struct at_entered e = at_operation_here();

	e.kind_ = TRACE_ENTER_;
	at_current_set_(id);
	return e;
}

/* Notes that the begin of @e is recorded. */
TRACE_INLINE_ void at_entered_record_(struct at_entered *e, struct at_site_ *site, uint64_t found)
{
	const uint32_t gate = TRACE_TO_(uint32_t, found);

	if (__builtin_expect(at_current_.gate != gate, 0))
		at_entered_run_(gate);
	e->site_ = site;
	e->mode_ = TRACE_TO_(uint16_t, found >> 32);
	at_current_.depth++;
}

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_OPERATION_H */
