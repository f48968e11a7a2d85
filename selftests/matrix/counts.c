// SPDX-License-Identifier: GPL-2.0
/*
 * Every macro of an event with 0 to 15 arguments, valid as C and as C++
 *
 * The shell script counts lists the expected events. The program's argument is the number of
 * argument values that the program must evaluate. With NTRACE, or if nothing is recorded, only
 * TRACE_DECLARE_ARGS() evaluates arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#define A0
#define A1	A0, "1", n()
#define A2	A1, "2", n()
#define A3	A2, "3", n()
#define A4	A3, "4", n()
#define A5	A4, "5", n()
#define A6	A5, "6", n()
#define A7	A6, "7", n()
#define A8	A7, "8", n()
#define A9	A8, "9", n()
#define A10	A9, "10", n()
#define A11	A10, "11", n()
#define A12	A11, "12", n()
#define A13	A12, "13", n()
#define A14	A13, "14", n()
#define A15	A14, "15", n()

#define CALL(macro, ...) macro(__VA_ARGS__)
/* The fixed arguments of @macro, then 1 to 15 pairs */
#define FIFTEEN(macro, ...) \
	CALL(macro, __VA_ARGS__ A1); CALL(macro, __VA_ARGS__ A2); CALL(macro, __VA_ARGS__ A3); \
	CALL(macro, __VA_ARGS__ A4); CALL(macro, __VA_ARGS__ A5); CALL(macro, __VA_ARGS__ A6); \
	CALL(macro, __VA_ARGS__ A7); CALL(macro, __VA_ARGS__ A8); CALL(macro, __VA_ARGS__ A9); \
	CALL(macro, __VA_ARGS__ A10); CALL(macro, __VA_ARGS__ A11); CALL(macro, __VA_ARGS__ A12); \
	CALL(macro, __VA_ARGS__ A13); CALL(macro, __VA_ARGS__ A14); CALL(macro, __VA_ARGS__ A15)
#define SIXTEEN(macro, ...) \
	CALL(macro, __VA_ARGS__); FIFTEEN(macro, __VA_ARGS__)

static int evaluated;

static int n(void)
{
	return ++evaluated ? 7 : 0;
}

/*
 * Returns the next id. Each kind of event begins with the same *@last, so the begin, the instant
 * and the end of an operation have the same id. Unused with NTRACE.
 */
__attribute__((unused)) static uint64_t id(uint64_t *last)
{
	return ++*last;
}

/* A counter needs at least one number, so each call of COUNTER() passes the pair "0" first. */
#define COUNTER(...) TRACE_COUNTER("counts", "counter", 9, __VA_ARGS__)
#define DECLARED(...) \
	do { \
		TRACE_DECLARE_ARGS(NULL, __VA_ARGS__); \
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "counts", "declared", 0, args, \
				 TRACE_NUM_ARGS(args)); \
	} while (0)

/* One function for each macro, because compilers are slow with large functions. */
static void instants(void) { SIXTEEN(TRACE_INSTANT, "counts", "instant", TRACE_SCOPE_THREAD); }
static void begins(void) { SIXTEEN(TRACE_DURATION_BEGIN, "counts", "pair"); }
static void ends(void) { SIXTEEN(TRACE_DURATION_END, "counts", "pair"); }
static void scopes(void) { SIXTEEN(TRACE_DURATION, "counts", "scope"); }
static void async_begins(uint64_t i) { SIXTEEN(TRACE_ASYNC_BEGIN, "counts", "async", id(&i)); }
static void async_instants(uint64_t i) { SIXTEEN(TRACE_ASYNC_INSTANT, "counts", "async", id(&i)); }
static void async_ends(uint64_t i) { SIXTEEN(TRACE_ASYNC_END, "counts", "async", id(&i)); }
static void flow_begins(uint64_t i) { SIXTEEN(TRACE_FLOW_BEGIN, "counts", "flow", id(&i)); }
static void flow_steps(uint64_t i) { SIXTEEN(TRACE_FLOW_STEP, "counts", "flow", id(&i)); }
static void flow_ends(uint64_t i) { SIXTEEN(TRACE_FLOW_END, "counts", "flow", id(&i)); }
static void declared(void) { SIXTEEN(DECLARED, args); }
static void instaflow_begins(uint64_t i)
{
	SIXTEEN(TRACE_INSTAFLOW_BEGIN, "counts", "instaflow", "begins", id(&i));
}
static void instaflow_steps(uint64_t i)
{
	SIXTEEN(TRACE_INSTAFLOW_STEP, "counts", "instaflow", "goes on", id(&i));
}
static void instaflow_ends(uint64_t i)
{
	SIXTEEN(TRACE_INSTAFLOW_END, "counts", "instaflow", "ends", id(&i));
}
static void vthread_begins(void)
{
	SIXTEEN(TRACE_VTHREAD_DURATION_BEGIN, "counts", "virtual", "fiber", 5, at_ticks());
}
static void vthread_ends(void)
{
	SIXTEEN(TRACE_VTHREAD_DURATION_END, "counts", "virtual", "fiber", 5, at_ticks());
}
static void vthread_flows(uint64_t i)
{
	SIXTEEN(TRACE_VTHREAD_FLOW_BEGIN, "counts", "vflow", "fiber", 5, id(&i), at_ticks());
}
static void vthread_steps(uint64_t i)
{
	SIXTEEN(TRACE_VTHREAD_FLOW_STEP, "counts", "vflow", "fiber", 5, id(&i), at_ticks());
}
static void vthread_flow_ends(uint64_t i)
{
	SIXTEEN(TRACE_VTHREAD_FLOW_END, "counts", "vflow", "fiber", 5, id(&i), at_ticks());
}
static void blobs(void) { SIXTEEN(TRACE_BLOB_EVENT, "counts", "blob", "abc", 3); }
static void objects(void) { SIXTEEN(TRACE_KERNEL_OBJECT, STDIN_FILENO); }
static void counters(void)
{
	CALL(COUNTER, "0", n()); CALL(COUNTER, "0", n() A1); CALL(COUNTER, "0", n() A2);
	CALL(COUNTER, "0", n() A3); CALL(COUNTER, "0", n() A4); CALL(COUNTER, "0", n() A5);
	CALL(COUNTER, "0", n() A6); CALL(COUNTER, "0", n() A7); CALL(COUNTER, "0", n() A8);
	CALL(COUNTER, "0", n() A9); CALL(COUNTER, "0", n() A10); CALL(COUNTER, "0", n() A11);
	CALL(COUNTER, "0", n() A12); CALL(COUNTER, "0", n() A13); CALL(COUNTER, "0", n() A14);
}

static void of_the_thread(void)
{
	TRACE_DURATION("counts", "around");
	instants();
	begins();
	ends();
	async_begins(0);
	async_instants(0);
	async_ends(0);
	flow_begins(0);
	flow_steps(0);
	flow_ends(0);
	declared();
}

int main(int argc, char **argv)
{
	const int expected = argc > 1 ? atoi(argv[1]) : 0;

	of_the_thread();
	scopes();
	counters();
	instaflow_begins(100);
	instaflow_steps(100);
	instaflow_ends(100);
	vthread_begins();
	vthread_flows(200);
	vthread_steps(200);
	vthread_flow_ends(200);
	vthread_ends();
	blobs();
	objects();
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "plain blob", "xy", 2);
	TRACE_BLOB_ATTACHMENT("counts", "attachment", "z", 1);
	/* TRACE_NONCE() counts without tracing, too. */
	if (TRACE_NONCE() != 1 || TRACE_NONCE() != 2)
		return 99;
	if (evaluated != expected)
		printf("%d values were evaluated, not %d\n", evaluated, expected);
	return evaluated != expected;
}
