// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions that start and end as fast as possible while threads write, with each critical moment
 * between the end of a session and the start of the next made longer
 *
 * No event of one session may be in the next, no record may be torn or lost without being counted.
 * With the fix for a moment switched off, the same test must find spoiled sessions. probes.c does
 * the same for probes in the kernel, names.c for names that are cleared.
 *
 * Needs a module built with CONFIG_ASYNCTRACE_RACES, and the library built with AT_TEST_HOOKS.
 *
 * usage: restart [nofix]	"nofix": also run the tests with a fix switched off
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "../support/run.h"
#include "knobs.h"
#include "names.h"
#include "probes.h"
#include "trial.h"

#define PROVIDER	"races"
#define THREADS		3
/* Number of generations for which a thread's counts are kept */
#define GENERATIONS	128

/* Turns of the delay loops in critical sections */
extern uint64_t at_race_delay, at_race_delay_early;

static struct shared {
	volatile uint32_t ready, stop, gate;
	uint32_t writers;		/* threads that may write; one more thread releases them */
	volatile uint32_t threads;	/* number of threads that write */
	volatile uint32_t early, late;	/* does the first thread wait in its sections? */
	volatile uint32_t every;	/* a thread waits once in this many records; 0: never */
	volatile uint64_t turns;	/* least number of turns that the thread waits */
	volatile uint32_t release;	/* us until the waiting thread goes on; 0: it waits */
	volatile uint32_t in;	/* generation of the event that chase() waits for; 0: none */
	/* .sure: records during which the gate did not change; all of them must be accounted for */
	struct {
		volatile uint32_t generation, sure;
	} count[THREADS][GENERATIONS];
} *sh;

static struct at_ctl *ctl;
static uint32_t state, generation, spin;

/* --- the provider ---------------------------------------------------------------- */

/*
 * Returns a thread's number as a writer. Each run has other numbers, because the sequence numbers
 * of events begin at 0 in each run.
 */
static uint32_t writer_of(uint32_t thread, uint32_t gate)
{
	return thread + THREADS * (gate % GENERATIONS);
}

static void *writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	const int cpus = cpus_online();
	uint32_t seq = 0, last = 0, rng = id, emitted;

	if (id < 2)
		pin(cpus - 1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (!sh->stop) {
		const uint32_t gate = id < sh->threads ? nu_gate() : 0, i = gate % GENERATIONS;

		if (!gate) {
			if (id)
				sleep_us(100);
			continue;
		}
		if (gate != last) {
			sh->count[id][i].sure = 0;
			sh->count[id][i].generation = gate;
			sh->gate = last = gate;
			seq = 0;
		}
		if (!id) {
			const bool wait = sh->every && !rnd(&rng, sh->every);
			const bool early = sh->early && (!sh->late || rnd(&rng, 2));
			/*
			 * A single writer mostly waits until releaser() ends its wait. One of
			 * several writers waits for a random time.
			 */
			const bool held = sh->threads == 1 && rnd(&rng, 4);
			const uint64_t longer = held ? 10 : rnd(&rng, 6);
			const uint64_t turns = wait ? sh->turns << longer : 0;

			at_race_delay_early = early ? turns : 0;
			at_race_delay = early ? 0 : turns;
			sh->in = wait || !sh->every ? gate : 0;
		}
		emitted = nu_emit(writer_of(id, gate), seq, -1);
		if (!id)
			sh->in = 0;
		if (emitted != gate)
			continue;
		seq++;
		if (at_gate_load_() == gate)
			sh->count[id][i].sure++;
		if (id == 2 && !rnd(&rng, 50))
			pin(rnd(&rng, cpus));
	}
	return NULL;
}

/*
 * Releases the waiting writer. Does not run on the writer's CPU, because another thread there
 * would abort the writer's section.
 */
static void *releaser(void *arg)
{
	while (!sh->stop) {
		const uint32_t in = sh->release;

		if (in) {
			sleep_us(in);
			__atomic_store_n(&at_race_delay, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&at_race_delay_early, 0, __ATOMIC_RELAXED);
			sh->release = 0;
		}
		sleep_us(50);
	}
	return arg;
}

static void *thread(void *number)
{
	return (uintptr_t)number < sh->writers ? writer(number) : releaser(number);
}

static pid_t provider(uint32_t writers)
{
	const struct at_provider_options opts = {
		.size = sizeof(opts), .name = PROVIDER, .ring_reserve = 64 << 10,
	};
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	sh->writers = writers;
	pid = fork_provider(&opts, writers + 1, thread);
	wait_for(&sh->ready, writers, "ready");
	return pid;
}

/* --- windows ----------------------------------------------------------------------- */

/**
 * struct window - a moment at which a session's end or start may interfere with writers
 * @name: name of the test
 * @threads: number of writers
 * @every: a writer waits once in this number of records; 0: never
 * @early: a writer waits when it has seen the gate open
 * @late: a writer waits before it publishes
 * @knob: knob of the kernel's delay, or NULL
 * @delay: value of @knob in microseconds; twice and four times that in some sessions, because a
 *	kernel with checkers is slow to end a session and begin the next
 */
struct window {
	const char *name;
	uint32_t threads;
	uint32_t every;
	bool early;
	bool late;
	const char *knob;
	uint32_t delay;
	const char *fixes[3];
};

/* --- the tests --------------------------------------------------------------------- */

/* Starts a run of the session, and counts it, as the kernel does: see synchronise(). */
static void start(struct run *run)
{
	run_start(run);
	generation++;
}

static void wait_a_while(void)
{
	uint32_t us = 300;

	if (!rnd(&state, 3))
		us = 3000;
	sleep_us(rnd(&state, us));
}

/* Waits for a condition for a limited time, because it may never become true. */
static void hope(bool (*cond)(void))
{
	for (int i = 0; i < 400 && !cond(); i++)
		sleep_us(50);
}

static bool is_in(void)
{
	return sh->in == generation;
}

static bool is_not_behind(void)
{
	return !sh->in || sh->in == generation;
}

static bool has_written(void)
{
	return sh->count[0][generation % GENERATIONS].generation == generation &&
	       sh->count[0][generation % GENERATIONS].sure > 2;
}

/* Lets releaser() end the wait of a writer in a critical section after about @us microseconds. */
static void release(uint32_t us)
{
	sh->release = us + 1;
}

static bool is_not_behind_any_more(void)
{
	release(0);
	return is_not_behind();
}

static bool has_written_at_last(void)
{
	release(0);
	return has_written();
}

/*
 * Waits for a moment at which the caller ends or restarts the session. With several writers, waits
 * for a random time. With one writer:
 * - If the writer is still in a section of an earlier session, mostly returns soon. Then the writer
 *   is in its old section when this session ends, or when a later one reuses the addresses.
 * - Otherwise waits until the writer is in a section of this session, in half of the calls after
 *   the writer has written some records of this session.
 */
static void chase(const struct window *w)
{
	if (w->threads > 1)
		return wait_a_while();
	if (!is_not_behind() && rnd(&state, 4)) {
		if (rnd(&state, 2))
			release(rnd(&state, 3000));
		if (rnd(&state, 2))
			hope(is_not_behind);
		return;
	}
	if (rnd(&state, 2)) {
		hope(is_not_behind_any_more);
		hope(has_written_at_last);
	}
	hope(is_in);
	sleep_us(rnd(&state, 100));
	/*
	 * Release the writer when the session is about to end, has ended, or when the next one
	 * begins.
	 */
	if (rnd(&state, 2))
		release(rnd(&state, 500) << rnd(&state, 6));
}

/* Returns the number of records that were certainly written under the last @starts generations. */
static uint64_t sure(uint32_t starts)
{
	uint64_t n = 0;

	for (uint32_t g = generation; g > generation - starts; g--)
		for (int i = 0; i < THREADS; i++)
			if (sh->count[i][g % GENERATIONS].generation == g)
				n += sh->count[i][g % GENERATIONS].sure;
	return n;
}

/* Returns what is wrong with the session, or NULL. */
static const char *verdict(const struct run *run, uint32_t starts)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);
	const uint64_t total = run_total(run), least = sure(starts);
	static char why[300];

	if (run->rd.malformed)
		return run->rd.first;
	if (run->seen.spoiled)
		return run->seen.first;
	if (sum.backwards)
		return "time goes backwards in a ring";
	if (sum.parsed != sum.delivered)
		return "delivered records are missing";
	if (run->rd.nr_rings && !sum.last)
		return "the reader was not told the end of each ring";
	for (uint32_t i = 0; i < run->seen.nr_generations; i++) {
		uint32_t behind = (generation - run->seen.generation[i]) & 0xffff;

		if (behind < starts)
			continue;
		snprintf(why, sizeof(why), "%llu records of a run %u before the last, of %u",
			 (unsigned long long)run->seen.per_generation[i], behind, starts);
		return why;
	}
	if (total < least || total > least + starts * THREADS) {
		snprintf(why, sizeof(why),
			 "%llu records are accounted for; at least %llu were written",
			 (unsigned long long)total, (unsigned long long)least);
		return why;
	}
	return NULL;
}

/* Runs one session. Returns what is wrong with it or NULL; *@events: its number of events. */
static const char *session(const struct window *w, uint64_t *events)
{
	const struct run_options opts = {
		.name = PROVIDER, .ring_size = 64 << 10, .provider = PROVIDER,
		.mode = rnd(&state, 4) ? ASYNCTRACE_MODE_CIRCULAR : ASYNCTRACE_MODE_STREAMING,
	};
	static char why[300];
	uint32_t starts = 1;
	const char *wrong;
	struct run run;

	run_open(&run, ctl, &opts);
	start(&run);
	chase(w);
	while (!rnd(&state, 4) && starts < 4) {
		run_stop(&run);
		if (rnd(&state, 2))
			rd_read(&run.rd, rnd(&state, 6));
		start(&run);
		starts++;
		chase(w);
	}
	if (!rnd(&state, 3))
		rd_read(&run.rd, rnd(&state, 6));
	if (!rnd(&state, 3))
		run_stop(&run);
	run_terminate(&run);
	rd_drain(&run.rd);
	wrong = verdict(&run, starts);
	if (wrong) {
		snprintf(why, sizeof(why), "%s", wrong);
		wrong = why;
	}
	*events += run.seen.events;
	run_close(&run);
	return wrong;
}

/* Runs the provider once undisturbed, to learn the current generation. */
static void synchronise(void)
{
	const struct run_options opts = {
		.name = PROVIDER, .ring_size = 64 << 10, .provider = PROVIDER,
		.mode = ASYNCTRACE_MODE_ONESHOT,
	};
	struct run run;

	sh->threads = 1;
	run_open(&run, ctl, &opts);
	run_start(&run);
	for (int i = 0; !sh->gate; i++) {
		must(i < 600000);
		sleep_us(100);
	}
	generation = sh->gate;
	run_terminate(&run);
	run_close(&run);
}

static void test(const struct window *w, const char *fix, uint32_t rounds)
{
	struct trial trial;
	pid_t pid;

	trial_begin(&trial, w->name, fix);
	pid = provider(w->threads);
	synchronise();
	if (fix)
		knob_set(fix, "0");
	sh->threads = w->threads;
	sh->early = w->early;
	sh->late = w->late;
	sh->turns = spin;
	sh->every = w->every;
	while (trial_goes_on(&trial, rounds)) {
		char delay[16];

		snprintf(delay, sizeof(delay), "%u", w->delay << trial.sessions % 3);
		if (w->knob)
			knob_set(w->knob, delay);
		trial_add(&trial, session(w, &trial.events));
	}
	if (fix)
		knob_set(fix, "1");
	if (w->knob)
		knob_set(w->knob, "0");
	sh->every = 0;
	sh->stop = 1;
	reap(pid);
	ktap_check(trial.events || fix, "no session had an event");
	trial_end(&trial);
}

int main(int argc, char **argv)
{
	const bool nofix = argc > 1 && !strcmp(argv[1], "nofix");
	const uint32_t rounds = amount("KT_ROUNDS", 150);
	const struct window windows[] = {
		{ "at random moments", THREADS, 0, false, false, NULL, 0, { NULL } },
		{ "publishing late", 1, 2, false, true, NULL, 0, { "fix_switch", "fix_ranges" } },
		{ "ring page faults", 1, 0, false, false, "delay_fault", 12000, { "fix_lock_ring" } },
		{ "sink faults", 1, 2, true, true, "delay_sink", 12000, { "fix_lock_sink" } },
		{ "between headers and rings", 1, 100, true, true, "delay_zap", 3000, { "fix_rwsem" } },
		{ "all delays", THREADS, 5, true, true, "delay_zap", 300, { NULL } },
	};
	const int n = sizeof(windows) / sizeof(*windows);

	ktap_plan(nofix ? n + 5 + 4 + 2 : n + 2 + 1);
	state = seed();
	spin = delay_turns(100);
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	pin(0);
	for (int i = 0; i < n; i++) {
		test(&windows[i], NULL, rounds);
		for (int f = 0; nofix && f < 3 && windows[i].fixes[f]; f++)
			test(&windows[i], windows[i].fixes[f], amount("KT_NOFIX", 3000));
	}
	for (int clear = 0; clear < 2; clear++) {
		probes_test(ctl, &state, clear, NULL, rounds / 5);
		if (nofix)
			probes_test(ctl, &state, clear, clear ? "fix_clearing" : "fix_probes",
				    amount("KT_NOFIX", 3000));
	}
	names_test(ctl, &state, NULL, rounds / 5);
	if (nofix)
		names_test(ctl, &state, "fix_names", amount("KT_NOFIX", 3000));
	at_ctl_close(ctl);
	return ktap_exit();
}
