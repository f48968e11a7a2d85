// SPDX-License-Identifier: GPL-2.0
/*
 * Providers whose session ends while another session that wants them is being started
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	ASYNCTRACE_RING_MIN
/* Providers of the session that is started, so that the start takes some time */
#define CROWD	64

static struct raw_nl nl;
static pthread_barrier_t both;
static int ending, delay;
static unsigned int rounds;

/* Ends the session "ending" at a random moment of the other session's start. */
static void *end_session(void *arg)
{
	static struct raw_nl other;

	(void)arg;
	if (raw_nl_open(&other))
		return "no socket";
	for (unsigned int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&both);
		for (volatile int spin = 0; spin < delay; spin++)
			;
		if (raw_session_do(&other, ASYNCTRACE_CMD_SESSION_TERMINATE, ending))
			return "a session cannot be ended";
		pthread_barrier_wait(&both);
	}
	raw_nl_close(&other);
	return NULL;
}

static int initialized(const char *name, const char *providers)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF, STRIDE,
			     providers);

	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	return id;
}

/* Does the provider belong to the session, within ten seconds? */
static bool joins(const struct raw_provider *p, int session)
{
	for (int i = 0; i < 1000; i++) {
		mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
				 ASYNCTRACE_A_PROVIDER_ID, p->id);
		NEED(!raw_nl_ask(&nl));
		if (raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_SESSION) == (uint32_t)session &&
		    p->control->gate > ASYNCTRACE_GATE_ATTACH)
			return true;
		usleep(10000);
	}
	return false;
}

/* Returns the nanoseconds that a session with all providers needs for its start. */
static int64_t start(int id)
{
	int64_t before = raw_boottime();

	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return raw_boottime() - before;
}

static void provider_vacated_during_a_start_is_taken(void)
{
	unsigned int seed = time(NULL);
	struct raw_provider contested, crowd;
	int next, missed = 0, longest = 1;
	pthread_t thread;
	void *why;

	printf("# seed %u\n", seed);
	rounds = amount("VACANT_ROUNDS", 400);
	srandom(seed);
	NEED(!raw_nl_open(&nl));
	NEED(!raw_provider(&contested, "contested", STRIDE));
	for (int i = 0; i < CROWD; i++)
		NEED(!raw_provider(&crowd, "crowd", STRIDE));
	NEED(!pthread_barrier_init(&both, NULL, 2));
	NEED(!pthread_create(&thread, NULL, end_session, NULL));
	for (unsigned int i = 0; i < rounds; i++) {
		ending = initialized("ending", "contested");
		start(ending);
		next = initialized("next", NULL);
		delay = random() % longest;
		pthread_barrier_wait(&both);
		/*
		 * The other thread's delay counts steps of a loop, each of about a nanosecond. So
		 * the other session ends at any moment of this start.
		 */
		longest = start(next);
		pthread_barrier_wait(&both);
		missed += !joins(&contested, next);
		NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, next));
	}
	NEED(!pthread_join(thread, &why));
	EXPECT(!why);
	EXPECT_IS(missed, 0);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(provider_vacated_during_a_start_is_taken),
};

KTAP_MAIN(tests)
