/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces the library's header when the example server is tested: it has the same macros, but each
 * event is checked, not recorded (see standin.c). Categories, names and keys must be literals.
 * Arguments must be up to 15 pairs of a key and TA_*(). Anything else does not compile.
 */
#ifndef STANDIN_TRACE_H
#define STANDIN_TRACE_H

#include <stdint.h>

struct standin_value {
	enum { STANDIN_I32 = 1, STANDIN_U64, STANDIN_STRING } type;
	union {
		int64_t i;
		uint64_t u;
		const char *s;
	};
};

struct standin_arg {
	const char *key;
	struct standin_value value;
};

enum standin_kind {
	STANDIN_ASYNC_BEGIN, STANDIN_ASYNC_INSTANT, STANDIN_ASYNC_END,
	STANDIN_FLOW_BEGIN, STANDIN_FLOW_STEP, STANDIN_FLOW_END,
	STANDIN_COUNTER,
};

struct standin_scope {
	const char *name;
	int depth;
};

uint64_t standin_id(void);
void standin_event(enum standin_kind kind, const char *category, const char *name, uint64_t id,
		   int nargs, const struct standin_arg *args);
struct standin_scope standin_enter(const char *category, const char *name,
				   int nargs, const struct standin_arg *args);
void standin_leave(struct standin_scope *scope);

static inline struct standin_value standin_i32(int32_t v)
{
	return (struct standin_value){ STANDIN_I32, { .i = v } };
}

static inline struct standin_value standin_u64(uint64_t v)
{
	return (struct standin_value){ STANDIN_U64, { .u = v } };
}

static inline struct standin_value standin_string(const char *v)
{
	return (struct standin_value){ STANDIN_STRING, { .s = v } };
}

#define TA_INT32(v)	standin_i32(v)
#define TA_UINT64(v)	standin_u64(v)
#define TA_STRING(v)	standin_string(v)

#define STANDIN_P2(k, v, ...)	{ "" k "", v }, __VA_OPT__(STANDIN_Q2(__VA_ARGS__))
#define STANDIN_Q2(k, v, ...)	{ "" k "", v }, __VA_OPT__(STANDIN_R2(__VA_ARGS__))
#define STANDIN_R2(k, v, ...)	{ "" k "", v }, __VA_OPT__(STANDIN_S2(__VA_ARGS__))
#define STANDIN_S2(k, v)	{ "" k "", v },

/* The array begins with an unused element, because C has no empty arrays. */
#define STANDIN_ARGS(...) \
	((const struct standin_arg[]){ { 0 }, __VA_OPT__(STANDIN_P2(__VA_ARGS__)) })
#define STANDIN_COUNT(...) \
	((int)(sizeof(STANDIN_ARGS(__VA_ARGS__)) / sizeof(struct standin_arg)) - 1)
#define STANDIN_EVENT(kind, category, name, id, ...)					\
	standin_event(kind, "" category "", "" name "", id,				\
		      STANDIN_COUNT(__VA_ARGS__), STANDIN_ARGS(__VA_ARGS__) + 1)
#define STANDIN_GLUE_(a, b)	a##b
#define STANDIN_GLUE(a, b)	STANDIN_GLUE_(a, b)

#define at_flow_id()		standin_id()
#define TRACE_ASYNC_BEGIN(...)	STANDIN_EVENT(STANDIN_ASYNC_BEGIN, __VA_ARGS__)
#define TRACE_ASYNC_INSTANT(...) STANDIN_EVENT(STANDIN_ASYNC_INSTANT, __VA_ARGS__)
#define TRACE_ASYNC_END(...)	STANDIN_EVENT(STANDIN_ASYNC_END, __VA_ARGS__)
#define TRACE_FLOW_BEGIN(...)	STANDIN_EVENT(STANDIN_FLOW_BEGIN, __VA_ARGS__)
#define TRACE_FLOW_STEP(...)	STANDIN_EVENT(STANDIN_FLOW_STEP, __VA_ARGS__)
#define TRACE_FLOW_END(...)	STANDIN_EVENT(STANDIN_FLOW_END, __VA_ARGS__)
#define TRACE_COUNTER(...)	STANDIN_EVENT(STANDIN_COUNTER, __VA_ARGS__)
#define TRACE_DURATION(category, name, ...)						\
	struct standin_scope STANDIN_GLUE(standin_scope_, __LINE__)			\
		__attribute__((cleanup(standin_leave), unused)) =			\
		standin_enter("" category "", "" name "",				\
			      STANDIN_COUNT(__VA_ARGS__), STANDIN_ARGS(__VA_ARGS__) + 1)

#endif
