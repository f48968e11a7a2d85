// SPDX-License-Identifier: GPL-2.0
/*
 * Executes every macro: TRACE_INSTANT with each number of arguments from 0 to 15, others with some
 * numbers up to their maximum. selftests/macros/run compiles this file as C and as C++, and as both
 * with NTRACE.
 *
 * Prints how many arguments were evaluated, of those that count() wraps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

static unsigned int evaluated;

static int count(int value)
{
	evaluated++;
	return value;
}

/* Lists of arguments: P of all types in turn, N of numbers only, for counters */
#define P1	"a", TA_INT32(count(-1))
#define P2	P1, "b", TA_UINT32(2u)
#define P3	P2, "c", TA_INT64(-3)
#define P4	P3, "d", TA_UINT64(4)
#define P5	P4, "e", TA_DOUBLE(0.5)
#define P6	P5, "f", TA_STRING("six")
#define P7	P6, "g", TA_BOOL(true)
#define P8	P7, "h", TA_NULL()
#define P9	P8, "i", TA_KOID(9)
#define P10	P9, "j", TA_POINTER((void *)16)
#define P11	P10, "k", TA_CHAR_ARRAY("eleven chars", 6)
#define P12	P11, "l", 12
#define P13	P12, "m", 1.5
#define P14	P13, "n", "fourteen"
#define P15	P14, "o", 15ull
#define N1	"a", TA_INT32(count(-1))
#define N2	N1, "b", TA_UINT32(2u)
#define N3	N2, "c", TA_INT64(-3)
#define N4	N3, "d", TA_UINT64(4)
#define N5	N4, "e", TA_DOUBLE(0.5)
#define N6	N5, "f", 6
#define N7	N6, "g", 7u
#define N8	N7, "h", 8l
#define N9	N8, "i", 9ul
#define N10	N9, "j", 10ll
#define N11	N10, "k", 11ull
#define N12	N11, "l", 0.25f
#define N13	N12, "m", 1.5
#define N14	N13, "n", (short)14
#define N15	N14, "o", 'o'

/*
 * All macros count their arguments with the same inner macros. So one macro is tested with each
 * number of arguments, and the others with numbers that lead to different kinds of records.
 */
#define ALL(M) \
	SOME_TO_13(M) M("4", P4) M("5", P5) M("6", P6) M("7", P7) M("9", P9) M("10", P10) \
	M("11", P11) M("12", P12) M("14", P14) M("15", P15)
#define SOME_TO_8(M)	M("0") M("1", P1) M("2", P2) M("3", P3) M("8", P8)
#define SOME_TO_12(M)	SOME_TO_8(M) M("12", P12)
#define SOME_TO_13(M)	SOME_TO_8(M) M("13", P13)
#define SOME_TO_14(M)	SOME_TO_13(M) M("14", P14)
#define SOME(M)		SOME_TO_13(M) M("15", P15)
#define NUMBERS(M)	M("1", N1) M("2", N2) M("3", N3) M("8", N8) M("13", N13) M("15", N15)

#define INSTANT(n, ...)	TRACE_INSTANT("every", "instant " n, TRACE_SCOPE_THREAD, ##__VA_ARGS__);
#define COUNTER(n, ...)	TRACE_COUNTER("every", "counter " n, 7, ##__VA_ARGS__);
#define SCOPE(n, ...)	{ TRACE_DURATION("every", "scope " n, ##__VA_ARGS__); }
#define PAIR(n, ...) \
	TRACE_DURATION_BEGIN("every", "pair " n, ##__VA_ARGS__); \
	TRACE_DURATION_END("every", "pair " n, ##__VA_ARGS__);
#define ASYNC(n, ...) \
	TRACE_ASYNC_BEGIN("every", "async " n, 8, ##__VA_ARGS__); \
	TRACE_ASYNC_INSTANT("every", "async " n, 8, ##__VA_ARGS__); \
	TRACE_ASYNC_END("every", "async " n, 8, ##__VA_ARGS__);
#define FLOW(n, ...) \
	flow = at_flow_id(); \
	TRACE_FLOW_BEGIN("every", "flow " n, flow, ##__VA_ARGS__); \
	TRACE_FLOW_STEP("every", "flow " n, flow, ##__VA_ARGS__); \
	TRACE_FLOW_END("every", "flow " n, flow, ##__VA_ARGS__);
#define INSTAFLOW(n, ...) \
	flow = at_flow_id(); \
	TRACE_INSTAFLOW_BEGIN("every", "instaflow " n, "first " n, flow, ##__VA_ARGS__); \
	TRACE_INSTAFLOW_STEP("every", "instaflow " n, "middle " n, flow, ##__VA_ARGS__); \
	TRACE_INSTAFLOW_END("every", "instaflow " n, "last " n, flow, ##__VA_ARGS__);
#define VTHREAD(n, ...) \
	flow = at_flow_id(); \
	TRACE_VTHREAD_DURATION_BEGIN("every", "virtual " n, "fiber", 3, at_ticks(), ##__VA_ARGS__); \
	TRACE_VTHREAD_FLOW_BEGIN("every", "vflow " n, "fiber", 3, flow, at_ticks(), ##__VA_ARGS__); \
	TRACE_VTHREAD_FLOW_STEP("every", "vflow " n, "fiber", 3, flow, at_ticks(), ##__VA_ARGS__); \
	TRACE_VTHREAD_FLOW_END("every", "vflow " n, "fiber", 3, flow, at_ticks(), ##__VA_ARGS__); \
	TRACE_VTHREAD_DURATION_END("every", "virtual " n, "fiber", 3, at_ticks(), ##__VA_ARGS__);
#define BLOB(n, ...) \
	TRACE_BLOB_EVENT("every", "blob event " n, "bytes", 5, ##__VA_ARGS__);
#define OBJECT(n, ...)	TRACE_KERNEL_OBJECT(fd, ##__VA_ARGS__);
#define DECLARED(n, ...) \
	{ \
		TRACE_DECLARE_ARGS(NULL, args, ##__VA_ARGS__); \
		TRACE_COMPLETE_ARGS(NULL, args, TRACE_NUM_ARGS(args)); \
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "every", "declared " n, 0, args, \
				 TRACE_NUM_ARGS(args)); \
	}
#define OPERATION(n, ...) \
	TRACE_OPERATION_BEGIN(&op, "every", "operation " n, ##__VA_ARGS__); \
	TRACE_OPERATION_INSTANT(op.id, "every", "moment " n, ##__VA_ARGS__); \
	TRACE_OPERATION_END(&op, "every", "operation " n, ##__VA_ARGS__); \
	TRACE_OPERATION_BEGIN_CHILD(&op, 0, "every", "child " n, ##__VA_ARGS__); \
	TRACE_OPERATION_END(&op, "every", "child " n, ##__VA_ARGS__);
#define LAST_END(n, ...) \
	TRACE_OPERATION_BEGIN(&op, "every", "operation " n); \
	TRACE_OPERATION_END(&op, "every", "operation " n, ##__VA_ARGS__);
#define WORK(n, ...) \
	{ TRACE_OPERATION_SCOPE(5, "every", "work " n, ##__VA_ARGS__); } \
	{ TRACE_REGION("every", "region " n, ##__VA_ARGS__); } \
	TRACE_OPERATION_ENTER(&entered, 5, "every", "entered " n, ##__VA_ARGS__); \
	TRACE_REGION_BEGIN(&part, "every", "part " n, ##__VA_ARGS__); \
	at_region_end(&part); \
	at_operation_leave(&entered);

/* Defines a function for each macro, because compilers take very long for one large function. */
#define EACH_IN(name, each, M) \
	static void name(void) \
	{ \
		each(M) \
	}

static struct at_entered entered, part;
static struct at_operation op;
static uint64_t flow;
static int fd;

EACH_IN(instants, ALL, INSTANT)
EACH_IN(counters, NUMBERS, COUNTER)
EACH_IN(scopes, SOME, SCOPE)
EACH_IN(pairs, SOME, PAIR)
EACH_IN(asyncs, SOME, ASYNC)
EACH_IN(flows, SOME, FLOW)
EACH_IN(instaflows, SOME, INSTAFLOW)
EACH_IN(vthreads, SOME, VTHREAD)
EACH_IN(blobs, SOME, BLOB)
EACH_IN(objects, SOME, OBJECT)
EACH_IN(declared, SOME, DECLARED)
EACH_IN(operations, SOME_TO_14, OPERATION)
EACH_IN(works, SOME_TO_12, WORK)

static void others(void)
{
	LAST_END("15", P15)
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", "bytes", count(5));
	TRACE_BLOB_ATTACHMENT("every", "attached", "bytes", count(5));
	TRACE_OPERATION_FOLLOWS(5, "every", count(6));
	TRACE_LOG("every", count(1) ? "a line" : "none");
	TRACE_LOGF("every", "line %d", count(2));
	TRACE_ALERT("every", "alert");
	if (TRACE_ENABLED() || TRACE_CATEGORY_ENABLED("every"))
		TRACE_INSTANT("every", "enabled", TRACE_SCOPE_GLOBAL);
}

int main(void)
{
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	instants();
	counters();
	scopes();
	pairs();
	asyncs();
	{
		TRACE_DURATION("every", "around flows");
		flows();
	}
	instaflows();
	vthreads();
	blobs();
	objects();
	operations();
	works();
	others();
	printf("%u\n", evaluated);
	/* Declared arguments are evaluated even if nothing is recorded, so do not count them. */
	declared();
	close(fd);
	return 0;
}
