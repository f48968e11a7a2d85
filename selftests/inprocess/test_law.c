// SPDX-License-Identifier: GPL-2.0
/*
 * The loss law: with rings far too small, in each mode,
 *
 *	written = delivered + overwritten + dropped
 *
 * exactly; what was delivered is intact, and in its writer's order in each ring.
 * Also while signal handlers write in the midst of it, through the fallback ring,
 * and with stamps of CLOCK_BOOTTIME. Sessions that end and begin while threads
 * write have nothing of each other.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

static long events_each = 200000;

struct writer {
	pthread_t thread;
	uint32_t index;
	int cpu;		/* -1: any */
	uint64_t written;
	uint64_t handled;	/* written by its signal handler */
	bool signals;
	bool finished;
};

static __thread struct writer *self;
static bool stop_signals;
static bool leave;	/* signals go to threads that are there */

/* The handler is a writer of its own: it may come amid a record of the other. */
static void on_signal(int sig)
{
	(void)sig;
	if (self && self->handled < 1ull << 40)
		nb_write(self->index + NB_WRITERS / 2, self->handled++);
}

static void *write_all(void *arg)
{
	struct writer *w = arg;

	self = w;
	if (w->cpu >= 0)
		pin(w->cpu);
	/* Signals must have come, however few records the scheduler lets pass. */
	for (long i = 0; i < events_each || (w->signals && w->handled < 20); i++) {
		nb_write(w->index, i);
		w->written++;
	}
	__atomic_store_n(&w->finished, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE))
		usleep(1000);
	return NULL;
}

static void *send_signals(void *arg)
{
	struct writer *w = arg;
	const struct timespec ts = { .tv_nsec = 50000 };

	while (!__atomic_load_n(&stop_signals, __ATOMIC_RELAXED)) {
		for (int i = 0; w[i].thread; i++)
			pthread_kill(w[i].thread, SIGUSR1);
		nanosleep(&ts, NULL);
	}
	return NULL;
}

static void law(const char *name, const struct tape_options *o, int nthreads, bool signals)
{
	struct writer w[NB_WRITERS / 2] = { 0 };
	pthread_t sender;
	uint64_t written = 0;
	struct numbers n;
	struct tape t;

	stop_signals = leave = false;
	nb_init(&n);
	tape_new(&t, o, nb_take, &n);
	tape_attach(&t);
	tape_roll(&t);
	tape_gate(&t, true);
	for (int i = 0; i < nthreads; i++) {
		w[i].index = i;
		w[i].cpu = i & 1 ? nth_cpu(i / 2) : -1;
		w[i].signals = signals;
		pthread_create(&w[i].thread, NULL, write_all, &w[i]);
	}
	if (signals)
		pthread_create(&sender, NULL, send_signals, w);
	for (int i = 0; i < nthreads; i++)
		while (!__atomic_load_n(&w[i].finished, __ATOMIC_ACQUIRE))
			usleep(1000);
	if (signals) {
		__atomic_store_n(&stop_signals, true, __ATOMIC_RELAXED);
		pthread_join(sender, NULL);
	}
	__atomic_store_n(&leave, true, __ATOMIC_RELEASE);
	for (int i = 0; i < nthreads; i++) {
		pthread_join(w[i].thread, NULL);
		written += w[i].written + w[i].handled;
	}
	tape_end(&t, true);
	tape_check(&t);
	nb_check(&n);
	check(written == t.result.delivered + t.result.overwritten + t.result.dropped,
	      "written %llu, delivered %llu + overwritten %llu + dropped %llu",
	      (unsigned long long)written, (unsigned long long)t.result.delivered,
	      (unsigned long long)t.result.overwritten, (unsigned long long)t.result.dropped);
	check(t.result.delivered > 0);
	if (o->mode == ASYNCTRACE_MODE_CIRCULAR)
		check(t.result.overwritten > 0);
	else
		check(!t.result.overwritten);
	if (o->mode == ASYNCTRACE_MODE_ONESHOT)
		check(t.result.dropped > 0);
	done("%s: %llu written = %llu delivered + %llu overwritten + %llu dropped", name,
	     (unsigned long long)written, (unsigned long long)t.result.delivered,
	     (unsigned long long)t.result.overwritten, (unsigned long long)t.result.dropped);
	tape_free(&t);
	nb_free(&n);
}

/* --- sessions one after the other ------------------------------------------------------ */

static bool go_on;
static uint64_t tries[NB_WRITERS];

static void *write_on(void *arg)
{
	uint32_t index = (uintptr_t)arg;

	for (uint64_t i = 0; __atomic_load_n(&go_on, __ATOMIC_RELAXED); i++) {
		if (i & 1)
			nb_write_gate(index, i);
		else
			nb_write(index, i);
		__atomic_store_n(&tries[index], i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * A number is written once. So within [tries at the start, tries at the end] of a
 * session lies all that is in it, and numbers go up from one session to the next.
 */
static void sessions(const char *name, struct tape_options o, uint64_t *rng)
{
	const long rounds = scale("SESSIONS", 300);
	uint64_t before[4], events = 0, lost = 0, foreign = 0;
	pthread_t threads[4];

	go_on = true;
	memset(tries, 0, sizeof(tries));
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_on, (void *)i);
	for (int i = 0; i < 4; i++)
		while (!__atomic_load_n(&tries[i], __ATOMIC_ACQUIRE))
			usleep(100);
	for (long r = 0; r < rounds; r++) {
		struct numbers n;
		struct tape t;
		uint64_t attempts = 0;

		nb_init(&n);
		o.mode = 1 + r % 3;
		tape_new(&t, &o, nb_take, &n);
		tape_attach(&t);
		for (int i = 0; i < 4; i++)
			before[i] = __atomic_load_n(&tries[i], __ATOMIC_ACQUIRE);
		tape_gate(&t, true);
		n.gate = t.area.control->gate;
		t.linger = r % 4 == 0;
		usleep(rnd(rng) % 1500);
		tape_end(&t, true);
		tape_check(&t);
		nb_check(&n);
		for (int i = 0; i < 4; i++) {
			const uint64_t now = __atomic_load_n(&tries[i], __ATOMIC_ACQUIRE);

			attempts += now + 1 - before[i];
			for (uint32_t ring = 0; ring <= t.area.shape.nr_rings; ring++)
				if (n.next[ring][i] > now + 1)
					foreign++;
			if (n.of[i] && n.lowest[i] < before[i])
				foreign++;
		}
		check(t.result.delivered + t.result.overwritten + t.result.dropped <= attempts);
		events += t.result.delivered;
		lost += t.result.overwritten + t.result.dropped;
		tape_free(&t);
		nb_free(&n);
	}
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check(!foreign, "%llu", (unsigned long long)foreign);
	check(events > 0);
	done("%s: %ld sessions, %llu delivered, %llu lost, none of another session", name, rounds,
	     (unsigned long long)events, (unsigned long long)lost);
}

/* In the library that is built for it, critical sections take their time. */
static void set_delay(void)
{
#ifdef AT_TEST_HOOKS
	at_race_delay = scale("DELAY", 300);
#endif
}

int main(void)
{
	static const char *const modes[] = { "", "one-shot", "circular", "streaming" };
	const struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	uint64_t rng = seed();
	char name[80];

	events_each = scale("EVENTS", 200000);
	sigaction(SIGUSR1, &sa, NULL);
	set_delay();
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		struct tape_options o = { .mode = mode, .ring_size = 16384 };

		for (int threads = 1; threads <= 8; threads *= 2) {
			snprintf(name, sizeof(name), "%s, 16 KiB, %d threads", modes[mode], threads);
			law(name, &o, threads, false);
		}
		o.ring_size = 65536;
		snprintf(name, sizeof(name), "%s, 64 KiB, 4 threads and their signal handlers",
			 modes[mode]);
		law(name, &o, 4, true);
		o.boottime = true;
		snprintf(name, sizeof(name), "%s, CLOCK_BOOTTIME, 4 threads and signals", modes[mode]);
		law(name, &o, 4, true);
		o.boottime = false;
		o.no_cpu_rings = true;
		snprintf(name, sizeof(name), "%s, no rings of CPUs, 4 threads", modes[mode]);
		law(name, &o, 4, false);
	}
	sessions("rings of CPUs", (struct tape_options){ .ring_size = 16384 }, &rng);
	sessions("fallback ring", (struct tape_options){ .ring_size = 16384, .no_cpu_rings = true },
		 &rng);
	return finish();
}
