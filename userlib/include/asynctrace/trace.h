/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: macros that record events, in C11 and C++17
 *
 *	TRACE_ASYNC_BEGIN("http", "request", req->id, "path", TA_STRING(req->path));
 *
 * Names and semantics are those of Fuchsia's lib/trace/event.h. Most macros begin with the category
 * and the name of the event, and end with 0 to 15 pairs of a name and a value. In these macros,
 * category and names are string literals. Values are evaluated only while the category is recorded.
 * While nothing is recorded, a macro costs a load and a predicted branch.
 *
 * If NTRACE is defined before the header is included, all macros except TRACE_NONCE() and
 * TRACE_DECLARE_ARGS() do nothing and cost nothing.
 *
 * Errors: the macros report none. A record that cannot be written counts as dropped.
 *
 * Thread safety and signal safety: the macros may be used in any thread and in signal handlers,
 * and are no cancellation points. There are two exceptions, which libasynctrace(3) describes:
 * children of vfork(2), and signal handlers that leave by siglongjmp(3).
 */
#ifndef ASYNCTRACE_TRACE_H
#define ASYNCTRACE_TRACE_H

#include <stdbool.h>

#include <asynctrace/detail/event.h>
#include <asynctrace/detail/number.h>
#include <asynctrace/detail/pairs.h>
#include <asynctrace/detail/special.h>
#include <asynctrace/provider.h>

/* Ids of operations, flows, counters and virtual threads. */
typedef uint64_t trace_async_id_t;
typedef uint64_t trace_flow_id_t;
typedef uint64_t trace_counter_id_t;
typedef uint64_t trace_vthread_id_t;

/* --- values of arguments -------------------------------------------------- */

#define TA_NULL()		at_arg_null_()
#define TA_BOOL(v)		at_arg_bool_((v) ? 1 : 0)
#define TA_INT32(v)		at_number_make_(at_arg_i32_(v))
#define TA_UINT32(v)		at_number_make_(at_arg_u32_(v))
#define TA_INT64(v)		at_number_make_(at_arg_i64_(v))
#define TA_UINT64(v)		at_number_make_(at_arg_u64_(v))
#define TA_DOUBLE(v)		at_number_make_(at_arg_double_(v))
#define TA_POINTER(v)		at_arg_pointer_(v)
#define TA_KOID(v)		at_arg_koid_(v)
/*
 * Text of len bytes in UTF-8, which need not end in a NUL. A text is cut at 32,000 bytes, or where
 * the record is full. If p is NULL, the value is recorded as null.
 */
#define TA_CHAR_ARRAY(p, len)	at_arg_text_(p, len)

/*
 * A plain value works as well: its type selects one of the macros above. In C these are
 * arithmetic types, bit-fields, strings and pointers to objects; in C++ also enumerations,
 * std::string, std::string_view and arrays of char that have no NUL. A long double is recorded as
 * a double.
 */
#ifdef __cplusplus
#include <asynctrace/detail/values.hpp>
#define TA_STRING(v)		asynctrace::at_value_(v)
#define TRACE_VALUE_(v)		asynctrace::at_value_(v)
#define TRACE_NUMBER_(v)	asynctrace::at_counter_value_(v)
#define TRACE_SCOPE_CHECK_(s)	asynctrace::at_scope_check_(s)
#define TRACE_BLOB_CHECK_(type)	asynctrace::at_blob_check_(type)
#define TRACE_HANDLE_(h)	asynctrace::at_handle_of_(h)
/* Temporaries in the values live until the end of the call that takes them. */
#define TRACE_ARGS_OF_(m, ...) \
	asynctrace::at_args_<TRACE_COUNT_(__VA_ARGS__) + 1>{{ \
		TRACE_EACH_PAIR_(m, __VA_ARGS__) at_arg_null_() }}.a
#else
#define TRACE_ARGS_OF_(m, ...) \
	(const struct at_arg_[]){ TRACE_EACH_PAIR_(m, __VA_ARGS__) at_arg_null_() }
#define TA_STRING(v)		at_arg_string_(v)
/*
 * A type without a branch in _Generic() must be a pointer or a bit-field: __builtin_classify_type()
 * then returns 5 or 1. A float is not passed to that function, because its promotion to double
 * would cause a warning (-Wdouble-promotion).
 */
#define TRACE_CLASS_(v) \
	__builtin_classify_type(_Generic((v), float: 0.0, default: (v)))
#define TRACE_IS_POINTER_(v)	(TRACE_CLASS_(v) == 5)
#define TRACE_IS_INTEGER_(v)	(TRACE_CLASS_(v) == 1)
/*
 * With gcc, a bit-field has a type of its own. The unary plus makes an int of a narrow one. A wide
 * one has up to 63 bits. Integers of 128 bits get @otherwise, because they would be cut.
 */
#define TRACE_BIT_FIELD_(v, otherwise) \
	_Generic(+__builtin_choose_expr(TRACE_IS_INTEGER_(v), (v), 0.0), \
		 double: otherwise, \
		 at_int128_: otherwise, \
		 at_uint128_: otherwise, \
		 int: at_arg_i32_, \
		 default: at_arg_i64_)
#define TRACE_NUMBER_TYPES_ \
	struct at_number_: at_arg_of_number_, \
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
	float: at_arg_float_, \
	double: at_arg_double_, \
	long double: at_arg_long_double_
#define TRACE_VALUE_(v) \
	_Generic((v), \
		 TRACE_NUMBER_TYPES_, \
		 struct at_arg_: at_arg_same_, \
		 bool: at_arg_bool_, \
		 char *: at_arg_string_, \
		 const char *: at_arg_string_, \
		 default: __builtin_choose_expr( \
				TRACE_IS_POINTER_(v), at_arg_pointer_, \
				TRACE_BIT_FIELD_(v, at_value_of_unsupported_type_)))(v)
#define TRACE_NUMBER_(v) \
	_Generic((v), \
		 TRACE_NUMBER_TYPES_, \
		 bool: at_counter_takes_numbers_only_, \
		 default: TRACE_BIT_FIELD_(v, at_counter_takes_numbers_only_))(v)
/* In C, a constant of an enumeration is an int, a variable is an unsigned int. */
#define TRACE_SCOPE_CHECK_(s) \
	_Generic((s), int: at_of_int_, unsigned int: at_of_unsigned_, \
		 default: at_scope_is_no_TRACE_SCOPE_)(s)
#define TRACE_BLOB_CHECK_(type) \
	_Generic((type), int: at_of_int_, unsigned int: at_of_unsigned_, \
		 default: at_blob_has_no_such_type_)(type)
#define TRACE_HANDLE_(h) \
	_Generic((h), int: at_handle_fd_, pthread_t: at_handle_thread_)(h)
#endif

#define TRACE_PAIR_VALUE_(k, v)		TRACE_VALUE_(v),
#define TRACE_PAIR_NUMBER_(k, v)	TRACE_NUMBER_(v),
#define TRACE_PAIR_(k, v)		{ "" k, TRACE_VALUE_(v) },
#define TRACE_ARGS_(...)		TRACE_ARGS_OF_(TRACE_PAIR_VALUE_, __VA_ARGS__)

/* Intended visibility of an instant. Not recorded: the file format (FXT) has no place for it. */
typedef enum {
	TRACE_SCOPE_THREAD	= 0,
	TRACE_SCOPE_PROCESS	= 1,
	TRACE_SCOPE_GLOBAL	= 2
} trace_scope_t;

/* Types of a blob. */
typedef enum {
	TRACE_BLOB_TYPE_DATA		= ASYNCTRACE_FXT_BLOB_DATA,
	TRACE_BLOB_TYPE_LAST_BRANCH	= ASYNCTRACE_FXT_BLOB_LAST_BRANCH
} trace_blob_type_t;

/* Bytes of the largest blob. */
#define TRACE_MAX_BLOB_SIZE	ASYNCTRACE_FXT_BLOB_MAX

#ifndef NTRACE

/* --- the general form of the macros --------------------------------------- */

/*
 * A macro may be used in an argument of another one, where it must neither capture nor shadow
 * (-Wshadow) a name. So the names of automatic variables have a number of their own. Static
 * variables are declared in a block that has no arguments of the user.
 *
 * The names of static variables must not have a number: if an inline function of C++ is in
 * several files, the linker merges its static variables by name.
 */

/*
 * Declares the site of this event and the references to its keys. category: "" cat, or NULL for
 * an event without a category. Each list has at least one item, because C++ has no empty arrays.
 *
 * at_here_make_() must not be constexpr: clang 14 would evaluate the expression while it parses
 * C++, and would then leave at_site_ zero.
 */
#define TRACE_SITE_(category, nm, ...) \
	__extension__({ \
		static const char *const at_keys_[] = { TRACE_KEYS_(__VA_ARGS__) "" }; \
		static uint64_t at_refs_[TRACE_COUNT_(__VA_ARGS__) + 1]; \
		static struct at_site_ at_site_ = { \
			0, 0, 0, at_refs_, at_keys_, category, "" nm, 0, \
			TRACE_COUNT_(__VA_ARGS__) }; \
		at_here_make_(&at_site_, at_refs_); \
	})

/*
 * TRACE_RECORD_(M, WRITE, FIXED, CATEGORY, NAME, LIST): if the category is recorded, calls
 * WRITE(site, refs, found, FIXED..., args, nargs). FIXED is a list in parentheses. M makes an
 * argument of a pair.
 */
#define TRACE_RECORD_(m, write, fixed, category, nm, ...) \
	TRACE_RECORD2_(__COUNTER__, m, write, fixed, category, nm, __VA_ARGS__)
#define TRACE_RECORD2_(nr, m, write, fixed, category, nm, ...) \
	TRACE_RECORD3_(TRACE_CAT_(at_now_, nr), TRACE_CAT_(at_here_, nr), \
		       TRACE_CAT_(at_found_, nr), m, write, fixed, category, nm, __VA_ARGS__)
#define TRACE_RECORD3_(now, here, found, m, write, fixed, category, nm, ...) \
	do { \
		TRACE_PAIRS_CHECK_(__VA_ARGS__); \
		const uint32_t now = at_gate_load_(); \
		if (__builtin_expect(now != 0, 0)) { \
			const struct at_here_ here = TRACE_SITE_(category, nm, __VA_ARGS__); \
			const uint64_t found = at_site_test_(here.site, now); \
			if (found >> 32) \
				write(here.site, here.refs, found, TRACE_OPEN_ fixed, \
				      TRACE_ARGS_OF_(m, __VA_ARGS__), TRACE_COUNT_(__VA_ARGS__)); \
		} \
	} while (0)

#define TRACE_SCOPE_(cat, nm, ...) \
	TRACE_SCOPE2_(__COUNTER__, cat, nm, __VA_ARGS__)
#define TRACE_SCOPE2_(nr, cat, nm, ...) \
	TRACE_PAIRS_CHECK_(__VA_ARGS__); \
	struct at_arg_ TRACE_CAT_(at_scope_args_, nr)[TRACE_COUNT_(__VA_ARGS__) + 1]; \
	char TRACE_CAT_(at_scope_text_, nr)[TRACE_COUNT_(__VA_ARGS__) ? TRACE_SCOPE_TEXT_ : 1]; \
	__attribute__((unused, cleanup(at_scope_end_))) \
	struct at_scope_ TRACE_CAT_(at_scope_, nr) = \
		TRACE_SCOPE3_(TRACE_CAT_(at_new_, nr), TRACE_CAT_(at_now_, nr), \
			   TRACE_CAT_(at_here_, nr), TRACE_CAT_(at_found_, nr), \
			   TRACE_CAT_(at_scope_args_, nr), \
			   TRACE_CAT_(at_scope_text_, nr), cat, nm, __VA_ARGS__)
#define TRACE_SCOPE3_(scope, now, here, found, vals, room, cat, nm, ...) \
	__extension__({ \
		struct at_scope_ scope = TRACE_ZERO_; \
		const uint32_t now = at_gate_load_(); \
		if (__builtin_expect(now != 0, 0)) { \
			const struct at_here_ here = TRACE_SITE_("" cat, nm, __VA_ARGS__); \
			const uint64_t found = at_site_test_(here.site, now); \
			if (found >> 32) { \
				scope.site = here.site; \
				scope.refs = here.refs; \
				scope.args = vals; \
				scope.text = room; \
				at_scope_begin_(&scope, found, TRACE_ARGS_(__VA_ARGS__), \
						TRACE_COUNT_(__VA_ARGS__)); \
			} \
		} \
		scope; \
	})

/* Declares a site that only tests its category. It writes no record, so it has no name. */
#define TRACE_QUESTION_(cat) \
	__extension__({ \
		static struct at_site_ at_site_ = { \
			0, 0, 0, NULL, NULL, "" cat, NULL, 0, 0 }; \
		at_here_make_(&at_site_, NULL).site; \
	})

#define TRACE_CATEGORY_TEST_(cat) TRACE_CATEGORY_TEST2_(__COUNTER__, cat)
#define TRACE_CATEGORY_TEST2_(nr, cat) \
	TRACE_CATEGORY_TEST3_(TRACE_CAT_(at_now_, nr), TRACE_CAT_(at_on_, nr), cat)
#define TRACE_CATEGORY_TEST3_(now, on, cat) \
	__extension__({ \
		const uint32_t now = at_gate_load_(); \
		bool on = false; \
		if (__builtin_expect(now != 0, 0)) \
			on = at_site_test_(TRACE_QUESTION_(cat), now) >> 32; \
		on; \
	})

#define TRACE_ALERT_SEND_(nm)	at_alert_(nm)
#define TRACE_ENABLED_() (__builtin_expect(at_gate_load_() != 0, 0) && at_enabled_())

#else /* NTRACE */

/* Compiled but never run, so that no variable counts as unused. */
#define TRACE_RECORD_(m, write, fixed, category, nm, ...) \
	do { \
		TRACE_PAIRS_CHECK_(__VA_ARGS__); \
		if (0) \
			at_unused_(category, "" nm, TRACE_KEYS_(__VA_ARGS__) TRACE_OPEN_ fixed, \
				   TRACE_ARGS_OF_(m, __VA_ARGS__)); \
	} while (0)
#define TRACE_SCOPE_(cat, nm, ...) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_unused_, (0), "" cat, nm, __VA_ARGS__)
#define TRACE_CATEGORY_TEST_(cat)	((void)("" cat), false)
#define TRACE_ALERT_SEND_(nm)	((void)(nm))
#define TRACE_ENABLED_()		false

#ifdef __cplusplus
template <typename... T> static inline void at_unused_(const T &...) { }
#else
__attribute__((unused)) static inline void at_unused_(const char *text, ...)
{
	(void)text;
}
#endif

#endif /* NTRACE */

#define TRACE_EVENT_(kind, cat, nm, id, ...) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_event_, (kind, id), "" cat, nm, __VA_ARGS__)
#define TRACE_VTHREAD_(kind, cat, nm, id, vthread, vthread_id, ...) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_vthread_event_, \
		      (kind, id, vthread, vthread_id, TRACE_LEAD_(__VA_ARGS__)), "" cat, nm, \
		      __VA_ARGS__)
/* A duration of no length that contains the flow event. The arguments belong to the duration. */
#define TRACE_INSTAFLOW_(kind, cat, flow, step, ...) \
	do { \
		TRACE_SCOPE_(cat, step, __VA_ARGS__); \
		TRACE_EVENT_((kind) | TRACE_EXTRA_, cat, flow, TRACE_LEAD_(__VA_ARGS__), 0); \
	} while (0)

/* --- queries -------------------------------------------------------------- */

/* Is any category of this process recorded? */
#define TRACE_ENABLED() TRACE_ENABLED_()
/* Is this category recorded? For work that is useful only for a trace. */
#define TRACE_CATEGORY_ENABLED(category) TRACE_CATEGORY_TEST_(category)
/* Returns a number that is unique in this process: 1, 2, ... */
#define TRACE_NONCE() at_nonce()

/* --- events of the calling thread ----------------------------------------- */

/*
 * In the comments below, ARGS are 0 to 15 pairs: "key", value. The "..." of a macro stands for its
 * last fixed argument and ARGS. In TRACE_COUNTER(), it also stands for the key and the value.
 * pairs.h explains why "..." includes a fixed argument.
 */

/* TRACE_INSTANT(category, name, scope, ARGS): records a moment. scope: TRACE_SCOPE_*. */
#define TRACE_INSTANT(category, name, ...) \
	TRACE_EVENT_(((void)TRACE_SCOPE_CHECK_(TRACE_LEAD_(__VA_ARGS__)), ASYNCTRACE_FXT_INSTANT), \
		     category, name, 0, __VA_ARGS__)

/*
 * TRACE_COUNTER(category, name, counter_id, key, value, ARGS): records the present values of 1 to
 * 15 numbers. counter_id distinguishes counters of the same name. A value that is no number, such
 * as a string, does not compile.
 */
#define TRACE_COUNTER(category, name, counter_id, ...) \
	TRACE_RECORD_(TRACE_PAIR_NUMBER_, at_event_, \
		      (ASYNCTRACE_FXT_COUNTER | TRACE_EXTRA_, counter_id), "" category, name, 0, \
		      __VA_ARGS__)

/*
 * TRACE_DURATION(category, name, ARGS): records the time from here to the end of the block as one
 * event, which is written at the end. It is written if the category was recorded at the begin, and
 * if the recording has not been stopped since then. Arguments have the values of the begin. Strings
 * are copied, up to 128 bytes together, and longer ones are cut. The event is missing if longjmp(3)
 * leaves the block, or, in C without -fexceptions, pthread_exit(3) or a cancellation.
 *
 * TRACE_DURATION_BEGIN and TRACE_DURATION_END (category, name, ARGS): record a duration as two
 * events of the same category and name. Use them for longer strings, and for work that ends in
 * another block of the same thread.
 */
#define TRACE_DURATION(category, ...) \
	TRACE_SCOPE_(category, TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)
#define TRACE_DURATION_BEGIN(category, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_DURATION_BEGIN, category, TRACE_LEAD_(__VA_ARGS__), 0, \
		     __VA_ARGS__)
#define TRACE_DURATION_END(category, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_DURATION_END, category, TRACE_LEAD_(__VA_ARGS__), 0, \
		     __VA_ARGS__)

/*
 * TRACE_ASYNC_BEGIN(category, name, async_id, ARGS), and also INSTANT and END: record an
 * operation that may outlive blocks and threads. All events of an operation must have the same
 * category, name and async_id. TRACE_NONCE() makes an id.
 */
#define TRACE_ASYNC_BEGIN(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_ASYNC_BEGIN | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)
#define TRACE_ASYNC_INSTANT(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_ASYNC_INSTANT | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)
#define TRACE_ASYNC_END(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_ASYNC_END | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)

/*
 * TRACE_FLOW_BEGIN(category, name, flow_id, ARGS), and also STEP and END: record an arrow from
 * one duration to the next, possibly between processes. Each event must be within a duration of
 * its thread. All events of a flow must have the same flow_id, which at_flow_id() makes.
 */
#define TRACE_FLOW_BEGIN(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_FLOW_BEGIN | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)
#define TRACE_FLOW_STEP(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_FLOW_STEP | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)
#define TRACE_FLOW_END(category, name, ...) \
	TRACE_EVENT_(ASYNCTRACE_FXT_FLOW_END | TRACE_EXTRA_, category, name, \
		  TRACE_LEAD_(__VA_ARGS__), __VA_ARGS__)

/*
 * TRACE_INSTAFLOW_BEGIN(category, flow_name, step_name, flow_id, ARGS), and also STEP and END:
 * record an event of a flow and a duration around it, which is named step_name.
 */
#define TRACE_INSTAFLOW_BEGIN(category, flow_name, step_name, ...) \
	TRACE_INSTAFLOW_(ASYNCTRACE_FXT_FLOW_BEGIN, category, flow_name, step_name, __VA_ARGS__)
#define TRACE_INSTAFLOW_STEP(category, flow_name, step_name, ...) \
	TRACE_INSTAFLOW_(ASYNCTRACE_FXT_FLOW_STEP, category, flow_name, step_name, __VA_ARGS__)
#define TRACE_INSTAFLOW_END(category, flow_name, step_name, ...) \
	TRACE_INSTAFLOW_(ASYNCTRACE_FXT_FLOW_END, category, flow_name, step_name, __VA_ARGS__)

/* --- virtual threads ------------------------------------------------------ */

/*
 * TRACE_VTHREAD_DURATION_BEGIN(category, name, vthread_name, vthread_id, timestamp, ARGS), and
 * also END: record work of a virtual thread, such as a fiber or an engine of a device. vthread_id
 * distinguishes the virtual threads of this process. vthread_name: a string, of which 96 bytes
 * are recorded. timestamp: result of at_ticks() at that moment, not in the future.
 *
 * The trace shows each virtual thread as a thread of this process, with an id that no real thread
 * can have. A process may have 16,384 of them in a trace. Events of further ones count as
 * malformed and are not in the file.
 */
#define TRACE_VTHREAD_DURATION_BEGIN(category, name, vthread_name, vthread_id, ...) \
	TRACE_VTHREAD_(ASYNCTRACE_FXT_DURATION_BEGIN, category, name, 0, vthread_name, \
		       vthread_id, __VA_ARGS__)
#define TRACE_VTHREAD_DURATION_END(category, name, vthread_name, vthread_id, ...) \
	TRACE_VTHREAD_(ASYNCTRACE_FXT_DURATION_END, category, name, 0, vthread_name, \
		       vthread_id, __VA_ARGS__)

/*
 * TRACE_VTHREAD_FLOW_BEGIN(category, name, vthread_name, vthread_id, flow_id, timestamp, ARGS),
 * and also STEP and END: record an event of a flow on a virtual thread.
 */
#define TRACE_VTHREAD_FLOW_BEGIN(category, name, vthread_name, vthread_id, flow_id, ...) \
	TRACE_VTHREAD_(ASYNCTRACE_FXT_FLOW_BEGIN | TRACE_EXTRA_, category, name, flow_id, \
		       vthread_name, vthread_id, __VA_ARGS__)
#define TRACE_VTHREAD_FLOW_STEP(category, name, vthread_name, vthread_id, flow_id, ...) \
	TRACE_VTHREAD_(ASYNCTRACE_FXT_FLOW_STEP | TRACE_EXTRA_, category, name, flow_id, \
		       vthread_name, vthread_id, __VA_ARGS__)
#define TRACE_VTHREAD_FLOW_END(category, name, vthread_name, vthread_id, flow_id, ...) \
	TRACE_VTHREAD_(ASYNCTRACE_FXT_FLOW_END | TRACE_EXTRA_, category, name, flow_id, \
		       vthread_name, vthread_id, __VA_ARGS__)

/* --- blobs ---------------------------------------------------------------- */

/*
 * TRACE_BLOB(type, name, blob, size): records bytes that belong to no category, whenever any
 * category of this process is recorded. type: TRACE_BLOB_TYPE_*. blob: points to size bytes, at
 * most TRACE_MAX_BLOB_SIZE. A blob that is larger, or that does not fit into a sub-buffer of the
 * ring, is dropped and counted.
 */
#define TRACE_BLOB(type, name, blob, size) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_blob_, (TRACE_BLOB_CHECK_(type), blob, size), NULL, \
		      name, 0)

/*
 * TRACE_BLOB_EVENT(category, name, blob, size, ARGS): records bytes with thread and time. blob and
 * size: as in TRACE_BLOB().
 */
#define TRACE_BLOB_EVENT(category, name, blob, ...) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_blob_, \
		      (TRACE_BLOB_EVENT_, blob, TRACE_LEAD_(__VA_ARGS__)), "" category, name, \
		      __VA_ARGS__)

/*
 * TRACE_BLOB_ATTACHMENT(category, name, blob, size): records bytes without thread and time. blob
 * and size: as in TRACE_BLOB().
 */
#define TRACE_BLOB_ATTACHMENT(category, name, blob, size) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_blob_, (TRACE_BLOB_ATTACHMENT_, blob, size), \
		      "" category, name, 0)

/* --- kernel objects ------------------------------------------------------- */

/*
 * TRACE_KERNEL_OBJECT(handle, ARGS): records type, id and name of an object. handle: a descriptor
 * (int), a pidfd (int) or a thread (pthread_t). ARGS: for a thread at most 14 pairs; with 15 pairs
 * the record is dropped and counted. With an argument named "process", the record of a thread
 * counts as malformed. The object is recorded whenever any category of this process
 * is recorded; the macro then makes a few system calls. An invalid handle records nothing. Names of
 * processes and threads in the trace are the kernel's, not the program's.
 */
#define TRACE_KERNEL_OBJECT(...) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_object_, \
		      (TRACE_HANDLE_(TRACE_LEAD_(__VA_ARGS__))), NULL, "", __VA_ARGS__)

/* --- building blocks for other macros ------------------------------------- */

/*
 * TRACE_DECLARE_ARGS(context, variable, ARGS): declares an array of trace_arg_t with these
 * arguments. Text is not copied: it must stay valid until the event is written. context has no
 * use here; programs written for Fuchsia pass one.
 */
#define TRACE_DECLARE_ARGS(context, ...) \
	TRACE_PAIRS_CHECK_(__VA_ARGS__); \
	(void)(context); \
	__attribute__((unused)) const trace_arg_t TRACE_LEAD_(__VA_ARGS__)[] = { \
		TRACE_EACH_PAIR_(TRACE_PAIR_, __VA_ARGS__) { NULL, at_arg_null_() } }
/* Number of arguments in an array that TRACE_DECLARE_ARGS() has declared; a constant. */
#define TRACE_NUM_ARGS(variable) (sizeof(variable) / sizeof((variable)[0]) - 1)
/* Does nothing. For programs written for Fuchsia. */
#define TRACE_COMPLETE_ARGS(context, args, num_args) \
	((void)(context), (void)(args), (void)(num_args))

/*
 * ASYNCTRACE_EVENT(type, category, name, id, args, num_args): writes an event with arguments from
 * an array of num_args trace_arg_t. type: ASYNCTRACE_FXT_INSTANT, _COUNTER, _DURATION_BEGIN,
 * _DURATION_END, _ASYNC_* or _FLOW_*. id: of the counter, operation or flow. name: any string;
 * NULL is an empty text. Each record contains the name, so the records are larger than those of the
 * other macros. An event of another type, or with more than 15 arguments, counts as dropped.
 */
#define ASYNCTRACE_EVENT(type, category, name, id, args, num_args) \
	TRACE_RECORD_(TRACE_PAIR_VALUE_, at_named_event_, (type, id, name, args, num_args), \
		      "" category, "", 0)

/* --- alerts --------------------------------------------------------------- */

/*
 * TRACE_ALERT(category, name): if the category is recorded, notifies the programs that control
 * the session. They may, for example, stop the trace. name: a literal of 1 to 14 bytes. Writes no
 * record, but makes one system call. If a program raises more than about a hundred alerts in a
 * second, some are lost and counted. An alert has no effect unless a session of the module records
 * the process. An in-process trace ignores alerts.
 */
#define TRACE_ALERT(category, name) \
	do { \
		TRACE_STATIC_ASSERT_(sizeof("" name) > 1 && \
				  sizeof("" name) <= ASYNCTRACE_ALERT_MAX + 1, \
				  "the name of an alert has 1 to 14 bytes"); \
		if (TRACE_CATEGORY_TEST_(category)) \
			TRACE_ALERT_SEND_("" name); \
	} while (0)

#endif /* ASYNCTRACE_TRACE_H */
