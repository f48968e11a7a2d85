// SPDX-License-Identifier: GPL-2.0
/*
 * The lock of the fallback ring: a writer waits while another one holds the lock briefly, and drops
 * its record if the lock stays held
 */
#include <time.h>

#include <asynctrace/trace.h>

#include "tape.h"
#include "writer/destination.h"

#define HELD_NS		1000
#define FREE_NS		2000
/* A writer waits longer than this before it drops a record. */
#define WAIT_NS		2000

struct holder {
	bool stop;
	uint32_t holds;
};

static void ignore(const struct tape_event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void spin_until(uint64_t end)
{
	while (now() < end)
		;
}

static void begin(struct tape *t)
{
	const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_STREAMING, .ring_size = 1 << 20, .no_cpu_rings = true,
	};

	tape_new(t, &o, ignore, NULL);
	tape_attach(t);
	tape_gate(t, true);
}

/*
 * Ends the trace and checks that each record is in it or counted as dropped. At least @dropped
 * records must have been dropped. More are dropped if the ring is full because the reading thread
 * got no CPU.
 */
static void end(struct tape *t, uint64_t attempted, uint64_t dropped)
{
	tape_end(t, true);
	tape_check(t);
	check(t->events + t->result.dropped == attempted, "%ju and %ju of %ju",
	      (uintmax_t)t->events, (uintmax_t)t->result.dropped, (uintmax_t)attempted);
	check(t->result.dropped >= dropped, "%ju, not %ju", (uintmax_t)t->result.dropped,
	      (uintmax_t)dropped);
	tape_free(t);
}

static void event(void)
{
	TRACE_INSTANT("fallback", "event", TRACE_SCOPE_THREAD);
}

/* Holds the lock again and again, and for long only if this thread is preempted meanwhile. */
static void *hold(void *arg)
{
	struct holder *h = arg;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		const uint64_t start = now();

		if (!__atomic_exchange_n(&at_fallback_inprocess.lock, 1, __ATOMIC_ACQUIRE)) {
			spin_until(start + HELD_NS);
			__atomic_store_n(&at_fallback_inprocess.lock, 0, __ATOMIC_RELEASE);
			__atomic_fetch_add(&h->holds, 1, __ATOMIC_RELAXED);
		}
		spin_until(now() + FREE_NS);
	}
	return NULL;
}

static void waits(void)
{
	const uint32_t holds = scale("EVENTS", 10000), before = at_fallback_collisions();
	uint64_t events = 0, dropped = 0, hasty = 0;
	struct holder h = { 0 };
	pthread_t holder;
	struct tape t;

	begin(&t);
	tape_roll(&t);
	must(!pthread_create(&holder, NULL, hold, &h));
	while (__atomic_load_n(&h.holds, __ATOMIC_RELAXED) < holds) {
		const uint64_t start = now();

		event();
		events++;
		if (at_fallback_collisions() - before != dropped) {
			hasty += now() - start < WAIT_NS;
			dropped++;
		}
		spin_until(now() + FREE_NS);
	}
	__atomic_store_n(&h.stop, true, __ATOMIC_RELAXED);
	pthread_join(holder, NULL);
	end(&t, events, dropped);
	check(!hasty, "%ju of %ju dropped at once", (uintmax_t)hasty, (uintmax_t)events);
	done("writer_waits_for_a_lock_that_is_held_briefly");
}

static void gives_up(void)
{
	const uint32_t before = at_fallback_collisions();
	struct tape t;

	begin(&t);
	event();
	at_fallback_inprocess.lock = 1;
	event();
	event();
	at_fallback_inprocess.lock = 0;
	event();
	check(at_fallback_collisions() - before == 2);
	end(&t, 4, 2);
	done("writer_gives_up_a_lock_that_stays_held");
}

int main(void)
{
	gives_up();
	waits();
	return finish();
}
