// SPDX-License-Identifier: GPL-2.0
/*
 * If sessions of an administrator and of a provider's own user match the provider, it belongs to
 * the administrator's session, even if the user's session was first. So no user can hide a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "notifications.h"
#include "ktap.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define USERS	7		/* records in the user's session */
#define ROOTS	5		/* records in root's session */

static struct raw_nl nl, sub;
static struct notification note;
static int to_user[2], to_root[2];

/* Lets the other process go on: the user's process and root's take turns. */
static int pass(int fd)
{
	return write(fd, "", 1) == 1 ? 0 : -errno;
}

static int wait_turn(int fd)
{
	char c;

	return read(fd, &c, 1) == 1 ? 0 : -errno;
}

static int session(const char *name)
{
	return raw_session(&nl, name, ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF, STRIDE,
			   "contested");
}

static int make(uint8_t cmd, int id)
{
	return raw_session_do(&nl, cmd, id);
}

static int committed(int id, uint32_t provider)
{
	struct raw_ledger sum;
	int err = raw_ledger(&nl, id, provider, &sum);

	return err ?: (int)sum.committed;
}

static int provider_flags(uint32_t id)
{
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, id);
	if (raw_nl_ask(&nl))
		return -1;
	return raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_FLAGS);
}

/* Runs @user in a child, in turns with @root. */
static void in_turns(int (*user)(void *arg), void (*root)(void))
{
	pid_t child;
	int status;

	NEED(!pipe(to_user) && !pipe(to_root));
	child = fork();
	NEED(child >= 0);
	if (!child)
		_exit(raw_child(user, NULL, NOBODY));
	close(to_root[1]);
	NEED(!raw_nl_open(&nl));
	root();
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	raw_nl_close(&nl);
	close(to_root[0]);
	close(to_user[0]);
	close(to_user[1]);
}

static int read_all_of(int id)
{
	static char buf[ASYNCTRACE_READ_MIN];
	int fd = raw_open();
	ssize_t n;

	if (fd < 0 || raw_consume(fd, id) || fcntl(fd, F_SETFL, O_NONBLOCK))
		return -errno;
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	close(fd);
	return errno == EAGAIN ? 0 : -errno;
}

/* --- the user's session is first ----------------------------------------------------------- */

static int loses_a_provider(void *arg)
{
	struct raw_provider p;
	uint32_t gate;
	int id;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	SO(!raw_provider(&p, "contested", STRIDE));
	id = session("of a user");
	SO(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!make(ASYNCTRACE_CMD_SESSION_START, id));
	gate = p.control->gate;
	SO(gate > ASYNCTRACE_GATE_ATTACH);
	raw_write(&p, 0, USERS);
	SO(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, id));

	/* When root initializes a session, nothing changes. */
	SO(!pass(to_root[1]) && !wait_turn(to_user[0]));
	SO(p.control->gate == gate);
	SO(committed(id, p.id) == USERS);

	/* When root starts the session, the session takes the provider. */
	SO(!pass(to_root[1]) && !wait_turn(to_user[0]));
	SO(p.control->gate > ASYNCTRACE_GATE_ATTACH && p.control->gate != gate);
	SO(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	SO(note.kind == ASYNCTRACE_NOTIFICATION_KINDS_STARTED && note.status == EBUSY);
	SO(note.provider == (uint32_t)p.id && note.session == (uint32_t)id);
	SO(provider_flags(p.id) & ASYNCTRACE_PROVIDER_F_HELD);
	raw_write(&p, 0, ROOTS);
	SO(committed(id, p.id) == USERS);

	/*
	 * When root's session has ended, the user's session does not get the provider back, but
	 * keeps its records.
	 */
	SO(!pass(to_root[1]) && !wait_turn(to_user[0]));
	SO(p.control->gate == ASYNCTRACE_GATE_OFF);
	SO(!make(ASYNCTRACE_CMD_SESSION_STOP, id) && !make(ASYNCTRACE_CMD_SESSION_START, id));
	SO(p.control->gate == ASYNCTRACE_GATE_OFF);
	SO(committed(id, p.id) == USERS);

	/*
	 * Reading the session moves its counts to the sums over ended providers. Even then the
	 * session does not get the provider back while the provider lives.
	 */
	SO(!read_all_of(id));
	SO(committed(id, p.id) == 0 && committed(id, 0) == USERS);
	SO(!make(ASYNCTRACE_CMD_SESSION_STOP, id) && !make(ASYNCTRACE_CMD_SESSION_START, id));
	SO(p.control->gate == ASYNCTRACE_GATE_OFF);
	/* The user's session and provider end at the same time. */
	raw_nl_close(&nl);
	raw_provider_end(&p);
	return 0;
}

static void takes_a_provider(void)
{
	int id;

	NEED(!wait_turn(to_root[0]));
	id = session("of root");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!pass(to_user[1]) && !wait_turn(to_root[0]));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!pass(to_user[1]) && !wait_turn(to_root[0]));
	EXPECT_IS(committed(id, 0), ROOTS);
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	NEED(!pass(to_user[1]));
}

static void privileged_start_takes_a_provider_away(void)
{
	in_turns(loses_a_provider, takes_a_provider);
}

/* --- both sessions run when the provider registers ------------------------------------------ */

static int comes_late(void *arg)
{
	struct raw_provider p;
	int id;

	(void)arg;
	SO(!raw_nl_open(&nl));
	id = session("of a user");
	SO(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!make(ASYNCTRACE_CMD_SESSION_START, id));
	SO(!pass(to_root[1]) && !wait_turn(to_user[0]));
	SO(!raw_provider(&p, "contested", STRIDE));
	SO(provider_flags(p.id) & ASYNCTRACE_PROVIDER_F_HELD);
	SO(!committed(id, p.id));

	/*
	 * When root's session has ended, the user's session gets the provider, which it never had.
	 */
	SO(!pass(to_root[1]) && !wait_turn(to_user[0]));
	for (int i = 0; i < 3000 && p.control->gate <= ASYNCTRACE_GATE_ATTACH; i++)
		usleep(10000);
	SO(p.control->gate > ASYNCTRACE_GATE_ATTACH);
	raw_write(&p, 0, USERS);
	SO(committed(id, p.id) == USERS);
	raw_provider_end(&p);
	return 0;
}

static void is_preferred(void)
{
	int id;

	NEED(!wait_turn(to_root[0]));
	id = session("of root");
	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!pass(to_user[1]) && !wait_turn(to_root[0]));
	NEED(!make(ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	NEED(!pass(to_user[1]));
}

static void late_provider_goes_to_the_privileged(void)
{
	in_turns(comes_late, is_preferred);
}

/* --- root's session is first ------------------------------------------------------------- */

static int starts_later(void *arg)
{
	struct raw_provider p;
	uint32_t gate;
	int id;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	SO(!wait_turn(to_user[0]));
	SO(!raw_provider(&p, "contested", STRIDE));
	gate = p.control->gate;
	SO(gate > ASYNCTRACE_GATE_ATTACH);
	id = session("of a user");
	SO(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!notification_subscribe(&sub, ASYNCTRACE_NOTIFICATION_KINDS_STARTED, id));
	SO(!make(ASYNCTRACE_CMD_SESSION_START, id));
	do {
		SO(!notification_next(&sub, &note, NOTIFICATION_PATIENCE, NULL));
	} while (!note.provider);
	SO(note.status == EBUSY && note.provider == (uint32_t)p.id);
	SO(p.control->gate == gate);
	SO(!pass(to_root[1]));
	raw_provider_end(&p);
	return 0;
}

static void keeps_a_provider(void)
{
	int id = session("of root");

	NEED(id > 0 && !make(ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!make(ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!pass(to_user[1]) && !wait_turn(to_root[0]));
}

static void unprivileged_start_takes_nothing_away(void)
{
	in_turns(starts_later, keeps_a_provider);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(privileged_start_takes_a_provider_away),
	KTAP_TEST(late_provider_goes_to_the_privileged),
	KTAP_TEST(unprivileged_start_takes_nothing_away),
};

KTAP_MAIN(tests)
