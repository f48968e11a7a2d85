/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints of the example server, for LTTng-UST: see lttng/asynctrace/trace.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER at_server

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./server_tp.h"

#if !defined(SERVER_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SERVER_TP_H

#include <stdint.h>
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, async_begin,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, id, const char *, method, const char *, path),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, id, id)
		lttng_ust_field_string(method, method)
		lttng_ust_field_string(path, path)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, async_instant,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, id, const char *, phase),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, id, id)
		lttng_ust_field_string(phase, phase)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, async_end,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, id, int, status, uint64_t, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, id, id)
		lttng_ust_field_integer(int, status, status)
		lttng_ust_field_integer(uint64_t, bytes, bytes)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, flow,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, id),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, id, id)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, counter,
	LTTNG_UST_TP_ARGS(int, line, int, value),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(int, value, value)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, duration,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, from),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, from, from)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(
	at_server, duration_bytes,
	LTTNG_UST_TP_ARGS(int, line, uint64_t, from, uint64_t, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, line, line)
		lttng_ust_field_integer(uint64_t, from, from)
		lttng_ust_field_integer(uint64_t, bytes, bytes)
	)
)

#endif

#include <lttng/tracepoint-event.h>
