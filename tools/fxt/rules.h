/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with a trace: one line a rule, in the order of reports.
 * RULE(identifier, name, what it says, excuse)
 *
 * Excuses: 1, by a loss (--allow-open), and in a file that is a part of a recording;
 * 2, in the latter alone.
 */
#ifndef FXT_RULES_H
#define FXT_RULES_H

#define FXT_RULES(RULE) \
	/* the format, record by record */ \
	RULE(SIZE, "record-size", "a record's size is 0 or not that of its content", 0) \
	RULE(TRUNCATED, "truncated", "the file ends within a record", 0) \
	RULE(TYPE, "record-type", "a record of a type that means nothing", 0) \
	RULE(LARGE, "large-record", "a large record: viewers lose their place in those", 0) \
	RULE(RESERVED, "reserved-bits", "reserved bits are not zero", 0) \
	RULE(PADDING, "padding", "text is not padded with zeros", 0) \
	RULE(MAGIC, "magic", "a trace info record that is not the magic", 0) \
	RULE(STRING_INDEX, "string-index", "a string index that is not defined", 0) \
	RULE(STRING_LENGTH, "string-length", "a text is longer than 32000 bytes", 0) \
	RULE(UTF8, "utf-8", "a text is not UTF-8", 0) \
	RULE(THREAD_INDEX, "thread-index", "a thread index that is not defined", 0) \
	RULE(PROVIDER_TWICE, "provider-twice", "a provider is introduced twice: its tables are lost", 0) \
	RULE(PROVIDER_UNKNOWN, "provider-unknown", "a provider that was not introduced", 0) \
	RULE(PROVIDER_NONE, "provider-none", "a record belongs to no provider", 0) \
	RULE(INIT, "init", "a provider has times but no initialization record", 0) \
	RULE(RATE, "tick-rate", "ticks are not nanoseconds: viewers round", 0) \
	RULE(EVENT_TYPE, "event-type", "an event of an unknown type", 0) \
	RULE(ARG_TYPE, "argument-type", "an argument of an unknown type", 0) \
	RULE(TIME_RANGE, "time-range", "a time that is not below 2^63 ns", 0) \
	RULE(KOID, "koid-range", "a process or thread id above 32 bits", 0) \
	RULE(COUNTER, "counter", "a counter without a number, or with what is none", 0) \
	RULE(OBJECT, "thread-process", "a thread object without its process, as a koid", 0) \
	RULE(WEIGHT, "weight-type", "a weight that is no int32, or a waker that is no koid", 0) \
	RULE(IDLE, "idle-weight", "idle (thread 0) without the weight that marks it", 0) \
	RULE(STATE, "thread-state", "a scheduling state that does not exist", 0) \
	/* the trace as a whole */ \
	RULE(END_TIME, "end-time", "a duration ends before it begins", 0) \
	RULE(OUTSIDE, "clock-range", "a time before the session's first clock or after its last", 0) \
	RULE(CPU_TIME, "cpu-time", "time goes backwards in the scheduling of a CPU", 0) \
	RULE(SWITCH, "switch-join", "what leaves a CPU is not what came to it, and no loss lies between", 0) \
	RULE(NO_THREAD, "thread-name", "a thread that no object names", 0) \
	RULE(NO_PROCESS, "process-name", "a process that no object names", 0) \
	RULE(MAIN, "main-thread", "a process object whose thread of the same id has no object", 0) \
	RULE(PHANTOM, "thread-owner", "events of a thread under a process that is not its own", 0) \
	RULE(UNSCHEDULED, "thread-unscheduled", "a thread with events, never in scheduling records", 2) \
	RULE(DURATION_OPEN, "duration-open", "a duration begins and does not end", 1) \
	RULE(DURATION_ORPHAN, "duration-orphan", "a duration ends that did not begin", 1) \
	RULE(DURATION_NAME, "duration-name", "a duration's end has another name than its begin", 1) \
	RULE(OVERLAP, "duration-overlap", "durations of a thread overlap without one enclosing the other", 1) \
	RULE(ORDER, "duration-order", "of two that begin together, the enclosed stands first: viewers drop the other", 0) \
	RULE(DEPTH, "duration-depth", "durations nest deeper than 512", 0) \
	RULE(ASYNC_OPEN, "async-open", "an async operation begins and does not end", 1) \
	RULE(ASYNC_ORPHAN, "async-orphan", "an async operation ends, or has an instant, that did not begin", 1) \
	RULE(ASYNC_TWICE, "async-twice", "an async operation begins again before it ended", 1) \
	RULE(FLOW_OPEN, "flow-open", "a flow begins and does not end", 1) \
	RULE(FLOW_ORPHAN, "flow-orphan", "a flow goes on or ends that did not begin", 1) \
	RULE(FLOW_TWICE, "flow-twice", "a flow begins again before it ended", 1) \
	RULE(FLOW_OUTSIDE, "flow-outside", "a flow event with no duration around it", 1) \
	/* what was asked for */ \
	RULE(EXPECT, "expect-async", "not the number of whole async operations asked for", 0) \
	RULE(SAME_THREAD, "cross-thread", "an async operation begins and ends on one thread", 0)

enum fxt_rule {
#define FXT_RULE_ID(id, name, text, open) FXT_RULE_##id,
	FXT_RULES(FXT_RULE_ID)
#undef FXT_RULE_ID
	FXT_RULE_COUNT
};

struct fxt_rule_info {
	const char *name;
	const char *text;
	int open;		/* the excuse, see above; 0: none */
};

extern const struct fxt_rule_info fxt_rules[FXT_RULE_COUNT];

#endif /* FXT_RULES_H */
