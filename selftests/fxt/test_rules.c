// SPDX-License-Identifier: GPL-2.0
/*
 * Each rule of asynctrace validate: a file that keeps all rules, and for each rule the same file
 * with one fault, which breaks only that rule
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

/* Positions in the good file, in words */
static struct {
	size_t provider, section, init, string, thread, process, object, complete, counter;
	size_t arg_bool, scope, inline_name, sw, wakeup, log, blob, blob_event, attachment,
		kernel_event, reason, operation, last;
} at;

#define IDLE	(1ULL << 63)
#define TEXT8(s) ({ uint64_t w_ = 0; memcpy(&w_, s, sizeof(s) - 1); w_; })

/* Strings of provider 1 */
enum {
	PROCESS = 1, IN, OUT, WEIGHT, WAKER, CAT, WORK, ASYNCTRACE, START, END, CONTEXT, OPERATION,
	IN_OPERATION, OUT_OPERATION, OFF_CPU, SYSCALL, SYSCALL_ARGUMENT, INFERRED,
	LOST, STRINGS
};

static size_t rec(struct words *b, size_t nr, const uint64_t *w)
{
	size_t where = b->nr;

	memcpy(words_add(b, nr), w, nr * 8);
	return where;
}

#define REC(b, ...) rec(b, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

static uint64_t head(unsigned int type, unsigned int nargs, unsigned int words, unsigned int thread)
{
	return 4 | words << 4 | type << 16 | nargs << 20 | (uint64_t)thread << 24 |
	       (uint64_t)CAT << 32 | (uint64_t)WORK << 48;
}

static size_t simple(struct words *b, unsigned int type, unsigned int thread, uint64_t ns)
{
	return REC(b, head(type, 0, 2, thread), ns);
}

static size_t with_id(struct words *b, unsigned int type, unsigned int thread, uint64_t ns,
		      uint64_t id)
{
	return REC(b, head(type, 0, 3, thread), ns, id);
}

static size_t complete(struct words *b, unsigned int thread, uint64_t ns, uint64_t end)
{
	return with_id(b, ASYNCTRACE_FXT_DURATION, thread, ns, end);
}

static size_t object(struct words *b, uint64_t tid, uint64_t pid)
{
	return REC(b, 7 | 4 << 4 | 2 << 16 | (uint64_t)WORK << 24 | 1ULL << 40, tid,
		   8 | 2 << 4 | PROCESS << 16, pid);
}

static size_t process(struct words *b, uint64_t pid)
{
	return REC(b, 7 | 2 << 4 | 1 << 16 | (uint64_t)WORK << 24, pid);
}

static size_t context_switch(struct words *b, uint64_t ns, uint64_t out, uint64_t in)
{
	return REC(b, 8 | 6 << 4 | 2 << 16 | 3ULL << 20 | 3ULL << 36 | 1ULL << 60, ns, out, in,
		   1 | 1 << 4 | OUT << 16 | (out ? 20ULL << 32 : IDLE),
		   1 | 1 << 4 | IN << 16 | (in ? 20ULL << 32 : IDLE));
}

/* As context_switch(), on any CPU; @inferred: the recorder made it */
static void on_cpu(struct words *b, unsigned int cpu, uint64_t ns, uint64_t out, uint64_t in,
		   bool inferred)
{
	size_t i = context_switch(b, ns, out, in);

	b->w[i] ^= (3ULL ^ cpu) << 20;
	if (inferred) {
		b->w[i] += 1 << 4 | 1 << 16;
		words_push(b, 9 | 1 << 4 | INFERRED << 16 | 1ULL << 32);
	}
}

static void clock_event(struct words *b, unsigned int name, uint64_t ns)
{
	REC(b, 4 | 4 << 4 | (uint64_t)ASYNCTRACE << 32 | (uint64_t)name << 48, ns, 0x70000000,
	    0x70000001);
}

/* Writes a loss of records as the recorder does, on a pseudo thread. */
static void lost_records(struct words *b, uint64_t from, uint64_t to)
{
	object(b, 0x70000001, 0x70000000);
	process(b, 0x70000000);
	REC(b, 4 | 5 << 4 | ASYNCTRACE_FXT_DURATION << 16 | (uint64_t)ASYNCTRACE << 32 |
	    (uint64_t)LOST << 48, from, 0x70000000, 0x70000001, to);
}

/* Changes an event's category from "cat" to "context", and its name from "work" to "cat". */
#define CONTEXTS ((uint64_t)(CAT ^ CONTEXT) << 32 | (uint64_t)(WORK ^ CAT) << 48)

/* The events with which the library begins, ends and runs a context */
static void context_begin(struct words *b, uint64_t ns, uint64_t id)
{
	b->w[with_id(b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, ns, id)] ^= CONTEXTS;
}

static void context_end(struct words *b, uint64_t ns, uint64_t id)
{
	b->w[with_id(b, ASYNCTRACE_FXT_ASYNC_END, 1, ns, id)] ^= CONTEXTS;
}

static void context_run(struct words *b, unsigned int thread, uint64_t ns, uint64_t id)
{
	const uint64_t h = head(ASYNCTRACE_FXT_DURATION_BEGIN, 1, 4, thread);

	REC(b, h ^ CONTEXTS, ns, 4 | 2 << 4 | OPERATION << 16, id);
}

/* Writes the end of a context's run, which may lack names. */
static void context_left(struct words *b, unsigned int thread, uint64_t ns)
{
	REC(b, 4 | 2 << 4 | ASYNCTRACE_FXT_DURATION_END << 16 | (uint64_t)thread << 24, ns);
}

static void good_file(struct words *b)
{
	static const char *const strings[] = {
		"process", "incoming_weight", "outgoing_weight", "weight", "waker", "cat", "work",
		"asynctrace", "session start", "trace end", "context", "operation",
		"incoming_operation", "outgoing_operation", "off_cpu", "syscall",
		"syscall_argument", "inferred", "lost records",
	};

	words_push(b, ASYNCTRACE_FXT_MAGIC);
	at.provider = REC(b, 0 | 2 << 4 | 1 << 16 | 1 << 20 | 4ULL << 52, TEXT8("test"));
	at.init = REC(b, 1 | 2 << 4, 1000000000);
	at.string = b->nr;
	for (unsigned int i = 0; i < STRINGS - 1; i++)
		put_string(b, i + 1, strings[i], strlen(strings[i]));
	process(b, 0x70000000);
	object(b, 0x70000000, 0x70000000);
	object(b, 0x70000001, 0x70000000);
	clock_event(b, START, 1000);
	REC(b, 0 | 2 << 4 | 1 << 16 | 2 << 20 | 5ULL << 52, TEXT8("other"));
	REC(b, 1 | 2 << 4, 1000000000);
	at.section = REC(b, 0 | 1 << 4 | 2 << 16 | 1 << 20);
	at.process = process(b, 100);
	object(b, 100, 100);
	at.object = object(b, 101, 100);
	object(b, 102, 100);
	at.thread = REC(b, 3 | 3 << 4 | 1 << 16, 100, 101);
	REC(b, 3 | 3 << 4 | 2 << 16, 100, 102);
	at.wakeup = REC(b, 8 | 6 << 4 | 2 << 16 | 3ULL << 20 | 2ULL << 60, 1500, 101,
			1 | 1 << 4 | WEIGHT << 16 | 20ULL << 32, 8 | 2 << 4 | WAKER << 16, 102);
	at.sw = context_switch(b, 2000, 0, 101);
	at.reason = REC(b, 8 | 14ULL << 4 | 7 << 16 | 3ULL << 20 | 3ULL << 36 | 1ULL << 60,
			3000, 101, 102,
			1 | 1 << 4 | OUT << 16 | 20ULL << 32, 1 | 1 << 4 | IN << 16 | 20ULL << 32,
			4 | 2 << 4 | IN_OPERATION << 16, 0xa, 4 | 2 << 4 | OUT_OPERATION << 16, 0xb,
			2 | 1 << 4 | OFF_CPU << 16 | 8ULL << 32,
			6 | 1 << 4 | SYSCALL << 16 | (uint64_t)WORK << 32,
			4 | 2 << 4 | SYSCALL_ARGUMENT << 16, 0xc);
	REC(b, 8 | 6 << 4 | 2 << 16 | 3ULL << 20 | 2ULL << 60, 3100, 101,
	    1 | 1 << 4 | WEIGHT << 16 | 20ULL << 32, 4 | 2 << 4 | OPERATION << 16, 0xa);
	at.operation = b->nr - 2;
	at.complete = complete(b, 1, 2000, 2900);
	with_id(b, ASYNCTRACE_FXT_FLOW_BEGIN, 1, 2100, 0xf);
	complete(b, 2, 3100, 3900);
	with_id(b, ASYNCTRACE_FXT_FLOW_STEP, 2, 3150, 0xf);
	with_id(b, ASYNCTRACE_FXT_FLOW_END, 2, 3200, 0xf);
	simple(b, ASYNCTRACE_FXT_DURATION_BEGIN, 2, 3300);
	simple(b, ASYNCTRACE_FXT_DURATION_END, 2, 3400);
	with_id(b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 2200, 0xa);
	with_id(b, ASYNCTRACE_FXT_ASYNC_INSTANT, 1, 2300, 0xa);
	with_id(b, ASYNCTRACE_FXT_ASYNC_END, 2, 3500, 0xa);
	at.counter = REC(b, head(ASYNCTRACE_FXT_COUNTER, 1, 5, 1), 2400,
			 4 | 2 << 4 | WORK << 16, 7, 0);
	at.arg_bool = REC(b, head(ASYNCTRACE_FXT_INSTANT, 1, 3, 1), 2500,
			  9 | 1 << 4 | WORK << 16 | 1ULL << 32);
	at.scope = REC(b, head(ASYNCTRACE_FXT_INSTANT, 0, 3, 1), 2500, 2);
	at.inline_name = REC(b, (head(ASYNCTRACE_FXT_INSTANT, 0, 3, 1) & ~(0xffffULL << 48)) |
			     0x8003ULL << 48, 2500, TEXT8("abc"));
	at.log = REC(b, 9 | 3 << 4 | 5 << 16 | 1ULL << 32, 2600, TEXT8("hello"));
	at.blob = REC(b, 5 | 2 << 4 | WORK << 16 | 3ULL << 32 | 1ULL << 48, TEXT8("\1\2\3"));
	at.blob_event = REC(b, 15 | 6 << 4, CAT | WORK << 16 | 1ULL << 32 | 1ULL << 36, 2650,
			    9 | 1 << 4 | WORK << 16 | 1ULL << 32, 3, TEXT8("\1\2\3"));
	at.attachment = REC(b, 15 | 4 << 4 | 1ULL << 40, CAT | WORK << 16, 3, TEXT8("\1\2\3"));
	/* Ids of objects other than threads may have more than 32 bits. */
	REC(b, 7 | 2 << 4 | 31 << 16 | (uint64_t)WORK << 24, 1ULL << 40);
	at.kernel_event = REC(b, 0 | 1 << 4 | 3 << 16 | 1 << 20);
	context_begin(b, 4910, 0xc);
	context_run(b, 1, 4920, 0xc);
	context_left(b, 1, 4940);
	context_run(b, 2, 4950, 0xc);
	context_left(b, 2, 4960);
	context_end(b, 4970, 0xc);
	at.last = b->nr;
	clock_event(b, END, 5000);
}

/* --- one fault ------------------------------------------------------------------------------- */

#define WRONG(id, ...) static void id(struct words *b) { uint64_t *w = b->w; (void)w; __VA_ARGS__ }

WRONG(nothing, )
WRONG(size_0, REC(b, 4);)
/* Inserts a word at @i. */
static void insert(struct words *b, size_t i, uint64_t word)
{
	words_add(b, 1);
	memmove(b->w + i + 1, b->w + i, (b->nr - 1 - i) * 8);
	b->w[i] = word;
}

WRONG(size_large, w[at.wakeup] += 0x10; insert(b, at.wakeup + 6, 0);)
WRONG(arg_size_0, w[at.arg_bool + 2] &= ~0xfff0ULL;)
WRONG(arg_size_2, w[at.counter + 2] ^= (2 ^ 1) << 4;)
WRONG(scope_3, w[at.scope + 2] = 3;)
WRONG(scope_of_two_words, w[at.scope] += 0x10; insert(b, at.scope + 2, 0);)
WRONG(truncated, REC(b, 4 | 100 << 4);)
WRONG(type_11, REC(b, 11 | 1 << 4);)
WRONG(metadata_type, REC(b, 0 | 1 << 4 | 9 << 16);)
WRONG(sched_type, REC(b, 8 | 1 << 4 | 5ULL << 60);)
WRONG(large, w = words_add(b, 4096); memset(w, 0, 4096 * 8); w[0] = 15 | 4096 << 4;)
WRONG(large_type, w[at.attachment] |= 1ULL << 36;)
WRONG(large_format, w[at.attachment] |= 2ULL << 40;)
WRONG(large_reserved, w[at.attachment] |= 1ULL << 44;)
WRONG(large_reserved_format, w[at.attachment + 1] |= 1ULL << 36;)
WRONG(large_reserved_event, w[at.blob_event + 1] |= 1ULL << 44;)
WRONG(large_bytes_missing, w[at.attachment + 2] = 9;)
WRONG(large_bytes_wild, w[at.blob_event + 4] = ~0ULL;)
WRONG(large_word_left_over, w[at.attachment + 2] = 0;)
WRONG(large_not_padded, w[at.attachment + 3] |= 1ULL << 63;)
WRONG(large_string, w[at.attachment + 1] |= 0x7000;)
WRONG(large_thread, w[at.blob_event + 1] |= 0x70ULL << 36;)
WRONG(large_before_start, w[at.blob_event + 2] = 1;)
WRONG(A18_blob_of_perfetto, w[at.blob] ^= (1ULL ^ 3) << 48;)
WRONG(A18_blob_of_no_type, w[at.blob] &= ~(0xffULL << 48);)
WRONG(A18_blob_too_large, w = words_add(b, 4002); memset(w, 0, 4002 * 8);
	w[0] = 5 | 4002ULL << 4 | WORK << 16 | 32001ULL << 32 | 1ULL << 48;)
WRONG(A18_large_blob_too_large, w = words_add(b, 4004); memset(w, 0, 4004 * 8);
	w[0] = 15 | 4004ULL << 4 | 1ULL << 40;
	w[1] = CAT | WORK << 16;
	w[2] = 32001;)
WRONG(reserved_arg, w[at.arg_bool + 2] |= 1ULL << 40;)
WRONG(reserved_init, w[at.init] |= 1ULL << 30;)
WRONG(reserved_switch, w[at.sw] |= 1ULL << 50;)
WRONG(reserved_wakeup, w[at.wakeup] |= 1ULL << 50;)
WRONG(reserved_string, w[at.string] |= 1ULL << 31;)
WRONG(reserved_thread, w[at.thread] |= 1ULL << 40;)
WRONG(reserved_object, w[at.process] |= 1ULL << 50;)
WRONG(reserved_section, w[at.section] |= 1ULL << 60;)
WRONG(reserved_log, w[at.log] |= 1ULL << 50;)
WRONG(reserved_blob, w[at.blob] |= 1ULL << 60;)
WRONG(padding, w[at.inline_name + 2] |= 1ULL << 32;)
WRONG(magic, REC(b, ASYNCTRACE_FXT_MAGIC ^ 1ULL << 24);)
WRONG(string_unknown, size_t i = simple(b, 0, 1, 4000); b->w[i] |= 0x1000ULL << 48;)
WRONG(string_0, put_string(b, 0, "x", 1);)
WRONG(string_arg, w[at.arg_bool + 2] |= 0x100ULL << 16;)
WRONG(string_long, char *s = calloc(1, 32001); put_string(b, 50, s, 32001); free(s);)
WRONG(utf8, w[at.inline_name + 2] = 0xff6261;)
WRONG(thread_unknown, simple(b, 0, 77, 2000);)
WRONG(thread_0, REC(b, 3 | 3 << 4, 100, 101);)
WRONG(provider_twice, REC(b, w[at.provider], w[at.provider + 1]);)
WRONG(provider_unknown, REC(b, 0 | 1 << 4 | 3 << 16 | 9 << 20);)
WRONG(provider_section, REC(b, 0 | 1 << 4 | 2 << 16 | 9 << 20);)
WRONG(provider_none, insert(b, 1, 1000000000); insert(b, 1, 1 | 2 << 4);)
WRONG(init_missing, REC(b, 0 | 2 << 4 | 1 << 16 | 3 << 20 | 5ULL << 52, TEXT8("third"));
	REC(b, 4 | 4 << 4, 2000, 100, 101);)
WRONG(rate, REC(b, 1 | 2 << 4, 24000000);)
WRONG(event_type, REC(b, head(12, 0, 2, 1), 2000);)
WRONG(arg_type, w[at.arg_bool + 2] |= 15;)
WRONG(time_range, simple(b, 0, 1, 1ULL << 63);)
WRONG(koid, REC(b, 3 | 3 << 4 | 9 << 16, 1ULL << 40, 101);)
WRONG(koid_event, REC(b, 4 | 4 << 4 | (uint64_t)CAT << 32 | (uint64_t)WORK << 48, 2000, 100,
	1ULL << 32 | 999);)
WRONG(koid_referred, REC(b, 3 | 3 << 4 | 9 << 16, 100, 1ULL << 32 | 999); simple(b, 0, 9, 2000);)
WRONG(koid_waker, w[at.wakeup + 5] |= 1ULL << 32 | 999;)
WRONG(koid_object, object(b, 1ULL << 32 | 999, 100);)
WRONG(koid_owner, object(b, 101, 1ULL << 32 | 100);)
WRONG(counter_none, REC(b, head(ASYNCTRACE_FXT_COUNTER, 0, 3, 1), 2000, 0);)
WRONG(counter_text, w[at.counter + 2] ^= 4 ^ 7;)
WRONG(no_process_arg, REC(b, 7 | 2 << 4 | 2 << 16 | (uint64_t)WORK << 24, 300);)
WRONG(process_arg_u64, w[at.object + 2] ^= 4 ^ 8; object(b, 101, 100);)
WRONG(weight, w[at.wakeup + 3] ^= 1 ^ 2;)
WRONG(waker, w[at.wakeup + 4] ^= 8 ^ 4;)
WRONG(operation_in, w[at.reason + 6] ^= 4 ^ 3;)
WRONG(operation_out, w[at.reason + 8] ^= 4 ^ 8;)
WRONG(operation_woken, w[at.operation] ^= 4 ^ 7;)
WRONG(off_cpu_type, w[at.reason + 10] ^= 2 ^ 1;)
WRONG(off_cpu_without_syscall, w[at.reason + 11] += 1ULL << 16;)
WRONG(syscall_without_flag, w[at.reason + 10] &= ~(8ULL << 32);)
WRONG(syscall_type, w[at.reason + 11] ^= 6 ^ 2;)
WRONG(syscall_argument_type, w[at.reason + 12] ^= 4 ^ 3;)
WRONG(idle, w[at.sw + 4] ^= IDLE;)
WRONG(state, w[at.sw] |= 8ULL << 36;)
WRONG(end_time, complete(b, 1, 4001, 4000);)
WRONG(before_start, simple(b, 0, 1, 999);)
WRONG(no_end, w[at.last] ^= (uint64_t)(END ^ WORK) << 48;)
WRONG(after_end, simple(b, 0, 1, 5001);)
WRONG(cpu_time, context_switch(b, 2500, 102, 101);)
WRONG(switch_join, w[at.sw + 8] = 102;)	/* in the second switch */
/* Thread 102 comes to CPU 4 at 3500, before its recorded switch out of CPU 3 at 4900. */
WRONG(two_cpus, on_cpu(b, 4, 3500, 0, 102, false); on_cpu(b, 3, 4900, 102, 0, false);)
WRONG(no_thread, REC(b, 4 | 4 << 4, 2000, 100, 999);
	context_switch(b, 4000, 999, 102);)
WRONG(no_thread_sched, context_switch(b, 4000, 102, 555);)
WRONG(no_process, object(b, 300, 301); REC(b, 4 | 4 << 4, 2000, 301, 300);
	context_switch(b, 4000, 300, 102);)
WRONG(main_thread, process(b, 400);)
WRONG(phantom, process(b, 500); object(b, 500, 500); REC(b, 4 | 4 << 4, 2000, 500, 101);)
WRONG(unscheduled, object(b, 103, 100);
	REC(b, 4 | 5 << 4 | ASYNCTRACE_FXT_DURATION << 16, 2000, 100, 103, 2100);)
WRONG(open, simple(b, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 4000);)
WRONG(orphan, simple(b, ASYNCTRACE_FXT_DURATION_END, 1, 4000);)
WRONG(other_name, simple(b, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 4000);
	size_t i = simple(b, ASYNCTRACE_FXT_DURATION_END, 1, 4100);
	b->w[i] ^= (uint64_t)(WORK ^ CAT) << 48;)
WRONG(overlap, complete(b, 1, 4000, 4100); complete(b, 1, 4050, 4200);)
WRONG(order, complete(b, 1, 4000, 4100); complete(b, 1, 4000, 4200);)
WRONG(depth, for (int i = 0; i < 513; i++) complete(b, 1, 4000, 4900 - i);)
WRONG(async_open, with_id(b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 4000, 0xb);)
WRONG(async_orphan, with_id(b, ASYNCTRACE_FXT_ASYNC_END, 1, 4000, 0xb);)
WRONG(async_orphan_instant, with_id(b, ASYNCTRACE_FXT_ASYNC_INSTANT, 1, 4000, 0xb);)
WRONG(async_twice, with_id(b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 2250, 0xa);
	with_id(b, ASYNCTRACE_FXT_ASYNC_END, 1, 2260, 0xa);)
WRONG(flow_open, with_id(b, ASYNCTRACE_FXT_FLOW_BEGIN, 1, 2800, 0xb);)
WRONG(flow_orphan, with_id(b, ASYNCTRACE_FXT_FLOW_STEP, 1, 2800, 0xb);)
WRONG(flow_orphan_end, with_id(b, ASYNCTRACE_FXT_FLOW_END, 1, 2800, 0xb);)
WRONG(flow_twice, with_id(b, ASYNCTRACE_FXT_FLOW_BEGIN, 1, 2150, 0xf);)
WRONG(flow_outside, with_id(b, ASYNCTRACE_FXT_FLOW_BEGIN, 1, 4000, 0xb);
	complete(b, 1, 4100, 4200);
	with_id(b, ASYNCTRACE_FXT_FLOW_END, 1, 4150, 0xb);)

WRONG(A23_context_runs_unmade, context_run(b, 1, 4000, 0xd); context_left(b, 1, 4100);)
WRONG(H6_context_runs_destroyed, context_run(b, 1, 4980, 0xc); context_left(b, 1, 4985);)
WRONG(H6_context_runs_twice, context_run(b, 2, 4925, 0xc); context_left(b, 2, 4930);)

#define W(rule, id) { FXT_RULE_##rule, #id, id }
static const struct {
	enum fxt_rule rule;
	const char *name;
	void (*spoil)(struct words *b);
} wrongs[] = {
	W(SIZE, size_0), W(SIZE, size_large), W(SIZE, arg_size_0), W(SIZE, arg_size_2),
	W(SIZE, scope_3), W(SIZE, scope_of_two_words),
	W(TRUNCATED, truncated), W(TYPE, type_11), W(TYPE, metadata_type), W(TYPE, sched_type),
	W(LARGE, large), W(TYPE, large_type), W(TYPE, large_format), W(RESERVED, large_reserved),
	W(RESERVED, large_reserved_format), W(RESERVED, large_reserved_event),
	W(SIZE, large_bytes_missing), W(SIZE, large_bytes_wild), W(SIZE, large_word_left_over),
	W(PADDING, large_not_padded), W(STRING_INDEX, large_string), W(THREAD_INDEX, large_thread),
	W(OUTSIDE, large_before_start), W(BLOB, A18_blob_of_perfetto), W(BLOB, A18_blob_of_no_type),
	W(BLOB, A18_blob_too_large), W(BLOB, A18_large_blob_too_large),
	W(RESERVED, reserved_arg), W(RESERVED, reserved_init),
	W(RESERVED, reserved_switch), W(RESERVED, reserved_wakeup), W(RESERVED, reserved_string),
	W(RESERVED, reserved_thread), W(RESERVED, reserved_object), W(RESERVED, reserved_section),
	W(RESERVED, reserved_log), W(RESERVED, reserved_blob), W(PADDING, padding),
	W(MAGIC, magic), W(STRING_INDEX, string_unknown), W(STRING_INDEX, string_0),
	W(STRING_INDEX, string_arg), W(STRING_LENGTH, string_long), W(UTF8, utf8),
	W(THREAD_INDEX, thread_unknown), W(THREAD_INDEX, thread_0),
	W(PROVIDER_TWICE, provider_twice), W(PROVIDER_UNKNOWN, provider_unknown),
	W(PROVIDER_UNKNOWN, provider_section), W(PROVIDER_NONE, provider_none),
	W(INIT, init_missing), W(RATE, rate), W(EVENT_TYPE, event_type), W(ARG_TYPE, arg_type),
	W(TIME_RANGE, time_range), W(KOID, koid), W(KOID, koid_event),
	W(KOID, koid_referred), W(KOID, koid_waker), W(KOID, koid_object), W(KOID, koid_owner),
	W(COUNTER, counter_none),
	W(COUNTER, counter_text), W(OBJECT, no_process_arg), W(OBJECT, process_arg_u64),
	W(WEIGHT, weight), W(WEIGHT, waker), W(IDLE, idle), W(STATE, state),
	W(REASON, operation_in), W(REASON, operation_out), W(REASON, operation_woken),
	W(REASON, off_cpu_type), W(REASON, off_cpu_without_syscall),
	W(REASON, syscall_without_flag), W(REASON, syscall_type),
	W(REASON, syscall_argument_type),
	W(END_TIME, end_time), W(OUTSIDE, before_start), W(OUTSIDE, after_end),
	W(NO_END, no_end), W(CPU_TIME, cpu_time), W(SWITCH, switch_join),
	W(TWO_CPUS, two_cpus), W(NO_THREAD, no_thread),
	W(NO_THREAD, no_thread_sched), W(NO_PROCESS, no_process), W(MAIN, main_thread),
	W(PHANTOM, phantom), W(UNSCHEDULED, unscheduled), W(DURATION_OPEN, open),
	W(DURATION_ORPHAN, orphan), W(DURATION_NAME, other_name), W(OVERLAP, overlap),
	W(ORDER, order), W(DEPTH, depth), W(ASYNC_OPEN, async_open),
	W(ASYNC_ORPHAN, async_orphan), W(ASYNC_ORPHAN, async_orphan_instant),
	W(ASYNC_TWICE, async_twice), W(FLOW_OPEN, flow_open), W(FLOW_ORPHAN, flow_orphan),
	W(FLOW_ORPHAN, flow_orphan_end), W(FLOW_TWICE, flow_twice),
	W(FLOW_OUTSIDE, flow_outside), W(CONTEXT_LIFE, A23_context_runs_unmade),
	W(CONTEXT_LIFE, H6_context_runs_destroyed), W(CONTEXT_TWICE, H6_context_runs_twice),
};

static struct fxt_check *check_in_window(const struct words *b, size_t window, const char *expect,
					 uint64_t count, const char *cross)
{
	struct fxt_check *c = fxt_check_new(window);
	int fd = memfd_create("rules", MFD_CLOEXEC), err;
	struct fxt_reader *r;
	char path[32];

	assert_non_null(c);
	assert_int_equal(write(fd, b->w, b->nr * 8), (ssize_t)b->nr * 8);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	assert_non_null(r);
	if (expect)
		assert_int_equal(fxt_expect_async(c, expect, count), 0);
	if (cross)
		assert_int_equal(fxt_cross_thread(c, cross), 0);
	assert_int_equal(fxt_check_all(c, r), 0);
	fxt_close(r);
	close(fd);
	return c;
}

static struct fxt_check *check_words(const struct words *b, const char *expect, uint64_t count,
				     const char *cross)
{
	return check_in_window(b, 0, expect, count, cross);
}

/* Counts and prints the rules that are not as expected: @rule is broken, and no other one. */
static unsigned int others(const struct fxt_check *c, enum fxt_rule rule, const char *name)
{
	unsigned int n = 0;

	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		const struct fxt_finding *f = &fxt_findings(c)[i];

		if ((i == (int)rule) == !!f->count)
			continue;
		fprintf(stderr, "%s: %s is %sfound: %s\n", name, fxt_rules[i].name,
			f->count ? "" : "not ", f->detail);
		n++;
	}
	return n;
}

static void test_the_good_file_is_clean(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	nothing(&b);
	c = check_words(&b, "work", 1, "work");
	assert_int_equal(others(c, FXT_RULE_COUNT, "good"), 0);
	assert_int_equal(fxt_tally(c)->asyncs, 2);
	assert_int_equal(fxt_tally(c)->flows, 1);
	assert_int_equal(fxt_tally(c)->switches, 2);
	assert_int_equal(fxt_tally(c)->wakeups, 2);
	fxt_check_free(c);
	words_free(&b);
}

static void test_each_breach_trips_its_rule_alone(void **unused)
{
	bool covered[FXT_RULE_COUNT] = { false };
	unsigned int failures = 0;

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct words b = { 0 };
		struct fxt_check *c;

		good_file(&b);
		wrongs[i].spoil(&b);
		c = check_words(&b, NULL, 0, NULL);
		failures += others(c, wrongs[i].rule, wrongs[i].name);
		covered[wrongs[i].rule] = true;
		fxt_check_free(c);
		words_free(&b);
	}
	/* These rules need options: another test breaks them. */
	covered[FXT_RULE_EXPECT] = true;
	covered[FXT_RULE_SAME_THREAD] = true;
	/* test_cut.c breaks this rule. */
	covered[FXT_RULE_PACKED] = true;
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		if (!covered[i])
			fprintf(stderr, "no file breaks %s\n", fxt_rules[i].name);
		failures += !covered[i];
	}
	assert_int_equal(failures, 0);
}

static void test_expectations_are_checked(void **unused)
{
	static const struct {
		const char *expect;
		uint64_t count;
		const char *cross;
		enum fxt_rule rule;
	} cases[] = {
		{ "work", 1, NULL, FXT_RULE_COUNT },
		{ "work", 2, NULL, FXT_RULE_EXPECT },
		{ "work", 0, NULL, FXT_RULE_EXPECT },
		{ "absent", 0, NULL, FXT_RULE_COUNT },
		{ "absent", 1, NULL, FXT_RULE_EXPECT },
		{ NULL, 0, "work", FXT_RULE_COUNT },
		{ NULL, 0, "absent", FXT_RULE_SAME_THREAD },
	};
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		c = check_words(&b, cases[i].expect, cases[i].count, cases[i].cross);
		assert_int_equal(others(c, cases[i].rule, "asked"), 0);
		fxt_check_free(c);
	}
	with_id(&b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 4000, 0xb);
	with_id(&b, ASYNCTRACE_FXT_ASYNC_END, 1, 4100, 0xb);
	c = check_words(&b, "work", 2, "work");
	assert_int_equal(others(c, FXT_RULE_SAME_THREAD, "same thread"), 0);
	fxt_check_free(c);
	words_free(&b);
}

/* A loss between two switches of a CPU explains why they do not join. */
static void test_a_loss_excuses_switches(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	REC(&b, 0 | 1 << 4 | 3 << 16 | 1 << 20);
	context_switch(&b, 3500, 101, 0);
	c = check_words(&b, NULL, 0, NULL);
	assert_int_equal(others(c, FXT_RULE_COUNT, "loss"), 0);
	fxt_check_free(c);
	words_free(&b);
}

/*
 * Thread 102 runs on CPU 3 since 3000, and on CPU 4 since 4000. Its switch out of CPU 3 may be
 * later only if the recorder inferred it, or if records were lost meanwhile.
 */
static void test_thread_runs_on_one_cpu_at_a_time(void **unused)
{
	static const struct {
		uint64_t out;
		bool inferred, lost;
		enum fxt_rule rule;
	} cases[] = {
		{ 3900, false, false, FXT_RULE_COUNT },
		{ 5000, false, false, FXT_RULE_COUNT },	/* the clocks may differ by so much */
		{ 5001, false, false, FXT_RULE_TWO_CPUS },
		{ 8000, false, false, FXT_RULE_TWO_CPUS },
		{ 8000, true, false, FXT_RULE_COUNT },
		{ 8000, false, true, FXT_RULE_COUNT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words b = { 0 };
		struct fxt_check *c;

		good_file(&b);
		/* In the file, the rings of CPUs follow each other: the times are not in order. */
		on_cpu(&b, 4, 4000, 0, 102, false);
		on_cpu(&b, 4, 8500, 102, 0, false);
		on_cpu(&b, 3, cases[i].out, 102, 0, cases[i].inferred);
		if (cases[i].lost)
			lost_records(&b, 4100, 4200);
		clock_event(&b, END, 9000);
		c = check_words(&b, NULL, 0, NULL);
		assert_int_equal(others(c, cases[i].rule, "two CPUs"), 0);
		fxt_check_free(c);
		words_free(&b);
	}
}

/*
 * The switch of thread 102 out of CPU 4 after 4000 is missing. When the thread later comes to
 * CPU 4 again and leaves it in order, that is no breach.
 */
static void test_missing_switch_is_forgotten(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	on_cpu(&b, 4, 4000, 0, 102, false);
	on_cpu(&b, 3, 4300, 0, 102, false);
	on_cpu(&b, 3, 4900, 102, 0, false);
	on_cpu(&b, 4, 7000, 0, 102, false);
	on_cpu(&b, 4, 8000, 102, 0, false);
	clock_event(&b, END, 9000);
	c = check_words(&b, NULL, 0, NULL);
	assert_int_equal(fxt_findings(c)[FXT_RULE_TWO_CPUS].count, 0);
	fxt_check_free(c);
	words_free(&b);
}

/* Switches that come too late to be sorted prove nothing about other CPUs. */
static void test_late_switches_are_no_breach(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	on_cpu(&b, 4, 4000, 0, 102, false);
	on_cpu(&b, 4, 4200, 102, 0, false);
	on_cpu(&b, 4, 5000, 0, 102, false);
	for (uint64_t ns = 5100; ns < 5500; ns += 100)
		complete(&b, 1, ns, ns + 10);
	on_cpu(&b, 3, 4300, 0, 102, false);
	on_cpu(&b, 3, 4900, 102, 0, false);
	on_cpu(&b, 4, 8000, 102, 0, false);
	clock_event(&b, END, 9000);
	c = check_in_window(&b, 2, NULL, 0, NULL);
	assert_true(fxt_tally(c)->late > 0);
	assert_int_equal(fxt_findings(c)[FXT_RULE_TWO_CPUS].count, 0);
	fxt_check_free(c);
	words_free(&b);
}

/* The end of an operation must have the name and the category of its begin. */
static void test_end_of_another_type_ends_nothing(void **unused)
{
	static const uint64_t other[] = {
		(uint64_t)(WORK ^ CAT) << 48,		/* name */
		(uint64_t)(CAT ^ WORK) << 32,		/* category */
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct words b = { 0 };
		struct fxt_check *c;

		good_file(&b);
		with_id(&b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 4000, 0xb);
		b.w[with_id(&b, ASYNCTRACE_FXT_ASYNC_END, 1, 4100, 0xb)] ^= other[i];
		c = check_words(&b, NULL, 0, NULL);
		assert_int_equal(fxt_findings(c)[FXT_RULE_ASYNC_ORPHAN].count, 1);
		assert_int_equal(fxt_findings(c)[FXT_RULE_ASYNC_OPEN].count, 1);
		fxt_check_free(c);
		words_free(&b);
	}
}

/* Events may be in any order in the file: their time counts. */
static void test_order_of_the_file_is_free(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	with_id(&b, ASYNCTRACE_FXT_ASYNC_END, 2, 4500, 0xc);
	with_id(&b, ASYNCTRACE_FXT_ASYNC_INSTANT, 2, 4400, 0xc);
	with_id(&b, ASYNCTRACE_FXT_ASYNC_BEGIN, 1, 4300, 0xc);
	simple(&b, ASYNCTRACE_FXT_DURATION_END, 1, 4800);
	with_id(&b, ASYNCTRACE_FXT_FLOW_END, 1, 4750, 0xd);
	with_id(&b, ASYNCTRACE_FXT_FLOW_BEGIN, 1, 4700, 0xd);
	simple(&b, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 4600);
	c = check_words(&b, NULL, 0, NULL);
	assert_int_equal(others(c, FXT_RULE_COUNT, "order"), 0);
	fxt_check_free(c);
	words_free(&b);
}

/* An interrupt may write an event on a thread whose scheduling the session does not record. */
static void tracepoint_needs_no_scheduling(void **unused)
{
	struct words b = { 0 };
	struct fxt_check *c;

	good_file(&b);
	object(&b, 103, 100);
	REC(&b, 4 | 4 << 4, 2000, 100, 103);
	c = check_words(&b, NULL, 0, NULL);
	assert_int_equal(others(c, FXT_RULE_COUNT, "tracepoint"), 0);
	fxt_check_free(c);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_good_file_is_clean),
		cmocka_unit_test(test_each_breach_trips_its_rule_alone),
		cmocka_unit_test(test_expectations_are_checked),
		cmocka_unit_test(test_a_loss_excuses_switches),
		cmocka_unit_test(test_thread_runs_on_one_cpu_at_a_time),
		cmocka_unit_test(test_missing_switch_is_forgotten),
		cmocka_unit_test(test_late_switches_are_no_breach),
		cmocka_unit_test(test_end_of_another_type_ends_nothing),
		cmocka_unit_test(test_order_of_the_file_is_free),
		cmocka_unit_test(tracepoint_needs_no_scheduling),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
