/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that the benchmarks measure, with every kind of argument
 *
 *	EVENT(NAME, NEEDS, LIMIT, STATEMENT, LTTNG)
 *
 * NEEDS: reads of the counter that the statement cannot do without. LIMIT: what it may cost, in
 * reads of the counter; 0: no limit. LTTNG writes the same fields with LTTng-UST, which has no null
 * and no event for a whole duration: there a duration is two events.
 *
 * The statement uses CAT, its category, or PROVIDER, the category as an identifier; i, a long;
 * id; and the texts of timing.h. Operations and others are in other_events.h.
 */

/* Each macro, with few arguments */
EVENT(instant, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD), TP(none))
EVENT(counter_int32, 1, 1.2, TRACE_COUNTER(CAT, "e", id, "n", TA_INT32(i)), TP(id_i32, id, i))
EVENT(duration, 2, 2.4, TRACE_DURATION(CAT, "e"), TP(none); TP(none))
EVENT(duration_begin, 1, 1.2, TRACE_DURATION_BEGIN(CAT, "e"), TP(none))
EVENT(duration_end, 1, 1.2, TRACE_DURATION_END(CAT, "e"), TP(none))
EVENT(async_begin, 1, 1.2, TRACE_ASYNC_BEGIN(CAT, "e", id), TP(id, id))
EVENT(async_instant, 1, 1.2, TRACE_ASYNC_INSTANT(CAT, "e", id), TP(id, id))
EVENT(async_end, 1, 1.2, TRACE_ASYNC_END(CAT, "e", id), TP(id, id))
EVENT(flow_begin, 1, 1.2, TRACE_FLOW_BEGIN(CAT, "e", id), TP(id, id))
EVENT(flow_step, 1, 1.2, TRACE_FLOW_STEP(CAT, "e", id), TP(id, id))
EVENT(flow_end, 1, 1.2, TRACE_FLOW_END(CAT, "e", id), TP(id, id))

/* Probes, to which no tracer is attached */
EVENT(probe, 1, 1.2, TRACE_PROBE(PROVIDER, probe, id), TP(u64, id))
EVENT(probe_2int64, 1, 1.2, TRACE_PROBE(PROVIDER, probe, id, i), TP(2i64, id, i))

/* Each kind of argument */
EVENT(null, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_NULL()), TP(none))
EVENT(bool, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_BOOL(i & 1)),
      TP(u8, i & 1))
EVENT(int32, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_INT32(i)), TP(i32, i))
EVENT(uint32, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_UINT32(i)), TP(u32, i))
EVENT(int64, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_INT64(i)), TP(i64, i))
EVENT(uint64, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_UINT64(i)), TP(u64, i))
EVENT(double, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_DOUBLE(i)), TP(f64, i))
EVENT(pointer, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_POINTER(&i)),
      TP(hex, (uintptr_t)&i))
EVENT(koid, 1, 1.2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "n", TA_KOID(i)), TP(u64, i))
EVENT(string_11, 1, 2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_11)),
      TP(str, text_11))
EVENT(char_array_11, 1, 2,
      TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_CHAR_ARRAY(text_11, length_11)),
      TP(chars, text_11, length_11))

/* Several numbers: from 7 words on, the words of a record are no longer in registers */
EVENT(async_begin_int32, 1, 1.2, TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT32(i)),
      TP(id_i32, id, i))
EVENT(async_begin_2int32, 1, 1.2,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT32(i), "m", TA_INT32(i)), TP(id_2i32, id, i, i))
EVENT(async_begin_2int64, 1, 1.2,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT64(i), "m", TA_INT64(i)), TP(id_2i64, id, i, i))
EVENT(async_begin_3int64, 1, 1.5,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT64(i), "m", TA_INT64(i), "l", TA_INT64(i)),
      TP(id_3i64, id, i, i, i))
EVENT(duration_int32, 2, 2.4, TRACE_DURATION(CAT, "e", "n", TA_INT32(i)), TP(i32, i); TP(none))
EVENT(duration_2int32, 2, 2.4, TRACE_DURATION(CAT, "e", "n", TA_INT32(i), "m", TA_INT32(i)),
      TP(2i32, i, i); TP(none))
EVENT(duration_2int64, 2, 2.4, TRACE_DURATION(CAT, "e", "n", TA_INT64(i), "m", TA_INT64(i)),
      TP(2i64, i, i); TP(none))
EVENT(duration_3int64, 2, 3,
      TRACE_DURATION(CAT, "e", "n", TA_INT64(i), "m", TA_INT64(i), "l", TA_INT64(i)),
      TP(3i64, i, i, i); TP(none))
EVENT(instant_8int64, 1, 0,
      TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "1", TA_INT64(i), "2", TA_INT64(i), "3",
		    TA_INT64(i), "4", TA_INT64(i), "5", TA_INT64(i), "6", TA_INT64(i), "7",
		    TA_INT64(i), "8", TA_INT64(i)),
      TP(8i64, i, i, i, i, i, i, i, i))

/* Texts */
EVENT(string_0, 1, 2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_0)),
      TP(str, text_0))
EVENT(string_3, 1, 2, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_3)),
      TP(str, text_3))
EVENT(string_40, 1, 0, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_40)),
      TP(str, text_40))
EVENT(string_200, 1, 0, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_200)),
      TP(str, text_200))
EVENT(string_1000, 1, 0, TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_1000)),
      TP(str, text_1000))
/* Random lengths from 9 to 40, so that the processor cannot predict branches on them */
EVENT(string_random, 1, 0,
      TRACE_INSTANT(CAT, "e", TRACE_SCOPE_THREAD, "s", TA_STRING(text_random())),
      TP(str, text_random()))
EVENT(async_begin_int32_string_11, 1, 2,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT32(i), "s", TA_STRING(text_11)),
      TP(id_i32_str, id, i, text_11))
EVENT(async_begin_2int64_string_11, 1, 2,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "n", TA_INT64(i), "m", TA_INT64(i), "s", TA_STRING(text_11)),
      TP(id_2i64_str, id, i, i, text_11))
EVENT(async_begin_2string_11, 1, 0,
      TRACE_ASYNC_BEGIN(CAT, "e", id, "s", TA_STRING(text_11), "t", TA_STRING(text_11)),
      TP(id_2str, id, text_11, text_11))
EVENT(duration_string_11, 2, 3, TRACE_DURATION(CAT, "e", "s", TA_STRING(text_11)),
      TP(str, text_11); TP(none))
