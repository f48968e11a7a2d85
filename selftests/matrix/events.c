// SPDX-License-Identifier: GPL-2.0
/*
 * A program that writes events of every kind, valid as C and as C++
 *
 * The script run knows the events. With an argument, no two threads write at the same time, because
 * the fallback ring drops a record if two threads meet. The program prints which ring it uses.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inline.h"

#define THREADS	4
#define ROUNDS	250

/* Overwrites the text before the durations end: they must have copied it when they began. */
static void scopes(int depth)
{
	char text[16];

	memcpy(text, "as it was", sizeof("as it was"));
	TRACE_DURATION("matrix", "first", "depth", depth); TRACE_DURATION("matrix", "second", "text", text);
	if (depth)
		scopes(depth - 1);
	memset(text, 'x', sizeof(text));
}

static void values(void)
{
	static int target;
	const int numbers[1] = { 5 };
	const void *null = 0;

	TRACE_INSTANT("matrix", "plain", TRACE_SCOPE_THREAD, "int", -1, "unsigned", 2u, "long", -3l,
		      "size", sizeof(char), "float", 0.5f, "double", -0.25, "text", "text", "bool",
		      (bool)(numbers[0] == 5));
	TRACE_INSTANT("matrix", "explicit", TRACE_SCOPE_PROCESS, "null", TA_NULL(), "bool",
		      TA_BOOL(numbers[0]), "i32", TA_INT32(INT32_MIN), "u32", TA_UINT32(UINT32_MAX),
		      "i64", TA_INT64(INT64_MIN), "u64", TA_UINT64(UINT64_MAX), "double",
		      TA_DOUBLE(1e300), "pointer", TA_POINTER(null), "koid", TA_KOID(77), "string",
		      TA_STRING("gr\303\274\303\237e"), "chars", TA_CHAR_ARRAY("abcdef", 3));
	TRACE_INSTANT("matrix", "fifteen", TRACE_SCOPE_GLOBAL, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5,
		      "6", 6, "7", 7, "8", 8, "9", 9, "10", 10, "11", 11, "12", 12, "13", 13, "14", 14,
		      "15", 15);
	/* A typed pointer is recorded like the void pointer of the same address. */
	TRACE_INSTANT("matrix", "typed pointer", TRACE_SCOPE_THREAD, "p", &target);
	TRACE_INSTANT("matrix", "void pointer", TRACE_SCOPE_THREAD, "p", (void *)&target);
	TRACE_INSTANT("matrix", "nested", TRACE_SCOPE_THREAD, "on", TRACE_CATEGORY_ENABLED("matrix"),
		      "off", TRACE_CATEGORY_ENABLED("unwanted"));
}

static void kinds(void)
{
	TRACE_INSTANT("matrix", "instant", TRACE_SCOPE_THREAD);
	TRACE_COUNTER("matrix", "counter", 9, "a", 1, "b", 2.5);
	TRACE_DURATION_BEGIN("matrix", "pair");
	TRACE_DURATION_END("matrix", "pair", "end", 1);
	TRACE_ASYNC_BEGIN("matrix", "async", 11, "begin", 1);
	TRACE_ASYNC_INSTANT("matrix", "async", 11);
	TRACE_ASYNC_END("matrix", "async", 11);
	{
		TRACE_DURATION("matrix", "of the flow");
		TRACE_FLOW_BEGIN("matrix", "flow", 12);
		TRACE_FLOW_STEP("matrix", "flow", 12, "step", 1);
		TRACE_FLOW_END("matrix", "flow", 12);
	}
	TRACE_ALERT("matrix", "alert");
}

static void *writer(void *arg)
{
	const uint64_t base = *(const uint64_t *)arg;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		TRACE_DURATION("matrix", "work", "i", i);
		TRACE_ASYNC_BEGIN("matrix", "of a thread", base + i, "text", "x");
		TRACE_ASYNC_END("matrix", "of a thread", base + i);
		TRACE_INSTANT("unwanted", "not recorded", TRACE_SCOPE_THREAD, "n", i);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t bases[THREADS];
	struct at_status_info status;
	int n = 0;

	(void)argv;

	scopes(1);
	values();
	kinds();
	inline_events(1);
	other_events(2);
	/* The macro must not evaluate its argument, because the category is not recorded. */
	TRACE_INSTANT("unwanted", "not evaluated", TRACE_SCOPE_THREAD, "n", ++n);
	for (int i = 0; i < THREADS; i++) {
		bases[i] = 1000000u * (unsigned int)(i + 1);
		if (pthread_create(&threads[i], 0, writer, &bases[i]))
			return 2;
		if (argc > 1)
			pthread_join(threads[i], 0);
	}
	for (int i = 0; i < THREADS && argc == 1; i++)
		pthread_join(threads[i], 0);
	memset(&status, 0, sizeof(status));
	status.size = sizeof(status);
	if (at_status(&status))
		return 2;
	printf("path %u\n", status.path);
	return n;
}
