// SPDX-License-Identifier: GPL-2.0
/*
 * NTRACE: the program compiles without warnings (-Werror) although the macros expand to
 * nothing; TRACE_NONCE() still counts
 */
#define NTRACE
#include <stdio.h>
#include <string.h>

#include <asynctrace/trace.h>

static int evaluated;

static int count(void)
{
	return ++evaluated;
}

/* Only macros use this function. */
static const char *only_for_traces(int x)
{
	return x ? "x" : "y";
}

static void traced(int only_traced, uint64_t id)
{
	const int local = 5;

	TRACE_DURATION("ntrace", "scope", "x", TA_INT32(only_traced), "n", TA_INT32(count()));
	TRACE_INSTANT("ntrace", "instant", TRACE_SCOPE_THREAD, "s",
		      TA_STRING(only_for_traces(local)));
	TRACE_COUNTER("ntrace", "counter", 0, "n", TA_INT32(count()));
	TRACE_DURATION_BEGIN("ntrace", "d");
	TRACE_DURATION_END("ntrace", "d");
	if (local)
		TRACE_ASYNC_BEGIN("ntrace", "a", id, "n", TA_INT32(count()));
	else
		TRACE_ASYNC_END("ntrace", "a", id);
	TRACE_ASYNC_INSTANT("ntrace", "a", id);
	TRACE_FLOW_BEGIN("ntrace", "f", id);
	TRACE_FLOW_STEP("ntrace", "f", id);
	TRACE_FLOW_END("ntrace", "f", id);
	TRACE_INSTAFLOW_BEGIN("ntrace", "f", "s", id, "n", TA_INT32(count()));
	TRACE_INSTAFLOW_STEP("ntrace", "f", "s", id);
	TRACE_INSTAFLOW_END("ntrace", "f", "s", id);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "b", only_for_traces(local), count());
	TRACE_BLOB_EVENT("ntrace", "b", only_for_traces(local), 1, "n", TA_INT32(count()));
	TRACE_BLOB_ATTACHMENT("ntrace", "b", only_for_traces(local), 1);
	TRACE_KERNEL_OBJECT(only_traced, "n", TA_INT32(count()));
	TRACE_VTHREAD_DURATION_BEGIN("ntrace", "d", only_for_traces(local), id, at_ticks(), "n",
				     TA_INT32(count()));
	TRACE_VTHREAD_DURATION_END("ntrace", "d", "v", count(), 1);
	TRACE_VTHREAD_FLOW_BEGIN("ntrace", "f", "v", 1, id, count());
	TRACE_VTHREAD_FLOW_STEP("ntrace", "f", "v", 1, id, 1);
	TRACE_VTHREAD_FLOW_END("ntrace", "f", "v", 1, id, 1);
	{
		TRACE_DECLARE_ARGS(NULL, args, "n", TA_INT32(local));

		TRACE_COMPLETE_ARGS(NULL, args, TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "ntrace", only_for_traces(local), count(),
				 args, TRACE_NUM_ARGS(args));
	}
	if (local)
		TRACE_ALERT("ntrace", "alert");
	else
		TRACE_ALERT("ntrace", "another");
}

int main(void)
{
	int failed = 0;

	traced(1, 2);
	failed += evaluated != 0;
	failed += TRACE_ENABLED() || TRACE_CATEGORY_ENABLED("ntrace");
	failed += TRACE_NONCE() != 1 || TRACE_NONCE() != 2;
	printf("%d passed, %d failed, 0 skipped\n", 3 - failed, failed);
	return failed != 0;
}
