/* SPDX-License-Identifier: GPL-2.0 */
/* LTTng-UST's events for events.h, named after their fields. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER at_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tp.h"

#if !defined(LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_TP_H

#include <stddef.h>
#include <stdint.h>
#include <lttng/tracepoint.h>

#define TP_EVENT(name, args, ...) \
	LTTNG_UST_TRACEPOINT_EVENT(at_bench, name, LTTNG_UST_TP_ARGS args, \
				   LTTNG_UST_TP_FIELDS(__VA_ARGS__))
#define TP_ID	lttng_ust_field_integer(uint64_t, id, id)
#define TP_U64(n) lttng_ust_field_integer(uint64_t, n, n)
#define TP_I64(n) lttng_ust_field_integer(int64_t, n, n)

LTTNG_UST_TRACEPOINT_EVENT(at_bench, none, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
TP_EVENT(u8, (uint8_t, n), lttng_ust_field_integer(uint8_t, n, n))
TP_EVENT(i32, (int32_t, n), lttng_ust_field_integer(int32_t, n, n))
TP_EVENT(u32, (uint32_t, n), lttng_ust_field_integer(uint32_t, n, n))
TP_EVENT(i64, (int64_t, n), TP_I64(n))
TP_EVENT(u64, (uint64_t, n), lttng_ust_field_integer(uint64_t, n, n))
TP_EVENT(f64, (double, n), lttng_ust_field_float(double, n, n))
TP_EVENT(hex, (uintptr_t, n), lttng_ust_field_integer_hex(uintptr_t, n, n))
TP_EVENT(str, (const char *, s), lttng_ust_field_string(s, s))
TP_EVENT(chars, (const char *, s, size_t, n), lttng_ust_field_sequence_text(char, s, s, size_t, n))
TP_EVENT(2i32, (int32_t, n, int32_t, m),
	 lttng_ust_field_integer(int32_t, n, n) lttng_ust_field_integer(int32_t, m, m))
TP_EVENT(2i64, (int64_t, n, int64_t, m), TP_I64(n) TP_I64(m))
TP_EVENT(3i64, (int64_t, n, int64_t, m, int64_t, l), TP_I64(n) TP_I64(m) TP_I64(l))
TP_EVENT(8i64,
	 (int64_t, a, int64_t, b, int64_t, c, int64_t, d, int64_t, e, int64_t, f, int64_t, g,
	  int64_t, h),
	 TP_I64(a) TP_I64(b) TP_I64(c) TP_I64(d) TP_I64(e) TP_I64(f) TP_I64(g) TP_I64(h))
TP_EVENT(id, (uint64_t, id), TP_ID)
TP_EVENT(2u64, (uint64_t, id, uint64_t, n), TP_ID TP_U64(n))
TP_EVENT(id_str, (uint64_t, id, const char *, s), TP_ID lttng_ust_field_string(s, s))
TP_EVENT(2u64_str, (uint64_t, id, uint64_t, n, const char *, s),
	 TP_ID TP_U64(n) lttng_ust_field_string(s, s))
TP_EVENT(id_i32, (uint64_t, id, int32_t, n), TP_ID lttng_ust_field_integer(int32_t, n, n))
TP_EVENT(id_2i32, (uint64_t, id, int32_t, n, int32_t, m),
	 TP_ID lttng_ust_field_integer(int32_t, n, n) lttng_ust_field_integer(int32_t, m, m))
TP_EVENT(id_2i64, (uint64_t, id, int64_t, n, int64_t, m), TP_ID TP_I64(n) TP_I64(m))
TP_EVENT(id_3i64, (uint64_t, id, int64_t, n, int64_t, m, int64_t, l),
	 TP_ID TP_I64(n) TP_I64(m) TP_I64(l))
TP_EVENT(id_i32_str, (uint64_t, id, int32_t, n, const char *, s),
	 TP_ID lttng_ust_field_integer(int32_t, n, n) lttng_ust_field_string(s, s))
TP_EVENT(id_2i64_str, (uint64_t, id, int64_t, n, int64_t, m, const char *, s),
	 TP_ID TP_I64(n) TP_I64(m) lttng_ust_field_string(s, s))
TP_EVENT(id_2str, (uint64_t, id, const char *, s, const char *, t),
	 TP_ID lttng_ust_field_string(s, s) lttng_ust_field_string(t, t))

#endif

#include <lttng/tracepoint-event.h>
