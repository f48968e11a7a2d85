// SPDX-License-Identifier: GPL-2.0
/* Brings a provider and a session into states before an operation whose allocations fail */
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "notifications.h"
#include "failnth.h"
#include "fixture.h"
#include "ktap.h"

#define NOBODY	65534

struct raw_nl ctl, nl;
struct raw_provider p = { .fd = -1 };
int fd = -1, session;
uint64_t cookie;

static bool detached;

static void open_nl(struct raw_nl *to)
{
	struct timeval limit = { .tv_sec = 240 };

	NEED(!raw_nl_open(to));
	setsockopt(mnl_socket_get_fd(to->socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

struct raw_nl *be_nobody(void)
{
	static struct raw_nl looking;

	fail_need();
	/* raw_become() keeps the process dumpable: children can open their fail-nth in /proc. */
	if (getuid() != NOBODY)
		NEED(!raw_become(NOBODY));
	if (!looking.socket)
		open_nl(&looking);
	return &looking;
}

/* --- states; most functions bring about another state first ---------------------- */

void nothing(void)
{
	session = 0;
	open_nl(&ctl);
	open_nl(&nl);
}

void clean(void)
{
	if (detached)
		raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_TERMINATE, session);
	detached = false;
	if (p.fd >= 0)
		raw_provider_end(&p);
	memset(&p, 0, sizeof(p));
	p.fd = -1;
	if (fd >= 0)
		close(fd);
	fd = -1;
	if (nl.socket)
		raw_nl_close(&nl);
	if (ctl.socket)
		raw_nl_close(&ctl);
}

void opened(void)
{
	nothing();
	fd = raw_open();
	NEED(fd >= 0);
}

void greeted(void)
{
	opened();
	NEED(!raw_hello(fd, &cookie));
}

void greeted_while_one_runs(void)
{
	greeted();
	session = make(ASYNCTRACE_MODE_CIRCULAR, 0, ASYNCTRACE_SCHED_TARGETS);
	NEED(session > 0 && !init_and_start(session));
}

void registered(void)
{
	greeted();
	NEED(raw_register(fd, "fail", STRIDE) > 0);
}

void provided(void)
{
	nothing();
	NEED(!raw_provider(&p, "fail", STRIDE));
}

static void ready_as(uint32_t mode, uint32_t flags, uint32_t sched)
{
	provided();
	session = make(mode, flags, sched);
	NEED(session > 0);
	detached = flags & ASYNCTRACE_SESSION_FLAGS_DETACHED;
}

void ready(void)
{
	ready_as(ASYNCTRACE_MODE_ONESHOT, 0, ASYNCTRACE_SCHED_TARGETS);
}

void ready_circular(void)
{
	ready_as(ASYNCTRACE_MODE_CIRCULAR, 0, ASYNCTRACE_SCHED_TARGETS);
}

void ready_detached(void)
{
	ready_as(ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SESSION_FLAGS_DETACHED,
		 ASYNCTRACE_SCHED_OFF);
}

void initialized_as(uint32_t mode)
{
	ready_as(mode, 0, ASYNCTRACE_SCHED_TARGETS);
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_INIT, session));
}

void initialized(void)
{
	initialized_as(ASYNCTRACE_MODE_ONESHOT);
}

void started_as(uint32_t mode)
{
	initialized_as(mode);
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_START, session));
}

void started(void)
{
	started_as(ASYNCTRACE_MODE_ONESHOT);
}

/* --- steps of the states ----------------------------------------------------------- */

int make(uint32_t mode, uint32_t flags, uint32_t sched)
{
	struct nlmsghdr *nlh = raw_nl_begin(&ctl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	int err;

	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "fail");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, mode);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_SCHED, sched);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_FLAGS, flags);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, STRIDE);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, "fail*");
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, "some*");
	err = raw_nl_ask(&ctl);
	return err ? err : (int)raw_nl_u32(&ctl, ASYNCTRACE_A_SESSION_ID);
}

int init_and_start(int id)
{
	int err = raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_INIT, id);

	return err ? err : raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_START, id);
}

void put_name(void)
{
	volatile uint64_t *line = (volatile uint64_t *)(p.rw + p.control->durable);

	line[ASYNCTRACE_LINE / 8] = ASYNCTRACE_FXT_STRING_HEAD(1, 4);
	line[ASYNCTRACE_LINE / 8 + 1] = 0x656d6f73;	/* "some" */
	line[0] += 2;
}

unsigned int events_told(struct raw_nl *by)
{
	unsigned int n = 0;
	struct notification note;

	while (!notification_next(by, &note, 20, NULL))
		n += 1 + note.lost;
	return n;
}
