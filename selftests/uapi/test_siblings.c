// SPDX-License-Identifier: GPL-2.0
/*
 * A process may be several providers. Its threads belong to all of them: when one provider or its
 * session ends, the session of another provider still records the scheduling of the threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define RING	(256 * 1024)
/* Threads count as traced when this number of new records has arrived. */
#define ENOUGH	20
#define WAIT_MS	240000

static struct raw_nl nl;
static struct raw_provider first, second;
static pthread_t thread;
static atomic_bool leave;

static void *nap(void *arg)
{
	(void)arg;
	while (!atomic_load(&leave))
		usleep(1000);
	return NULL;
}

static int started(const char *name, const char *provider)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_CIRCULAR, ASYNCTRACE_SCHED_TARGETS, RING,
			     provider);

	return id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	       !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id) ? id : -1;
}

static void begin(void)
{
	atomic_store(&leave, false);
	NEED(!raw_nl_open(&nl));
	NEED(!raw_provider(&first, "part-1", STRIDE) && !raw_provider(&second, "part-2", STRIDE));
	NEED(!pthread_create(&thread, NULL, nap, NULL));
}

static void end(void)
{
	atomic_store(&leave, true);
	EXPECT(!pthread_join(thread, NULL));
	raw_nl_close(&nl);
}

/* Does the session get switches of the process from now on? */
static bool goes_on(int session)
{
	struct raw_ledger before, now = { };

	NEED(!raw_sched_ledger(&nl, session, &before));
	for (int ms = 0; ms < WAIT_MS && now.committed < before.committed + ENOUGH; ms += 10) {
		usleep(10000);
		NEED(!raw_sched_ledger(&nl, session, &now));
	}
	return now.committed >= before.committed + ENOUGH;
}

static void threads_stay_when_one_of_two_providers_ends(void)
{
	int session;

	begin();
	session = started("both", "part-*");
	NEED(session > 0);
	EXPECT(goes_on(session));
	raw_provider_end(&first);
	EXPECT(goes_on(session));
	EXPECT(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session));
	EXPECT_IS(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_THREADS_MISSED), 0);
	raw_provider_end(&second);
	end();
}

static int missed(int session)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session));
	return raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_THREADS_MISSED);
}

/* Only one session can trace a thread. The other session counts the thread as missed. */
static void threads_of_another_session_count_as_missed(void)
{
	int one, other;

	begin();
	one = started("one", "part-1");
	other = started("other", "part-2");
	NEED(one > 0 && other > 0);
	EXPECT_IS(missed(one), 0);
	/* The process has two threads. */
	EXPECT_IS(missed(other), 2);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, one), 0);
	EXPECT(goes_on(other));
	EXPECT_IS(missed(other), 2);
	raw_provider_end(&second);
	raw_provider_end(&first);
	end();
}

/*
 * The session that ends and its member that leaves each have a worker, which removes their threads.
 * The two workers may run in any order: many rounds test both.
 */
static void threads_go_to_the_other_session_when_one_ends(void)
{
	const unsigned int rounds = amount("SIBLINGS_ROUNDS", 100);

	for (unsigned int i = 0; i < rounds; i++) {
		bool all_well;
		int one, other;

		begin();
		one = started("one", "part-1");
		other = started("other", "part-2");
		NEED(one > 0 && other > 0);
		EXPECT(goes_on(one));
		EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, one), 0);
		all_well = goes_on(other);
		EXPECT(all_well);
		raw_provider_end(&second);
		raw_provider_end(&first);
		end();
		if (!all_well)
			break;
	}
}

/* Providers end one after the other. Each time another provider must take over the threads. */
static void threads_stay_as_long_as_there_is_a_provider(void)
{
	struct raw_provider more[4];
	int session;

	begin();
	for (int i = 0; i < 4; i++)
		NEED(!raw_provider(&more[i], "part-3", STRIDE));
	session = started("all", "part-*");
	NEED(session > 0);
	raw_provider_end(&first);
	for (int i = 0; i < 4; i++) {
		EXPECT(goes_on(session));
		raw_provider_end(&more[i]);
	}
	EXPECT(goes_on(session));
	raw_provider_end(&second);
	end();
}

static const struct ktap_test tests[] = {
	KTAP_TEST(threads_stay_when_one_of_two_providers_ends),
	KTAP_TEST(threads_of_another_session_count_as_missed),
	KTAP_TEST(threads_go_to_the_other_session_when_one_ends),
	KTAP_TEST(threads_stay_as_long_as_there_is_a_provider),
};

KTAP_MAIN(tests)
