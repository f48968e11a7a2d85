// SPDX-License-Identifier: GPL-2.0
/*
 * A process may be many providers and have many threads. A start must look at the threads once, not
 * once for each provider: thousands of providers times thousands of threads would delay all users.
 * When a provider leaves its session, a worker removes the threads, not the request.
 *
 * Needs selftests/vm/run --icount, which counts instructions.
 */
#include <pthread.h>
#include <unistd.h>

#include "common.h"
#include "count.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define RING	(64 * 1024)
#define PARTS	128
#define THREADS	1000
/*
 * Number of starts. The lowest cost of a start counts, because other activity only adds
 * instructions.
 */
#define STARTS	5
/* Number of sessions that are ended. The lowest cost of an end counts. */
#define ENDS	9
/* Limit of the additional cost of an end if the process has THREADS threads, in percent */
#define MORE	20

static struct raw_nl nl;
static struct raw_provider part[PARTS];
static pthread_mutex_t end_of_them = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_the_end(void *arg)
{
	pthread_mutex_lock(&end_of_them);
	pthread_mutex_unlock(&end_of_them);
	return arg;
}

static uint64_t cost_of_a_start(int session)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < STARTS; i++) {
		uint64_t begin, took;

		must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
		/* Work that the module leaves to its worker does not count. */
		usleep(200000);
		begin = now();
		must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
		took = now() - begin;
		least = took < least ? took : least;
	}
	return least;
}

/* Returns the instructions that the threads add to a start over the providers with this name. */
static uint64_t cost_of_threads(const char *providers)
{
	int session = raw_session(&nl, "parts", ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS,
				  RING, providers);
	static pthread_t threads[THREADS];
	uint64_t without, with;
	pthread_attr_t small;

	must(session > 0);
	must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
	without = cost_of_a_start(session);
	pthread_mutex_lock(&end_of_them);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], &small, wait_for_the_end, NULL));
	with = cost_of_a_start(session);
	pthread_mutex_unlock(&end_of_them);
	for (int i = 0; i < THREADS; i++)
		must(!pthread_join(threads[i], NULL));
	must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session));
	ktap_note("%s: a start takes %llu instructions, with %d threads %llu", providers,
		  (unsigned long long)without, THREADS, (unsigned long long)with);
	return with > without ? with - without : 0;
}

/* Returns the instructions of a request that ends a session over one provider. */
static uint64_t cost_of_an_end(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ENDS; i++) {
		int session = raw_session(&nl, "ends", ASYNCTRACE_MODE_CIRCULAR,
					  ASYNCTRACE_SCHED_TARGETS, RING, "part-first");
		uint64_t begin, took;

		must(session > 0);
		must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
		must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
		usleep(200000);
		begin = now();
		must(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session));
		took = now() - begin;
		least = took < least ? took : least;
		usleep(200000);
	}
	return least;
}

static void judge_ends(void)
{
	static pthread_t threads[THREADS];
	uint64_t without, with;
	pthread_attr_t small;

	ktap_begin("I18_end_of_session_visits_no_thread_of_%d", THREADS);
	without = cost_of_an_end();
	pthread_mutex_lock(&end_of_them);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], &small, wait_for_the_end, NULL));
	with = cost_of_an_end();
	pthread_mutex_unlock(&end_of_them);
	for (int i = 0; i < THREADS; i++)
		must(!pthread_join(threads[i], NULL));
	ktap_note("a termination takes %llu instructions, with %d threads %llu",
		  (unsigned long long)without, THREADS, (unsigned long long)with);
	ktap_check(with * 100 <= without * (100 + MORE), "%llu instructions, without threads %llu",
		   (unsigned long long)with, (unsigned long long)without);
	ktap_end();
}

int main(void)
{
	uint64_t one, all;

	ktap_plan(2);
	if (!instructions_are_counted())
		ktap_bail("the clock counts no instructions: run by selftests/vm/run --icount");
	ktap_begin("start_looks_once_at_process_of_%d_providers", PARTS);
	must(!raw_nl_open(&nl));
	for (int i = 0; i < PARTS; i++)
		must(!raw_provider(&part[i], i ? "part-other" : "part-first", STRIDE));
	one = cost_of_threads("part-first");
	all = cost_of_threads("part-*");
	ktap_check(one > THREADS, "%llu instructions for %d threads", (unsigned long long)one,
		   THREADS);
	ktap_check(all < 2 * one, "%llu instructions for the threads, with one provider %llu",
		   (unsigned long long)all, (unsigned long long)one);
	ktap_end();
	judge_ends();
	return ktap_exit();
}
