// SPDX-License-Identifier: GPL-2.0
/*
 * A program to record. Each duration "outer" and "inner" has the argument "measured": the CPU time
 * that the program itself measured within the duration. The scopes have no such argument. Each turn
 * of a thread is an operation.
 *
 * usage: cputimes [TURNS]
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#define THREADS	4

static long turns = 200;

static void spin(unsigned int us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void work(unsigned int *seed)
{
	for (int i = rand_r(seed) % 4; i >= 0; i--) {
		switch (rand_r(seed) % 3) {
		case 0:
			spin(rand_r(seed) % 3000);
			break;
		case 1:
			usleep(rand_r(seed) % 3000);
			break;
		default:
			sched_yield();
		}
	}
}

static void *run(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	for (long i = 0; i < turns; i++) {
		const uint64_t turn = TRACE_NONCE();
		uint64_t outer, inner;

		TRACE_ASYNC_BEGIN("time", "turn", turn);
		TRACE_DURATION_BEGIN("time", "outer");
		outer = at_thread_cpu_ns();
		work(&seed);
		TRACE_DURATION_BEGIN("time", "inner");
		inner = at_thread_cpu_ns();
		work(&seed);
		inner = at_thread_cpu_ns() - inner;
		TRACE_DURATION_END("time", "inner", "measured", TA_UINT64(inner));
		{
			TRACE_DURATION("time", "scope");
			TRACE_REGION("time", "region");
			spin(rand_r(&seed) % 500);
		}
		outer = at_thread_cpu_ns() - outer;
		TRACE_DURATION_END("time", "outer", "measured", TA_UINT64(outer));
		TRACE_ASYNC_END("time", "turn", turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		turns = atol(argv[1]);
	at_provider_register(NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(i + 1)))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
