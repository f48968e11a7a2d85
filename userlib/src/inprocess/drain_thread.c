// SPDX-License-Identifier: LGPL-2.1-or-later
/* The drain thread, which drains the rings while a trace runs */
#include <pthread.h>
#include <time.h>

#include "writer/internal.h"
#include "inproc.h"

#define AT_PERIOD_MIN_MS	1
#define AT_PERIOD_MAX_MS	20

/* Shortens the period if rings fill fast, and extends it if little happens. */
static unsigned int next_period(const struct at_drain *d, unsigned int ms)
{
	const uint64_t ring = (uint64_t)d->area->shape.sub_words * d->area->shape.nsub;

	if (d->busiest > ring / 4)
		ms /= 4;
	else if (d->busiest < ring / 16)
		ms *= 2;
	return ms < AT_PERIOD_MIN_MS ? AT_PERIOD_MIN_MS : ms > AT_PERIOD_MAX_MS ?
	       AT_PERIOD_MAX_MS : ms;
}

static void *drain_thread(void *arg)
{
	struct at_drain *d = arg;
	unsigned int ms = AT_PERIOD_MIN_MS;
	struct timespec until;

	/*
	 * The thread is marked as working before it runs, so that fork() waits while it starts:
	 * starting may call malloc(3).
	 */
	at_drain_leave(d);
	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		until = at_after_ms(ms);
		pthread_cond_timedwait(&d->wake, &d->lock, &until);
		if (!d->going)
			continue;
		pthread_mutex_unlock(&d->lock);
		at_drain_enter(d);
		at_drain_round(d, false);
		at_drain_leave(d);
		ms = next_period(d, ms);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	/* An ending thread takes locks of a sanitizer's allocator: fork() waits for its end. */
	at_drain_enter(d);
	return NULL;
}

/*
 * Starts the drain thread. It blocks signals, because they are for the program's own threads, but
 * not SIGSYS: in a sandbox, the program's handler may make the system calls of the thread.
 */
int at_drain_start(struct at_drain *d)
{
	uint64_t old;
	int err;

	at_signals_block(&old);
	d->working = true;
	err = at_library_thread(&d->thread, drain_thread, d);
	at_signals_restore(&old);
	if (!err)
		pthread_setname_np(d->thread, "asynctrace");
	return -err;
}

void at_drain_adopt(struct at_drain *d)
{
	d->working = true;
	d->thread = pthread_self();
	pthread_setname_np(d->thread, "asynctrace");
}

void at_drain_run(struct at_drain *d)
{
	drain_thread(d);
}

void at_drain_go(struct at_drain *d)
{
	pthread_mutex_lock(&d->lock);
	d->going = true;
	pthread_mutex_unlock(&d->lock);
}

void at_drain_stop(struct at_drain *d)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	at_drain_leave(d);
}
