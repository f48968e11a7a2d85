// SPDX-License-Identifier: GPL-2.0
/*
 * The accounting invariant with writers killed at random moments
 *
 * A killed writer may have published a record that it has not counted; everything else stays
 * exact.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "borrow.h"
#include "kill.h"

#define WRITERS		4
/* Number of sessions in which one provider takes part */
#define LIFE		8
/* Value of shared.spawn that asks the provider to end */
#define END		UINT32_MAX

static struct shared {
	volatile uint32_t ready, spawn, spawned, go, stop;
	volatile uint32_t pid[WRITERS];
	volatile uint32_t written[WRITERS];
} *sh;

static struct at_ctl *ctl;
static uint32_t state;
static unsigned int uncounted;	/* kills after a record was published, before it was counted */
static pid_t provider;		/* 0: this process */

/* --- the provider -------------------------------------------------------------- */

static void writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	uint32_t rng = id, i = 0;

	if (id & 1)
		pin(nth_cpu(nr_cpus() - 1));
	while (!load(&sh->go))
		sleep_us(100);
	while (!load(&sh->stop)) {
		if (!nu_emit(id, i, NU_ANY))
			_exit(3);
		store(&sh->written[id], ++i);
		if (!(id & 1) && !rnd(&rng, 500))
			pin(nth_cpu(rnd(&rng, nr_cpus())));
	}
}

static void spawn_writers(void)
{
	static struct borrow borrow[WRITERS];

	/* The kernel reaps killed writers at once. */
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < WRITERS; i++)
		if (!borrow[i].tp)
			borrow_make(&borrow[i]);
	store(&sh->ready, 1);
	for (uint32_t n = 1; ; n++) {
		while (load(&sh->spawn) != n) {
			if (load(&sh->spawn) == END)
				return;
			sleep_us(200);
		}
		for (uintptr_t i = 0; i < WRITERS; i++)
			store(&sh->pid[i],
			      borrow_spawn(&borrow[i], BORROW_RSEQ, writer, (void *)i));
		store(&sh->spawned, n);
	}
}

static void provider_start(void)
{
	memset(sh, 0, sizeof(*sh));
	provider = run_tracing(KILL_PROVIDER, spawn_writers);
	wait_for(&sh->ready, 1, "ready");
}

static void provider_end(void)
{
	store(&sh->spawn, END);
	run_join(provider);
}

/* --- the tests ------------------------------------------------------------------- */

static bool is_gone(void *pid)
{
	return kill(load(pid), 0) && errno == ESRCH;
}

static void wait_gone(int i)
{
	if (!soon(is_gone, (void *)&sh->pid[i]))
		ktap_bail("writer %d does not end", i);
}

struct progress {
	int victim;
	uint32_t from[WRITERS];
};

/* Has each of the other writers written 100 events more? */
static bool went_on(void *arg)
{
	struct progress *p = arg;

	for (int i = 0; i < WRITERS; i++) {
		if (i != p->victim && load(&sh->written[i]) - p->from[i] < 100) {
			if (kill(load(&sh->pid[i]), 0))
				ktap_bail("writer %d is gone", i);
			return false;
		}
	}
	return true;
}

static void check(struct run *run, int victim, unsigned int killed)
{
	const uint64_t total = run_total(run);
	uint64_t written = 0;

	for (int i = 0; i < WRITERS; i++)
		written += load(&sh->written[i]);
	ktap_check(total - written <= killed, "%llu were written, %llu are accounted for",
		   (unsigned long long)written, (unsigned long long)total);
	for (int i = 0; i < WRITERS; i++)
		ktap_check(run->seen.max[i] <= load(&sh->written[i]) + (victim < 0 || i == victim),
			   "writer %d: number %u, of %u", i, run->seen.max[i] - 1,
			   load(&sh->written[i]));
	run_check(run);
	uncounted += total != written;
}

static bool provider_gone(void *arg)
{
	struct run *run = arg;

	run_drain(run);
	return run->rd.nr_providers == 1 &&
	       run->rd.provider[0]->flags & ASYNCTRACE_PROVIDER_F_GONE;
}

static void kill_one(struct run *run, bool reading)
{
	const int victim = rnd(&state, WRITERS);
	struct progress p = { .victim = victim };

	sleep_us(rnd(&state, rnd(&state, 2) ? 300 : 6000));
	must(!kill(load(&sh->pid[victim]), SIGKILL));
	wait_gone(victim);
	if (reading)
		run_read(run, 20);
	for (int i = 0; i < WRITERS; i++)
		p.from[i] = load(&sh->written[i]);
	if (!soon(went_on, &p))
		ktap_fail("a writer does not go on after another was killed");
	store(&sh->stop, 1);
	for (int i = 0; i < WRITERS; i++)
		wait_gone(i);
	run_forget_killed();
	run_stop(run);
	run_drain(run);
	check(run, victim, 1);
	run_terminate(run);
	run_drain(run);
	check(run, victim, 1);
}

static void kill_all(struct run *run)
{
	sleep_us(rnd(&state, 6000));
	for (int i = 0; i < WRITERS; i++)
		must(!kill(load(&sh->pid[i]), SIGKILL));
	if (provider) {
		must(!kill(provider, SIGKILL));
		must(waitpid(provider, NULL, 0) == provider);
		/* The session goes on, so the reader must learn of the provider's death. */
		if (!soon(provider_gone, run))
			ktap_fail("the reader is not told of the provider's death");
	} else {
		for (int i = 0; i < WRITERS; i++)
			wait_gone(i);
		run_forget_killed();
		run_stop(run);
	}
	run_drain(run);
	check(run, -1, WRITERS);
	run_terminate(run);
	run_drain(run);
	check(run, -1, WRITERS);
}

static void session(uint32_t n, bool all)
{
	const struct run_options opts = {
		.name = "kill", .mode = n % 3 + ASYNCTRACE_MODE_ONESHOT,
		.ring_size = rnd(&state, 2) ? 16 << 10 : 64 << 10, .provider = KILL_PROVIDER,
	};
	struct run run;

	store(&sh->go, 0);
	store(&sh->stop, 0);
	memset((void *)sh->written, 0, sizeof(sh->written));
	store(&sh->spawn, sh->spawn + 1);
	wait_for(&sh->spawned, sh->spawn, "spawned");
	run_open(&run, ctl, &opts);
	run_start(&run);
	store(&sh->go, 1);
	if (all)
		kill_all(&run);
	else
		kill_one(&run, rnd(&state, 2));
	run_close(&run);
}

static void test_writers(unsigned int kills)
{
	ktap_begin("I8_killed_writers_leave_exact_counts");
	provider_start();
	for (uint32_t n = 0; n < kills && !ktap_failed(); n++) {
		if (n && n % LIFE == 0) {
			provider_end();
			provider_start();
		}
		session(n, false);
	}
	provider_end();
	ktap_note("%u writers killed, %u after publishing a record and before counting it", kills,
		  uncounted);
	ktap_end();
}

static void test_processes(unsigned int kills)
{
	ktap_begin("I8_killed_processes_leave_exact_counts");
	for (uint32_t n = 0; n < kills && !ktap_failed(); n++) {
		provider_start();
		session(n, true);
		if (!provider)
			provider_end();
	}
	ktap_note("%u processes killed, %u sums above the count", kills, uncounted);
	ktap_end();
}

void kill_tests(struct at_ctl *with, unsigned int kills)
{
	ctl = with;
	state = seed();
	sh = shared_memory(sizeof(*sh));
	test_writers(kills);
	uncounted = 0;
	test_processes(kills / 4);
}
