/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for the library's header when make bench-server builds the example server
 * for LTTng-UST: each macro of the server becomes one tracepoint. The line number stands
 * for the event's name, because LTTng's names are fixed when the program is compiled.
 */
#ifndef LTTNG_TRACE_H
#define LTTNG_TRACE_H

#include <stdint.h>
#include <time.h>

#include "server_tp.h"

#define TA_INT32(v)	(v)
#define TA_UINT64(v)	(v)
#define TA_STRING(v)	(v)

/* Reads the counter that the library reads when a duration begins, for a fair comparison. */
static inline uint64_t lttng_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
#endif
}

static inline uint64_t at_flow_id(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

struct lttng_scope {
	uint64_t from;
	uint64_t bytes;
	int line;
};

/* Returns the begin, or 0 if the tracepoint is off: then the end writes nothing. */
static inline uint64_t lttng_enter(void)
{
	return lttng_ust_tracepoint_enabled(at_server, duration) ? lttng_ticks() : 0;
}

static inline void lttng_leave(const struct lttng_scope *s)
{
	if (s->from)
		lttng_ust_tracepoint(at_server, duration, s->line, s->from);
}

static inline void lttng_leave_bytes(const struct lttng_scope *s)
{
	if (s->from)
		lttng_ust_tracepoint(at_server, duration_bytes, s->line, s->from, s->bytes);
}

#define LTTNG_PASTE_(a, b)	a##b
#define LTTNG_PASTE(a, b)	LTTNG_PASTE_(a, b)
#define LTTNG_SCOPE(leave, n) \
	struct lttng_scope LTTNG_PASTE(scope, __LINE__) __attribute__((cleanup(leave))) = { \
		.from = lttng_enter(), .bytes = (n), .line = __LINE__ }
#define LTTNG_DURATION_0()		LTTNG_SCOPE(lttng_leave, 0)
#define LTTNG_DURATION_2(key, n)	LTTNG_SCOPE(lttng_leave_bytes, n)
/* Chooses the macro of a duration with a key and a value, or of one without arguments. */
#define LTTNG_PICK(none, key, value, which, ...)	which
#define TRACE_DURATION(category, name, ...) \
	LTTNG_PICK(0, ##__VA_ARGS__, LTTNG_DURATION_2, LTTNG_DURATION_0, \
		   LTTNG_DURATION_0)(__VA_ARGS__)

#define TRACE_ASYNC_BEGIN(category, name, id, key1, v1, key2, v2) \
	lttng_ust_tracepoint(at_server, async_begin, __LINE__, id, v1, v2)
#define TRACE_ASYNC_INSTANT(category, name, id, key, v) \
	lttng_ust_tracepoint(at_server, async_instant, __LINE__, id, v)
#define TRACE_ASYNC_END(category, name, id, key1, v1, key2, v2) \
	lttng_ust_tracepoint(at_server, async_end, __LINE__, id, v1, v2)
#define TRACE_FLOW_BEGIN(category, name, id)	lttng_ust_tracepoint(at_server, flow, __LINE__, id)
#define TRACE_FLOW_STEP(category, name, id)	lttng_ust_tracepoint(at_server, flow, __LINE__, id)
#define TRACE_FLOW_END(category, name, id)	lttng_ust_tracepoint(at_server, flow, __LINE__, id)
#define TRACE_COUNTER(category, name, id, key, v) \
	lttng_ust_tracepoint(at_server, counter, __LINE__, v)

#endif
