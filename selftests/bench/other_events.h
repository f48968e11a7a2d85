/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of operations, regions, logs, virtual threads, blobs and objects
 *
 * events.h explains the form of the lines. Most of these statements also do something while nothing
 * is recorded: they take an id, change the thread's current operation, or read a clock for their
 * arguments. So the limit of events that are off does not apply to them.
 */

/* Operations, and the work of threads on them */
EVENT(operation_begin_end, 2, 2.4,
      struct at_operation o; TRACE_OPERATION_BEGIN(&o, CAT, "o"); TRACE_OPERATION_END(&o, CAT, "o"),
      TP(2u64, id, i); TP(id, id))
EVENT(operation_child, 2, 2.4,
      struct at_operation o; TRACE_OPERATION_BEGIN_CHILD(&o, id, CAT, "o");
      TRACE_OPERATION_END(&o, CAT, "o"),
      TP(2u64, id, i); TP(id, id))
EVENT(operation_instant, 1, 1.2, TRACE_OPERATION_INSTANT(id, CAT, "e"), TP(id, id))
EVENT(operation_follows, 1, 1.2, TRACE_OPERATION_FOLLOWS(id, CAT, i), TP(2u64, id, i))
EVENT(operation_scope, 2, 2.4, TRACE_OPERATION_SCOPE(id, CAT, "e"), TP(id, id); TP(none))
EVENT(operation_enter_leave, 2, 2.4,
      struct at_entered e; TRACE_OPERATION_ENTER(&e, id, CAT, "e"); at_operation_leave(&e),
      TP(id, id); TP(none))
EVENT(region, 2, 2.4, TRACE_REGION(CAT, "e"), TP(none); TP(none))
EVENT(region_begin_end, 2, 2.4,
      struct at_entered e; TRACE_REGION_BEGIN(&e, CAT, "e"); at_region_end(&e), TP(none); TP(none))
EVENT(region_2int64, 2, 2.4, TRACE_REGION(CAT, "e", "n", TA_INT64(i), "m", TA_INT64(i)),
      TP(2i64, i, i); TP(none))

/* Logs. For LTTng, snprintf(3) formats the text: LTTng's own function allocates and is slower. */
EVENT(log_11, 1, 0, TRACE_LOG(CAT, text_11), TP(str, text_11))
EVENT(logf_int, 1, 0, TRACE_LOGF(CAT, "%ld", i),
      char line[32]; snprintf(line, sizeof(line), "%ld", i); TP(str, line))

/* A flow event with a duration of its own: the duration has two timestamps, and the flow one. */
EVENT(instaflow_begin, 3, 3.6, TRACE_INSTAFLOW_BEGIN(CAT, "f", "e", id),
      TP(none); TP(id, id); TP(none))
EVENT(instaflow_step, 3, 3.6, TRACE_INSTAFLOW_STEP(CAT, "f", "e", id),
      TP(none); TP(id, id); TP(none))
EVENT(instaflow_end, 3, 3.6, TRACE_INSTAFLOW_END(CAT, "f", "e", id), TP(none); TP(id, id); TP(none))

/* Virtual threads: their name is part of each record, and the program reads the clock. */
EVENT(vthread_duration_begin, 1, 0,
      TRACE_VTHREAD_DURATION_BEGIN(CAT, "e", text_3, id, at_ticks()), TP(id_str, id, text_3))
EVENT(vthread_duration_end, 1, 0,
      TRACE_VTHREAD_DURATION_END(CAT, "e", text_3, id, at_ticks()), TP(id_str, id, text_3))
EVENT(vthread_flow_begin, 1, 0, TRACE_VTHREAD_FLOW_BEGIN(CAT, "e", text_3, id, i, at_ticks()),
      TP(2u64_str, id, i, text_3))
EVENT(vthread_flow_step, 1, 0, TRACE_VTHREAD_FLOW_STEP(CAT, "e", text_3, id, i, at_ticks()),
      TP(2u64_str, id, i, text_3))
EVENT(vthread_flow_end, 1, 0, TRACE_VTHREAD_FLOW_END(CAT, "e", text_3, id, i, at_ticks()),
      TP(2u64_str, id, i, text_3))

/* Bytes; two of these records have no timestamp */
EVENT(blob_40, 0, 0, TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "b", text_40, 40), TP(chars, text_40, 40))
EVENT(blob_event_40, 1, 0, TRACE_BLOB_EVENT(CAT, "b", text_40, 40), TP(chars, text_40, 40))
EVENT(blob_attachment_40, 0, 0, TRACE_BLOB_ATTACHMENT(CAT, "b", text_40, 40),
      TP(chars, text_40, 40))

/* Asks the kernel for the object's type and id. */
EVENT(kernel_object, 0, 0, TRACE_KERNEL_OBJECT(1), TP(i32, 1))

/* Arguments in an array */
EVENT(event_of_array, 1, 0,
      TRACE_DECLARE_ARGS(NULL, a, "n", TA_INT64(i), "m", TA_INT64(i));
      ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, CAT, "e", 0, a, TRACE_NUM_ARGS(a));
      TRACE_COMPLETE_ARGS(NULL, a, TRACE_NUM_ARGS(a)),
      TP(2i64, i, i))
