// SPDX-License-Identifier: GPL-2.0
/*
 * Limits on what one user may do to another, and on one user's share of the machine
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define NOBODY	65534
#define ANOTHER	65533
#define STRIDE	(64 * 1024)

static struct raw_nl nl;
static struct raw_provider roots;
static int roots_session;

static int as_nobody(void *arg)
{
	struct raw_provider own;
	struct raw_ledger sum;
	int id, fd;

	(void)arg;
	SO(!raw_nl_open(&nl));
	/* Root's objects are invisible. */
	for (int cmd = ASYNCTRACE_CMD_SESSION_INIT; cmd <= ASYNCTRACE_CMD_SESSION_GET; cmd++) {
		SO(raw_session_do(&nl, cmd, roots_session) == -ENOENT);
		SO(nl.bad == ASYNCTRACE_A_SESSION_ID && nl.text[0]);
	}
	SO(raw_ledger(&nl, roots_session, 0, &sum) == -ENOENT);
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, roots.id);
	SO(raw_nl_ask(&nl) == -ENOENT);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	SO(!raw_nl_ask(&nl) && !nl.replies);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	SO(!raw_nl_ask(&nl) && !nl.replies);
	fd = raw_open();
	SO(fd >= 0 && raw_consume(fd, roots_session) == -ENOENT);
	close(fd);

	/* Scheduling of all tasks is refused; the text says what to do. */
	SO(raw_session(&nl, "all", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_ALL, STRIDE,
		       NULL) == -EPERM);
	SO(nl.bad == ASYNCTRACE_A_SESSION_SCHED && strstr(nl.text, "CAP_PERFMON"));

	/* A session of the user has the user's provider, and not root's. */
	SO(!raw_provider(&own, "own", STRIDE));
	id = raw_session(&nl, "root's", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
			 STRIDE, NULL);
	SO(id > 0);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	SO(own.control->gate > 1);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	SO(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) == 1);
	fd = raw_open();
	SO(fd >= 0 && !raw_consume(fd, id));
	raw_write(&own, 0, 5);
	SO(!raw_ledger(&nl, id, own.id, &sum) && sum.committed == 5);
	return 0;
}

static void begin(void)
{
	NEED(!raw_nl_open(&nl));
	NEED(!raw_provider(&roots, "roots", STRIDE));
	roots_session = raw_session(&nl, "root's", ASYNCTRACE_MODE_ONESHOT,
				    ASYNCTRACE_SCHED_TARGETS, STRIDE, "roots");
	NEED(roots_session > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, roots_session));
}

static void end(void)
{
	raw_provider_end(&roots);
	raw_nl_close(&nl);
}

static void I6_users_do_not_see_each_other(void)
{
	begin();
	EXPECT_IS(raw_child(as_nobody, NULL, NOBODY), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, roots_session), 0);
	EXPECT(roots.control->gate > 1);
	end();
}

/* --- users with capabilities, and root without ---------------------------------------- */

/* Drops all capabilities of the process, except CAP_PERFMON if @perfmon. */
static int have_only(bool perfmon)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { };
	struct __user_cap_data_struct *of = &caps[CAP_TO_INDEX(CAP_PERFMON)];

	if (perfmon)
		of->permitted = of->effective = CAP_TO_MASK(CAP_PERFMON);
	return syscall(SYS_capset, &head, caps);
}

/* A user with CAP_PERFMON sees all objects of others, but reads and changes none. */
static int nobody_with_perfmon(void *arg)
{
	struct raw_ledger sum;
	int id, fd;

	(void)arg;
	SO(!prctl(PR_SET_KEEPCAPS, 1) && !setuid(NOBODY) && !have_only(true));
	SO(!raw_nl_open(&nl));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, roots_session));
	SO(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID) == (uint32_t)roots_session);
	SO(!raw_ledger(&nl, roots_session, roots.id, &sum));
	for (int cmd = ASYNCTRACE_CMD_SESSION_INIT; cmd <= ASYNCTRACE_CMD_SESSION_TERMINATE;
	     cmd++) {
		SO(raw_session_do(&nl, cmd, roots_session) == -EPERM);
		SO(nl.bad == ASYNCTRACE_A_SESSION_ID && strstr(nl.text, "CAP_SYS_ADMIN"));
	}
	fd = raw_open();
	SO(fd >= 0 && raw_consume(fd, roots_session) == -EPERM);
	close(fd);
	/* Scheduling of all tasks, and all providers */
	id = raw_session(&nl, "all", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_ALL, STRIDE,
			 "roots");
	SO(id > 0);
	/* An owner who has lost CAP_PERFMON cannot use a session that was created with it. */
	SO(!have_only(false));
	SO(!raw_nl_open(&nl));
	SO(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id) == -ENOENT);
	return 0;
}

/* Root of a container without a user namespace, for example */
static int root_without_capabilities(void *arg)
{
	struct raw_ledger sum;
	int fd, id;

	(void)arg;
	SO(!have_only(false));
	SO(!raw_nl_open(&nl));
	for (int cmd = ASYNCTRACE_CMD_SESSION_INIT; cmd <= ASYNCTRACE_CMD_SESSION_GET; cmd++) {
		SO(raw_session_do(&nl, cmd, roots_session) == -ENOENT);
		SO(strstr(nl.text, "CAP_PERFMON"));
	}
	SO(raw_ledger(&nl, roots_session, 0, &sum) == -ENOENT);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	SO(!raw_nl_ask(&nl) && !nl.replies);
	fd = raw_open();
	SO(fd >= 0 && raw_consume(fd, roots_session) == -ENOENT);
	close(fd);
	SO(raw_session(&nl, "root's", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "x") == -EEXIST);
	SO(strstr(nl.text, "CAP_PERFMON"));
	/* Root without capabilities can have a session of its own. */
	id = raw_session(&nl, "own", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "x");
	SO(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	return 0;
}

static void I6_seeing_a_session_is_not_controlling_it(void)
{
	begin();
	EXPECT_IS(raw_child(nobody_with_perfmon, NULL, -1), 0);
	end();
}

static void I6_privileged_session_needs_capabilities(void)
{
	begin();
	EXPECT_IS(raw_child(root_without_capabilities, NULL, -1), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, roots_session), 0);
	end();
}

/* A socket that root opened and another user uses has neither root's nor the user's rights. */
static int with_roots_socket(void *arg)
{
	(void)arg;
	return -raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, roots_session);
}

static void I6_socket_of_other_user_gives_no_rights(void)
{
	begin();
	EXPECT_IS(raw_child(with_roots_socket, NULL, NOBODY), EPERM);
	end();
}

/* A cookie is valid only in its process. Returns 0, a positive errno, or 255 without a socket. */
static int register_with_cookie(void *arg)
{
	struct nlmsghdr *nlh;
	struct raw_nl own;

	if (raw_nl_open(&own))
		return 255;
	nlh = raw_nl_begin(&own, ASYNCTRACE_CMD_PROVIDER_REGISTER, 0);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, *(uint64_t *)arg);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, "thief");
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, STRIDE);
	return -raw_nl_ask(&own);
}

static void cookie_belongs_to_one_process(void)
{
	int fd = raw_open();
	uint64_t cookie;

	NEED(fd >= 0 && !raw_hello(fd, &cookie));
	EXPECT_IS(raw_child(register_with_cookie, &cookie, -1), EPERM);
	EXPECT_IS(raw_child(register_with_cookie, &cookie, NOBODY), EPERM);
	EXPECT_IS(register_with_cookie(&cookie), 0);
	EXPECT_IS(register_with_cookie(&cookie), EBUSY);
	close(fd);
}

/* Registers a provider, and lives until the test has written to its pipe or closed it. */
static int only_provider(void *arg)
{
	struct raw_provider own;
	char byte;

	if (raw_provider(&own, "shared", STRIDE) || write(((int *)arg)[1], "x", 1) != 1)
		return 1;
	return read(((int *)arg)[2], &byte, 1) != 1;
}

/* Starts a session of the caller that records providers named "shared". Returns its id, or 0. */
static int record_shared(void)
{
	int id;

	if (raw_nl_open(&nl))
		return 0;
	id = raw_session(&nl, "others", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "shared");
	if (id < 0 || raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id))
		return 0;
	return id;
}

/* Returns 100, and the number of providers that the session records. */
static int recorded_by(int id)
{
	SO(id && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	return raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) + 100;
}

static int record_others(void *arg)
{
	(void)arg;
	return recorded_by(record_shared());
}

/* @uid: the provider's user, or -1 for root. Only root and that user record it. */
static void record_provider_of(int uid)
{
	int pipes[4], status;
	pid_t child;
	char byte;

	NEED(!pipe(pipes) && !pipe(pipes + 2));
	child = fork();
	if (!child) {
		close(pipes[3]);
		_exit(raw_become(uid) || only_provider(pipes));
	}
	close(pipes[1]);
	NEED(read(pipes[0], &byte, 1) == 1);
	EXPECT_IS(raw_child(record_others, NULL, ANOTHER), 100);
	EXPECT_IS(raw_child(record_others, NULL, NOBODY), uid == NOBODY ? 101 : 100);
	EXPECT_IS(raw_child(record_others, NULL, -1), 101);
	NEED(write(pipes[3], "x", 1) == 1);
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	close(pipes[0]);
	close(pipes[2]);
	close(pipes[3]);
}

static void I6_only_root_records_other_users(void)
{
	record_provider_of(-1);
	record_provider_of(NOBODY);
}

/*
 * A provider of NOBODY registers while a session of user *@arg records; -1: of root. Returns what
 * recorded_by() returns.
 */
static int record_late(void *arg)
{
	int pipes[4], id, got, status;
	pid_t child;
	char byte;

	SO(!pipe(pipes) && !pipe(pipes + 2));
	child = fork();
	if (!child) {
		close(pipes[3]);
		_exit(raw_become(NOBODY) || read(pipes[2], &byte, 1) != 1 || only_provider(pipes));
	}
	close(pipes[1]);
	SO(!raw_become(*(int *)arg));
	id = record_shared();
	SO(recorded_by(id) == 100);
	SO(write(pipes[3], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1);
	got = recorded_by(id);
	SO(write(pipes[3], "x", 1) == 1 && waitpid(child, &status, 0) == child && !status);
	return got;
}

static void I6_late_provider_of_other_user_is_foreign(void)
{
	EXPECT_IS(raw_child(record_late, &(int){ ANOTHER }, -1), 100);
	EXPECT_IS(raw_child(record_late, &(int){ NOBODY }, -1), 101);
	EXPECT_IS(raw_child(record_late, &(int){ -1 }, -1), 101);
}

/* --- limits of one user -------------------------------------------------------------- */

#define SESSIONS_MAX	64

/*
 * Creates a session. If the user has too many, tries again: ended sessions count until the kernel
 * has freed them, and no system call waits for that.
 */
static int make_session_soon(const char *name, uint32_t sched, uint64_t ring)
{
	int ret = -EDQUOT;

	for (int i = 0; i < 2400 && ret == -EDQUOT; i++) {
		if (i)
			usleep(100000);
		ret = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, sched, ring, "x");
	}
	return ret;
}

static int make_sessions(void *arg)
{
	char name[16];
	int ret;

	(void)arg;
	SO(!raw_nl_open(&nl));
	for (int i = 0; i < SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		SO(make_session_soon(name, ASYNCTRACE_SCHED_OFF, STRIDE) > 0);
	}
	ret = raw_session(&nl, "one more", ASYNCTRACE_MODE_ONESHOT, 0, STRIDE, "x");
	SO(ret == -EDQUOT && strstr(nl.text, "end some"));
	return 0;
}

static void a_user_has_so_many_sessions(void)
{
	EXPECT_IS(raw_child(make_sessions, NULL, NOBODY), 0);
	/* The sessions ended with their socket. */
	EXPECT_IS(raw_child(make_sessions, NULL, NOBODY), 0);
}

/* An ended session uses memory until its reader is closed, and the memory counts. */
static int take_memory(void *arg)
{
	uint64_t limit, ring, cpus;
	char name[16];
	int fds[3];

	(void)arg;
	SO(!raw_nl_open(&nl));
	SO(!raw_memory_limit(&nl, &limit, &cpus));
	/* One session of this size is within the limit, three are not. */
	for (ring = ASYNCTRACE_RING_MIN; ring * cpus * 3 <= limit; ring *= 2)
		;
	for (int i = 0; i < 3; i++) {
		int id, err;

		snprintf(name, sizeof(name), "%d", i);
		id = make_session_soon(name, ASYNCTRACE_SCHED_TARGETS, ring);
		SO(id > 0);
		err = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id);
		if (err) {
			SO(err == -ENOSPC && strstr(nl.text, "limit"));
			return i ? 0 : 1;
		}
		fds[i] = raw_open();
		SO(fds[i] >= 0 && !raw_consume(fds[i], id));
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	}
	return 2;
}

static void sessions_of_user_share_memory_limit(void)
{
	EXPECT_IS(raw_child(take_memory, NULL, NOBODY), 0);
}

/* Limit of the waits of 10 ms for memory */
#define TURNS	3000

/*
 * Lets a provider join and end in each of three sessions that take more than half of the user's
 * memory. If an ended provider were still charged, the second session would have no room.
 */
static int take_turns(void *arg)
{
	int err, session, tries = 0;
	uint64_t limit, ring, cpus;
	struct raw_provider p;
	char name[16];

	(void)arg;
	SO(!raw_nl_open(&nl));
	SO(!raw_memory_limit(&nl, &limit, &cpus));
	for (ring = ASYNCTRACE_RING_MIN; ring * (cpus + 1) * 2 <= limit; ring *= 2)
		;
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		SO(!raw_provider(&p, name, ring));
		/* The sessions stay, so only the end of their provider can make room. */
		do {
			session = raw_session(&nl, name, ASYNCTRACE_MODE_CIRCULAR,
					      ASYNCTRACE_SCHED_OFF, ring, name);
		} while (session == -EDQUOT && tries++ < TURNS && !usleep(10000));
		SO(session > 0);
		/* A provider, and a session of another test, ends a moment after it is closed. */
		do {
			err = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session);
		} while (err == -ENOSPC && tries++ < TURNS && !usleep(10000));
		SO(!err);
		raw_provider_end(&p);
	}
	return 0;
}

static void I19_ended_provider_makes_room_for_a_session(void)
{
	EXPECT_IS(raw_child(take_turns, NULL, NOBODY), 0);
}

/*
 * Exit status of a child whose provider did not wait for its rings, so that fill() tries again.
 *
 * A provider whose last two sessions have just ended gets no rings before each CPU has run another
 * task. The test keeps this CPU busy, so the provider should wait.
 */
#define NEVER_WAITED	77

static bool waits(const struct raw_provider *p)
{
	return p->control->gate == ASYNCTRACE_GATE_OFF;
}

static int end_two_sessions(const char *provider)
{
	int id[2];

	for (int i = 0; i < 2; i++) {
		id[i] = raw_session(&nl, i ? "second" : "first", ASYNCTRACE_MODE_ONESHOT, 0,
				    ASYNCTRACE_RING_MIN, provider);
		SO(id[i] > 0);
	}
	for (int i = 0; i < 2; i++) {
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id[i]));
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id[i]));
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id[i]));
	}
	return 0;
}

/* Another provider registers. Returns how many providers the session has refused by then. */
static int refused_after_one_more(int id, uint64_t stride)
{
	struct raw_provider more;

	if (raw_provider(&more, "more", stride) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id))
		return -1;
	return raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS);
}

/*
 * A session has as many providers as the limit allows, and one of them waits for its rings. @arg
 * points to true if that provider ends while it waits.
 */
static int fill_while_one_waits(void *arg)
{
	const bool ends = *(bool *)arg;
	struct raw_provider some, one;
	uint64_t limit, ring, cpus;
	int id;

	SO(!raw_nl_open(&nl));
	SO(!raw_memory_limit(&nl, &limit, &cpus));
	for (ring = ASYNCTRACE_RING_MIN; ring * (cpus + 1) * 4 <= limit; ring *= 2)
		;
	/* Two or three providers fit. */
	for (uint64_t n = limit / (ring * (cpus + 1)); n > 1; n--)
		SO(!raw_provider(&some, "some", ring));
	SO(!raw_provider(&one, "one", ring));
	id = raw_session(&nl, "all", ASYNCTRACE_MODE_ONESHOT, 0, ring, NULL);
	SO(id > 0 && !end_two_sessions("one"));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	if (!waits(&one))
		return NEVER_WAITED;
	if (ends) {
		raw_provider_end(&one);
		SO(refused_after_one_more(id, ring) == 0);
		SO(refused_after_one_more(id, ring) == 1);
		return 0;
	}
	SO(refused_after_one_more(id, ring) == 1);
	/* Has the waiting provider got its rings meanwhile? */
	if (!waits(&one))
		return NEVER_WAITED;
	for (int i = 0; i < 2400 && waits(&one); i++)
		usleep(100000);
	SO(!waits(&one));
	SO(refused_after_one_more(id, ring) == 2);
	return 0;
}

static void fill(bool ends)
{
	const struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	/* Use a new user for each attempt, because ended sessions count for a while. */
	static int user = NOBODY;
	int ret = NEVER_WAITED;
	cpu_set_t all, one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(!sched_getaffinity(0, sizeof(all), &all));
	NEED(!sched_setaffinity(0, sizeof(one), &one));
	NEED(!sched_setscheduler(0, SCHED_FIFO, &first));
	for (int i = 0; i < 20 && ret == NEVER_WAITED; i++)
		ret = raw_child(fill_while_one_waits, &ends, --user);
	EXPECT_IS(ret, 0);
	NEED(!sched_setscheduler(0, SCHED_OTHER, &none));
	NEED(!sched_setaffinity(0, sizeof(all), &all));
}

static void provider_waiting_for_rings_is_charged(void)
{
	fill(false);
}

static void ended_waiter_is_not_charged(void)
{
	fill(true);
}

/* --- subordinate users ---------------------------------------------------------------- */

#define SUBORDINATES	3

/* As user @uid of the namespace, makes sessions until one is refused. Returns their number. */
static int make_as_subordinate(int uid, int share)
{
	char name[16];
	int made = 0;

	SO(!setresgid(0, 0, 0) && !setresuid(uid, uid, uid));
	SO(!raw_nl_open(&nl));
	for (; made < share; made++) {
		int err;

		snprintf(name, sizeof(name), "%d", made);
		err = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF, STRIDE,
				  "x");
		if (err < 0)
			return err == -EDQUOT ? made : 255;
	}
	return made;
}

/* Pipes between the most privileged process in the namespace and root outside */
static struct {
	int ready[2], mapped[2];
} space;

/* Each subordinate user keeps its sessions until all have made theirs. */
static int make_in_a_namespace(void *arg)
{
	int made[2], end[2], sum = 0;
	char byte;

	(void)arg;
	SO(!unshare(CLONE_NEWUSER));
	SO(write(space.ready[1], "x", 1) == 1 && read(space.mapped[0], &byte, 1) == 1);
	SO(!pipe(made) && !pipe(end));
	for (int uid = 0; uid < SUBORDINATES; uid++) {
		unsigned char n;

		if (!fork()) {
			n = make_as_subordinate(uid, SESSIONS_MAX / SUBORDINATES + 2);
			SO(write(made[1], &n, 1) == 1);
			close(end[1]);
			_exit(read(end[0], &byte, 1));
		}
		SO(read(made[0], &n, 1) == 1 && n != 255);
		sum += n;
	}
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return sum;
}

static void I19_subordinate_uids_share_their_owners_quota(void)
{
	int status;
	pid_t child;
	char path[64], byte;

	/* Sessions of earlier tests count until they are freed. make_sessions() waits for that. */
	EXPECT_IS(raw_child(make_sessions, NULL, NOBODY), 0);
	NEED(!pipe(space.ready) && !pipe(space.mapped));
	for (int i = 0; i < 2400; i++) {
		child = fork();
		if (!child) {
			if (raw_become(NOBODY))
				_exit(255);
			_exit(make_in_a_namespace(NULL));
		}
		NEED(child > 0 && read(space.ready[0], &byte, 1) == 1);
		snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
		NEED(!raw_put(path, "0 65534 1\n1 100000 8\n"));
		snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
		NEED(!raw_put(path, "0 65534 1\n"));
		NEED(write(space.mapped[1], "x", 1) == 1);
		NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
		/* More than the limit is a failure. Fewer: earlier sessions are not freed yet. */
		if (WEXITSTATUS(status) >= SESSIONS_MAX)
			break;
		usleep(100000);
	}
	EXPECT_IS(WEXITSTATUS(status), SESSIONS_MAX);
	for (int i = 0; i < 2; i++) {
		close(space.ready[i]);
		close(space.mapped[i]);
	}
}

/* --- the tracepoints ---------------------------------------------------------------------- */

#define TRACING		"/sys/kernel/tracing/"
#define REGISTER	TRACING "events/users/register/enable"
#define WORK		TRACING "events/workqueue/workqueue_execute_start/enable"

/* Returns the number of lines in the kernel's trace that contain @word, or -1. */
static int traced(const char *word)
{
	char line[512];
	FILE *f = fopen(TRACING "trace", "r");
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += line[0] != '#' && strstr(line, word);
	return f && !fclose(f) ? n : -1;
}

static void record_once(void)
{
	int id = raw_session(&nl, "once", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
			     STRIDE, "nobody");

	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
}

/*
 * Registering a probe takes locks of the kernel. If the caller ran out of CPU quota meanwhile, all
 * other users would wait for these locks.
 */
static void I18_worker_registers_the_probes(void)
{
	/* A kernel without kprobe events shows only that the worker runs. */
	const bool kprobe = !raw_put(TRACING "kprobe_events",
				     "p:users/register tracepoint_probe_register");

	NEED(!prctl(PR_SET_NAME, "at-starter"));
	NEED(!raw_nl_open(&nl));
	NEED(!raw_put(TRACING "trace", "\n") && !raw_put(WORK, "1"));
	NEED(!kprobe || !raw_put(REGISTER, "1"));
	/* The probes of earlier sessions stay registered for a while. */
	for (int i = 0; i < 600 && !traced("at_register_fn") && !ktap_failed(); i++) {
		record_once();
		if (!traced("at_register_fn"))
			usleep(1500000);
	}
	EXPECT(traced("at_register_fn") > 0);
	if (kprobe) {
		EXPECT(traced("register:") > 0);
		EXPECT_IS(traced("at-starter"), 0);
		NEED(!raw_put(REGISTER, "0"));
		NEED(!raw_put(TRACING "kprobe_events", "-:users/register"));
	}
	NEED(!raw_put(WORK, "0"));
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I6_users_do_not_see_each_other),
	KTAP_TEST(I6_seeing_a_session_is_not_controlling_it),
	KTAP_TEST(I6_privileged_session_needs_capabilities),
	KTAP_TEST(I6_socket_of_other_user_gives_no_rights),
	KTAP_TEST(cookie_belongs_to_one_process),
	KTAP_TEST(I6_only_root_records_other_users),
	KTAP_TEST(I6_late_provider_of_other_user_is_foreign),
	KTAP_TEST(a_user_has_so_many_sessions),
	KTAP_TEST(sessions_of_user_share_memory_limit),
	KTAP_TEST(I19_ended_provider_makes_room_for_a_session),
	KTAP_TEST(provider_waiting_for_rings_is_charged),
	KTAP_TEST(ended_waiter_is_not_charged),
	KTAP_TEST(I19_subordinate_uids_share_their_owners_quota),
	KTAP_TEST(I18_worker_registers_the_probes),
};

KTAP_MAIN(tests)
