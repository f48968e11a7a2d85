/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the sample driver. A recorder finds the operation by a field:
 *
 *	asynctrace record -e asynctrace_sample:sample_complete/operation=cookie/
 *
 * A field of the name asynctrace_operation needs no such option.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM asynctrace_sample

#if !defined(SAMPLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SAMPLE_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(sample_submit,
	TP_PROTO(u64 operation, u32 delay_us),
	TP_ARGS(operation, delay_us),
	TP_STRUCT__entry(
		__field(u64, asynctrace_operation)
		__field(u32, delay_us)
	),
	TP_fast_assign(
		__entry->asynctrace_operation = operation;
		__entry->delay_us = delay_us;
	),
	TP_printk("operation=%#llx delay_us=%u", __entry->asynctrace_operation, __entry->delay_us)
);

TRACE_EVENT(sample_complete,
	TP_PROTO(u64 cookie, int status),
	TP_ARGS(cookie, status),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->status = status;
	),
	TP_printk("cookie=%#llx status=%d", __entry->cookie, __entry->status)
);

#endif /* SAMPLE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sample_trace
#include <trace/define_trace.h>
