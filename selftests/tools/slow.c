// SPDX-License-Identifier: GPL-2.0
/*
 * A program with slow operations: each thread hands its operations to a second thread
 *
 * usage: slow THREADS OPERATIONS EVERY [WAIT]
 *
 * One operation in EVERY sleeps for 60 ms on its second thread. Before the program ends, it begins
 * an operation that does not end, and sleeps for WAIT milliseconds.
 * Events: 5 * THREADS * OPERATIONS + 1.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <asynctrace/trace.h>

struct pair {
	sem_t full, empty;
	uint64_t id;
	long number;
};

static long operations, every;

static void *finish(void *arg)
{
	struct pair *p = arg;

	for (long i = 0; i < operations; i++) {
		while (sem_wait(&p->full))
			;
		TRACE_DURATION_BEGIN("http", "finish");
		if (p->number % every == 0)
			usleep(60000);
		TRACE_ASYNC_END("http", "request", p->id);
		TRACE_DURATION_END("http", "finish");
		sem_post(&p->empty);
	}
	return arg;
}

static void *take(void *arg)
{
	struct pair p = { 0 };
	pthread_t second;

	sem_init(&p.full, 0, 0);
	sem_init(&p.empty, 0, 1);
	if (pthread_create(&second, NULL, finish, &p))
		exit(1);
	for (long i = 1; i <= operations; i++) {
		while (sem_wait(&p.empty))
			;
		{
			TRACE_DURATION("http", "take");
			p.id = at_nonce();
			p.number = i;
			TRACE_ASYNC_BEGIN("http", "request", p.id);
			sem_post(&p.full);
		}
	}
	pthread_join(second, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t thread[64];

	if (threads < 1 || threads > 64)
		return 2;
	operations = atol(argv[2]);
	every = atol(argv[3]);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, take, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	TRACE_ASYNC_BEGIN("http", "request", at_nonce());
	usleep(1000 * (argc > 4 ? atol(argv[4]) : 0));
	return 0;
}
