/* SPDX-License-Identifier: GPL-2.0 */
/* LTTng-UST's event with one integer. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER at_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tp.h"

#if !defined(LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	at_bench, operation,
	LTTNG_UST_TP_ARGS(int, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n))
)

#endif

#include <lttng/tracepoint-event.h>
