// SPDX-License-Identifier: GPL-2.0
/* A program that is traced by its environment: see test_env.sh. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <asynctrace/trace.h>

static void events(void)
{
	TRACE_DURATION("law", "scope");
	for (int i = 0; i < 1000; i++)
		TRACE_INSTANT("law", "event", TRACE_SCOPE_THREAD, "i", TA_INT32(i));
}

int main(int argc, char **argv)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	events();
	while (argc > 1 && !strcmp(argv[1], "forever")) {
		events();
		nanosleep(&ms, NULL);
	}
	return argc > 1 ? atoi(argv[1]) : 0;
}
