// SPDX-License-Identifier: GPL-2.0
/*
 * Requests by netlink and ioctl(2). Each request is made in each relevant state of the session and
 * the provider, and repeated so that each of its allocations fails once.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "notifications.h"
#include "failnth.h"
#include "fixture.h"
#include "ktap.h"

static uint64_t cgroup;

/* --- preparations, in addition to those of the fixture ------------------------- */

/* A thread that reads the session all the time */
static pthread_t reader;
static atomic_bool reading;

static void *read_on(void *arg)
{
	static char buffer[ASYNCTRACE_READ_MIN];
	ssize_t n;

	(void)arg;
	while (atomic_load(&reading)) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno != EAGAIN)
			ktap_fail("read: %s", strerror(errno));
	}
	return NULL;
}

/* A reader runs during the requests, because an allocation that fails must not disturb it. */
static void ready_and_read(void)
{
	ready_circular();
	fd = raw_open();
	NEED(fd >= 0 && !raw_consume(fd, session) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	atomic_store(&reading, true);
	NEED(!pthread_create(&reader, NULL, read_on, NULL));
}

static void clean_all(void)
{
	if (atomic_exchange(&reading, false))
		pthread_join(reader, NULL);
	clean();
}

static void recorded(void)
{
	started();
	raw_write(&p, 0, 3);
}

static void stopped(void)
{
	recorded();
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session));
}

/* The session is stopped. The reader of an earlier session has not got the provider's names yet. */
static void stopped_with_names(void)
{
	int old;

	provided();
	old = make(ASYNCTRACE_MODE_ONESHOT, 0, ASYNCTRACE_SCHED_OFF);
	NEED(old > 0 && !init_and_start(old));
	put_name();
	fd = raw_open();
	NEED(fd >= 0 && !raw_consume(fd, old));
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_TERMINATE, old));
	session = make(ASYNCTRACE_MODE_ONESHOT, 0, ASYNCTRACE_SCHED_TARGETS);
	NEED(session > 0 && !init_and_start(session));
	NEED(!raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session));
}

/* Puts as many categories as are allowed. */
static void put_known(struct nlmsghdr *nlh)
{
	char name[ASYNCTRACE_CATEGORY_MAX];

	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		struct nlattr *nest = mnl_attr_nest_start(nlh, ASYNCTRACE_A_PROVIDER_KNOWN);

		snprintf(name, sizeof(name), "category %d", i);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_KNOWN_NAME, name);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_KNOWN_DESCRIPTION, "what it is about");
		mnl_attr_nest_end(nlh, nest);
	}
}

static int announce(struct raw_nl *by)
{
	struct nlmsghdr *nlh = raw_nl_begin(by, ASYNCTRACE_CMD_PROVIDER_ANNOUNCE, 0);

	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	put_known(nlh);
	return raw_nl_send(by);
}

static void announced(void)
{
	registered();
	NEED(!announce(&ctl) && !raw_nl_take(&ctl));
}

static void subscribed(void)
{
	recorded();
	NEED(!notification_subscribe(&nl, ALL_KINDS, 0));
}

static void initialized_and_told(void)
{
	initialized_as(ASYNCTRACE_MODE_CIRCULAR);
	NEED(!notification_subscribe(&ctl, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, 0));
}

/* --- requests ------------------------------------------------------------------- */

static int take(void)
{
	return raw_nl_take(&nl);
}

static struct nlmsghdr *begin(uint8_t cmd)
{
	struct nlmsghdr *nlh = raw_nl_begin(&nl, cmd, 0);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, session);
	return nlh;
}

static int ask(uint8_t cmd)
{
	begin(cmd);
	return raw_nl_send(&nl);
}

/* Puts as many names as are allowed, of the greatest length, made of @letter. */
static void put_names(struct nlmsghdr *nlh, uint16_t attr, char letter)
{
	char text[ASYNCTRACE_CATEGORY_MAX + 1] = { 0 };

	memset(text, letter, ASYNCTRACE_CATEGORY_MAX);
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++)
		mnl_attr_put_strz(nlh, attr, text);
}

/* Takes all messages: the kernel makes the later ones when the first have been read. */
static int list(uint8_t cmd)
{
	struct raw_nl *by = &nl;

	/*
	 * If @nl has been used, an earlier dump may have been interrupted there, and the kernel
	 * refuses another dump on that socket. @ctl is not used for dumps.
	 */
	if (nl.seq)
		by = &ctl;
	raw_nl_begin(by, cmd, NLM_F_DUMP);
	if (cmd == ASYNCTRACE_CMD_RING_GET)
		mnl_attr_put_u32(by->request, ASYNCTRACE_A_RING_SESSION, session);
	return raw_nl_ask(by);
}

static int info_get(void)
{
	raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
	return raw_nl_send(&nl);
}

static int provider_register(void)
{
	struct nlmsghdr *nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_REGISTER, 0);

	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, cookie);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, "fail");
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, STRIDE);
	return raw_nl_send(&nl);
}

static int provider_register_by_ioctl(void)
{
	return raw_register(fd, "fail", STRIDE);
}

static int provider_get(void)
{
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, p.id);
	return raw_nl_send(&nl);
}

static int provider_list(void)
{
	return list(ASYNCTRACE_CMD_PROVIDER_GET);
}

static int session_list(void)
{
	return list(ASYNCTRACE_CMD_SESSION_GET);
}

static int ring_list(void)
{
	return list(ASYNCTRACE_CMD_RING_GET);
}

static int category_list(void)
{
	return list(ASYNCTRACE_CMD_CATEGORY_GET);
}

/* Creates a session with attributes of all kinds. */
static int session_create(void)
{
	struct nlmsghdr *nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	struct nlattr *nest;

	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "fail");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_CIRCULAR);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, STRIDE);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_FLAGS, ASYNCTRACE_SESSION_FLAGS_FOLLOW);
	put_names(nlh, ASYNCTRACE_A_SESSION_CATEGORY, 'x');
	put_names(nlh, ASYNCTRACE_A_SESSION_PROVIDER, 'x');
	for (int i = 0; i < ASYNCTRACE_CATEGORIES_MAX; i++) {
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_PID, getpid());
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_USER, getuid());
		if (cgroup)
			mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_CGROUP, cgroup);
		nest = mnl_attr_nest_start(nlh, ASYNCTRACE_A_SESSION_BUFFER);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_BUFFER_PROVIDER, "fail");
		mnl_attr_put_u64(nlh, ASYNCTRACE_A_BUFFER_RING_SIZE, STRIDE);
		mnl_attr_nest_end(nlh, nest);
	}
	return raw_nl_send(&nl);
}

static int session_init(void)
{
	return ask(ASYNCTRACE_CMD_SESSION_INIT);
}

/*
 * The session has the provider, or counts it as refused because an allocation failed. After a
 * start, the session has the provider in any case.
 */
static void provider_or_refused(bool refused)
{
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT(raw_nl_u32(&ctl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS) <= refused);
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_START, session), 0);
	EXPECT(p.control->gate > ASYNCTRACE_GATE_ATTACH);
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT_IS(raw_nl_u32(&ctl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), 0);
}

/*
 * Waits until the provider's threads are recorded. If an allocation for a thread failed, this takes
 * longer, and the session has counted the thread as missed once.
 */
static void traced(bool refused)
{
	struct raw_ledger records = {};

	for (int i = 0; !records.committed && i < 24000; i++) {
		usleep(10000);
		EXPECT_IS(raw_sched_ledger(&ctl, session, &records), 0);
	}
	EXPECT(records.committed);
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT(raw_nl_u64(&ctl, ASYNCTRACE_A_SESSION_THREADS_MISSED) <= refused);
}

/* Waits for the gate, because it opens a moment later if the start clears records. */
static void running(bool refused)
{
	for (int i = 0; p.control->gate <= ASYNCTRACE_GATE_ATTACH && i < 24000; i++)
		usleep(10000);
	EXPECT(p.control->gate > ASYNCTRACE_GATE_ATTACH);
	traced(refused);
}

/* The subscriber is notified of this start, or the next notification reports it lost. */
static void running_and_told(bool refused)
{
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session), 0);
	/* Count now: later requests on this socket would take the messages. */
	EXPECT_IS(events_told(&ctl), 2);
	running(refused);
}

static void shut(bool refused)
{
	(void)refused;
	EXPECT_IS(p.control->gate, ASYNCTRACE_GATE_OFF);
}

/* The running session records the provider that has joined, or counts it as refused. */
static void joined_or_refused(bool refused)
{
	uint32_t id = 0;

	raw_nl_begin(&ctl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&ctl), 0);
	EXPECT_IS(ctl.replies, 1);
	id = raw_nl_attr(&ctl, ASYNCTRACE_A_PROVIDER_STARTED) != NULL;
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT_IS(raw_nl_u32(&ctl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), !id);
	EXPECT(id || refused);
	if (id)
		traced(refused);
}

static int session_start(void)
{
	return ask(ASYNCTRACE_CMD_SESSION_START);
}

static int session_start_additional(void)
{
	put_names(begin(ASYNCTRACE_CMD_SESSION_START), ASYNCTRACE_A_SESSION_ADDITIONAL, 'y');
	return raw_nl_send(&nl);
}

static int session_start_clear(void)
{
	struct nlmsghdr *nlh = begin(ASYNCTRACE_CMD_SESSION_START);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_DISPOSITION,
			 ASYNCTRACE_DISPOSITION_CLEAR_ENTIRE);
	put_names(nlh, ASYNCTRACE_A_SESSION_ADDITIONAL, 'y');
	return raw_nl_send(&nl);
}

static int session_update(void)
{
	put_names(begin(ASYNCTRACE_CMD_SESSION_UPDATE), ASYNCTRACE_A_SESSION_CATEGORY, 'z');
	return raw_nl_send(&nl);
}

static int session_stop(void)
{
	return ask(ASYNCTRACE_CMD_SESSION_STOP);
}

static int session_terminate(void)
{
	return ask(ASYNCTRACE_CMD_SESSION_TERMINATE);
}

static int session_get(void)
{
	return ask(ASYNCTRACE_CMD_SESSION_GET);
}

static int provider_announce(void)
{
	return announce(&nl);
}

static int provider_announce_by_ioctl(void)
{
	static char buf[ASYNCTRACE_CATEGORIES_MAX * 256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct asynctrace_attrs a = { .size = sizeof(a) };

	put_known(nlh);
	a.attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh);
	a.len = mnl_nlmsg_get_payload_len(nlh);
	return raw_ioctl(fd, ASYNCTRACE_IOC_ANNOUNCE, &a);
}

static int subscribe_to(uint32_t kinds, uint32_t to)
{
	struct nlmsghdr *nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SUBSCRIBE, 0);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_KINDS, kinds);
	if (to)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_NOTIFICATION_SESSION, to);
	return raw_nl_send(&nl);
}

static int subscribe(void)
{
	return subscribe_to(ALL_KINDS, 0);
}

static int subscribe_to_one(void)
{
	return subscribe_to(ASYNCTRACE_NOTIFICATION_KINDS_STOPPED, session);
}

static int subscribe_to_none(void)
{
	return subscribe_to(0, 0);
}

/*
 * Tests that the subscription is in effect. It is, even if @refused: fail_every() repeats a request
 * whose answer was lost.
 */
static void told(bool refused)
{
	struct notification note;

	(void)refused;
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session), 0);
	EXPECT_IS(notification_wait(&nl, &note, ASYNCTRACE_NOTIFICATION_KINDS_STOPPED), 0);
	EXPECT_IS(note.session, session);
}

static void not_told(bool refused)
{
	struct notification note;

	(void)refused;
	EXPECT_IS(raw_session_do(&ctl, ASYNCTRACE_CMD_SESSION_STOP, session), 0);
	EXPECT_IS(notification_next(&nl, &note, 20, NULL), -EAGAIN);
}

/* The session ends with its owner's socket. */
static int close_owner(void)
{
	raw_nl_close(&ctl);
	return 0;
}

#define OP(what, before, request, ...) \
	{ .name = #what, .prepare = before, .run = request, .clean = clean_all, __VA_ARGS__ }
#define DO(what, before, request, ...) \
	OP(what, before, request, .take = take, .flags = FAIL_DUMB, ##__VA_ARGS__)
#define QUIET(what, before, request, ...) \
	OP(what, before, request, .take = take, .flags = FAIL_DUMB | FAIL_QUIET, ##__VA_ARGS__)

static const struct fail_op ops[] = {
	DO(info_get, nothing, info_get),
	DO(provider_register, greeted, provider_register),
	QUIET(provider_register_while_a_session_runs, greeted_while_one_runs, provider_register,
	      .check = joined_or_refused),
	OP(provider_register_by_ioctl, opened, provider_register_by_ioctl, .flags = FAIL_DUMB),
	OP(provider_register_by_ioctl_while_a_session_runs, greeted_while_one_runs,
	   provider_register_by_ioctl, .flags = FAIL_DUMB | FAIL_QUIET,
	   .check = joined_or_refused),
	DO(provider_get, provided, provider_get),
	OP(provider_get_all, provided, provider_list),
	DO(provider_announce, registered, provider_announce),
	DO(provider_announce_again, announced, provider_announce),
	OP(provider_announce_by_ioctl, registered, provider_announce_by_ioctl),
	OP(category_get, announced, category_list),
	DO(session_create, nothing, session_create),
	QUIET(session_init, ready, session_init, .check = provider_or_refused),
	QUIET(session_init_circular, ready_circular, session_init, .check = provider_or_refused),
	QUIET(session_init_while_it_is_read, ready_and_read, session_init,
	      .check = provider_or_refused),
	QUIET(session_init_detached, ready_detached, session_init, .check = provider_or_refused),
	OP(session_start_first, initialized, session_start, .take = take, .check = running,
	   .flags = FAIL_DUMB | FAIL_SETTLE),
	DO(session_start_told, initialized_and_told, session_start, .check = running_and_told),
	DO(session_start_additional, initialized, session_start_additional, .check = running),
	DO(session_start_again, stopped, session_start, .check = running),
	DO(session_start_clear, stopped_with_names, session_start_clear, .check = running),
	DO(session_update, ready, session_update),
	DO(session_update_while_it_runs, recorded, session_update),
	DO(session_stop, recorded, session_stop),
	DO(session_terminate, ready, session_terminate, .check = shut),
	DO(session_terminate_while_it_runs, recorded, session_terminate, .check = shut),
	DO(session_terminate_stopped, stopped, session_terminate, .check = shut),
	DO(session_terminate_detached, ready_detached, session_terminate, .check = shut),
	DO(session_get, recorded, session_get),
	OP(session_get_all, recorded, session_list),
	OP(ring_get, recorded, ring_list),
	DO(subscribe, recorded, subscribe, .check = told),
	DO(subscribe_to_one, recorded, subscribe_to_one, .check = told),
	DO(subscribe_to_one_instead, subscribed, subscribe_to_one, .check = told),
	DO(subscribe_no_more, subscribed, subscribe_to_none, .check = not_told),
	OP(the_owner_goes, recorded, close_owner, .flags = FAIL_FREE),
};

static void run(const struct fail_op *op)
{
	struct stat root;

	if (!stat("/sys/fs/cgroup/cgroup.procs", &root) && !stat("/sys/fs/cgroup", &root))
		cgroup = root.st_ino;
	fail_every(op, be_nobody());
}

int main(int argc, char **argv)
{
	return fail_run(ops, sizeof(ops) / sizeof(ops[0]), argc > 1 ? argv[1] : NULL, run);
}
