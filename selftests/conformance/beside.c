// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a request in instructions must not grow with the number of another user's providers,
 * nor with the number of ended providers of the session
 *
 * Needs selftests/vm/run --icount.
 *
 * usage: beside
 *
 * The environment variable ENDED_PROVIDERS is the number of ended providers; default 3,000.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "count.h"
#include "raw.h"

#define NAME	"beside"
#define OTHER	65533
#define NOBODY	65534
#define ROUNDS	9
/* Percent by which a request may cost more with the most providers than with the fewest */
#define MORE	20

static const unsigned int sizes[] = { 10, 4096 };

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

enum { REGISTER, CREATE, INIT, START, STOP, TERMINATE, CLOSE, COSTS };
enum { A_USER, ROOT, ENDED, TABLES };

static const char *const names[COSTS] = {
	[REGISTER] = "register",
	[CREATE] = "create",
	[INIT] = "init",
	[START] = "start",
	[STOP] = "stop, with the work it leaves",
	[TERMINATE] = "terminate, with the work it leaves",
	[CLOSE] = "close, with the work it leaves",
};

static struct shared {
	volatile uint32_t ready;
	struct costs costs[TABLES][SIZES][COSTS];
} *sh;

static struct raw_nl nl;

/* Registers another user's providers number @from to @to - 1, which live until the test ends. */
static void others(unsigned int from, unsigned int to)
{
	struct rlimit files = { 8192, 8192 };
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		char name[32];

		must(!setrlimit(RLIMIT_NOFILE, &files) && !raw_become(OTHER));
		/* Set this after the change of the user, which resets it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned int i = from; i < to; i++) {
			snprintf(name, sizeof(name), NAME "%u", i);
			must(raw_register(raw_open(), name, ASYNCTRACE_RING_MIN) > 0);
		}
		sh->ready = to;
		for (;;)
			pause();
	}
	wait_for(&sh->ready, to, "providers of another user");
}

/*
 * Waits until workers have finished the work that a request has queued. The waits differ in length,
 * so that not every request coincides with the timer's interrupt.
 */
static void settle(void)
{
	static unsigned int longer;

	longer = (longer + 1300) % 10000;
	sleep_us(300000 + longer);
}

static void session_do(uint8_t cmd, int id, struct costs *costs)
{
	uint64_t begin = now();

	must(!raw_session_do(&nl, cmd, id));
	costs_add(costs, now() - begin);
	settle();
}

/* Measures a request with the work that it leaves to workers. */
static void session_do_all(uint8_t cmd, int id, struct costs *costs)
{
	uint64_t begin = busy();

	must(!raw_session_do(&nl, cmd, id));
	settle();
	costs_add(costs, busy() - begin);
}

static int run_rounds(void *arg)
{
	struct costs *costs = arg;

	must(!raw_nl_open(&nl));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = now();
		int fd = raw_open(), id;

		must(fd >= 0 && raw_register(fd, NAME, ASYNCTRACE_RING_MIN) > 0);
		costs_add(&costs[REGISTER], now() - begin);
		begin = now();
		id = raw_session(&nl, NAME, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
				 ASYNCTRACE_RING_MIN, NAME);
		must(id > 0);
		costs_add(&costs[CREATE], now() - begin);
		settle();
		session_do(ASYNCTRACE_CMD_SESSION_INIT, id, &costs[INIT]);
		must(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id) == 0 &&
		     raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) == 1);
		session_do(ASYNCTRACE_CMD_SESSION_START, id, &costs[START]);
		session_do_all(ASYNCTRACE_CMD_SESSION_STOP, id, &costs[STOP]);
		session_do_all(ASYNCTRACE_CMD_SESSION_TERMINATE, id, &costs[TERMINATE]);
		begin = busy();
		close(fd);
		settle();
		costs_add(&costs[CLOSE], busy() - begin);
	}
	return 0;
}

/* --- providers that have ended ------------------------------------------------------------ */

static unsigned int ended_sizes[SIZES] = { 10, 3000 };

static int open_provider(void)
{
	int fd = raw_open();

	must(fd >= 0 && raw_register(fd, NAME, ASYNCTRACE_RING_MIN) > 0);
	return fd;
}

/* Measures requests of a session whose providers come and go. The session is never read. */
static void run_ended(void)
{
	unsigned int ended = 0;
	int id;

	must(!raw_nl_open(&nl));
	id = raw_session(&nl, "ended", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS,
			 ASYNCTRACE_RING_MIN, NAME);
	must(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	     !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	for (unsigned int s = 0; s < SIZES; s++) {
		struct costs *costs = sh->costs[ENDED][s];

		for (; ended < ended_sizes[s]; ended++)
			close(open_provider());
		for (int i = 0; i < ROUNDS; i++) {
			uint64_t begin;
			int fd;

			settle();
			begin = now();
			fd = open_provider();
			costs_add(&costs[REGISTER], now() - begin);
			session_do_all(ASYNCTRACE_CMD_SESSION_STOP, id, &costs[STOP]);
			/*
			 * Measure the close while the session is stopped, because a running session
			 * always causes some work.
			 */
			begin = busy();
			close(fd);
			settle();
			costs_add(&costs[CLOSE], busy() - begin);
			session_do(ASYNCTRACE_CMD_SESSION_START, id, &costs[START]);
		}
	}
	must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id) &&
	     raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) == ended + SIZES * ROUNDS);
}

static void judge(unsigned int table, const char *where, const unsigned int *of)
{
	ktap_note("instructions %s, where there are %u and %u:", where, of[0], of[1]);
	for (int c = 0; c < COSTS; c++) {
		struct costs *costs[SIZES] = { &sh->costs[table][0][c], &sh->costs[table][1][c] };
		uint64_t few, many;

		if (!costs[0]->nr)
			continue;
		few = costs_typical(costs[0]);
		many = costs_typical(costs[1]);
		ktap_note("%-36s %10llu %10llu", names[c], (unsigned long long)few,
			  (unsigned long long)many);
		ktap_begin("beside_%s_costs_the_same_%s", names[c], where);
		ktap_check(many * 100 <= few * (100 + MORE), "%llu beside %u, %llu beside %u",
			   (unsigned long long)many, of[1], (unsigned long long)few, of[0]);
		ktap_end();
	}
}

int main(void)
{
	if (getenv("ENDED_PROVIDERS"))
		ended_sizes[SIZES - 1] = atoi(getenv("ENDED_PROVIDERS"));
	ktap_plan(2 + 2 * COSTS + 4);
	if (!instructions_are_counted())
		ktap_bail("the clock counts no instructions: run by selftests/vm/run --icount");
	sh = shared_memory(sizeof(*sh));
	ktap_begin("beside_%u_providers_of_another_user", sizes[SIZES - 1]);
	for (unsigned int s = 0; s < SIZES; s++) {
		others(s ? sizes[s - 1] : 0, sizes[s]);
		ktap_check(!raw_child(run_rounds, sh->costs[A_USER][s], NOBODY),
			   "a user's requests");
		ktap_check(!raw_child(run_rounds, sh->costs[ROOT][s], -1), "root's requests");
	}
	ktap_end();
	ktap_begin("beside_%u_ended_providers_cost_the_same", ended_sizes[SIZES - 1]);
	run_ended();
	ktap_end();
	judge(A_USER, "for a user, beside another user's providers", sizes);
	judge(ROOT, "for root, beside a user's providers", sizes);
	judge(ENDED, "in a session, beside its ended providers", ended_sizes);
	return ktap_exit();
}
