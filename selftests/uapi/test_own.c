// SPDX-License-Identifier: GPL-2.0
/*
 * A user's own providers and sessions: a user sees and records the processes that ptrace(2) would
 * let the user attach to, which is less than all processes with the user's id
 */
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/genetlink.h>

#include "notifications.h"
#include "ktap.h"

#define NOBODY	65534
#define ANOTHER	65533
#define GROUP	65533
#define STRIDE	(64 * 1024)
#define BIT(cap)	(1ull << (cap))
#define MOST	8

/* A check in a child process */
#define SO(what) do {							\
	if (!(what)) {							\
		printf("# %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno)); \
		return 255;						\
	}								\
} while (0)

/**
 * struct who - changes of a process before it acts
 * @name: name of its provider
 * @uid: real, effective and saved id; 0: the process stays root
 * @gid: real, effective and saved group id
 * @caps: permitted and effective capabilities, if @fewer
 * @fewer: the process has @caps, not all of root's
 * @hidden: the process is undumpable
 * @contained: the process is in a user namespace that it created
 * @given: the process is in a user namespace that root created
 */
struct who {
	const char *name;
	uid_t uid;
	gid_t gid[3];
	uint64_t caps;
	bool fewer, hidden, contained, given;
};

/* Sets the capabilities of the calling thread only. */
static int set_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	return syscall(SYS_capset, &head, data);
}

/* Enters a user namespace of root in which only NOBODY is mapped. */
static int be_given(void)
{
	int made[2], status;
	char path[64], byte;
	pid_t root;

	SO(!pipe(made));
	root = fork();
	if (!root) {
		close(made[1]);
		if (read(made[0], &byte, 1) != 1)
			_exit(1);
		snprintf(path, sizeof(path), "/proc/%d/gid_map", getppid());
		if (raw_put(path, "65534 65534 1"))
			_exit(2);
		snprintf(path, sizeof(path), "/proc/%d/uid_map", getppid());
		_exit(raw_put(path, "65534 65534 1") ? 3 : 0);
	}
	SO(!setgroups(0, NULL) && !unshare(CLONE_NEWUSER) && write(made[1], "x", 1) == 1);
	SO(waitpid(root, &status, 0) == root && !status);
	close(made[0]);
	close(made[1]);
	return 0;
}

static int become(const struct who *who)
{
	SO(!who->given || !be_given());
	SO(who->given || !setgroups(0, NULL));
	SO(!setresgid(who->gid[0], who->gid[1], who->gid[2]));
	SO(!prctl(PR_SET_KEEPCAPS, who->fewer));
	SO(!who->uid || !setresuid(who->uid, who->uid, who->uid));
	SO(!who->contained || !unshare(CLONE_NEWUSER));
	SO(!who->fewer || !set_caps(who->caps));
	/* setresuid(2) has cleared this flag, which exec(2) would set for a program of the user. */
	SO(!prctl(PR_SET_DUMPABLE, !who->hidden));
	return 0;
}

/* --- providers ------------------------------------------------------------------------- */

static const struct who *all;
static unsigned int nr_all;
static int leave[2];

/* Tells the waiting process whether this one has succeeded. Returns 0, or 1 if @err is set. */
static int say(int fd, int err)
{
	SO(write(fd, err ? "!" : "x", 1) == 1 && !err);
	return 0;
}

static bool hear(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1 && byte == 'x';
}

static int provide(const struct who *who, int ready)
{
	struct raw_provider p;
	char byte;

	close(leave[1]);
	SO(!say(ready, become(who) || raw_provider(&p, who->name, STRIDE)));
	return read(leave[0], &byte, 1);
}

/* --- observers ---------------------------------------------------------------------- */

static int listed(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		for (unsigned int i = 0; i < nr_all; i++)
			if (mnl_attr_get_type(attr) == ASYNCTRACE_A_PROVIDER_NAME &&
			    !strcmp(mnl_attr_get_str(attr), all[i].name))
				*(int *)arg |= 1 << i;
	return 0;
}

static int records(struct raw_nl *nl, const char *name)
{
	int id = raw_session(nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS, STRIDE,
			     name);

	SO(id > 0 && !raw_session_do(nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(!raw_session_do(nl, ASYNCTRACE_CMD_SESSION_START, id));
	SO(!raw_session_do(nl, ASYNCTRACE_CMD_SESSION_GET, id));
	return raw_nl_u32(nl, ASYNCTRACE_A_SESSION_PROVIDERS);
}

static int told(struct raw_nl *sub)
{
	struct notification note;
	int seen = 0;

	while (!notification_next(sub, &note, 0, NULL))
		for (unsigned int i = 0; i < nr_all; i++)
			if (!strcmp(note.name, all[i].name))
				seen |= 1 << i;
	return seen;
}

/*
 * Returns a bit for each provider that the caller is notified of, finds in the list, and can
 * record. Fails if these three differ.
 */
static int look(struct raw_nl *nl, struct raw_nl *sub)
{
	int by_event = told(sub), by_list = 0, by_session = 0;

	raw_nl_begin(nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	SO(!raw_nl_each(nl, listed, &by_list));
	for (unsigned int i = 0; i < nr_all; i++) {
		int got = records(nl, all[i].name);

		SO(got == 0 || got == 1);
		by_session |= got << i;
	}
	if (by_event != by_list || by_list != by_session) {
		printf("# told of %#x, listed %#x, recorded %#x\n", by_event, by_list, by_session);
		return 255;
	}
	return by_event;
}

static struct raw_nl nl, sub;

static void *open_poor(void *arg)
{
	(void)arg;
	return (void *)(long)(set_caps(0) || raw_nl_open(&nl) || raw_nl_open(&sub));
}

/* Opens the sockets. @poor: a thread without capabilities opens them. */
static int open_sockets(bool poor)
{
	pthread_t thread;
	void *err;

	if (!poor)
		return raw_nl_open(&nl) || raw_nl_open(&sub);
	SO(!pthread_create(&thread, NULL, open_poor, NULL) && !pthread_join(thread, &err));
	return !!err;
}

static int look_as(const struct who *who, bool poor, int ready, int go)
{
	close(leave[1]);
	SO(!say(ready, become(who) || open_sockets(poor) ||
		       notification_subscribe(&sub,
					      ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME, 0)));
	SO(hear(go));
	return look(&nl, &sub);
}

/* Returns a bit for each new provider that @who sees. */
static int seen_through(const struct who *who, bool poor, const struct who *providers,
			unsigned int count)
{
	int ready[2], go[2], status, seen;
	pid_t looker, provider[MOST];

	all = providers;
	nr_all = count;
	NEED(count < MOST && !pipe(ready) && !pipe(go) && !pipe(leave));
	looker = fork();
	if (!looker)
		_exit(look_as(who, poor, ready[1], go[0]));
	NEED(looker > 0 && hear(ready[0]));
	for (unsigned int i = 0; i < count; i++) {
		provider[i] = fork();
		if (!provider[i])
			_exit(provide(&providers[i], ready[1]));
		NEED(provider[i] > 0 && hear(ready[0]));
	}
	NEED(write(go[1], "x", 1) == 1 && waitpid(looker, &status, 0) == looker);
	seen = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
	close(leave[1]);
	for (unsigned int i = 0; i < count; i++)
		EXPECT(waitpid(provider[i], &status, 0) == provider[i] && !status);
	close(leave[0]);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	return seen;
}

static int seen_by(const struct who *who, const struct who *providers, unsigned int count)
{
	return seen_through(who, false, providers, count);
}

#define SEEN_BY(who, providers) \
	seen_by(who, providers, sizeof(providers) / sizeof((providers)[0]))

/* --- sessions -------------------------------------------------------------------------- */

/* Creates a session, writes its id to @made and waits. The session ends with this process. */
static int have_session(const struct who *who, int made)
{
	char byte;
	int id;

	close(leave[1]);
	SO(!become(who) && !raw_nl_open(&nl));
	id = raw_session(&nl, "own", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF, STRIDE,
			 "own");
	SO(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	SO(write(made, &id, sizeof(id)) == sizeof(id));
	return read(leave[0], &byte, 1);
}

static int is_listed(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == ASYNCTRACE_A_SESSION_ID &&
		    mnl_attr_get_u32(attr) == (uint32_t)((int *)arg)[0])
			((int *)arg)[1]++;
	return 0;
}

/*
 * Checks that @who can get, list, start and stop the session, or nothing of that. Returns 0 if @who
 * may read the session, otherwise the positive errno.
 */
static int try_session(const struct who *who, int id)
{
	int seen[2] = { id }, get, fd;

	SO(!become(who) && !raw_nl_open(&nl));
	get = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id);
	SO(!get || get == -ENOENT);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	SO(!raw_nl_each(&nl, is_listed, seen) && seen[1] == !get);
	SO(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id) == get);
	SO(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id) == get);
	fd = raw_open();
	SO(fd >= 0);
	return -raw_consume(fd, id);
}

/* Returns 0 if @who may read a session of @owner, otherwise the negative errno. */
static int reading_as(const struct who *who, const struct who *owner)
{
	int made[2], status, result, id;
	pid_t has, tries;

	NEED(!pipe(made) && !pipe(leave));
	has = fork();
	if (!has)
		_exit(have_session(owner, made[1]));
	close(made[1]);
	NEED(has > 0 && read(made[0], &id, sizeof(id)) == sizeof(id));
	tries = fork();
	if (!tries)
		_exit(try_session(who, id));
	NEED(tries > 0 && waitpid(tries, &status, 0) == tries);
	result = WIFEXITED(status) ? -WEXITSTATUS(status) : -256 - WTERMSIG(status);
	close(leave[1]);
	EXPECT(waitpid(has, &status, 0) == has && !status);
	close(leave[0]);
	close(made[0]);
	return result;
}

/* --- tests ----------------------------------------------------------------------------- */

#define NOBODYS		.uid = NOBODY, .gid = { NOBODY, NOBODY, NOBODY }

static const struct who nobody = { NOBODYS };
static const struct who perfmon = { NOBODYS, .fewer = true, .caps = BIT(CAP_PERFMON) };

static void I6_undumpable_process_is_only_for_root(void)
{
	static const struct who providers[] = {
		{ "plain", NOBODYS },
		{ "hidden", NOBODYS, .hidden = true },
	};

	EXPECT_IS(SEEN_BY(&nobody, providers), 1);
	EXPECT_IS(SEEN_BY(&perfmon, providers), 3);
}

static void I6_setgid_process_is_not_its_users(void)
{
	static const struct who providers[] = {
		{ "effective", .uid = NOBODY, .gid = { NOBODY, GROUP, NOBODY } },
		{ "saved", .uid = NOBODY, .gid = { NOBODY, NOBODY, GROUP } },
		{ "real", .uid = NOBODY, .gid = { GROUP, NOBODY, NOBODY } },
		{ "thrice", .uid = NOBODY, .gid = { GROUP, GROUP, GROUP } },
		{ "plain", NOBODYS },
	};
	static const struct who group = { .uid = NOBODY, .gid = { GROUP, GROUP, GROUP } };

	EXPECT_IS(SEEN_BY(&nobody, providers), 1 << 4);
	EXPECT_IS(SEEN_BY(&group, providers), 1 << 3);
	EXPECT_IS(SEEN_BY(&perfmon, providers), 0x1f);
}

/* Both processes have the same group and no capabilities: only the user's id differs. */
static void I6_other_users_process_is_only_for_root(void)
{
	static const struct who providers[] = {
		{ "plain", NOBODYS },
		{ "another", .uid = ANOTHER, .gid = { NOBODY, NOBODY, NOBODY } },
	};
	static const struct who root = { .name = "root" };
	const struct who *another = &providers[1];

	EXPECT_IS(SEEN_BY(&nobody, providers), 1);
	EXPECT_IS(SEEN_BY(another, providers), 2);
	EXPECT_IS(SEEN_BY(&perfmon, providers), 3);
	EXPECT_IS(SEEN_BY(&root, providers), 3);
	/* The users do not see each other's sessions, either. */
	EXPECT_IS(reading_as(&nobody, another), -ENOENT);
	EXPECT_IS(reading_as(another, &nobody), -ENOENT);
}

static const struct who roots[] = {
	{ "bare", .fewer = true },
	{ "raw", .fewer = true, .caps = BIT(CAP_NET_RAW) },
	{ .name = "full" },
	{ "nobody's", NOBODYS },
};

static void I6_process_with_more_capabilities_is_hidden(void)
{
	static const struct who perfmon_root = { .fewer = true, .caps = BIT(CAP_PERFMON) };
	static const struct who chown = { .fewer = true, .caps = BIT(CAP_CHOWN) };

	EXPECT_IS(SEEN_BY(&roots[0], roots), 1);
	EXPECT_IS(SEEN_BY(&chown, roots), 1);
	EXPECT_IS(SEEN_BY(&roots[1], roots), 3);
	EXPECT_IS(SEEN_BY(&perfmon_root, roots), 0xf);
	EXPECT_IS(SEEN_BY(&roots[2], roots), 0xf);
}

/*
 * The capabilities of the sender alone must not suffice. Otherwise a user could open a socket and
 * pass it to a privileged program that writes to it.
 */
static void I6_capabilities_of_opener_and_sender_count(void)
{
	EXPECT_IS(seen_through(&roots[1], true, roots, 4), 1);
}

static void I6_namespace_creator_sees_into_it(void)
{
	static const struct who providers[] = {
		{ "plain", NOBODYS },
		{ "contained", NOBODYS, .contained = true },
		{ "given", NOBODYS, .given = true },
	};

	EXPECT_IS(SEEN_BY(&nobody, providers), 3);
	/* A process inside the namespace sees no process outside or in another namespace. */
	EXPECT_IS(SEEN_BY(&providers[1], providers), 0);
}

static const struct who contained = { NOBODYS, .contained = true };
static const struct who given = { NOBODYS, .given = true };

static void namespace_hides_sessions_outside_of_it(void)
{
	EXPECT_IS(reading_as(&nobody, &nobody), 0);
	EXPECT_IS(reading_as(&contained, &nobody), -ENOENT);
	EXPECT_IS(reading_as(&given, &nobody), -ENOENT);
	/* The reader and the owner of the session each create their own namespace. */
	EXPECT_IS(reading_as(&contained, &contained), -ENOENT);
	EXPECT_IS(reading_as(&nobody, &contained), 0);
	EXPECT_IS(reading_as(&nobody, &given), -ENOENT);
}

/* A user may start and stop all sessions of the same user, but may not read all of them. */
static void session_needs_right_to_record_to_be_read(void)
{
	static const struct who group = { .uid = NOBODY, .gid = { GROUP, GROUP, GROUP } };
	static const struct who raw = { NOBODYS, .fewer = true, .caps = BIT(CAP_NET_RAW) };

	EXPECT_IS(reading_as(&nobody, &group), -EPERM);
	EXPECT_IS(reading_as(&group, &nobody), -EPERM);
	EXPECT_IS(reading_as(&group, &group), 0);
	EXPECT_IS(reading_as(&nobody, &raw), -EPERM);
	EXPECT_IS(reading_as(&raw, &nobody), 0);
	EXPECT_IS(reading_as(&perfmon, &group), 0);
	EXPECT_IS(reading_as(&perfmon, &raw), 0);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I6_undumpable_process_is_only_for_root),
	KTAP_TEST(I6_setgid_process_is_not_its_users),
	KTAP_TEST(I6_other_users_process_is_only_for_root),
	KTAP_TEST(I6_process_with_more_capabilities_is_hidden),
	KTAP_TEST(I6_capabilities_of_opener_and_sender_count),
	KTAP_TEST(I6_namespace_creator_sees_into_it),
	KTAP_TEST(namespace_hides_sessions_outside_of_it),
	KTAP_TEST(session_needs_right_to_record_to_be_read),
};

KTAP_MAIN(tests)
