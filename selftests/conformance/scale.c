// SPDX-License-Identifier: GPL-2.0
/*
 * A session costs the same for each of its providers, however many there are.
 *
 * usage: scale [--time]
 *
 * Each provider is a process that writes an event in each session. The test compares numbers of
 * instructions, for which the machine must count nothing else (selftests/vm/run --icount). --time
 * prints times and compares nothing.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"
#include "count.h"
#include "raw.h"

#define NAME	"scale"
#define MAX	1000
#define ROUNDS	5
/* Percent by which a provider may cost more if there are MAX of them */
#define MORE	20

static const unsigned int sizes[] = { 10, 100, MAX };

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

enum { JOIN, START, STOP, TERMINATE, ALL, COSTS };

static const char *const names[COSTS] = {
	[JOIN] = "register, with a session that runs",
	[START] = "init and start",
	[STOP] = "stop",
	[TERMINATE] = "terminate, with the work it leaves",
	[ALL] = "all that runs for a session",
};

static struct shared {
	volatile uint32_t go, left;
	volatile uint32_t ready, wrote;
	volatile uint64_t registering[MAX];
} *sh;

static struct at_ctl *ctl;
static pid_t pids[MAX];
/* costs by number of providers */
static uint64_t cost[SIZES][COSTS];

/* --- providers ---------------------------------------------------------------- */

static void provider(unsigned int n)
{
	struct raw_provider p;
	uint32_t go = sh->go;
	uint64_t begin;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	begin = now();
	if (raw_provider(&p, NAME, ASYNCTRACE_RING_MIN))
		_exit(1);
	sh->registering[n] = now() - begin;
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_RELEASE);
	for (;;) {
		while (sh->go == go)
			syscall(SYS_futex, &sh->go, FUTEX_WAIT, go, NULL, NULL, 0);
		go = sh->go;
		if (p.control->gate != ASYNCTRACE_GATE_OFF)
			raw_write(&p, 0, 1);
		__atomic_add_fetch(&sh->wrote, 1, __ATOMIC_RELEASE);
	}
}

static void have_all_write(unsigned int n)
{
	sh->wrote = 0;
	__atomic_add_fetch(&sh->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &sh->go, FUTEX_WAKE, MAX, NULL, NULL, 0);
	wait_for(&sh->wrote, n, "events written");
}

/* --- sessions ------------------------------------------------------------------- */

static uint32_t create(void)
{
	static const char *const all[] = { NAME };
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = NAME, .mode = ASYNCTRACE_MODE_ONESHOT,
		.sched = ASYNCTRACE_SCHED_TARGETS, .ring_size = ASYNCTRACE_RING_MIN,
		.nr_providers = 1, .providers = all,
	};
	uint32_t id;

	if (at_session_create(ctl, &opts, &id))
		ktap_bail("%s", at_ctl_error(ctl));
	return id;
}

static void want(int err)
{
	if (err)
		ktap_bail("%s", at_ctl_error(ctl));
}

/* Waits until workers have done what ending a session leaves to them. */
static void settle(void)
{
	sleep_us(500000);
}

static int add_ring(const struct at_ring_info *r, void *sum)
{
	if (r->provider)
		*(uint64_t *)sum += r->committed;
	return 0;
}

static void run_once(unsigned int n, struct costs *costs)
{
	uint64_t at[4], from, terminated, events = 0;
	const uint32_t id = create();

	settle();
	from = busy();
	at[0] = now();
	want(at_session_init(ctl, id));
	want(at_session_start(ctl, id, NULL));
	at[1] = now();
	have_all_write(n);
	at[2] = now();
	want(at_session_stop(ctl, id));
	at[3] = now();
	want(at_for_each_ring(ctl, id, add_ring, &events));
	ktap_check(events == n, "%llu events of %u", (unsigned long long)events, n);
	costs_add(&costs[START], at[1] - at[0]);
	costs_add(&costs[STOP], at[3] - at[2]);
	terminated = busy();
	want(at_session_destroy(ctl, id));
	settle();
	/* Include the workers, which unmap pages and wait for writers after the request. */
	costs_add(&costs[TERMINATE], busy() - terminated);
	costs_add(&costs[ALL], busy() - from);
}

/* Providers @from to @to - 1 register while a session runs. Returns the cost of one. */
static uint64_t join(unsigned int from, unsigned int to)
{
	const uint32_t id = create();
	uint64_t ns[MAX];

	want(at_session_init(ctl, id));
	want(at_session_start(ctl, id, NULL));
	for (unsigned int i = from; i < to; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (!pids[i])
			provider(i);
		/* Register one after the other, so that the cost of each is measured alone. */
		wait_for(&sh->ready, i + 1, "providers");
		ns[i - from] = sh->registering[i];
	}
	want(at_session_destroy(ctl, id));
	settle();
	/* Use the median, because interrupts disturb some measurements. */
	qsort(ns, to - from, sizeof(ns[0]), costs_compare);
	return ns[(to - from) / 2];
}

static void measure(unsigned int s)
{
	struct costs costs[COSTS] = { 0 };

	cost[s][JOIN] = join(s ? sizes[s - 1] : 0, sizes[s]);
	for (int i = 0; i < ROUNDS; i++)
		run_once(sizes[s], costs);
	for (int c = START; c < COSTS; c++)
		cost[s][c] = costs_typical(&costs[c]) / sizes[s];
}

static void show(const char *unit)
{
	ktap_note("%s per provider, by number of providers:", unit);
	ktap_note("%-36s %10u %10u %10u", "", sizes[0], sizes[1], sizes[2]);
	for (int c = 0; c < COSTS; c++)
		ktap_note("%-36s %10llu %10llu %10llu", names[c],
			  (unsigned long long)cost[0][c], (unsigned long long)cost[1][c],
			  (unsigned long long)cost[2][c]);
}

int main(int argc, char **argv)
{
	const bool judge = argc < 2 || strcmp(argv[1], "--time");

	ktap_plan(1 + (judge ? COSTS : 0));
	if (judge && !instructions_are_counted())
		ktap_bail("the clock counts no instructions: run by selftests/vm/run --icount");
	sh = shared_memory(sizeof(*sh));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));

	ktap_begin("session_over_%u_providers_records_all", MAX);
	for (unsigned int s = 0; s < SIZES; s++)
		measure(s);
	show(judge ? "instructions" : "nanoseconds");
	ktap_end();

	for (int c = 0; judge && c < COSTS; c++) {
		ktap_begin("I19_%s_of_%u_as_cheap_as_of_%u", names[c],
			   sizes[SIZES - 1], sizes[0]);
		for (unsigned int s = 0; s < SIZES - 1; s++)
			ktap_check(cost[SIZES - 1][c] * 100 <= cost[s][c] * (100 + MORE),
				   "%llu with %u of them, %llu with %u",
				   (unsigned long long)cost[SIZES - 1][c], sizes[SIZES - 1],
				   (unsigned long long)cost[s][c], sizes[s]);
		ktap_end();
	}
	for (int i = 0; i < MAX; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	at_ctl_close(ctl);
	return ktap_exit();
}
