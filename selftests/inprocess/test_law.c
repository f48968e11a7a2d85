// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting invariant in a process that traces itself
 *
 * It holds also through the fallback ring, with stamps of CLOCK_BOOTTIME, and in the library
 * whose critical sections wait (AT_TEST_HOOKS). Sessions that start and end while threads
 * write contain no event of another session.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "law.h"
#include "run_inprocess.h"
#include "tape.h"

static const char *const mode_names[] = { "", "oneshot", "circular", "streaming" };

static void law(const struct run_options *run, const char *what, unsigned int threads,
		bool handlers)
{
	char name[64];
	const struct law law = {
		.name = name, .reading = MEANWHILE, .run = *run, .threads = threads,
		.handlers = handlers,
		/* In streaming mode the reading thread may keep up, so that nothing is lost. */
		.keeps_up = run->mode == ASYNCTRACE_MODE_STREAMING,
	};

	snprintf(name, sizeof(name), "I13_%s_%u_threads%s", mode_names[run->mode], threads, what);
	law_test(&law);
}

/* --- sessions one after the other ------------------------------------------------------ */

#define WRITERS	4

static volatile uint32_t go_on;
static volatile uint32_t tries[WRITERS];

static void *write_on(void *arg)
{
	const uint32_t id = (uintptr_t)arg;

	/*
	 * Use up a number only if its event is attempted. Between sessions, calls attempt no event
	 * and would soon exhaust 32 bits.
	 */
	for (uint32_t i = 0; load(&go_on);)
		if (nu_emit(id, i, NU_VARIED))
			store(&tries[id], ++i);
	return NULL;
}

static void one_session(uint32_t round, bool fallback, uint32_t *rng, uint64_t *events,
			uint64_t *lost)
{
	const struct run_options opts = {
		.mode = ASYNCTRACE_MODE_ONESHOT + round % 3, .ring_size = 16384,
		.no_cpu_rings = fallback,
	};
	uint32_t before[WRITERS];
	uint64_t attempts = 0;
	struct rd_ring sum;
	struct run run;

	run_open(&run, NULL, &opts);
	for (int i = 0; i < WRITERS; i++)
		before[i] = load(&tries[i]);
	run_start(&run);
	run_linger(round % 4 == 0);
	sleep_us(rnd(rng, 1500));
	run_stop(&run);
	run_drain(&run);
	for (int i = 0; i < WRITERS; i++) {
		const uint32_t now = load(&tries[i]) + 1;

		attempts += now - before[i];
		ktap_check(run.seen.max[i] <= now, "writer %d: number %u, of %u", i,
			   run.seen.max[i], now);
	}
	sum = rd_sum(&run.rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	ktap_check(run_total(&run) <= attempts, "%llu attempts, %llu accounted for",
		   (unsigned long long)attempts, (unsigned long long)run_total(&run));
	ktap_check(!run.seen.events || (run.seen.nr_generations == 1 &&
					run.seen.generation[0] == run_generation()),
		   "%u generations, not only %u", run.seen.nr_generations, run_generation());
	run_check(&run);
	*events += sum.delivered;
	*lost += sum.overwritten + sum.dropped;
	run_terminate(&run);
	run_close(&run);
}

static void sessions(const char *name, bool fallback, uint32_t *rng)
{
	const unsigned int rounds = amount("KT_SESSIONS", 300);
	uint64_t events = 0, lost = 0;
	pthread_t threads[WRITERS];

	ktap_begin("%s", name);
	store(&go_on, 1);
	for (uintptr_t i = 0; i < WRITERS; i++) {
		store(&tries[i], 0);
		must(!pthread_create(&threads[i], NULL, write_on, (void *)i));
	}
	for (uint32_t r = 0; r < rounds && !ktap_failed(); r++)
		one_session(r, fallback, rng, &events, &lost);
	store(&go_on, 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	ktap_check(events, "no event was delivered");
	ktap_note("%u sessions, %llu events delivered, %llu lost", rounds,
		  (unsigned long long)events, (unsigned long long)lost);
	ktap_end();
}

int main(void)
{
	uint32_t rng = seed();

#ifdef AT_TEST_HOOKS
	at_race_delay = scale("DELAY", 300);
#endif
	ktap_plan(3 * 7 + 2);
	law_init(NULL, amount("KT_EVENTS", 200000));
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++) {
		struct run_options o = { .mode = mode, .ring_size = 16384, .reads = true };

		for (unsigned int threads = 1; threads <= LAW_THREADS; threads *= 2)
			law(&o, "", threads, false);
		o.ring_size = 65536;
		law(&o, "_handlers", 4, true);
		o.boottime = true;
		law(&o, "_handlers_boottime", 4, true);
		o.boottime = false;
		o.no_cpu_rings = true;
		law(&o, "_fallback", 4, false);
	}
	sessions("I17_sessions_in_a_row_do_not_mix", false, &rng);
	sessions("I17_sessions_in_a_row_do_not_mix_fallback", true, &rng);
	return ktap_exit();
}
