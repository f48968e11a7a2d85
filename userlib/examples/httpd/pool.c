// SPDX-License-Identifier: LGPL-2.1-or-later
/* Two queues: one for the workers and one for the disk thread. */
#include <stdio.h>
#include <asynctrace/trace.h>

#include "httpd.h"

struct queue worker_queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.tail = &worker_queue.head,
};
struct queue disk_queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.tail = &disk_queue.head,
};

static pthread_t workers[WORKERS_MAX], disk;
static int started;

/* Names must be literals, so each queue has its own site. */
static void count(const struct queue *q)
{
	if (q == &disk_queue)
		TRACE_COUNTER("http", "disk queue", 0, "depth", TA_INT32(q->depth));
	else
		TRACE_COUNTER("http", "worker queue", 0, "depth", TA_INT32(q->depth));
}

void queue_push(struct queue *q, struct request *req)
{
	/* Before queueing, because the request then belongs to another thread. */
	TRACE_ASYNC_INSTANT("http", "request", req->async_id, "phase", TA_STRING("queued"));
	req->queued_at = log_clock();
	req->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->tail = req;
	q->tail = &req->next;
	q->depth++;
	count(q);
	pthread_mutex_unlock(&q->lock);
	pthread_cond_signal(&q->wake);
}

struct request *queue_pop(struct queue *q)
{
	struct request *req;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closed)
		pthread_cond_wait(&q->wake, &q->lock);
	req = q->head;
	if (req) {
		q->head = req->next;
		if (!q->head)
			q->tail = &q->head;
		q->depth--;
		count(q);
	}
	pthread_mutex_unlock(&q->lock);
	if (req)
		req->taken_at = log_clock();
	return req;
}

static void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_broadcast(&q->wake);
}

static void *worker_main(void *arg)
{
	struct request *req;

	(void)arg;
	while ((req = queue_pop(&worker_queue)))
		respond(req);
	return NULL;
}

static void *disk_main(void *arg)
{
	struct request *req;

	(void)arg;
	while ((req = queue_pop(&disk_queue))) {
		disk_serve(req);
		queue_push(&worker_queue, req);
	}
	return NULL;
}

int pool_start(void)
{
	char name[16];
	int err;

	err = pthread_create(&disk, NULL, disk_main, NULL);
	if (err)
		return -err;
	/* Set the name here, before the thread's first record. */
	pthread_setname_np(disk, "disk");
	for (; started < config.workers; started++) {
		err = pthread_create(&workers[started], NULL, worker_main, NULL);
		if (err) {
			pool_stop();
			return -err;
		}
		snprintf(name, sizeof(name), "worker-%d", started);
		pthread_setname_np(workers[started], name);
	}
	return 0;
}

/* To be called when there are no connections: then no request moves between the queues. */
void pool_stop(void)
{
	queue_close(&disk_queue);
	queue_close(&worker_queue);
	pthread_join(disk, NULL);
	while (started)
		pthread_join(workers[--started], NULL);
}
