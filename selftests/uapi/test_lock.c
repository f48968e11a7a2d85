// SPDX-License-Identifier: GPL-2.0
/*
 * The module's one lock, which whoever holds it may hold for long: who wants nothing of
 * the module does not wait for it. For a module with the knobs of the race tests.
 */
#include <pthread.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)

static struct raw_nl nl;

/* How long the one lock is held, in the middle of an answer: of a module for race tests. */
#define HELD_KNOB	"/sys/kernel/debug/asynctrace/delay_zap"
#define HELD_US		"3000000"

static volatile int begun, answered;

static void *init_session(void *id)
{
	begun = 1;
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, *(int *)id), 0);
	answered = 1;
	return NULL;
}

/* Is a socket of that port closed before the lock is let go? */
static bool closed_meanwhile(unsigned int port)
{
	struct mnl_socket *other = mnl_socket_open(NETLINK_GENERIC);
	pthread_t thread;
	bool quick;
	int id;

	NEED(other && !mnl_socket_bind(other, 0, port));
	id = raw_session(&nl, "slow", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "slow");
	NEED(id > 0);
	begun = answered = 0;
	NEED(!raw_put(HELD_KNOB, HELD_US));
	NEED(!pthread_create(&thread, NULL, init_session, &id));
	while (!begun)
		usleep(1000);
	usleep(500000);
	mnl_socket_close(other);
	quick = !answered;
	NEED(!pthread_join(thread, NULL));
	NEED(!raw_put(HELD_KNOB, "0"));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	return quick;
}

static void a_socket_that_is_not_ours_is_closed_at_once(void)
{
	struct raw_provider p;
	bool quick = false;

	NEED(!access(HELD_KNOB, W_OK));
	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "slow", STRIDE));
	/* One port may happen to look like ours. */
	for (unsigned int port = 1u << 30; port < (1u << 30) + 3 && !quick; port++)
		quick = closed_meanwhile(port);
	EXPECT(quick);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(a_socket_that_is_not_ours_is_closed_at_once),
};

KTAP_MAIN(tests)
