// SPDX-License-Identifier: GPL-2.0
/*
 * The loss law, with writers killed at random moments, one at a time while the
 * others go on in the same rings, or all of their process. A killed writer's own
 * count may be short by one; else nothing changes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/provider.h>

#include "borrow.h"
#include "common.h"

#define PROVIDER	"kill"
#define WRITERS		4
/* Sessions that one provider lives through. */
#define LIFE		8

static struct shared {
	volatile uint32_t ready, spawn, spawned, go, stop;
	volatile int32_t pid[WRITERS];
	volatile uint32_t written[WRITERS];
} *sh;

static struct at_ctl *ctl;
static uint32_t state;
static unsigned int ahead;	/* kills after which the record was there, uncounted */

/* --- the provider -------------------------------------------------------------- */

static void writer(void *arg)
{
	const uint32_t id = (uintptr_t)arg;
	const int cpus = cpus_online();
	uint32_t rng = id, i = 0;

	if (id & 1)
		pin(cpus - 1);
	while (!sh->go)
		sleep_us(100);
	while (!sh->stop) {
		if (!nu_emit(id, i, -1))
			_exit(3);
		sh->written[id] = ++i;
		if (!(id & 1) && !rnd(&rng, 500))
			pin(rnd(&rng, cpus));
	}
}

static pid_t provider(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = PROVIDER };
	static struct borrow borrow[WRITERS];
	pid_t pid = fork();

	must(pid >= 0);
	if (pid)
		return pid;
	/* Whoever is killed is gone at once. */
	signal(SIGCHLD, SIG_IGN);
	must(!at_provider_register(&opts));
	for (int i = 0; i < WRITERS; i++)
		borrow_make(&borrow[i]);
	sh->ready = 1;
	for (uint32_t n = 1; ; n++) {
		while (sh->spawn != n)
			sleep_us(200);
		for (uintptr_t i = 0; i < WRITERS; i++)
			sh->pid[i] = borrow_spawn(&borrow[i], BORROW_RSEQ, writer, (void *)i);
		sh->spawned = n;
	}
}

/* --- the tests ------------------------------------------------------------------- */

static bool is_gone(void *pid)
{
	return kill(*(volatile int32_t *)pid, 0) && errno == ESRCH;
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

/* The others have gone on by a good deal. */
static bool went_on(void *arg)
{
	struct progress *p = arg;

	for (int i = 0; i < WRITERS; i++) {
		if (i != p->victim && sh->written[i] - p->from[i] < 100) {
			if (kill(sh->pid[i], 0))
				ktap_bail("writer %d is gone", i);
			return false;
		}
	}
	return true;
}

static uint64_t written(void)
{
	uint64_t n = 0;

	for (int i = 0; i < WRITERS; i++)
		n += sh->written[i];
	return n;
}

static void check(struct run *run, int victim, unsigned int killed)
{
	const uint64_t sum = written(), total = run_total(run);

	ktap_check(total - sum <= killed, "%llu were written, and %lld more are accounted for",
		   (unsigned long long)sum, (long long)(total - sum));
	for (int i = 0; i < WRITERS; i++)
		ktap_check(run->seen.max[i] <= sh->written[i] + (victim < 0 || i == victim),
			   "writer %d: number %u, of %u", i, run->seen.max[i] - 1, sh->written[i]);
	run_check(run);
	ahead += total != sum;
}

static bool provider_gone(void *arg)
{
	struct run *run = arg;

	rd_drain(&run->rd);
	return run->rd.nr_providers == 1 &&
	       run->rd.provider[0]->flags & ASYNCTRACE_PROVIDER_F_GONE;
}

static void kill_one(struct run *run, bool reading)
{
	const int victim = rnd(&state, WRITERS);
	struct progress p = { .victim = victim };

	sleep_us(rnd(&state, rnd(&state, 2) ? 300 : 6000));
	must(!kill(sh->pid[victim], SIGKILL));
	wait_gone(victim);
	if (reading)
		rd_read(&run->rd, 20);
	for (int i = 0; i < WRITERS; i++)
		p.from[i] = sh->written[i];
	if (!soon(went_on, &p))
		ktap_fail("a writer does not go on after another was killed");
	sh->stop = 1;
	for (int i = 0; i < WRITERS; i++)
		wait_gone(i);
	run_stop(run);
	rd_drain(&run->rd);
	check(run, victim, 1);
	run_terminate(run);
	rd_drain(&run->rd);
	check(run, victim, 1);
}

static void kill_all(struct run *run, pid_t pid)
{
	sleep_us(rnd(&state, 6000));
	for (int i = 0; i < WRITERS; i++)
		must(!kill(sh->pid[i], SIGKILL));
	must(!kill(pid, SIGKILL));
	must(waitpid(pid, NULL, 0) == pid);
	/* The session goes on: the provider's end is not its. */
	if (!soon(provider_gone, run))
		ktap_fail("the provider's death is not told");
	rd_drain(&run->rd);
	check(run, -1, WRITERS);
	run_terminate(run);
	rd_drain(&run->rd);
	check(run, -1, WRITERS);
}

static void round_of(uint32_t n, bool all, pid_t pid)
{
	const struct run_options opts = {
		.name = "kill", .mode = n % 3 + ASYNCTRACE_MODE_ONESHOT,
		.ring_size = rnd(&state, 2) ? 16 << 10 : 64 << 10, .provider = PROVIDER,
	};
	struct run run;

	sh->go = sh->stop = 0;
	memset((void *)sh->written, 0, sizeof(sh->written));
	sh->spawn++;
	wait_for(&sh->spawned, sh->spawn, "spawned");
	run_open(&run, ctl, &opts);
	run_start(&run);
	sh->go = 1;
	if (all)
		kill_all(&run, pid);
	else
		kill_one(&run, rnd(&state, 2));
	run_close(&run);
}

int main(void)
{
	const unsigned int kills = amount("KT_KILLS", 30);
	pid_t pid = 0;

	ktap_plan(2);
	state = seed();
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));

	ktap_begin("I8_%u_killed_threads_leave_exact_counts", kills);
	for (uint32_t n = 0; n < kills; n++) {
		if (n % LIFE == 0) {
			if (pid) {
				kill(pid, SIGKILL);
				waitpid(pid, NULL, 0);
			}
			memset(sh, 0, sizeof(*sh));
			pid = provider();
			wait_for(&sh->ready, 1, "ready");
		}
		round_of(n, false, pid);
		if (ktap_failed())
			break;
	}
	ktap_note("%u of them between the publishing and the count", ahead);
	ktap_end();

	ahead = 0;
	ktap_begin("I8_%u_killed_providers_leave_exact_counts", kills / 4);
	for (uint32_t n = 0; n < kills / 4; n++) {
		if (pid) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		memset(sh, 0, sizeof(*sh));
		pid = provider();
		wait_for(&sh->ready, 1, "ready");
		round_of(n, true, pid);
		pid = 0;
		if (ktap_failed())
			break;
	}
	ktap_end();
	at_ctl_close(ctl);
	return ktap_exit();
}
