// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Work on a pool of threads
 *
 * Each job has two contexts. The loop runs the callback of the job in the first one. The second one
 * is a child of the first one, for the work on the pool's thread. That thread also destroys it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "priv.h"

#define THREADS	4

struct work {
	struct at_context context, on_pool;
	struct work *next;
	loop_fn *work, *done;
	void *work_arg, *arg;
};

struct works {
	struct work *first, **end;
};

/**
 * struct pool - threads that work for a loop
 * @watch: an eventfd, which is readable if @done is not empty. Must come first
 * @todo, @done, @stop: protected by the lock
 */
struct pool {
	struct watch watch;
	struct loop *loop;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct works todo, done;
	bool stop;
	pthread_t threads[THREADS];
};

static void append(struct works *to, struct work *w)
{
	w->next = NULL;
	*to->end = w;
	to->end = &w->next;
}

static struct work *take(struct works *from)
{
	struct work *w = from->first;

	if (!w)
		return NULL;
	from->first = w->next;
	if (!from->first)
		from->end = &from->first;
	return w;
}

static void *serve(void *arg)
{
	const uint64_t one = 1;
	struct pool *pool = arg;
	struct work *w;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!(w = take(&pool->todo)) && !pool->stop)
			pthread_cond_wait(&pool->more, &pool->lock);
		if (!w)
			break;
		pthread_mutex_unlock(&pool->lock);
		if (w->work)
			at_context_run(&w->on_pool, w->work, w->work_arg);
		at_context_destroy(&w->on_pool);
		pthread_mutex_lock(&pool->lock);
		append(&pool->done, w);
		/* write(2) cannot fail, because the eventfd's counter never overflows. */
		if (write(pool->watch.fd, &one, sizeof(one)) != sizeof(one))
			abort();
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void finished(struct watch *watch, uint32_t events)
{
	struct pool *pool = (struct pool *)watch;
	uint64_t count;
	struct work *w;

	(void)events;
	if (read(watch->fd, &count, sizeof(count)) != sizeof(count))
		return;
	for (;;) {
		pthread_mutex_lock(&pool->lock);
		w = take(&pool->done);
		pthread_mutex_unlock(&pool->lock);
		if (!w)
			return;
		pool->loop->active--;
		if (w->done)
			loop_call(pool->loop, &w->context, w->done, w->arg);
		at_context_destroy(&w->context);
		free(w);
	}
}

static struct pool *pool_new(struct loop *loop)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int n = 0;

	if (!pool)
		return NULL;
	pool->loop = loop;
	pool->watch = (struct watch){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), finished };
	pool->todo.end = &pool->todo.first;
	pool->done.end = &pool->done.first;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->more, NULL);
	if (pool->watch.fd >= 0 && !loop_watch(loop, &pool->watch, EPOLLIN))
		while (n < THREADS && !pthread_create(&pool->threads[n], NULL, serve, pool))
			n++;
	if (n == THREADS)
		return pool;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	while (n)
		pthread_join(pool->threads[--n], NULL);
	if (pool->watch.fd >= 0)
		close(pool->watch.fd);
	free(pool);
	return NULL;
}

void pool_free(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->more);
	pthread_mutex_destroy(&pool->lock);
	close(pool->watch.fd);
	free(pool);
}

static int start(struct loop *loop, uint32_t provider, loop_fn *work, void *work_arg, loop_fn *done,
		 void *arg)
{
	struct pool *pool = loop->pool ?: (loop->pool = pool_new(loop));
	struct work *w = pool ? malloc(sizeof(*w)) : NULL;

	if (!w)
		return -ENOMEM;
	w->work = work;
	w->work_arg = work_arg;
	w->done = done;
	w->arg = arg;
	loop->active++;
	at_context_init(&w->context, provider, w);
	at_context_init_under(&w->on_pool, ASYNCTRACE_ASYNC_THREADPOOL, w, &w->context);
	pthread_mutex_lock(&pool->lock);
	append(&pool->todo, w);
	pthread_cond_signal(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

int loop_work(struct loop *loop, uint32_t provider, loop_fn *work, loop_fn *done, void *arg)
{
	return start(loop, provider, work, arg, done, arg);
}

static int stat_path(void *path)
{
	struct stat st;

	/* Ignore the result: a missing file is not an error of the program. */
	(void)!stat(path, &st);
	return 0;
}

int loop_stat(struct loop *loop, const char *path, loop_fn *done, void *arg)
{
	return start(loop, ASYNCTRACE_ASYNC_FS, stat_path, (void *)(uintptr_t)path, done, arg);
}
