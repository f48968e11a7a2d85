/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules that a trace must keep, in the order of reports.
 * RULE(identifier, name, description of the breach, excuse)
 */
#ifndef FXT_RULES_H
#define FXT_RULES_H

#include <stdbool.h>

#define FXT_RULES(RULE) \
	/* the format, record by record */ \
	RULE(SIZE, "record-size", "a record's size is 0 or not that of its content", STRICT) \
	RULE(TRUNCATED, "truncated", "the file is cut: it ends within a record", END) \
	RULE(PACKED, "compressed-data", "the compressed data is damaged", STRICT) \
	RULE(TYPE, "record-type", "a record of an undefined type", STRICT) \
	RULE(LARGE, "large-record", "a record of 4096 words or more: viewers misread its size and all that follows", STRICT) \
	RULE(RESERVED, "reserved-bits", "reserved bits are not zero", STRICT) \
	RULE(PADDING, "padding", "text is not padded with zeros", STRICT) \
	RULE(MAGIC, "magic", "a trace info record that is not the magic", STRICT) \
	RULE(STRING_INDEX, "string-index", "a string index that is not defined", STRICT) \
	RULE(STRING_LENGTH, "string-length", "a text is longer than 32000 bytes", STRICT) \
	RULE(UTF8, "utf-8", "a text is not UTF-8", STRICT) \
	RULE(THREAD_INDEX, "thread-index", "a thread index that is not defined", STRICT) \
	RULE(PROVIDER_TWICE, "provider-twice", "a provider is introduced twice: readers drop its tables", STRICT) \
	RULE(PROVIDER_UNKNOWN, "provider-unknown", "a provider that was not introduced", STRICT) \
	RULE(PROVIDER_NONE, "provider-none", "a record belongs to no provider", STRICT) \
	RULE(INIT, "init", "a provider has times but no initialization record", STRICT) \
	RULE(RATE, "tick-rate", "ticks are not nanoseconds: viewers round", STRICT) \
	RULE(EVENT_TYPE, "event-type", "an event of an unknown type", STRICT) \
	RULE(ARG_TYPE, "argument-type", "an argument of an unknown type", STRICT) \
	RULE(TIME_RANGE, "time-range", "a time that is not below 2^63 ns", STRICT) \
	RULE(KOID, "koid-range", "a process or thread id above 32 bits", STRICT) \
	RULE(COUNTER, "counter", "a counter has no argument, or one that is not a number", STRICT) \
	RULE(OBJECT, "thread-process", "a thread object lacks the koid argument of its process", STRICT) \
	RULE(BLOB, "blob", "a blob of an unknown type, of Perfetto's packets, or above 32000 bytes", STRICT) \
	RULE(WEIGHT, "weight-type", "a weight is not an int32, or a waker is not a koid", STRICT) \
	RULE(REASON, "reason-type", "an operation, or a reason of a switch, has not the type that it must have", STRICT) \
	RULE(IDLE, "idle-weight", "a switch of idle (thread 0) lacks the weight that marks it", STRICT) \
	RULE(STATE, "thread-state", "a scheduling state that does not exist", STRICT) \
	/* the trace as a whole */ \
	RULE(END_TIME, "end-time", "a duration ends before it begins", STRICT) \
	RULE(NO_END, "no-end", "the end is missing: the recorder was killed, or could not write it", END) \
	RULE(OUTSIDE, "clock-range", "a time before the session's first clock or after its last", STRICT) \
	RULE(CPU_TIME, "cpu-time", "time goes backwards in the scheduling of a CPU", STRICT) \
	RULE(SWITCH, "switch-join", "a thread leaves a CPU that another thread ran on, and no loss explains it", STRICT) \
	RULE(TWO_CPUS, "thread-twice", "a thread comes to a CPU before it leaves another one, and no loss explains it", LOSS) \
	RULE(NO_THREAD, "thread-name", "a thread that no object names", CUT) \
	RULE(NO_PROCESS, "process-name", "a process that no object names", STRICT) \
	RULE(MAIN, "main-thread", "a process object whose thread of the same id has no object", CUT) \
	RULE(PHANTOM, "thread-owner", "events name a thread under a process that is not its own", STRICT) \
	RULE(UNSCHEDULED, "thread-unscheduled", "a thread has events but no scheduling records", PART) \
	RULE(DURATION_OPEN, "duration-open", "a duration begins and does not end", LOSS) \
	RULE(DURATION_ORPHAN, "duration-orphan", "a duration ends but did not begin", LOSS) \
	RULE(DURATION_NAME, "duration-name", "a duration's end has another name than its begin", LOSS) \
	RULE(OVERLAP, "duration-overlap", "durations of a thread overlap without one enclosing the other", LOSS) \
	RULE(ORDER, "duration-order", "of two that begin together, the enclosed one stands first: viewers drop the other", STRICT) \
	RULE(DEPTH, "duration-depth", "durations nest deeper than 512", STRICT) \
	RULE(ASYNC_OPEN, "async-open", "an async operation begins and does not end", LOSS) \
	RULE(ASYNC_ORPHAN, "async-orphan", "an async operation ends, or has an instant, but did not begin", LOSS) \
	RULE(ASYNC_TWICE, "async-twice", "an async operation begins again before it ended", LOSS) \
	RULE(CONTEXT_LIFE, "context-life", "a context runs before it is made, or after it was destroyed", LOSS) \
	RULE(CONTEXT_TWICE, "context-twice", "a context is entered while it runs", LOSS) \
	RULE(FLOW_OPEN, "flow-open", "a flow begins and does not end", LOSS) \
	RULE(FLOW_ORPHAN, "flow-orphan", "a flow continues or ends but did not begin", LOSS) \
	RULE(FLOW_TWICE, "flow-twice", "a flow begins again before it ended", LOSS) \
	RULE(FLOW_OUTSIDE, "flow-outside", "a flow event with no duration around it", LOSS) \
	/* demands of the user */ \
	RULE(EXPECT, "expect-async", "the number of whole async operations is not the one that --expect-async names", STRICT) \
	RULE(SAME_THREAD, "cross-thread", "an operation that --cross-thread names begins and ends on one thread, or is missing", STRICT)

enum fxt_rule {
#define FXT_RULE_ID(id, name, text, excuse) FXT_RULE_##id,
	FXT_RULES(FXT_RULE_ID)
#undef FXT_RULE_ID
	FXT_RULE_COUNT
};

/**
 * enum fxt_excuse - when a file that breaks a rule is clean all the same
 * @FXT_EXCUSE_STRICT: never
 * @FXT_EXCUSE_LOSS: if records were lost (--allow-open), or in the cases of FXT_EXCUSE_PART
 * @FXT_EXCUSE_PART: if the file is a part of a recording, or its end is missing
 * @FXT_EXCUSE_CUT: if the end of the file is missing
 * @FXT_EXCUSE_END: always; the command reports a missing end by an exit status of its own
 */
enum fxt_excuse {
	FXT_EXCUSE_STRICT,
	FXT_EXCUSE_LOSS,
	FXT_EXCUSE_PART,
	FXT_EXCUSE_CUT,
	FXT_EXCUSE_END,
};

struct fxt_rule_info {
	const char *name;
	const char *text;
	enum fxt_excuse excuse;
};

extern const struct fxt_rule_info fxt_rules[FXT_RULE_COUNT];

/* True if the reader understands records that break @rule, and only viewers may not. */
static inline bool fxt_is_understood(enum fxt_rule rule)
{
	return rule == FXT_RULE_RATE;
}

#endif /* FXT_RULES_H */
