// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cgroups at their limit
 *
 * A provider at its limit is neither killed nor made to reclaim, because its rings are charged to
 * the process that started the session. If the session is at its limit, rings stay without pages,
 * the provider goes on, and every record is accounted for.
 *
 * usage: memcg HONEST [TEST]
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define ROOT	"/sys/fs/cgroup"
#define KIB	1024LL
#define MIB	(1024 * KIB)
#define RING	(1 * MIB)

static const char *honest;
static struct raw_nl nl;

/* --- cgroups ---------------------------------------------------------------------- */

static int put(const char *group, const char *file, const char *fmt, long long value)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), ROOT "%s/%s", group, file);
	snprintf(text, sizeof(text), fmt, value);
	return raw_put(path, text);
}

/* Returns the number at the start of a file, or after @word if that is not NULL; -1 on failure. */
static long long get(const char *group, const char *file, const char *word)
{
	char path[128], text[1024];
	const char *at = text;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), ROOT "%s/%s", group, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = 0;
	if (word) {
		at = strstr(text, word);
		if (!at)
			return -1;
		at += strlen(word);
	}
	return atoll(at);
}

static void make_group(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), ROOT "%s", group);
	put("", "cgroup.subtree_control", "+memory", 0);
	NEED(!mkdir(path, 0755) || errno == EEXIST);
	NEED(get(group, "memory.current", NULL) >= 0);
	put(group, "memory.swap.max", "0", 0);
}

static void remove_group(const char *group)
{
	char path[128];

	put(group, "memory.max", "max", 0);
	snprintf(path, sizeof(path), ROOT "%s", group);
	for (int i = 0; i < 50 && rmdir(path) && errno == EBUSY; i++)
		usleep(20000);
}

/* --- a provider at its limit ---------------------------------------------------------- */

#define ROOM	(192 * KIB)	/* left for page tables, too little for rings */

struct pipes {
	int up[2], down[2];
};

static int provider_at_limit(void *arg)
{
	struct pipes *pipes = arg;
	struct raw_provider p;
	long long max;
	char byte = 0;

	if (put("/at-provider", "cgroup.procs", "%lld", getpid()) ||
	    raw_provider(&p, "memcg", RING))
		return 10;
	/* Leave room for half a megabyte and ROOM. Then use the half megabyte. */
	max = (get("/at-provider", "memory.current", NULL) + MIB / 2 + ROOM) & -4096;
	if (put("/at-provider", "memory.max", "%lld", max))
		return 11;
	while (max - get("/at-provider", "memory.current", NULL) > ROOM) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (page == MAP_FAILED)
			return 12;
	}
	if (write(pipes->up[1], &byte, 1) != 1 || read(pipes->down[0], &byte, 1) != 1)
		return 13;
	/* The provider is recorded from now on, and fills the rings of two CPUs. */
	if (p.control->gate <= ASYNCTRACE_GATE_ATTACH)
		return 14;
	for (uint32_t ring = 0; ring < 2; ring++)
		for (size_t i = 0; i < RING; i += 4096)
			((volatile char *)raw_ring(&p, ring))[i] = 1;
	raw_write(&p, 0, 10);
	raw_write(&p, 1, 10);
	if (write(pipes->up[1], &byte, 1) != 1 || read(pipes->down[0], &byte, 1) != 1)
		return 15;
	raw_provider_end(&p);
	return 0;
}

/* Waits until the child writes a byte. Returns false if it is gone. */
static bool told(struct pipes *pipes)
{
	char byte;

	return read(pipes->up[0], &byte, 1) == 1;
}

static void I7_provider_at_its_limit_pays_no_ring_page(void)
{
	long long provider, starter, reclaims;
	struct raw_ledger sum;
	struct pipes pipes;
	int id, status;
	pid_t child;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ktap_skip("two CPUs are needed");
	make_group("/at-provider");
	make_group("/at-starter");
	NEED(!pipe2(pipes.up, O_CLOEXEC) && !pipe2(pipes.down, O_CLOEXEC));
	child = fork();
	if (!child)
		_exit(provider_at_limit(&pipes));
	close(pipes.up[1]);
	NEED(told(&pipes));

	NEED(!put("/at-starter", "cgroup.procs", "%lld", getpid()));
	NEED(!raw_nl_open(&nl));
	id = raw_session(&nl, "memcg", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS, RING,
			 "memcg");
	NEED(id > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));

	provider = get("/at-provider", "memory.current", NULL);
	starter = get("/at-starter", "memory.current", NULL);
	reclaims = get("/at-provider", "memory.events", "\nmax ");
	NEED(write(pipes.down[1], "x", 1) == 1);
	EXPECT(told(&pipes));

	/* The pages are charged to the starter. */
	EXPECT(get("/at-starter", "memory.current", NULL) - starter >= 2 * RING);
	EXPECT(get("/at-provider", "memory.current", NULL) - provider < ROOM);
	/* The provider never reached its limit. */
	EXPECT_IS(get("/at-provider", "memory.events", "\nmax "), reclaims);
	EXPECT_IS(get("/at-provider", "memory.events", "oom_kill "), 0);
	EXPECT_IS(raw_ledger(&nl, id, 0, &sum), 0);
	EXPECT_IS(sum.committed, 20);
	EXPECT(sum.pages >= 2 * RING / 4096);

	NEED(write(pipes.down[1], "x", 1) == 1);
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	raw_nl_close(&nl);
	put("", "cgroup.procs", "%lld", getpid());
	close(pipes.up[0]);
	close(pipes.down[0]);
	close(pipes.down[1]);
	remove_group("/at-provider");
	remove_group("/at-starter");
}

/* --- a session at its limit --------------------------------------------------------------- */

/*
 * Creates a session that is charged to the group. The process is in the group only during this
 * request, which decides what group is charged.
 */
static int session_in_group(uint64_t ring)
{
	int id;

	make_group("/at-session");
	NEED(!raw_nl_open(&nl));
	NEED(!put("/at-session", "cgroup.procs", "%lld", getpid()));
	id = raw_session(&nl, "memcg", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_OFF, ring,
			 "honest");
	NEED(id > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	NEED(!put("", "cgroup.procs", "%lld", getpid()));
	return id;
}

/* Runs HONEST with @turns turns of its one thread, 3 events each. */
static int run_honest(int turns)
{
	char count[16];
	int status;
	pid_t child = fork();

	if (!child) {
		snprintf(count, sizeof(count), "%d", turns);
		execl(honest, honest, "1", count, NULL);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child)
		return -errno;
	return status;
}

static void I7_session_at_its_limit_drops_and_counts(void)
{
	const int turns = 20000;
	int id = session_in_group(RING);
	/*
	 * The kernel charges memory in batches of at most 256 KiB, and keeps what is left of a
	 * batch for the CPU. So leave one batch for each CPU, and one that the rings use.
	 */
	long long max = get("/at-session", "memory.current", NULL) +
			(sysconf(_SC_NPROCESSORS_ONLN) + 1) * 256 * KIB;
	struct raw_ledger sum;

	max &= -4096;
	NEED(!put("/at-session", "memory.max", "%lld", max));
	EXPECT_IS(run_honest(turns), 0);
	EXPECT_IS(raw_ledger(&nl, id, 0, &sum), 0);
	printf("# %llu committed, %llu dropped\n", (unsigned long long)sum.committed,
	       (unsigned long long)sum.dropped);
	EXPECT_IS(sum.committed + sum.dropped, 3 * turns);
	EXPECT(sum.dropped > 0 && sum.committed > 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id), 0);
	EXPECT(raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_REFUSED) > 0);
	EXPECT_IS(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), 0);
	EXPECT(get("/at-session", "memory.current", NULL) <= max);
	EXPECT_IS(get("/at-session", "memory.events", "oom_kill "), 0);
	raw_nl_close(&nl);
	remove_group("/at-session");
}

static void I7_session_without_memory_gets_no_provider(void)
{
	int id = session_in_group(RING);

	NEED(!put("/at-session", "memory.max", "%lld", 0));
	EXPECT_IS(run_honest(1000), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id), 0);
	EXPECT_IS(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), 1);
	EXPECT_IS(get("/at-session", "memory.events", "oom_kill "), 0);
	raw_nl_close(&nl);
	remove_group("/at-session");
}

/* --- a session that is made to wait ----------------------------------------------------- */

#define LARGE	(16 * MIB)

/*
 * Creates and initializes a session above the limit of its group. The kernel slows the call, or, as
 * Linux 7.3 does, lets the process wait when the call returns.
 */
static int slow_init(void *arg)
{
	long long high;
	int *pipe = arg, id;

	if (put("/at-slow", "cgroup.procs", "%lld", getpid()) || raw_nl_open(&nl))
		return 200;
	id = raw_session(&nl, "slow", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS, LARGE,
			 "nobody");
	high = (get("/at-slow", "memory.current", NULL) + MIB) & -4096;
	if (id <= 0 || put("/at-slow", "memory.high", "%lld", high) ||
	    write(pipe[1], &id, sizeof(id)) != sizeof(id))
		return 201;
	return -raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id);
}

/* Is the process inside a request to the module? */
static bool in_module(pid_t pid)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	NEED(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return strstr(text, "[asynctrace]");
}

static void I18_session_short_of_memory_delays_no_user(void)
{
	int id, pipe[2], status, answer;
	bool inside;
	pid_t child;

	make_group("/at-slow");
	NEED(!pipe2(pipe, O_CLOEXEC));
	child = fork();
	if (!child)
		_exit(slow_init(pipe));
	NEED(read(pipe[0], &id, sizeof(id)) == sizeof(id));
	NEED(!raw_nl_open(&nl));
	for (int i = 0; i < 600 && get("/at-slow", "memory.events", "high ") < 10; i++)
		usleep(10000);
	/*
	 * The process still waits. Other requests succeed. TERMINATE also ends an
	 * initialization that is still running.
	 */
	EXPECT_IS(waitpid(child, &status, WNOHANG), 0);
	inside = in_module(child);
	answer = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id);
	EXPECT(answer == -EBUSY || (answer == -EALREADY && !inside));
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id), 0);
	put("/at-slow", "memory.high", "max", 0);
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT_IS(WEXITSTATUS(status), answer == -EBUSY ? ENOENT : 0);
	raw_nl_close(&nl);
	close(pipe[0]);
	close(pipe[1]);
	remove_group("/at-slow");
}

#define MANY	256
#define SLOW	4096LL		/* memory.high of the group, which uses more: the kernel slows it */
#define ANSWERS	50

/* Do all providers join the session soon? */
static bool all_joined(int id)
{
	for (int i = 0; i < 3000; i++) {
		if (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id))
			return false;
		if (raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS) == MANY)
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Sets the memory limit of the group so low that the kernel slows this process, and makes one
 * request. Writes a byte to @pipe before the request, and another one when all providers have
 * joined the session @into.
 */
static int slow_request(int pipe, uint8_t cmd, int id, int into)
{
	int err;

	if (put("/at-slow", "memory.high", "%lld", SLOW) || write(pipe, "a", 1) != 1)
		return 210;
	err = raw_session_do(&nl, cmd, id);
	if (err)
		return -err;
	return !all_joined(into) || write(pipe, "b", 1) != 1;
}

/*
 * Lets many providers join three sessions in turn: the first when it is initialized, the second
 * when it is started, and the third, which runs already, when the second one ends.
 */
static int slow_providers(int pipe, int go)
{
	int id[3], err;
	char byte;

	if (put("/at-slow", "cgroup.procs", "%lld", getpid()) || raw_nl_open(&nl))
		return 200;
	for (int i = 0; i < MANY; i++)
		if (raw_register(raw_open(), "many", ASYNCTRACE_RING_MIN) < 0)
			return 201;
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "slow 1", "slow 2", "slow 3" };

		id[i] = raw_session(&nl, names[i], ASYNCTRACE_MODE_STREAMING,
				    ASYNCTRACE_SCHED_OFF, ASYNCTRACE_RING_MIN, "many");
		if (id[i] <= 0)
			return 202;
	}
	err = slow_request(pipe, ASYNCTRACE_CMD_SESSION_INIT, id[0], id[0]);
	if (err || read(go, &byte, 1) != 1)
		return err ? err : 203;
	if (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id[1]) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id[0]))
		return 204;
	err = slow_request(pipe, ASYNCTRACE_CMD_SESSION_START, id[1], id[1]);
	if (err || read(go, &byte, 1) != 1)
		return err ? err : 205;
	if (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id[2]) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id[2]))
		return 206;
	err = slow_request(pipe, ASYNCTRACE_CMD_SESSION_TERMINATE, id[1], id[2]);
	if (err || read(go, &byte, 1) != 1)
		return err ? err : 207;
	/* No provider must have been refused. */
	return !all_joined(id[2]) || raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS);
}

/* Has the child written a byte? */
static bool said(int pipe)
{
	struct pollfd fd = { .fd = pipe, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/*
 * Makes requests of another user while the child's slowed request runs. Returns ANSWERS if all were
 * answered before the slowed request ended. Returns 0 if that ended first: then it held the lock
 * while it waited for memory.
 */
static unsigned int answers_in_between(int pipe)
{
	unsigned int n;

	for (n = 0; n < ANSWERS && !said(pipe); n++) {
		raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
		NEED(!raw_nl_ask(&nl));
		usleep(1000);
	}
	return said(pipe) ? 0 : n;
}

/*
 * The memory limit of a user slows three requests: one initializes a session, one starts another
 * session, and one ends a session whose providers then join a third one. Requests of other users
 * are answered meanwhile.
 */
static void I18_cells_short_of_memory_delay_no_user(void)
{
	int up[2], down[2], status;
	long long high;
	char byte = 0;
	pid_t child;

	make_group("/at-slow");
	NEED(!pipe2(up, O_CLOEXEC) && !pipe2(down, O_CLOEXEC));
	child = fork();
	if (!child)
		_exit(slow_providers(up[1], down[0]));
	close(up[1]);
	NEED(!raw_nl_open(&nl));
	for (int i = 0; i < 3; i++) {
		NEED(read(up[0], &byte, 1) == 1 && byte == 'a');
		high = get("/at-slow", "memory.events", "high ");
		/*
		 * The request has begun and is above the limit: it stays there until the limit is
		 * lifted.
		 */
		for (int n = 0; n < 3000 && get("/at-slow", "memory.events", "high ") == high; n++)
			usleep(1000);
		EXPECT(get("/at-slow", "memory.events", "high ") > high);
		EXPECT_IS(answers_in_between(up[0]), ANSWERS);
		put("/at-slow", "memory.high", "max", 0);
		NEED(read(up[0], &byte, 1) == 1 && byte == 'b');
		NEED(write(down[1], "x", 1) == 1);
	}
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	raw_nl_close(&nl);
	close(up[0]);
	close(down[0]);
	close(down[1]);
	remove_group("/at-slow");
}

/* --- providers whose session has ended --------------------------------------------------- */

/**
 * struct owner - an unprivileged user with providers and a session
 * @uid: the user
 * @group: memory cgroup, or NULL
 * @name: name of the providers, and pattern of the session
 * @nr: number of the providers
 * @last: name of one more provider, or NULL
 * @session: out: id of the session
 * @pid: out: the process
 * @pipe: the process ends when the other side is closed
 */
struct owner {
	int uid;
	const char *group, *name;
	int nr;
	const char *last;
	int session;
	pid_t pid;
	int pipe;
};

static int own(const struct owner *o, int up, int down)
{
	char byte;
	int id;

	if ((o->group && put(o->group, "cgroup.procs", "%lld", getpid())) ||
	    setresgid(o->uid, o->uid, o->uid) || setresuid(o->uid, o->uid, o->uid) ||
	    prctl(PR_SET_DUMPABLE, 1) || raw_nl_open(&nl))
		return 200;
	for (int i = 0; i < o->nr; i++)
		if (raw_register(raw_open(), o->name, ASYNCTRACE_RING_MIN) < 0)
			return 201;
	if (o->last && raw_register(raw_open(), o->last, ASYNCTRACE_RING_MIN) < 0)
		return 202;
	id = raw_session(&nl, "owner", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF,
			 ASYNCTRACE_RING_MIN, o->name);
	if (id <= 0 || raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id))
		return 203;
	if (write(up, &id, sizeof(id)) != sizeof(id))
		return 204;
	return read(down, &byte, 1) ? 205 : 0;
}

static void owner_begin(struct owner *o)
{
	int up[2], down[2];

	NEED(!pipe2(up, O_CLOEXEC) && !pipe2(down, O_CLOEXEC));
	o->pid = fork();
	NEED(o->pid >= 0);
	if (!o->pid) {
		close(down[1]);
		_exit(own(o, up[1], down[0]));
	}
	close(up[1]);
	close(down[0]);
	NEED(read(up[0], &o->session, sizeof(o->session)) == sizeof(o->session));
	close(up[0]);
	o->pipe = down[1];
}

static void owner_end(const struct owner *o)
{
	int status;

	close(o->pipe);
	EXPECT(waitpid(o->pid, &status, 0) == o->pid);
	EXPECT_IS(status, 0);
}

static int running(const char *name, const char *pattern)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_OFF,
			     ASYNCTRACE_RING_MIN, pattern);

	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	return id;
}

static unsigned int providers(int id)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	return raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS);
}

/*
 * A session of root ends, and its providers join other sessions. Most of them belong to one user,
 * and the kernel slows their joining that user's session. Meanwhile the provider of another user
 * joins the other user's session, and the slow user's last provider joins another session of root.
 */
static void I18_slow_user_delays_no_vacant_provider(void)
{
	struct owner slow = { .uid = 65534, .group = "/at-slow", .name = "vacant slow", .nr = MANY,
			      .last = "vacant last" };
	struct owner quick = { .uid = 65533, .name = "vacant quick", .nr = 1 };
	unsigned int roots = 0, quicks = 0, slows = 0;
	int first, other;

	make_group("/at-slow");
	NEED(!raw_nl_open(&nl));
	first = running("first", "vacant *");
	owner_begin(&slow);
	owner_begin(&quick);
	other = running("other", "vacant last");
	NEED(providers(first) == MANY + 2);
	NEED(!put("/at-slow", "memory.high", "%lld", SLOW));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, first));
	while ((!roots || !quicks) && slows < MANY) {
		usleep(1000);
		slows = providers(slow.session);
		roots = providers(other);
		quicks = providers(quick.session);
	}
	printf("# %u of the slow user's providers have joined\n", slows);
	EXPECT(slows < MANY);
	EXPECT_IS(roots, 1);
	EXPECT_IS(quicks, 1);
	put("/at-slow", "memory.high", "max", 0);
	/* Each of the slow user's providers joins in the end. */
	EXPECT(all_joined(slow.session));
	EXPECT_IS(raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS), 0);
	/* End quick first, because it was forked later and has a copy of the pipe of slow. */
	owner_end(&quick);
	owner_end(&slow);
	raw_nl_close(&nl);
	remove_group("/at-slow");
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I7_provider_at_its_limit_pays_no_ring_page),
	KTAP_TEST(I7_session_at_its_limit_drops_and_counts),
	KTAP_TEST(I7_session_without_memory_gets_no_provider),
	KTAP_TEST(I18_session_short_of_memory_delays_no_user),
	KTAP_TEST(I18_cells_short_of_memory_delay_no_user),
	KTAP_TEST(I18_slow_user_delays_no_vacant_provider),
};

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	honest = argv[1];
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 2 ? argv[2] : NULL);
}
