// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A thread pool that passes operations to its workers. pool_submit() stores the current operation
 * of the calling thread, and the worker enters it. So callers of the pool need no tracing code.
 *
 *	ASYNCTRACE_OUT=pool.fxt pool 4 20
 *	asynctrace why pool.fxt
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <asynctrace/operation.h>

/* --- the pool ------------------------------------------------------------------------- */

struct job {
	void (*run)(void *arg);
	void *arg;
	uint64_t operation;
	struct job *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct job *first, **last;
	int closed;
} pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &pool.first, 0 };

static int pool_submit(void (*run)(void *arg), void *arg)
{
	struct job *j = malloc(sizeof(*j));

	if (!j)
		return -1;
	*j = (struct job){ .run = run, .arg = arg, .operation = at_operation_current() };
	pthread_mutex_lock(&pool.lock);
	*pool.last = j;
	pool.last = &j->next;
	pthread_cond_signal(&pool.some);
	pthread_mutex_unlock(&pool.lock);
	return 0;
}

static struct job *pool_take(void)
{
	struct job *j;

	pthread_mutex_lock(&pool.lock);
	while (!pool.first && !pool.closed)
		pthread_cond_wait(&pool.some, &pool.lock);
	j = pool.first;
	if (j) {
		pool.first = j->next;
		if (!pool.first)
			pool.last = &pool.first;
	}
	pthread_mutex_unlock(&pool.lock);
	return j;
}

static void *pool_worker(void *unused)
{
	struct job *j;

	while ((j = pool_take())) {
		{
			TRACE_OPERATION_SCOPE(j->operation, "pool", "job");
			j->run(j->arg);
		}
		free(j);
	}
	return unused;
}

static void pool_close(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.closed = 1;
	pthread_cond_broadcast(&pool.some);
	pthread_mutex_unlock(&pool.lock);
}

/* --- the program ------------------------------------------------------------------------ */

struct request {
	struct at_operation operation;
	unsigned int number;
};

static void store(void *arg)
{
	struct request *r = arg;

	{
		TRACE_REGION("app", "store");
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	TRACE_OPERATION_END(&r->operation, "app", "request");
	free(r);
}

/* The worker has entered the request's operation, so a job submitted here belongs to it, too. */
static void compute(void *arg)
{
	{
		TRACE_REGION("app", "compute");
		/* Volatile, so that the compiler keeps the loop. */
		for (volatile unsigned int i = 0; i < 100000; i++)
			;
	}
	if (pool_submit(store, arg))
		abort();
}

int main(int argc, char **argv)
{
	const unsigned long workers = argc > 1 ? strtoul(argv[1], NULL, 0) : 4;
	const unsigned long requests = argc > 2 ? strtoul(argv[2], NULL, 0) : 20;
	pthread_t *th = calloc(workers ? workers : 1, sizeof(*th));

	if (!th || !workers)
		return 2;
	for (unsigned long i = 0; i < workers; i++)
		if (pthread_create(&th[i], NULL, pool_worker, NULL))
			return 1;
	for (unsigned long i = 0; i < requests; i++) {
		struct request *r = calloc(1, sizeof(*r));
		struct at_entered e;

		if (!r)
			return 1;
		r->number = i;
		TRACE_OPERATION_BEGIN(&r->operation, "app", "request", "number", r->number);
		TRACE_OPERATION_ENTER(&e, r->operation.id, "app", "accept");
		if (pool_submit(compute, r))
			return 1;
		at_operation_leave(&e);
	}
	/* Jobs submit other jobs, so wait until the queue is empty before closing the pool. */
	for (;;) {
		int idle;

		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		pthread_mutex_lock(&pool.lock);
		idle = !pool.first;
		pthread_mutex_unlock(&pool.lock);
		if (idle)
			break;
	}
	pool_close();
	for (unsigned long i = 0; i < workers; i++)
		pthread_join(th[i], NULL);
	free(th);
	printf("%lu requests\n", requests);
	return 0;
}
