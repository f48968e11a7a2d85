/* SPDX-License-Identifier: GPL-2.0 */
/* Records made by hand, and rows of the analysis as text */
#ifndef ANALYSIS_BUILD_H
#define ANALYSIS_BUILD_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

#define PSEUDO		0x70000001u	/* the recorder's first pseudo thread, its clock */
#define HIDDEN_ON(cpu)	(0x7fffffffu - (cpu))

/* Linux's task states */
#define PREEMPTED	0
#define SLEEPS		1
#define SLEEPS_ON_DISK	2
#define STOPS		4
#define EXITS		0x10

/* Records in the order in which the engine gets them */
struct trace {
	struct fxt_record *of;
	size_t nr, room;
};

struct fxt_record *add_record(struct trace *t, enum fxt_kind kind, uint64_t ns);
void add_bool(struct fxt_record *rec, const char *name);
void add_number(struct fxt_record *rec, const char *name, unsigned int type, int64_t value);
void add_text(struct fxt_record *rec, const char *name, const char *text);
/* Puts an event of the recorder at @ns. It shows that the trace covers this time. */
void put_clock(struct trace *t, uint64_t ns);
/* Puts an instant of the recorder's pseudo thread "clock", such as "session stop". */
void put_moment(struct trace *t, uint64_t ns, const char *name);
void put_switch(struct trace *t, uint64_t ns, unsigned int cpu, uint32_t out, uint32_t in,
		uint32_t state);
/*
 * Adds to the last record, a switch, that the leaving thread was in @syscall. @argument < 0: none
 */
void add_call(struct trace *t, const char *syscall, int64_t argument, unsigned int off_cpu);
/*
 * Adds to the last record the operation of a thread, in the argument @name such as
 * "incoming_operation". @id 0: the thread works on nothing, so add no argument
 */
void add_cell(struct trace *t, const char *name, uint64_t id);
/* Puts a wakeup of @tid. @waker 0: an interrupt woke it */
void put_wakeup(struct trace *t, uint64_t ns, unsigned int cpu, uint32_t tid, uint32_t waker);
void put_duration(struct trace *t, uint64_t ns, uint64_t end, uint32_t tid, const char *name);
/* Puts an event of @type (ASYNCTRACE_FXT_*). */
void put_event(struct trace *t, unsigned int type, uint64_t ns, uint32_t tid, const char *name,
	       uint64_t id);
void put_thread(struct trace *t, uint32_t tid, uint32_t pid, const char *name);
/*
 * Puts a record that says that records were lost from @from to @to: those of the kernel's ring of
 * @cpu, or those of a ring of @provider.
 */
void put_kernel_loss(struct trace *t, uint64_t from, uint64_t to, unsigned int cpu);
void put_tracepoint_loss(struct trace *t, uint64_t from, uint64_t to);
void put_provider_loss(struct trace *t, uint64_t from, uint64_t to, const char *provider);
/*
 * Puts the counter that a recorder writes when the CPU quota of the cgroup @path has throttled the
 * process @pid.
 */
void put_throttling(struct trace *t, uint64_t ns, uint32_t pid, const char *path,
		    uint64_t interval_us, uint64_t throttled_us, uint64_t periods);
void trace_free(struct trace *t);
/* Puts operation 1, on which thread 1 works in its duration "work". Both last from 10 to 100. */
void put_work(struct trace *t);

#define BEGINS(t, ns, tid, id)	put_event(t, ASYNCTRACE_FXT_ASYNC_BEGIN, ns, tid, "req", id)
#define STEPS(t, ns, tid, id)	put_event(t, ASYNCTRACE_FXT_ASYNC_INSTANT, ns, tid, "step", id)
#define ENDS(t, ns, tid, id)	put_event(t, ASYNCTRACE_FXT_ASYNC_END, ns, tid, "req", id)

/*
 * Rows as text. An operation:
 *
 *	req 1 10-100: INTERVALS | PATH		"open" before the colon if it is incomplete
 *
 * and each interval, separated by ", ":
 *
 *	10-20 blocked/sleep t7 @futex(5) in read by t8 on req 2 ?	"?": inferred
 *	20-50 runnable/woken t7 by t9 quota /a 25	/a was throttled: up to 25 ns
 */
struct rows {
	char **of;
	size_t nr, room;
};

/* Checks that a row has no gaps and that its sums are right. Fails the test if not. */
void check_row(const struct analysis_operation *op);
char *row_text(const struct analysis_operation *op);
int rows_add(void *rows, const struct analysis_operation *op);
/* Returns the number of rows that do not contain @text. */
size_t rows_without(const struct rows *r, const char *text);
void rows_free(struct rows *r);
/* Gives the records of @t to @a. */
void feed(struct analysis *a, const struct trace *t);
/* Analyses @t from its first record to its end. The caller frees the result. */
struct analysis *analyse_into(const struct trace *t, const struct analysis_options *opts,
			      const struct analysis_sink *sink);
/* Analyses @t. @totals may be NULL. */
struct rows analyse(const struct trace *t, const struct analysis_options *opts,
		    struct analysis_totals *totals);
/* Analyses @t and frees it. The rows must be exactly these, ended by NULL. */
void expect_rows(struct trace *t, ...);

#endif /* ANALYSIS_BUILD_H */
