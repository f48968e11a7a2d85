// SPDX-License-Identifier: GPL-2.0
/*
 * A request does not itself wake the threads that read a provider's or a session's descriptor,
 * because a user chooses their number, and the request holds a lock of all users.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define TRACE	"/sys/kernel/tracing/instances/wakes"
#define WAKING	TRACE "/events/sched/sched_waking"

static struct raw_nl nl;
static struct raw_provider p;

/* --- a thread that reads a descriptor ------------------------------------------- */

static int fd;
static volatile pid_t reader;
static pthread_t reading;

/* Reads until the session or the provider has ended. */
static void *read_all(void *arg)
{
	static char buf[ASYNCTRACE_READ_MIN];

	(void)arg;
	reader = gettid();
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

/* --- the trace of its wakeups ----------------------------------------------------- */

/* Starts the reader, and traces who wakes it from the time on when it sleeps in @function. */
static void begin(const char *function)
{
	char filter[32];

	reader = 0;
	NEED(!pthread_create(&reading, NULL, read_all, NULL));
	while (!reader || !raw_sleeps_in(reader, function))
		usleep(1000);
	NEED(!mkdir(TRACE, 0700));
	snprintf(filter, sizeof(filter), "pid == %d", reader);
	NEED(!raw_put(WAKING "/filter", filter) && !raw_put(WAKING "/enable", "1"));
	while (!raw_sleeps_in(reader, function))
		usleep(1000);
}

/* Waits until the reader has ended. Counts its wakeups by this thread and by other threads. */
static void end(unsigned int *own, unsigned int *others)
{
	char line[512], by[16];
	FILE *trace;

	*own = *others = 0;
	NEED(!pthread_join(reading, NULL));
	NEED(!raw_put(WAKING "/enable", "0"));
	snprintf(by, sizeof(by), "-%d ", gettid());
	trace = fopen(TRACE "/trace", "r");
	NEED(trace);
	while (fgets(line, sizeof(line), trace)) {
		char *event = strstr(line, "sched_waking:");

		if (!event)
			continue;
		*event = 0;
		++*(strstr(line, by) ? own : others);
	}
	fclose(trace);
	NEED(!rmdir(TRACE));
}

static int started(void)
{
	int id = raw_session(&nl, "wakes", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "wakes");

	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return id;
}

/* --- tests -------------------------------------------------------------------------- */

static void request_wakes_no_observer_itself(void)
{
	unsigned int own, others;
	int id;

	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "wakes", STRIDE));
	fd = p.fd;
	begin("at_observe_read");
	id = started();
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	while (!raw_sleeps_in(reader, "at_observe_read"))
		usleep(1000);
	/* The end of the mapping ends the provider. The descriptor stays open. */
	NEED(!munmap(p.rw, p.rw_size));
	p.rw = NULL;
	end(&own, &others);
	EXPECT_IS(own, 0);
	EXPECT(others);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static void request_wakes_no_consumer_itself(void)
{
	unsigned int own, others;
	int id;

	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "wakes", STRIDE));
	id = started();
	fd = raw_open();
	NEED(fd >= 0 && !raw_consume(fd, id));
	begin("at_session_read");
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	end(&own, &others);
	EXPECT_IS(own, 0);
	EXPECT(others);
	close(fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(request_wakes_no_observer_itself),
	KTAP_TEST(request_wakes_no_consumer_itself),
};

KTAP_MAIN(tests)
