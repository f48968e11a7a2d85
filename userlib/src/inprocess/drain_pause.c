// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that wait for the drain thread: fork() waits until it pauses, and the flight recorder's
 * start waits until it has made the rings circular.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "inproc.h"

/* fork() waits at most this long for the drain thread. */
#define AT_PAUSE_MAX_MS		1000
/* The flight recorder's start waits up to this number of times, but not for write(2). */
#define AT_SHARE_WAITS		10

struct timespec at_after_ms(unsigned int ms)
{
	const uint64_t at = at_now_ns(CLOCK_MONOTONIC) + ms * 1000000ull;

	return (struct timespec){ .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
}

/* --- the flight recorder's start ----------------------------------------------- */

int at_drain_share(struct at_drain *d)
{
	struct timespec until;
	bool done;

	if (!d->copy)
		d->copy = malloc((size_t)d->area->shape.sub_words * 8);
	if (!d->copy)
		return -ENOMEM;
	pthread_mutex_lock(&d->lock);
	if (d->share != AT_SHARE_DONE)
		__atomic_store_n(&d->share, AT_SHARE_ASKED, __ATOMIC_RELAXED);
	pthread_cond_signal(&d->wake);
	/*
	 * The drain thread may wait in write(2) for ever, if the reader of a pipe does not read.
	 * Otherwise it answers, but on a busy machine it may have to wait for a CPU.
	 */
	for (int i = 0; i < AT_SHARE_WAITS && d->share == AT_SHARE_ASKED; i++) {
		until = at_after_ms(AT_PAUSE_MAX_MS);
		while (d->share == AT_SHARE_ASKED &&
		       !pthread_cond_timedwait(&d->paused, &d->lock, &until))
			;
		if (d->writing)
			break;
	}
	if (d->share == AT_SHARE_ASKED)
		__atomic_store_n(&d->share, AT_SHARE_NONE, __ATOMIC_RELAXED);
	done = d->share == AT_SHARE_DONE;
	pthread_mutex_unlock(&d->lock);
	return done ? 0 : -EBUSY;
}

/* --- fork ----------------------------------------------------------------- */

/*
 * The drain thread must not hold a lock of malloc() when the program forks. The allocator of a
 * sanitizer has no fork handlers, so that the child would have a lock that no thread releases. A
 * newer sanitizer takes its locks before the handlers run. Then the drain thread may wait for the
 * forking thread, hence AT_PAUSE_MAX_MS.
 */

void at_drain_enter(struct at_drain *d)
{
	pthread_mutex_lock(&d->lock);
	while (d->pause)
		pthread_cond_wait(&d->wake, &d->lock);
	d->working = true;
	d->writing = false;
	pthread_mutex_unlock(&d->lock);
}

static void leave(struct at_drain *d, bool writing)
{
	pthread_mutex_lock(&d->lock);
	d->working = false;
	d->writing = writing;
	if (d->pause)
		pthread_cond_signal(&d->paused);
	pthread_mutex_unlock(&d->lock);
}

void at_drain_leave(struct at_drain *d)
{
	leave(d, false);
}

void at_drain_write(struct at_drain *d)
{
	leave(d, true);
}

void at_drain_pause(struct at_drain *d)
{
	const struct timespec until = at_after_ms(AT_PAUSE_MAX_MS);
	int err = 0;

	pthread_mutex_lock(&d->lock);
	__atomic_store_n(&d->pause, true, __ATOMIC_RELAXED);
	while (d->working && !err)
		err = pthread_cond_timedwait(&d->paused, &d->lock, &until);
	pthread_mutex_unlock(&d->lock);
}

void at_drain_resume(struct at_drain *d)
{
	pthread_mutex_lock(&d->lock);
	__atomic_store_n(&d->pause, false, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
}
