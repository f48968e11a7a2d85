// SPDX-License-Identifier: GPL-2.0
/*
 * A process in namespaces for pids, network, mounts and time, which has nothing but a node of the
 * device: providers and sessions work there
 *
 * Ids are those of the reader's namespace. Times are the machine's, whatever the namespace's clocks
 * say.
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "notifications.h"
#include "ktap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define RECORDS	7
/* Seconds by which CLOCK_BOOTTIME is ahead in the namespace: more than a day */
#define AHEAD	100000

/* A check in a child process */
#define SO(what) do {							\
	if (!(what)) {							\
		printf("# %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno)); \
		return 1;						\
	}								\
} while (0)

static struct raw_nl nl, sub;
static struct raw_provider p;

/* Results that processes inside and outside of the namespaces share */
static struct shared {
	int provider;		/* id of the provider inside */
	int tid;		/* id of its thread, inside */
	int outside_pid;
	int64_t ahead;		/* AHEAD in ns; 0: this kernel has no time namespaces */
} *shared;

/* --- reading a session ------------------------------------------------------------- */

/**
 * struct got - a reader's results about one provider
 * @pid: process of the provider
 * @thread: id of the provider's thread
 * @thread_pid: the process of that thread
 * @records: number of records in its rings
 * @from: CLOCK_BOOTTIME of the first record, by the clock pairs of the session
 * @to: CLOCK_BOOTTIME of the last record
 * @switches: switches of the thread @of
 * @foreign: thread ids in the kernel's records that are neither @of nor "other"
 * @strange: names of tasks whose ids are neither @of nor "other"
 */
struct got {
	int pid, thread, thread_pid;
	uint64_t records;
	int64_t from, to;
	uint64_t switches, foreign, strange;
};

static struct asynctrace_clock_pair pairs[2];
static unsigned int nr_pairs;

static int64_t to_boottime(uint64_t ticks)
{
	const struct asynctrace_clock_pair *a = &pairs[0], *b = &pairs[1];
	double rate = 1;

	if (b->ticks != a->ticks)
		rate = (double)(b->boottime - a->boottime) / (b->ticks - a->ticks);
	return (int64_t)a->boottime + (int64_t)(rate * (double)(int64_t)(ticks - a->ticks));
}

static void take_pairs(const struct asynctrace_clock_pair *pair, unsigned int n)
{
	for (; n; n--, pair++)
		pairs[nr_pairs++ ? 1 : 0] = *pair;
}

static bool known(int tid, int of)
{
	return !tid || tid == of || ASYNCTRACE_TID_IS_OTHER(tid);
}

static void take_sched(struct got *g, const uint64_t *w, unsigned int left, int of)
{
	for (unsigned int words; left && (words = ASYNCTRACE_FXT_WORDS(*w)) && words <= left;
	     w += words, left -= words) {
		bool is = w[0] >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH;

		g->switches += is && ((int)w[2] == of || (int)w[3] == of);
		g->foreign += !known(w[2], of) || (is && !known(w[3], of));
	}
}

static void take_chunk(struct got *g, const char *buf, int provider, int of)
{
	const struct asynctrace_chunk *c = (const void *)buf;
	const void *payload = c + 1;
	const struct asynctrace_provider_info *info = payload;
	const struct asynctrace_thread *thread = payload;
	const struct asynctrace_task_name *name = payload;
	const uint64_t *w = payload;

	switch (c->kind) {
	case ASYNCTRACE_CHUNK_CLOCK:
		take_pairs(payload, c->records);
		break;
	case ASYNCTRACE_CHUNK_PROVIDER:
		if ((int)c->provider == provider)
			g->pid = info->pid;
		break;
	case ASYNCTRACE_CHUNK_THREADS:
		if ((int)c->provider != provider)
			break;
		g->thread = thread->tid;
		g->thread_pid = thread->pid;
		break;
	case ASYNCTRACE_CHUNK_NAMES:
		for (unsigned int i = 0; i < c->records; i++)
			g->strange += !known(name[i].tid, of);
		break;
	case ASYNCTRACE_CHUNK_SCHED:
		take_sched(g, w, c->bytes / 8, of);
		break;
	case ASYNCTRACE_CHUNK_EVENTS:
		if ((int)c->provider != provider || !c->bytes)
			break;
		g->records += c->records;
		g->from = to_boottime(w[1]);
		g->to = to_boottime(w[(c->records - 1) * 5 + 1]);
		break;
	}
}

static int take_all(struct got *g, int session, int provider, int of)
{
	static char buf[ASYNCTRACE_READ_MIN];
	int fd = raw_open();
	ssize_t n;

	memset(g, 0, sizeof(*g));
	nr_pairs = 0;
	if (fd < 0 || raw_consume(fd, session))
		return -1;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		take_chunk(g, buf, provider, of);
	close(fd);
	return n;
}

static int begin_session(const char *name, const char *provider)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS,
			     STRIDE, provider);

	if (id > 0 && (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) ||
		       raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id)))
		return -1;
	return id;
}

/* Writes records as the library does, with sleeps between them. */
static void record(void)
{
	volatile uint64_t *words = raw_ring(&p, 0);

	raw_write(&p, 0, RECORDS);
	for (int i = 0; i < RECORDS; i++) {
		words[ASYNCTRACE_SUBBUF_WORDS + i * 5 + 1] = raw_stamp(&p);
		usleep(1000);
	}
}

/* --- inside the namespaces ---------------------------------------------------------- */

/* Makes a root directory that has only the device's node. */
static int only_the_node(const struct stat *node)
{
	char place[] = "/tmp/asynctrace.XXXXXX";

	SO(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	SO(mkdtemp(place) && !mount("none", place, "tmpfs", 0, NULL));
	SO(!chroot(place) && !chdir("/") && !mkdir("/dev", 0755));
	umask(0);
	SO(!mknod("/dev/" ASYNCTRACE_DEVICE, S_IFCHR | 0666, node->st_rdev));
	SO(access("/proc", F_OK) && access("/sys", F_OK));
	return 0;
}

static int set_ahead(void)
{
	char text[64];

	snprintf(text, sizeof(text), "boottime %d 0", AHEAD);
	return raw_put("/proc/self/timens_offsets", text);
}

/* Runs @fn in a process with these namespaces. Returns its result. */
static int in_namespaces(int (*fn)(void *arg), void *arg)
{
	struct stat node;

	SO(!stat("/dev/" ASYNCTRACE_DEVICE, &node));
	shared->ahead = 0;
	if (!unshare(CLONE_NEWTIME)) {
		SO(!set_ahead());
		shared->ahead = AHEAD * 1000000000LL;
	}
	SO(!unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS));
	SO(!only_the_node(&node));
	return raw_child(fn, arg, -1);
}

static int in_namespaces_of(void *arg)
{
	return in_namespaces(arg, NULL);
}

/* --- provider and session inside -------------------------------------------------------- */

static int all_inside(void *arg)
{
	struct got g;
	struct notification note;
	int64_t from, to;
	int session;

	(void)arg;
	SO(getpid() == 1);
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub) && !notification_subscribe(&sub, ALL_KINDS, 0));
	session = begin_session("inside", "in*");
	SO(session > 0 && !raw_provider(&p, "inside", STRIDE));
	SO(!notification_wait(&sub, &note, ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME));
	SO(note.pid == 1 && (int)note.provider == p.id);
	from = raw_boottime() - shared->ahead;
	record();
	to = raw_boottime() - shared->ahead;
	mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, p.id);
	SO(!raw_nl_ask(&nl) && raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_PID) == 1);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
	SO(!take_all(&g, session, p.id, 1));
	printf("# inside, %lld s ahead, clock %u: pid %d, thread %d, %llu records, %llu switches\n",
	       (long long)(shared->ahead / 1000000000), p.control->clock, g.pid, g.thread,
	       (unsigned long long)g.records, (unsigned long long)g.switches);
	SO(g.pid == 1 && g.thread == 1 && g.thread_pid == 1);
	SO(g.records == RECORDS && g.switches > 0 && !g.foreign && !g.strange);
	/*
	 * Compare with the machine's time. A line through two clock pairs may be off by a
	 * hundredth of a second.
	 */
	SO(g.from >= from - 10000000 && g.to <= to + 10000000 && g.from < g.to);
	SO((int64_t)pairs[0].boottime >= from - 10000000000 &&
	   (int64_t)pairs[1].boottime <= raw_boottime() - shared->ahead);
	SO(p.control->clock == ASYNCTRACE_CLOCK_COUNTER ? !p.control->clock_offset :
							  p.control->clock_offset == shared->ahead);
	return 0;
}

static void a_session_in_namespaces_of_its_own(void)
{
	EXPECT_IS(raw_child(in_namespaces_of, all_inside, -1), 0);
	EXPECT(shared->ahead || access("/proc/self/ns/time", F_OK));
}

/* --- a provider inside, a session outside --------------------------------------------------- */

static int pipes[4];

static int provide_inside(void *arg)
{
	char byte;

	(void)arg;
	SO(!raw_provider(&p, "seen", STRIDE));
	shared->tid = syscall(SYS_gettid);
	shared->provider = p.id;
	SO(write(pipes[1], "x", 1) == 1 && read(pipes[2], &byte, 1) == 1);
	record();
	SO(write(pipes[1], "x", 1) == 1 && read(pipes[2], &byte, 1) == 1);
	return 0;
}

/* Returns the pid, outside, of the only child of @parent. */
static int child_of(int parent)
{
	for (int pid = parent + 1; pid < parent + 10000; pid++) {
		char path[64], text[256] = "";
		int fd, of = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text) - 1) > 0)
			sscanf(text, "%*d (%*[^)]) %*c %d", &of);
		close(fd);
		if (of == parent)
			return pid;
	}
	return 0;
}

static void a_provider_in_there_seen_from_outside(void)
{
	int session, status, pid;
	int64_t from, to;
	struct got g;
	pid_t child;
	char byte;

	NEED(!raw_nl_open(&nl) && !pipe(pipes) && !pipe(pipes + 2));
	child = fork();
	if (!child)
		_exit(in_namespaces(provide_inside, NULL));
	NEED(read(pipes[0], &byte, 1) == 1);
	pid = child_of(child);
	EXPECT(pid > 1);
	EXPECT_IS(shared->tid, 1);
	session = begin_session("outside", "seen");
	NEED(session > 0);
	from = raw_boottime();
	NEED(write(pipes[3], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1);
	to = raw_boottime();
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
	NEED(!take_all(&g, session, shared->provider, pid));
	EXPECT_IS(g.pid, pid);
	EXPECT_IS(g.thread, pid);
	EXPECT_IS(g.thread_pid, pid);
	EXPECT_IS(g.records, RECORDS);
	EXPECT(g.switches > 0);
	EXPECT(g.from >= from - 10000000 && g.to <= to + 10000000 && g.from < g.to);
	NEED(write(pipes[3], "x", 1) == 1);
	EXPECT(waitpid(child, &status, 0) == child && !status);
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
	raw_nl_close(&nl);
}

/* --- a provider outside, a session inside ---------------------------------------------- */

static int look_outside(void *arg)
{
	struct notification note;
	int session;
	struct got g;
	char byte;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub) && !notification_subscribe(&sub, ALL_KINDS, 0));
	session = begin_session("from inside", "out there");
	SO(session > 0);
	SO(write(pipes[1], "x", 1) == 1 && read(pipes[2], &byte, 1) == 1);
	SO(!notification_wait(&sub, &note, ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME));
	/* Root may see root's provider, but a process outside the namespace has no id in it. */
	SO(note.pid == 0);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
	SO(!take_all(&g, session, note.provider, -1));
	SO(!g.pid && !g.thread && !g.thread_pid && g.records == RECORDS);
	/* The provider's threads appear as "other". */
	SO(!g.switches && !g.foreign && !g.strange);
	return 0;
}

static void a_provider_out_there_seen_from_inside(void)
{
	pid_t child;
	int status;
	char byte;

	NEED(!pipe(pipes) && !pipe(pipes + 2));
	child = fork();
	if (!child)
		_exit(in_namespaces(look_outside, NULL));
	NEED(read(pipes[0], &byte, 1) == 1);
	NEED(!raw_provider(&p, "out there", STRIDE));
	EXPECT(p.control->gate > ASYNCTRACE_GATE_ATTACH);
	record();
	NEED(write(pipes[3], "x", 1) == 1);
	EXPECT(waitpid(child, &status, 0) == child && !status);
	raw_provider_end(&p);
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
}

/* --- rights in a user namespace give no rights here ------------------------------------------ */

static int with_rights_of_its_own(void *arg)
{
	int session;

	(void)arg;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID)) {
		printf("# a user gets no namespace (%s): root has to set these with sysctl(8):\n"
		       "#   kernel.unprivileged_userns_clone=1 (where there is that)\n"
		       "#   user.max_user_namespaces=100\n", strerror(errno));
		return 1;
	}
	SO(!raw_nl_open(&nl));
	SO(raw_session(&nl, "all", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_ALL, STRIDE,
		       NULL) == -EPERM);
	SO(nl.bad == ASYNCTRACE_A_SESSION_SCHED && strstr(nl.text, "CAP_PERFMON"));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_INFO_GET, 0);
	SO(!raw_nl_ask(&nl) && !raw_nl_attr(&nl, ASYNCTRACE_A_INFO_PRIVILEGED));
	raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	SO(!raw_nl_ask(&nl) && !nl.replies);
	session = begin_session("own", "*");
	SO(session > 0);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session));
	SO(!raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_PROVIDERS));
	return 0;
}

static void rights_in_a_user_namespace_are_none(void)
{
	NEED(!raw_provider(&p, "root's", STRIDE));
	EXPECT_IS(raw_child(with_rights_of_its_own, NULL, NOBODY), 0);
	raw_provider_end(&p);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(a_session_in_namespaces_of_its_own),
	KTAP_TEST(a_provider_in_there_seen_from_outside),
	KTAP_TEST(a_provider_out_there_seen_from_inside),
	KTAP_TEST(rights_in_a_user_namespace_are_none),
};

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
