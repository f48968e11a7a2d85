// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that runs when it leaves its session is switched out in the session's records. Otherwise
 * it would seem to run on its CPU until the session's next record of that CPU.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define RING	(256 * 1024)
#define PROGRAM	"--leave"

/* Shared by all processes; the zero state is that of the beginning. */
static struct shared {
	atomic_int leaver;	/* the thread that will leave, on CPU 0 */
	atomic_bool go;		/* it may leave */
	atomic_bool taken;	/* root's session has taken it */
	atomic_bool asleep;	/* it has left and sleeps */
	atomic_bool failed;
} *shared;

static struct raw_nl nl;

static bool stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

static void await(const atomic_bool *flag)
{
	while (!atomic_load(flag) && !atomic_load(&shared->failed))
		usleep(1000);
}

/* --- the thread that leaves ------------------------------------------------------------ */

/* Runs until the module's workers have removed the thread, then sleeps until it is killed. */
static int run_and_sleep(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec - begin.tv_sec < 2);
	while (poll(NULL, 0, -1) < 0)
		;
	return 1;
}

static int leave_by_close(struct raw_provider *p)
{
	raw_provider_end(p);
	return run_and_sleep();
}

static int leave_by_exec(struct raw_provider *p)
{
	(void)p;
	execl("/proc/self/exe", "leaver", PROGRAM, NULL);
	return 1;
}

static int leave_to_root(struct raw_provider *p)
{
	(void)p;
	while (!atomic_load(&shared->taken))
		;
	return run_and_sleep();
}

/* Switches often until it may leave, so that the session sees it. */
static int be_traced_and_leave(int (*leave)(struct raw_provider *p))
{
	struct raw_provider p;

	SO(!raw_become(NOBODY) && stay_on(0) && !raw_provider(&p, "leave-a", STRIDE));
	atomic_store(&shared->leaver, getpid());
	await(&shared->go);
	return leave(&p);
}

/* --- the session ----------------------------------------------------------------------- */

static int start(const char *name, const char *provider)
{
	int id = raw_session(&nl, name, ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_TARGETS, RING,
			     provider);

	if (id < 0 || raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) ||
	    raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id))
		return -1;
	return id;
}

/* Reads all there is. @running: thread that runs on CPU 0 by the last switch there */
static void read_switches(int fd, uint64_t *running)
{
	static char buf[ASYNCTRACE_READ_MIN];
	const struct asynctrace_chunk *head = (const void *)buf;

	while (read(fd, buf, sizeof(buf)) > 0) {
		const uint64_t *w = (const void *)(buf + sizeof(*head));
		unsigned int left = head->bytes / 8, words;

		if (head->kind != ASYNCTRACE_CHUNK_SCHED || head->ring)
			continue;
		for (; left && (words = ASYNCTRACE_FXT_WORDS(*w)) && words <= left;
		     w += words, left -= words)
			if (w[0] >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH)
				*running = w[3];
	}
}

/* Runs on CPU 1 as a second provider of the session, so that the session goes on. */
static int watch(void *arg)
{
	uint64_t running = 0, leaver;
	struct raw_provider p;
	int id, fd;

	(void)arg;
	SO(stay_on(1) && !raw_nl_open(&nl) && !raw_provider(&p, "leave-b", STRIDE));
	while (!(leaver = atomic_load(&shared->leaver)) && !atomic_load(&shared->failed))
		usleep(1000);
	id = start("of a user", "leave-*");
	SO(id > 0);
	fd = raw_open();
	SO(fd >= 0 && !raw_consume(fd, id) && !fcntl(fd, F_SETFL, O_NONBLOCK));
	while (running != leaver && !atomic_load(&shared->failed)) {
		read_switches(fd, &running);
		usleep(100);
	}
	atomic_store(&shared->go, true);
	await(&shared->asleep);
	for (int i = 0; running == leaver && i < 3000; i++) {
		usleep(10000);
		read_switches(fd, &running);
	}
	SO(running != leaver);
	close(fd);
	raw_provider_end(&p);
	raw_nl_close(&nl);
	return 0;
}

/* --- tests ----------------------------------------------------------------------------- */

/* Ends a child whose failure the other processes must not wait for. */
static void tell_failure(int failed)
{
	if (failed)
		atomic_store(&shared->failed, true);
	_exit(failed);
}

static void leave(int (*how)(struct raw_provider *p))
{
	pid_t leaver, watcher;
	int status;

	memset(shared, 0, sizeof(*shared));
	leaver = fork();
	NEED(leaver >= 0);
	if (!leaver)
		tell_failure(be_traced_and_leave(how));
	watcher = fork();
	NEED(watcher >= 0);
	if (!watcher)
		tell_failure(raw_child(watch, NULL, NOBODY));
	await(&shared->go);
	/* Leave CPU 0 to the thread, which must be running when it leaves. */
	NEED(stay_on(1) && !raw_nl_open(&nl));
	if (how == leave_to_root)
		NEED(start("of root", "leave-a") > 0);
	atomic_store(&shared->taken, true);
	while (!raw_sleeps_in(leaver, "poll") && !atomic_load(&shared->failed))
		usleep(10000);
	atomic_store(&shared->asleep, true);
	NEED(waitpid(watcher, &status, 0) == watcher);
	EXPECT_IS(status, 0);
	EXPECT(!kill(leaver, SIGKILL) && waitpid(leaver, NULL, 0) == leaver);
	raw_nl_close(&nl);
}

static void thread_that_closes_is_switched_out(void)
{
	leave(leave_by_close);
}

static void thread_that_executes_is_switched_out(void)
{
	leave(leave_by_exec);
}

static void thread_that_root_takes_is_switched_out(void)
{
	leave(leave_to_root);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(thread_that_closes_is_switched_out),
	KTAP_TEST(thread_that_executes_is_switched_out),
	KTAP_TEST(thread_that_root_takes_is_switched_out),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], PROGRAM))
		return run_and_sleep();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
