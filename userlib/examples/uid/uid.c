/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts events on one thread and ends them on another. Probes with unique ids let a tracer find
 * the end of each event: see uid.bt.
 */
#include <asynctrace/probe.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define EVENTS 6

TRACE_PROBE_DEFINE(my_prov, event__start);
TRACE_PROBE_DEFINE(my_prov, event__done);

/* The member uid needs no initialization, because a structure of zeros is valid. */
struct event {
	struct at_uid uid;
	int number;
};

static struct event events[EVENTS];
static int next = EVENTS;	/* take() returns the last event first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct event *take(void)
{
	struct event *e;

	pthread_mutex_lock(&lock);
	e = next ? &events[--next] : NULL;
	pthread_mutex_unlock(&lock);
	return e;
}

static void *worker(void *unused)
{
	struct event *e;

	(void)unused;
	while ((e = take())) {
		usleep(2000 * e->number);
		TRACE_PROBE(my_prov, event__done, at_uid_get(&e->uid), 10 * e->number);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	for (int i = 0; i < EVENTS; i++) {
		events[i].number = i + 1;
		TRACE_PROBE(my_prov, event__start, at_uid_get(&events[i].uid), events[i].number);
	}
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, worker, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
