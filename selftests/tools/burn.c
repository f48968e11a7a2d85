// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose CPU quota may throttle it: one operation that needs CPU time
 *
 * usage: burn MILLISECONDS
 */
#include <stdlib.h>
#include <time.h>

#include <asynctrace/trace.h>

static long long cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	const uint64_t id = at_nonce();
	long long end;

	TRACE_DURATION("cpu", "compute");
	TRACE_ASYNC_BEGIN("cpu", "burn", id);
	/* The first event takes CPU time, because the program registers. */
	end = cpu_ns() + (argc > 1 ? atoll(argv[1]) : 0) * 1000000;
	while (cpu_ns() < end)
		;
	TRACE_ASYNC_END("cpu", "burn", id);
	return 0;
}
