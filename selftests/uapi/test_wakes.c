// SPDX-License-Identifier: GPL-2.0
/*
 * A request does not itself wake the threads that read a provider's or a session's descriptor, or
 * a subscriber's socket, because a user chooses their number, and the request holds a lock of all
 * users.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktap.h"
#include "notifications.h"
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

/* Reads from a socket until a session has ended. */
static void *read_notifications(void *sub)
{
	struct notification note = { 0 };
	struct raw_nl *nl = sub;

	reader = gettid();
	while (note.kind != ASYNCTRACE_NOTIFICATION_KINDS_TERMINATED)
		/* begin() looks for recv(2), but notification_next() waits in poll(2). */
		if (recv(fd, nl->reply, 1, MSG_PEEK) != 1 ||
		    notification_next(nl, &note, NOTIFICATION_PATIENCE, NULL))
			return NULL;
	return sub;
}

/* --- the trace of its wakeups ----------------------------------------------------- */

/*
 * Starts the reader, which runs @read, and traces who wakes it from the time on when it sleeps in
 * @function.
 */
static void begin(void *(*read)(void *arg), void *arg, const char *function)
{
	char filter[32];

	reader = 0;
	NEED(!pthread_create(&reading, NULL, read, arg));
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
	begin(read_all, NULL, "at_observe_read");
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
	begin(read_all, NULL, "at_session_read");
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	end(&own, &others);
	EXPECT_IS(own, 0);
	EXPECT(others);
	close(fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

static void I18_request_wakes_no_subscriber(void)
{
	static struct raw_nl sub;
	struct epoll_event event = { .events = EPOLLIN };
	int id, epoll = epoll_create1(EPOLL_CLOEXEC);
	unsigned int own, others;

	NEED(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	NEED(!notification_subscribe(&sub, ALL_KINDS, 0));
	fd = mnl_socket_get_fd(sub.socket);
	/* It waits even while the reader does not. */
	NEED(epoll >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	begin(read_notifications, &sub, "netlink_recvmsg");
	id = raw_session(&nl, "wakes", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "wakes");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	while (!raw_sleeps_in(reader, "netlink_recvmsg"))
		usleep(1000);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	end(&own, &others);
	EXPECT_IS(own, 0);
	EXPECT(others);
	close(epoll);
	raw_nl_close(&sub);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(request_wakes_no_observer_itself),
	KTAP_TEST(request_wakes_no_consumer_itself),
	KTAP_TEST(I18_request_wakes_no_subscriber),
};

KTAP_MAIN(tests)
