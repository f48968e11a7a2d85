/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of the loop share */
#ifndef LOOP_PRIV_H
#define LOOP_PRIV_H

#include <pthread.h>

#include <asynctrace/context.h>

#include "loop.h"

/**
 * struct watch - a descriptor in the loop's epoll set
 * @fd: the descriptor
 * @ready: called when the descriptor is ready, outside of any context
 */
struct watch {
	int fd;
	void (*ready)(struct watch *watch, uint32_t events);
};

/**
 * struct later - a callback that the loop calls once: a tick, an immediate, or the end of an object
 * @next: the next one in the queue
 */
struct later {
	struct at_context context;
	struct later *next;
	loop_fn *fn;
	void *arg;
};

struct queue {
	struct later *first, **end;
};

/**
 * struct loop_immediate - an immediate of loop_immediate()
 * @later: must come first
 */
struct loop_immediate {
	struct later later;
	struct loop *loop;
};

struct pool;

/**
 * struct loop - the state of a loop
 * @active: number of objects whose callbacks may still be called
 * @ticks: callbacks to be called after the current callback
 * @immediates: callbacks to be called in the current turn
 * @closed: objects to be freed when no callback runs: fn(arg) frees the object arg
 * @timers: a binary heap ordered by time
 */
struct loop {
	int epoll;
	unsigned long active;
	struct queue ticks, immediates, closed;
	struct loop_timer **timers;
	size_t num_timers, room_timers;
	struct pool *pool;
};

/* Calls @fn in a context, and then the ticks that @fn has made. */
void loop_call(struct loop *loop, struct at_context *context, loop_fn *fn, void *arg);
void queue_put(struct queue *queue, struct later *later);
int loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
void loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events);
/* Calls @fn(@arg) at the end of the turn, when no callback runs. @later: queued until then */
void loop_free_later(struct loop *loop, struct later *later, loop_fn *fn, void *arg);

/* timers.c: returns how long the loop may wait in ms, or -1 if there is no timer. */
int timers_wait(const struct loop *loop);
void timers_run(struct loop *loop);

/* pool.c */
void pool_free(struct pool *pool);

#endif /* LOOP_PRIV_H */
