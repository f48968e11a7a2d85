// SPDX-License-Identifier: GPL-2.0
/*
 * A session's kernel rings take memory only for CPUs that wrote records
 *
 * Needs a machine with 24 CPUs or more.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define RING	(256 * 1024)
#define PAGES	(RING / 4096)
/* CPUs that the test's two threads run on */
#define HERE	3
#define THERE	17
/* Spare rings that a session keeps when no CPU has needed one for a second */
#define SPARE_EVENTS	2
#define SPARE_NAMES	16
/* Pages of the session that belong to no ring */
#define OTHER_PAGES	4

static struct raw_nl nl;
static struct raw_provider provider;
static int session, to[2], from[2];

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static void *echo(void *arg)
{
	char c;

	if (pin(THERE))
		return NULL;
	while (read(to[0], &c, 1) == 1)
		if (write(from[1], &c, 1) != 1)
			break;
	return arg;
}

/* The two threads wake each other @n times. */
static void ping(int n)
{
	char c = 0;

	while (n--)
		NEED(write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1);
}

static uint64_t session_pages(void)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session));
	return raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_PAGES);
}

static void begin(void)
{
	struct raw_ledger unused;
	pthread_t thread;

	NEED(sysconf(_SC_NPROCESSORS_ONLN) >= 24);
	NEED(!pin(HERE));
	NEED(!pipe(to) && !pipe(from));
	NEED(!pthread_create(&thread, NULL, echo, NULL));
	ping(1);
	NEED(!mlockall(MCL_CURRENT));
	NEED(!raw_nl_open(&nl));
	NEED(!raw_provider(&provider, "sparse", RING));
	session = raw_session(&nl, "sparse", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS,
			      RING, "sparse");
	NEED(session > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	/* Run this code before the start: a page fault in it could be completed on any CPU. */
	NEED(!raw_sched_ledger(&nl, session, &unused));
	session_pages();
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
}

static void kernel_rings_of_idle_cpus_have_no_memory(void)
{
	struct raw_ledger sched, names, user;
	uint64_t spare = 0, wanted = 0;

	begin();
	ping(500);
	EXPECT(!raw_sched_ledger(&nl, session, &sched));
	EXPECT_IS(sched.lines, 2);
	EXPECT_IS(sched.pages, 2 * PAGES);
	EXPECT_IS(sched.dropped, 0);
	EXPECT(sched.committed > 1000);

	/* At first the session keeps more spare rings, because all CPUs may begin at once. */
	for (int i = 0; i < 1000; i++) {
		NEED(!raw_names_ledger(&nl, session, &names));
		NEED(!raw_ledger(&nl, session, 0, &user));
		NEED(names.lines);
		spare = session_pages() - sched.pages - names.pages - user.pages;
		wanted = SPARE_EVENTS * PAGES + SPARE_NAMES * names.pages / names.lines +
			 OTHER_PAGES;
		if (spare <= wanted)
			break;
		usleep(10000);
	}
	printf("# %u names rings, %llu spare pages\n", names.lines, (unsigned long long)spare);
	EXPECT(spare <= wanted);
	EXPECT(names.lines <= 4);
	EXPECT(!raw_sched_ledger(&nl, session, &sched));
	EXPECT_IS(sched.pages, 2 * PAGES);
}

static void kernel_ring_gets_memory_when_its_cpu_writes(void)
{
	const int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct raw_ledger sched;

	for (int cpu = 0; cpu < cpus; cpu++) {
		NEED(!pin(cpu));
		usleep(1000);
	}
	NEED(!pin(HERE));
	EXPECT(!raw_sched_ledger(&nl, session, &sched));
	EXPECT_IS(sched.lines, cpus);
	EXPECT(sched.pages > (uint64_t)cpus / 2 * PAGES);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(kernel_rings_of_idle_cpus_have_no_memory),
	KTAP_TEST(kernel_ring_gets_memory_when_its_cpu_writes),
};

KTAP_MAIN(tests)
