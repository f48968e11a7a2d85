// SPDX-License-Identifier: GPL-2.0
/*
 * Traced threads: the module's table grows with their number, and each user has a limit
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define NOBODY	65534
#define STRIDE	(1 << 20)
#define LIMIT	"/sys/module/asynctrace/parameters/user_threads"

static struct raw_nl nl;
static struct raw_provider p;
static int pipes[2];

/* Sleeps until the pipe is closed. */
static void *sleeper(void *arg)
{
	char byte;

	(void)arg;
	while (read(pipes[0], &byte, 1) == 1)
		;
	return NULL;
}

static int make_threads(pthread_t *threads, int n)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, sleeper, NULL))
			return 1;
	return 0;
}

static void end_threads(const pthread_t *threads, int n)
{
	close(pipes[1]);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	close(pipes[0]);
}

static int start_over(const char *name, const char *provider)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS, STRIDE,
			     provider);

	if (id < 0 || raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id))
		return -1;
	return id;
}

static int start(const char *name)
{
	return start_over(name, "threads");
}

static uint64_t missed(int session)
{
	if (raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, session))
		return ~0ull;
	return raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_THREADS_MISSED);
}

/* --- the table ----------------------------------------------------------------------- */

#define CROWD	1500	/* the environment variable THREADS_MANY sets a smaller number */

static void each_thread_of_a_crowd_is_traced(void)
{
	static pthread_t threads[CROWD];
	const int crowd = amount("THREADS_MANY", CROWD);
	struct raw_ledger before, after;
	int id;

	NEED(crowd > 0 && crowd <= CROWD);
	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "threads", STRIDE) && !pipe(pipes));
	NEED(!make_threads(threads, crowd));
	id = start("crowd");
	NEED(id > 0);
	EXPECT_IS(missed(id), 0);
	EXPECT_IS(raw_sched_ledger(&nl, id, &before), 0);
	end_threads(threads, crowd);
	EXPECT_IS(raw_sched_ledger(&nl, id, &after), 0);
	/* Each thread has two records: it was woken, and the CPU switched to it. */
	EXPECT(after.committed + after.dropped >= before.committed + before.dropped + 2 * crowd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

/* --- many threads that another session takes over ------------------------------------------- */

#define TAKEN	300

static int to_child[2], to_parent[2];

static bool pass(int fd)
{
	return write(fd, "", 1) == 1;
}

static bool wait_turn(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/* Runs as the unprivileged user, and makes many threads and a session that records them. */
static int crowd_of_a_user(void *arg)
{
	static pthread_t threads[TAKEN];

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "threads", STRIDE) && !pipe(pipes));
	SO(!make_threads(threads, TAKEN));
	SO(start("of a user") > 0);
	SO(pass(to_parent[1]) && wait_turn(to_child[0]));
	end_threads(threads, TAKEN);
	SO(pass(to_parent[1]) && wait_turn(to_child[0]));
	return 0;
}

/*
 * start_without_workers() starts a session while real-time threads keep all CPUs busy, so that the
 * module's workers do not run. @spinning: the threads of all CPUs but the first go on.
 */
static volatile bool spinning;
static volatile int spinners;

static void *spin(void *cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((intptr_t)cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
	__atomic_add_fetch(&spinners, 1, __ATOMIC_SEQ_CST);
	while (spinning)
		;
	return NULL;
}

static int start_without_workers(void)
{
	const int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct sched_param urgent = { .sched_priority = 1 }, normal = { 0 };
	pthread_t others[cpus];
	cpu_set_t before, only;
	int id;

	NEED(!sched_getaffinity(0, sizeof(before), &before));
	CPU_ZERO(&only);
	CPU_SET(0, &only);
	NEED(!sched_setaffinity(0, sizeof(only), &only));
	NEED(!sched_setscheduler(0, SCHED_FIFO, &urgent));
	spinning = true;
	spinners = 0;
	for (intptr_t cpu = 1; cpu < cpus; cpu++)
		NEED(!pthread_create(&others[cpu], NULL, spin, (void *)cpu));
	while (spinners < cpus - 1)
		usleep(1000);
	id = start("of root");
	spinning = false;
	for (int cpu = 1; cpu < cpus; cpu++)
		NEED(!pthread_join(others[cpu], NULL));
	NEED(!sched_setscheduler(0, SCHED_OTHER, &normal));
	NEED(!sched_setaffinity(0, sizeof(before), &before));
	return id;
}

/* Root's session starts before the worker has removed the threads from the user's session. */
static void crowd_is_traced_by_the_session_that_takes_it(void)
{
	struct raw_ledger before, after;
	pid_t child;
	int id, status;

	NEED(!raw_nl_open(&nl) && !pipe(to_child) && !pipe(to_parent));
	child = fork();
	NEED(child >= 0);
	if (!child)
		_exit(raw_child(crowd_of_a_user, NULL, NOBODY));
	NEED(wait_turn(to_parent[0]));
	id = start_without_workers();
	NEED(id > 0);
	EXPECT_IS(missed(id), 0);
	EXPECT_IS(raw_sched_ledger(&nl, id, &before), 0);
	NEED(pass(to_child[1]) && wait_turn(to_parent[0]));
	EXPECT_IS(raw_sched_ledger(&nl, id, &after), 0);
	/* Each thread has two records: it was woken, and the CPU switched to it. */
	EXPECT(after.committed + after.dropped >= before.committed + before.dropped + 2 * TAKEN);
	NEED(pass(to_child[1]) && waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	raw_nl_close(&nl);
}

/* --- names of threads in other processes --------------------------------------------------- */

#define RENAMES	3

/* @state: as in /proc/PID/stat, between spaces */
static bool is_in_state(pid_t pid, const char *state)
{
	char path[32], line[128] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return strstr(line, state);
}

static bool is_asleep(pid_t pid)
{
	return is_in_state(pid, ") S ");
}

static bool is_zombie(pid_t pid)
{
	return is_in_state(pid, ") Z ");
}

static int renames_itself(void *arg)
{
	char name[16];

	(void)arg;
	for (int i = 0; i < RENAMES; i++) {
		SO(wait_turn(to_child[0]));
		snprintf(name, sizeof(name), "renamed-%d", i);
		SO(!prctl(PR_SET_NAME, name));
		/* Wait until the parent sleeps in read(2): only then pass() wakes it. */
		while (!is_asleep(getppid()))
			usleep(1000);
		SO(pass(to_parent[1]));
	}
	return 0;
}

/*
 * Counts the different names that thread @tid gave itself. They may be in any order: each CPU has
 * its own ring for names.
 */
static int names_seen(int fd, int32_t tid)
{
	static char buf[ASYNCTRACE_READ_MIN];
	const struct asynctrace_chunk *chunk = (void *)buf;
	const struct asynctrace_task_name *name = (void *)(buf + sizeof(*chunk));
	bool seen[RENAMES] = { false };
	int nr = 0;

	while (read(fd, buf, sizeof(buf)) > 0) {
		if (chunk->kind != ASYNCTRACE_CHUNK_NAMES)
			continue;
		for (size_t i = 0; i < chunk->bytes / sizeof(*name); i++) {
			unsigned int n;

			if (name[i].tid == tid && sscanf(name[i].comm, "renamed-%u", &n) == 1 &&
			    n < RENAMES)
				seen[n] = true;
		}
	}
	for (int i = 0; i < RENAMES; i++)
		nr += seen[i];
	return errno == EAGAIN ? nr : -1;
}

static void foreign_task_is_named_after_each_rename(void)
{
	int id, fd, status;
	pid_t child;

	NEED(!raw_nl_open(&nl) && !pipe(to_child) && !pipe(to_parent));
	child = fork();
	NEED(child >= 0);
	if (!child)
		_exit(renames_itself(NULL));
	NEED(!raw_provider(&p, "threads", STRIDE));
	id = raw_session(&nl, "renames", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS,
			 STRIDE, "threads");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	     !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	/* The child renames itself and wakes this process, so its names must be recorded. */
	for (int i = 0; i < RENAMES; i++) {
		NEED(pass(to_child[1]));
		NEED(wait_turn(to_parent[0]));
	}
	NEED(waitpid(child, &status, 0) == child);
	EXPECT_IS(status, 0);
	fd = raw_open();
	NEED(fd >= 0 && !raw_consume(fd, id) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_IS(names_seen(fd, child), RENAMES);
	close(fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

/* --- workers of io_uring ----------------------------------------------------------------- */

/* Returns the id of a thread of this process whose name begins with @prefix; 0: none */
static int32_t thread_named(int fd, const char *prefix)
{
	static char buf[ASYNCTRACE_READ_MIN];
	const struct asynctrace_chunk *chunk = (void *)buf;
	const struct asynctrace_task_name *name = (void *)(buf + sizeof(*chunk));

	while (read(fd, buf, sizeof(buf)) > 0) {
		if (chunk->kind != ASYNCTRACE_CHUNK_NAMES)
			continue;
		for (size_t i = 0; i < chunk->bytes / sizeof(*name); i++)
			if (name[i].flags & ASYNCTRACE_TASK_F_PROVIDER && name[i].pid == getpid() &&
			    !strncmp(name[i].comm, prefix, strlen(prefix)))
				return name[i].tid;
	}
	return 0;
}

static int workers, workers_fd;	/* a session, and a descriptor that reads it */

static int record_workers(void)
{
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "threads", STRIDE));
	workers = raw_session(&nl, "workers", ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS,
			      STRIDE, "threads");
	SO(workers > 0);
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, workers));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, workers));
	workers_fd = raw_open();
	SO(workers_fd >= 0 && !raw_consume(workers_fd, workers));
	SO(!fcntl(workers_fd, F_SETFL, O_NONBLOCK));
	return 0;
}

/* Has the kernel begin a thread that polls a ring. Returns its id by the session; 0: none */
static int32_t begin_worker(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };
	int ring = syscall(__NR_io_uring_setup, 1, &params);
	int32_t tid = 0;

	for (int i = 0; ring >= 0 && !tid && i < 1000; i++) {
		tid = thread_named(workers_fd, "iou-sqp");
		usleep(10000);
	}
	close(ring);
	return tid;
}

static void io_uring_worker_is_a_thread_of_its_provider(void)
{
	int32_t tid;

	NEED(!record_workers());
	tid = begin_worker();
	EXPECT(tid > 0 && tid != getpid());
	EXPECT_IS(missed(workers), 0);
	close(workers_fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
}

/* Begins a worker when the main thread has left the module's table. Ends the process. */
static void *outlive_main_thread(void *arg)
{
	(void)arg;
	while (!is_zombie(getpid()))
		usleep(1000);
	/* The module removes ended threads from its table after 50 ms. */
	sleep(1);
	_exit(begin_worker() > 0 && !missed(workers) ? 0 : 2);
}

static int end_main_thread(void *arg)
{
	pthread_t thread;

	(void)arg;
	SO(!record_workers());
	SO(!pthread_create(&thread, NULL, outlive_main_thread, NULL));
	pthread_exit(NULL);
}

static void io_uring_worker_is_traced_without_main_thread(void)
{
	EXPECT_IS(raw_child(end_main_thread, NULL, -1), 0);
}

/* --- the limit ------------------------------------------------------------------------- */

#define MOST	40
#define MORE	25

/* Runs MOST + MORE threads. Returns the number of sessions with a wrong count of missed threads. */
static int beyond_the_limit(void *arg)
{
	int limited = *(int *)arg, id, wrong = 0;
	pthread_t threads[MOST + MORE - 1];

	SO(!raw_nl_open(&nl) && !raw_provider(&p, "threads", STRIDE) && !pipe(pipes));
	SO(!make_threads(threads, MOST + MORE - 1));
	for (int i = 0; i < 3; i++) {
		id = start("limited");
		SO(id > 0);
		wrong += missed(id) != (limited ? MORE : 0);
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	}
	end_threads(threads, MOST + MORE - 1);
	return wrong;
}

static void thread_beyond_limit_is_counted_as_missed(void)
{
	int limited = 1;
	char text[16];

	snprintf(text, sizeof(text), "%d", MOST);
	NEED(!raw_put(LIMIT, text));
	EXPECT_IS(raw_child(beyond_the_limit, &limited, NOBODY), 0);
	limited = 0;
	/* Root has no limit. */
	EXPECT_IS(raw_child(beyond_the_limit, &limited, -1), 0);
	NEED(!raw_put(LIMIT, "16384"));
	EXPECT_IS(raw_child(beyond_the_limit, &limited, NOBODY), 0);
}

/* --- a busy CPU ------------------------------------------------------------------------ */

#define BURST	30
#define BURSTS	4

static void *end_at_once(void *arg)
{
	return arg;
}

static bool stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

/* Runs as root. Ends a traced thread on CPU 1, then keeps this CPU busy with real-time priority. */
static int occupy_cpu(void *arg)
{
	const struct sched_param param = { .sched_priority = 50 };
	pthread_t thread;

	(void)arg;
	SO(!raw_nl_open(&nl) && !raw_provider(&p, "busy", STRIDE));
	SO(start_over("busy", "busy") > 0);
	SO(stay_on(1) && !sched_setscheduler(0, SCHED_FIFO, &param));
	SO(!pthread_create(&thread, NULL, end_at_once, NULL) && !pthread_join(thread, NULL));
	SO(pass(to_parent[1]));
	for (;;)
		;
}

/*
 * Starts and ends threads in bursts, with fewer threads in a burst than the user's limit. Returns
 * the number of threads that the session missed.
 */
static int end_bursts(void *arg)
{
	pthread_t thread[BURST];
	int id;

	(void)arg;
	SO(stay_on(0) && !raw_nl_open(&nl) && !raw_provider(&p, "threads", STRIDE));
	id = start("bursts");
	SO(id > 0);
	for (int i = 0; i < BURSTS; i++) {
		for (int j = 0; j < BURST; j++)
			SO(!pthread_create(&thread[j], NULL, end_at_once, NULL));
		for (int j = 0; j < BURST; j++)
			SO(!pthread_join(thread[j], NULL));
		/* The module removes ended threads from its table after 50 ms. */
		sleep(1);
	}
	return missed(id);
}

/* On PREEMPT_RT, a real-time task also keeps the kernel's timers and softirqs from its CPU. */
static void I18_busy_cpu_keeps_no_ended_threads(void)
{
	char text[16];
	pid_t busy;

	snprintf(text, sizeof(text), "%d", MOST);
	NEED(!raw_put(LIMIT, text) && !pipe(to_parent));
	busy = fork();
	NEED(busy >= 0);
	if (!busy)
		_exit(occupy_cpu(NULL));
	NEED(wait_turn(to_parent[0]));
	EXPECT_IS(raw_child(end_bursts, NULL, NOBODY), 0);
	kill(busy, SIGKILL);
	NEED(waitpid(busy, NULL, 0) == busy);
	NEED(!raw_put(LIMIT, "16384"));
}

static const struct ktap_test tests[] = {
	KTAP_TEST(each_thread_of_a_crowd_is_traced),
	KTAP_TEST(crowd_is_traced_by_the_session_that_takes_it),
	KTAP_TEST(foreign_task_is_named_after_each_rename),
	KTAP_TEST(io_uring_worker_is_a_thread_of_its_provider),
	KTAP_TEST(io_uring_worker_is_traced_without_main_thread),
	KTAP_TEST(thread_beyond_limit_is_counted_as_missed),
	KTAP_TEST(I18_busy_cpu_keeps_no_ended_threads),
};

KTAP_MAIN(tests)
