/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: instrumenting a program, in C11 and C++17
 *
 *	TRACE_ASYNC_BEGIN("http", "request", req->id, "path", TA_STRING(req->path));
 *
 * Names and semantics are those of Fuchsia's lib/trace/event.h. The first two
 * arguments are category and name: string literals, like the names of
 * arguments. From none to 15 pairs of name and value may follow; values are
 * evaluated only while the category is recorded. While nothing is recorded a
 * macro costs a load and a branch that is predicted.
 *
 * Define NTRACE to compile all of it out, but for TRACE_NONCE().
 */
#ifndef ASYNCTRACE_TRACE_H
#define ASYNCTRACE_TRACE_H

#include <stdbool.h>

#include <asynctrace/event.h>
#include <asynctrace/pairs.h>
#include <asynctrace/provider.h>

/* --- values of arguments -------------------------------------------------------- */

#define TA_NULL()		at_arg_null_()
#define TA_BOOL(v)		at_arg_bool_((v) ? 1 : 0)
#define TA_INT32(v)		at_arg_i32_(v)
#define TA_UINT32(v)		at_arg_u32_(v)
#define TA_INT64(v)		at_arg_i64_(v)
#define TA_UINT64(v)		at_arg_u64_(v)
#define TA_DOUBLE(v)		at_arg_double_(v)
#define TA_POINTER(v)		at_arg_pointer_(v)
#define TA_KOID(v)		at_arg_koid_(v)
/* Bytes that need no NUL at their end. Text is UTF-8. */
#define TA_CHAR_ARRAY(p, len)	at_arg_text_(p, len)

/*
 * In C++, and in C for the arithmetic types, strings and pointers, a plain
 * value will do as well: its type says which of the above is meant.
 */
#ifdef __cplusplus
#include <asynctrace/values.hpp>
#define TA_STRING(v)		asynctrace::at_value_(v)
#define AT_VALUE_(v)		asynctrace::at_value_(v)
/* Temporaries in the values live until the call that takes them is over. */
#define AT_ARGS_(zero, ...) \
	asynctrace::at_args_<AT_COUNT_(0, ##__VA_ARGS__) + 1>{{ \
		AT_VALUES_(0, ##__VA_ARGS__) at_arg_null_() }}.a
#else
#define AT_ARGS_(zero, ...) \
	(const struct at_arg_[]){ AT_VALUES_(0, ##__VA_ARGS__) at_arg_null_() }
#define TA_STRING(v)		at_arg_string_(v)
#define AT_VALUE_(v) \
	_Generic((v), \
		 struct at_arg_: at_arg_same_, \
		 bool: at_arg_bool_, \
		 char: at_arg_i32_, \
		 signed char: at_arg_i32_, \
		 unsigned char: at_arg_u32_, \
		 short: at_arg_i32_, \
		 unsigned short: at_arg_u32_, \
		 int: at_arg_i32_, \
		 unsigned int: at_arg_u32_, \
		 long: at_arg_i64_, \
		 unsigned long: at_arg_u64_, \
		 long long: at_arg_i64_, \
		 unsigned long long: at_arg_u64_, \
		 float: at_arg_double_, \
		 double: at_arg_double_, \
		 char *: at_arg_string_, \
		 const char *: at_arg_string_, \
		 void *: at_arg_pointer_, \
		 const void *: at_arg_pointer_)(v)
#endif

/* How far an instant is meant to be seen. FXT does not record it. */
#define TRACE_SCOPE_THREAD	0
#define TRACE_SCOPE_PROCESS	1
#define TRACE_SCOPE_GLOBAL	2

#ifdef __cplusplus
#define AT_STATIC_ASSERT_	static_assert
#else
#define AT_STATIC_ASSERT_	_Static_assert
#endif

#ifndef NTRACE

/* --- the general form ------------------------------------------------------------ */

/*
 * @refs has room for one name at least: an array of none is no C++. All names
 * end in an underscore, so that a macro may stand in an argument of another
 * without capturing what that one means.
 */
#define AT_SITE_DEFINE_(cat, nm, ...) \
	static const char *const at_keys_[] = { AT_KEYS_(0, ##__VA_ARGS__) "" }; \
	static uint64_t at_refs_[AT_COUNT_(0, ##__VA_ARGS__) + 1]; \
	static struct at_site_ at_site_ = { \
		0, 0, 0, at_refs_, at_keys_, "" cat, "" nm, 0, \
		AT_COUNT_(0, ##__VA_ARGS__) }

#define AT_EVENT_(kind, cat, nm, id, ...) \
	do { \
		const uint32_t at_now_ = at_gate_load_(); \
		if (__builtin_expect(at_now_ != 0, 0)) { \
			AT_SITE_DEFINE_(cat, nm, ##__VA_ARGS__); \
			const uint64_t at_found_ = at_site_test_(&at_site_, at_now_); \
			if (at_found_ >> 32) \
				at_event_(&at_site_, at_refs_, at_found_, kind, id, \
					  AT_ARGS_(0, ##__VA_ARGS__), \
					  AT_COUNT_(0, ##__VA_ARGS__)); \
		} \
	} while (0)

#define AT_SCOPE_DEFINE_(var, vals, room, cat, nm, ...) \
	struct at_arg_ vals[AT_COUNT_(0, ##__VA_ARGS__) + 1]; \
	char room[AT_COUNT_(0, ##__VA_ARGS__) ? AT_SCOPE_TEXT_ : 1]; \
	__attribute__((unused, cleanup(at_scope_end_))) struct at_scope_ var = __extension__({ \
		struct at_scope_ at_scope_ = { 0, 0, 0, 0, 0, 0, 0, 0 }; \
		const uint32_t at_now_ = at_gate_load_(); \
		if (__builtin_expect(at_now_ != 0, 0)) { \
			AT_SITE_DEFINE_(cat, nm, ##__VA_ARGS__); \
			const uint64_t at_found_ = at_site_test_(&at_site_, at_now_); \
			if (at_found_ >> 32) { \
				at_scope_.site = &at_site_; \
				at_scope_.refs = at_refs_; \
				at_scope_.args = vals; \
				at_scope_.text = room; \
				at_scope_begin_(&at_scope_, at_found_, AT_ARGS_(0, ##__VA_ARGS__), \
						AT_COUNT_(0, ##__VA_ARGS__)); \
			} \
		} \
		at_scope_; \
	})

#define AT_CATEGORY_TEST_(cat) \
	__extension__({ \
		const uint32_t at_now_ = at_gate_load_(); \
		bool at_on_ = false; \
		if (__builtin_expect(at_now_ != 0, 0)) { \
			AT_SITE_DEFINE_(cat, ""); \
			at_on_ = at_site_test_(&at_site_, at_now_) >> 32; \
		} \
		at_on_; \
	})

#define AT_ALERT_(cat, nm) \
	do { \
		AT_STATIC_ASSERT_(sizeof("" nm) > 1 && \
				  sizeof("" nm) <= ASYNCTRACE_ALERT_MAX + 1, \
				  "the name of an alert has 1 to 14 bytes"); \
		if (AT_CATEGORY_TEST_(cat)) \
			at_alert_("" nm); \
	} while (0)

#define AT_ENABLED_() (__builtin_expect(at_gate_load_() != 0, 0) && at_enabled_())

#else /* NTRACE */

/* Compiled, so that nothing counts as unused, and never run. */
#define AT_EVENT_(kind, cat, nm, id, ...) \
	do { \
		if (0) \
			at_unused_("" cat nm, id, ##__VA_ARGS__); \
	} while (0)
#define AT_SCOPE_DEFINE_(var, vals, room, cat, nm, ...) \
	AT_EVENT_(0, cat, nm, 0, ##__VA_ARGS__)
#define AT_CATEGORY_TEST_(cat)	((void)("" cat), false)
#define AT_ALERT_(cat, nm)	((void)("" cat nm))
#define AT_ENABLED_()		false

#ifdef __cplusplus
template <typename... T> static inline void at_unused_(const T &...) { }
#else
__attribute__((unused)) static inline void at_unused_(const char *name, ...)
{
	(void)name;
}
#endif

#endif /* NTRACE */

/* --- questions ---------------------------------------------------------------------- */

/* Is anything of this process recorded? */
#define TRACE_ENABLED() AT_ENABLED_()
/* Is this category? For work that only serves a trace. */
#define TRACE_CATEGORY_ENABLED(category) AT_CATEGORY_TEST_(category)
/* A number unique in this process, never 0: 1, 2, ... */
#define TRACE_NONCE() at_nonce()

/* --- events ------------------------------------------------------------------------- */

/* A moment. scope: TRACE_SCOPE_*. */
#define TRACE_INSTANT(category, name, scope, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_INSTANT + 0 * (scope), category, name, 0, ##__VA_ARGS__)

/* Numbers over time, 1 to 15 of them. counter_id tells instances apart. */
#define TRACE_COUNTER(category, name, counter_id, key, value, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_COUNTER | AT_EXTRA_, category, name, counter_id, \
		  key, value, ##__VA_ARGS__)

/*
 * From here to the end of the block: one record, written there if the category
 * was recorded all the while. Values are those of the begin. Strings are kept
 * until then, 128 bytes of them all; for longer ones, and for work that ends
 * in another block of the same thread, there are BEGIN and END.
 */
#define TRACE_DURATION(category, name, ...) \
	AT_SCOPE_DEFINE_(AT_CAT_(at_scope_, __LINE__), AT_CAT_(at_scope_args_, __LINE__), \
			 AT_CAT_(at_scope_text_, __LINE__), category, name, ##__VA_ARGS__)
#define TRACE_DURATION_BEGIN(category, name, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_DURATION_BEGIN, category, name, 0, ##__VA_ARGS__)
#define TRACE_DURATION_END(category, name, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_DURATION_END, category, name, 0, ##__VA_ARGS__)

/*
 * An operation that outlives blocks and threads. async_id: the same for begin,
 * instants and end, like category and name. TRACE_NONCE() makes one.
 */
#define TRACE_ASYNC_BEGIN(category, name, async_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_ASYNC_BEGIN | AT_EXTRA_, category, name, async_id, \
		  ##__VA_ARGS__)
#define TRACE_ASYNC_INSTANT(category, name, async_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_ASYNC_INSTANT | AT_EXTRA_, category, name, async_id, \
		  ##__VA_ARGS__)
#define TRACE_ASYNC_END(category, name, async_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_ASYNC_END | AT_EXTRA_, category, name, async_id, \
		  ##__VA_ARGS__)

/*
 * Causality: an arrow from one duration to the next, also between processes.
 * Each event lies within a duration of its thread. flow_id: at_flow_id(), the
 * same wherever the operation goes.
 */
#define TRACE_FLOW_BEGIN(category, name, flow_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_FLOW_BEGIN | AT_EXTRA_, category, name, flow_id, \
		  ##__VA_ARGS__)
#define TRACE_FLOW_STEP(category, name, flow_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_FLOW_STEP | AT_EXTRA_, category, name, flow_id, \
		  ##__VA_ARGS__)
#define TRACE_FLOW_END(category, name, flow_id, ...) \
	AT_EVENT_(ASYNCTRACE_FXT_FLOW_END | AT_EXTRA_, category, name, flow_id, \
		  ##__VA_ARGS__)

/* --- alerts ------------------------------------------------------------------------- */

/*
 * Tells who controls the session, if the category is recorded: a trigger may stop
 * the trace, say. name: a literal of 1 to 14 bytes. Writes no record, and is one
 * system call. More than some hundred a second are refused. A program that traces
 * itself has nobody to tell.
 */
#define TRACE_ALERT(category, name) AT_ALERT_(category, name)

#endif /* ASYNCTRACE_TRACE_H */
