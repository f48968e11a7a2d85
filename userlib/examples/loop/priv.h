/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of the loop share */
#ifndef LOOP_PRIV_H
#define LOOP_PRIV_H

#include <pthread.h>

#include <asynctrace/context.h>

#include "loop.h"

/**
 * struct watch - a descriptor in the loop's epoll set
 * @ready: called when it is ready, outside of any context
 */
struct watch {
	int fd;
	void (*ready)(struct watch *watch, uint32_t events);
};

/**
 * struct later - something whose callback the loop calls once: a tick, an immediate, or an end
 * @next: in its queue
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
 * struct loop_immediate - see loop.h
 * @later: must come first
 */
struct loop_immediate {
	struct later later;
	struct loop *loop;
};

struct pool;

/**
 * struct loop - see loop.h
 * @active: objects that may call back
 * @ticks: run after each callback
 * @immediates: run in each turn
 * @closed: objects to be freed once no callback runs; @arg is the object, @fn frees it
 * @timers: a heap by time
 */
struct loop {
	int epoll;
	unsigned long active;
	struct queue ticks, immediates, closed;
	struct loop_timer **timers;
	size_t num_timers, room_timers;
	struct pool *pool;
};

/* Calls back in a context, and then what that has put off. */
void loop_call(struct loop *loop, struct at_context *context, loop_fn *fn, void *arg);
void queue_put(struct queue *queue, struct later *later);
int loop_watch(struct loop *loop, struct watch *watch, uint32_t events);
void loop_rewatch(struct loop *loop, struct watch *watch, uint32_t events);
/* Calls @later->fn with @later->arg, in its own context unless that was never made. */
void loop_free_later(struct loop *loop, struct later *later, loop_fn *fn, void *arg);

/* timers.c: how long the loop may wait, in ms, -1: until something else happens */
int timers_wait(const struct loop *loop);
void timers_run(struct loop *loop);

/* pool.c */
void pool_free(struct pool *pool);

#endif /* LOOP_PRIV_H */
