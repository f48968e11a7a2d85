// SPDX-License-Identifier: LGPL-2.1-or-later
/* The loop: it runs ticks and immediates, and waits for events */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "priv.h"

#define EVENTS	64

/* --- queues ---------------------------------------------------------------------------- */

void queue_put(struct queue *q, struct later *l)
{
	l->next = NULL;
	*q->end = l;
	q->end = &l->next;
}

static struct later *queue_take(struct queue *q)
{
	struct later *l = q->first;

	if (!l)
		return NULL;
	q->first = l->next;
	if (!q->first)
		q->end = &q->first;
	return l;
}

static void queue_init(struct queue *q)
{
	q->first = NULL;
	q->end = &q->first;
}

/* --- callbacks ------------------------------------------------------------------------- */

static void run_ticks(struct loop *loop)
{
	struct later *l;

	while ((l = queue_take(&loop->ticks))) {
		at_context_run(&l->context, l->fn, l->arg);
		at_context_destroy(&l->context);
		free(l);
	}
}

void loop_call(struct loop *loop, struct at_context *c, loop_fn *fn, void *arg)
{
	at_context_run(c, fn, arg);
	run_ticks(loop);
}

int loop_tick(struct loop *loop, loop_fn *fn, void *arg)
{
	struct later *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fn = fn;
	l->arg = arg;
	queue_put(&loop->ticks, l);
	at_context_init(&l->context, ASYNCTRACE_ASYNC_NEXTTICK, l);
	return 0;
}

struct loop_immediate *loop_immediate(struct loop *loop, loop_fn *fn, void *arg)
{
	struct loop_immediate *i = malloc(sizeof(*i));

	if (!i)
		return NULL;
	i->later.fn = fn;
	i->later.arg = arg;
	i->loop = loop;
	queue_put(&loop->immediates, &i->later);
	at_context_init(&i->later.context, ASYNCTRACE_ASYNC_TIMER, i);
	return i;
}

void loop_immediate_cancel(struct loop_immediate *i)
{
	i->later.fn = NULL;
}

/* Takes the queue first, so that immediates made by these callbacks run in the next turn. */
static void run_immediates(struct loop *loop)
{
	struct queue now = loop->immediates;
	struct later *l;

	if (!now.first)
		return;
	queue_init(&loop->immediates);
	while ((l = now.first)) {
		now.first = l->next;
		if (l->fn)
			loop_call(loop, &l->context, l->fn, l->arg);
		at_context_destroy(&l->context);
		free(l);
	}
}

void loop_free_later(struct loop *loop, struct later *l, loop_fn *fn, void *arg)
{
	l->fn = fn;
	l->arg = arg;
	queue_put(&loop->closed, l);
}

static void run_closed(struct loop *loop)
{
	struct later *l;

	while ((l = queue_take(&loop->closed)))
		l->fn(l->arg);
}

/* --- waiting --------------------------------------------------------------------------- */

int loop_watch(struct loop *loop, struct watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, w->fd, &e) ? -errno : 0;
}

void loop_rewatch(struct loop *loop, struct watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

static void poll_once(struct loop *loop)
{
	const bool busy = loop->immediates.first || loop->closed.first || !loop->active;
	struct epoll_event events[EVENTS];
	int n;

	n = epoll_wait(loop->epoll, events, EVENTS, busy ? 0 : timers_wait(loop));
	for (int i = 0; i < n; i++) {
		struct watch *w = events[i].data.ptr;

		/* The callback of an earlier event may have closed this descriptor. */
		if (w->fd >= 0)
			w->ready(w, events[i].events);
	}
}

void loop_run(struct loop *loop)
{
	run_ticks(loop);
	while (loop->active || loop->immediates.first || loop->closed.first) {
		timers_run(loop);
		poll_once(loop);
		run_immediates(loop);
		run_closed(loop);
	}
}

struct loop *loop_new(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		free(loop);
		return NULL;
	}
	queue_init(&loop->ticks);
	queue_init(&loop->immediates);
	queue_init(&loop->closed);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (loop->pool)
		pool_free(loop->pool);
	close(loop->epoll);
	free(loop->timers);
	free(loop);
}
