// SPDX-License-Identifier: GPL-2.0
/*
 * dies THREADS: crashes while each thread works on an operation of its own
 *
 * Prints a line for each thread before the crash: its thread id and its operation. The threads
 * are blocked then, except for the one that crashes. The main thread works on no operation.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

static pthread_barrier_t ready;
static unsigned int nr;

static void *work(void *arg)
{
	const unsigned int number = (uintptr_t)arg;
	struct at_operation outer, inner;

	TRACE_OPERATION_BEGIN(&outer, "dies", "outer", "number", number);
	TRACE_OPERATION_SCOPE(outer.id, "dies", "work");
	TRACE_OPERATION_BEGIN(&inner, "dies", "inner");
	/* At the crash, threads with odd numbers are in the inner operation, the others left it. */
	{
		TRACE_OPERATION_SCOPE(inner.id, "dies", "work");
		if (number % 2) {
			printf("%d 0x%" PRIx64 "\n", gettid(), at_operation_current());
			fflush(stdout);
			pthread_barrier_wait(&ready);
			pause();
		}
	}
	printf("%d 0x%" PRIx64 "\n", gettid(), at_operation_current());
	fflush(stdout);
	pthread_barrier_wait(&ready);
	if (!number)
		abort();
	pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	nr = argc == 2 ? atoi(argv[1]) : 0;
	if (!nr || pthread_barrier_init(&ready, NULL, nr))
		return 2;
	TRACE_INSTANT("dies", "begin", TRACE_SCOPE_THREAD);
	for (uintptr_t i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, work, (void *)i))
			return 2;
	pause();
	return 0;
}
