// SPDX-License-Identifier: LGPL-2.1-or-later
/* Timers, in a binary heap ordered by time, and by the order in which they were started */
#include <stdlib.h>
#include <time.h>

#include "priv.h"

struct loop_timer {
	struct at_context context;
	struct loop *loop;
	uint64_t at;		/* ns */
	uint64_t order;
	uint64_t every;		/* interval in ns; 0: called once */
	loop_fn *fn;
	void *arg;
	size_t place;		/* index in the heap */
	bool running, stopped;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool before(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put(struct loop *loop, size_t i, struct loop_timer *t)
{
	loop->timers[i] = t;
	t->place = i;
}

/* Stores @t in the empty place @i of the heap, or moves it up or down from there. */
static void settle(struct loop *loop, size_t i, struct loop_timer *t)
{
	struct loop_timer **h = loop->timers;

	for (; i && before(t, h[(i - 1) / 2]); i = (i - 1) / 2)
		put(loop, i, h[(i - 1) / 2]);
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < loop->num_timers && before(h[child + 1], h[child]))
			child++;
		if (child >= loop->num_timers || !before(h[child], t))
			break;
		put(loop, i, h[child]);
		i = child;
	}
	put(loop, i, t);
}

static bool insert(struct loop *loop, struct loop_timer *t)
{
	static uint64_t orders;

	if (loop->num_timers == loop->room_timers) {
		const size_t room = 2 * loop->room_timers + 16;
		struct loop_timer **h = realloc(loop->timers, room * sizeof(struct loop_timer *));

		if (!h)
			return false;
		loop->timers = h;
		loop->room_timers = room;
	}
	t->order = __atomic_add_fetch(&orders, 1, __ATOMIC_RELAXED);
	settle(loop, loop->num_timers++, t);
	return true;
}

static void take(struct loop *loop, struct loop_timer *t)
{
	struct loop_timer *last = loop->timers[--loop->num_timers];

	if (last != t)
		settle(loop, t->place, last);
}

struct loop_timer *loop_timer(struct loop *loop, unsigned int ms, bool repeat, loop_fn *fn,
			      void *arg)
{
	struct loop_timer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->loop = loop;
	t->at = now() + ms * 1000000ull;
	/* With an interval of 0, the loop would never wait. */
	t->every = repeat ? (ms ? ms : 1) * 1000000ull : 0;
	t->fn = fn;
	t->arg = arg;
	if (!insert(loop, t)) {
		free(t);
		return NULL;
	}
	loop->active++;
	at_context_init(&t->context, ASYNCTRACE_ASYNC_TIMER, t);
	return t;
}

static void end(struct loop_timer *t)
{
	t->loop->active--;
	at_context_destroy(&t->context);
	free(t);
}

void loop_timer_stop(struct loop_timer *t)
{
	t->stopped = true;
	if (t->running)
		return;
	take(t->loop, t);
	end(t);
}

int timers_wait(const struct loop *loop)
{
	const uint64_t at = loop->num_timers ? loop->timers[0]->at : 0, t = now();

	if (!loop->num_timers)
		return -1;
	return at <= t ? 0 : (int)((at - t + 999999) / 1000000);
}

/* Takes the time once, so that timers started by these callbacks are called in the next turn. */
void timers_run(struct loop *loop)
{
	const uint64_t until = loop->num_timers ? now() : 0;

	while (loop->num_timers && loop->timers[0]->at <= until) {
		struct loop_timer *t = loop->timers[0];

		take(loop, t);
		t->running = true;
		loop_call(loop, &t->context, t->fn, t->arg);
		t->running = false;
		t->at = now() + t->every;
		if (t->at <= until)
			t->at = until + 1;
		if (t->stopped || !t->every || !insert(loop, t))
			end(t);
	}
}
