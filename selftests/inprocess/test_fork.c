// SPDX-License-Identifier: GPL-2.0
/*
 * Children of a process that traces itself
 *
 * A forked child is not in its parent's trace, does not disturb it, and may trace itself. fork()
 * while threads write leaves no lock held. exec and the child of a raw clone without shared memory
 * do not disturb the trace. Also starting and stopping.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/context.h>
#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "sandbox.h"
#include "tape.h"

static void event(int i)
{
	TRACE_ASYNC_INSTANT("fork", "event", 1, "i", TA_INT32(i));
}

static int memory(void)
{
	return memfd_create("trace", MFD_CLOEXEC);
}

static int child_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop(struct at_trace_result *r)
{
	*r = (struct at_trace_result){ .size = sizeof(*r) };
	check(!at_trace_stop(r));
}

static void starting(void)
{
	const struct at_trace_options wrong[] = {
		{ .size = sizeof(wrong[0]), .mode = 4 },
		{ .size = sizeof(wrong[0]), .ring_size = 1 },
		{ .size = sizeof(wrong[0]), .ring_size = 1ull << 31 },
		{ .size = sizeof(wrong[0]), .sub_size = 5000 },
		{ .size = sizeof(wrong[0]), .ring_size = 16384, .sub_size = 16384 },
		{ .size = sizeof(wrong[0]), .name = "" },
		{ .size = 1 },
	};
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory();

	check(at_trace_stop(&r) == -ESRCH);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check(at_trace_start(fd, &wrong[i]) == -EINVAL, "%zu", i);
	for (int i = 0; i < 50; i++) {
		check(!at_trace_start(fd, NULL));
		check(at_trace_start(fd, NULL) == -EBUSY);
		for (int k = 0; k < i; k++)
			event(k);
		stop(&r);
		check(r.delivered == (uint64_t)i && !r.dropped && !r.overwritten);
		event(0);
	}
	check(at_trace_stop(NULL) == -ESRCH);
	close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	check(!at_trace_start(fd, NULL));
	event(1);
	check(at_trace_stop(&r) == -ENOSPC && r.error == -ENOSPC && !r.delivered &&
	      r.unwritten == 1);
	close(fd);
	done("starts_stops_and_wrong_options_are_reported");
}

static void forked(void)
{
	struct at_status_info st = { .size = sizeof(st) };
	struct at_trace_result r;
	int fd = memory();
	pid_t pid;

	check(!at_trace_start(fd, NULL));
	event(0);
	pid = fork();
	if (!pid) {
		int own = memory(), bad;

		event(1);
		bad = TRACE_ENABLED();
		at_status(&st);
		bad |= (st.reason != ASYNCTRACE_REASON_FORKED) << 1;
		bad |= (at_trace_stop(NULL) != -ESRCH) << 2;
		bad |= (at_trace_start(own, NULL) != 0) << 3;
		event(2);
		event(3);
		r = (struct at_trace_result){ .size = sizeof(r) };
		bad |= (at_trace_stop(&r) || r.delivered != 2) << 4;
		exit(bad);
	}
	check(!child_status(pid));
	event(4);
	stop(&r);
	check(r.delivered == 2, "%llu", (unsigned long long)r.delivered);
	close(fd);
	done("forked_child_traces_only_itself");
}

/* A trace of the process itself, and a forked child, before any other thread exists. */
static void I5_salt_is_one_of_process(void)
{
	const uint64_t before = at_flow_id();
	struct at_context c;
	uint64_t in_trace;
	int fd = memory();
	pid_t pid;

	check(!at_trace_start(fd, NULL));
	in_trace = at_flow_id();
	check(in_trace >> 44 == before >> 44 && in_trace != before);
	check(at_control()->salt == before >> 44);
	pid = fork();
	if (!pid)
		_exit(at_flow_id() >> 44 == before >> 44);
	check(!child_status(pid));
	check(!at_trace_stop(NULL));
	check(at_flow_id() >> 44 == before >> 44);
	close(fd);
	done("I5_salt_is_one_of_process");

	/*
	 * Inline functions make ids without a check of the pid. So the kernel must clear the salt
	 * in a child.
	 */
	at_context_init(&c, ASYNCTRACE_ASYNC_USER, NULL);
	check(at_salted_.of.inlined && c.operation.id >> 44 == before >> 44);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		at_context_init(&c, ASYNCTRACE_ASYNC_USER, NULL);
		_exit(c.operation.id >> 44 == before >> 44);
	}
	check(!child_status(pid));
	done("I5_child_of_bare_clone_has_its_own_salt");
}

static bool go_on;

static void *write_on(void *arg)
{
	uint64_t n = 0;

	for (; __atomic_load_n(&go_on, __ATOMIC_RELAXED); n++)
		event(n);
	*(uint64_t *)arg = n;
	return NULL;
}

static int trace_in_child(void)
{
#ifdef __SANITIZE_ADDRESS__
	/*
	 * The sanitizer's allocator is unusable in a forked child of a process with threads: unlike
	 * glibc's, it has no handler of fork(). So this child only does what does not allocate.
	 */
	event(1);
	return TRACE_ENABLED();
#else
	struct at_trace_result r = { .size = sizeof(r) };
	int own = open("/dev/null", O_WRONLY | O_CLOEXEC), bad;

	bad = at_trace_start(own, NULL) != 0;
	event(1);
	return bad | (at_trace_stop(&r) || r.delivered + r.dropped != 1) << 1;
#endif
}

/* Forks at moments at which other threads may hold locks. */
static void forked_amid(void)
{
	const int rounds = scale("FORKS", 100);
	uint64_t written[3], sum = 0;
	struct at_trace_result r;
	pthread_t threads[3];
	int fd = memory();

	check(!at_trace_start(fd, NULL));
	go_on = true;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, write_on, &written[i]);
	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(600);
			_exit(trace_in_child());
		}
		check(!child_status(pid));
	}
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		sum += written[i];
	}
	stop(&r);
	check(r.delivered + r.dropped == sum);
	close(fd);
	done("forks_amid_writers_lose_no_count: %d forks", rounds);
}

static void *stop_trace(void *arg)
{
	stop(arg);
	return NULL;
}

/* Reads from the pipe until all writers have closed it. */
static void *read_all(void *arg)
{
	char buf[4096];

	while (read(*(int *)arg, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

/* Forks while the stop of a trace waits for the reader of a pipe. */
static void fork_amid_stop(uint32_t mode)
{
	const struct at_trace_options o = { .size = sizeof(o), .mode = mode };
	const int events = 20000;	/* the records need more room than the pipe has */
	pthread_t stopper, reader;
	struct at_trace_result r;
	int pair[2], unread;
	pid_t pid;

	check(!pipe(pair));
	check(!at_trace_start(pair[1], &o));
	for (int i = 0; i < events; i++)
		event(i);
	pthread_create(&stopper, NULL, stop_trace, &r);
	/* The stop closes the gate. Wait until the rest of the records fills the pipe. */
	do
		check(!ioctl(pair[0], FIONREAD, &unread));
	while ((TRACE_ENABLED() || unread < 32768) && !sched_yield());
	pid = fork();
	if (!pid)
		_exit(TRACE_ENABLED());
	check(!child_status(pid));
	pthread_create(&reader, NULL, read_all, &pair[0]);
	pthread_join(stopper, NULL);
	close(pair[1]);
	pthread_join(reader, NULL);
	check(r.delivered + r.dropped + r.overwritten == (uint64_t)events && !r.unwritten);
	close(pair[0]);
}

static void forks_amid_stops(void)
{
	alarm(600);
	/* The thread of the trace waits for the reader. */
	fork_amid_stop(ASYNCTRACE_MODE_STREAMING);
	/* The thread that stops the trace waits for the reader, because it reads the rings. */
	fork_amid_stop(ASYNCTRACE_MODE_CIRCULAR);
	alarm(0);
	done("fork_does_not_wait_for_a_stop_on_a_slow_pipe");
}

static int in_vfork(void *arg)
{
	execl(arg, arg, "exit", (char *)NULL);
	_exit(9);
}

static void others(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct at_trace_result r;
	int fd = memory();
	pid_t pid;

	check(!at_trace_start(fd, NULL));
	event(0);
	pid = clone(in_vfork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, "/proc/self/exe");
	check(pid > 0 && !child_status(pid));
	event(1);
	/*
	 * Handlers of pthread_atfork() do not run in this child. So it still writes into the
	 * parent's rings.
	 */
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		for (int i = 0; i < 100; i++)
			event(i);
		_exit(0);
	}
	check(pid > 0 && !child_status(pid));
	event(2);
	stop(&r);
	check(r.delivered == 3 + 100, "%llu", (unsigned long long)r.delivered);
	close(fd);
	done("exec_and_bare_clone_leave_trace_whole");
}

static void status_after_stop(void)
{
	struct at_status_info st = { .size = sizeof(st) };
	int fd = memory();
	pid_t pid = fork();

	if (!pid) {
		int bad = at_trace_start(fd, NULL) != 0;

		event(1);
		at_status(&st);
		bad |= (!st.recording || st.path == ASYNCTRACE_PATH_NONE ||
			st.reason == ASYNCTRACE_REASON_NOT_RECORDED) << 1;
		bad |= (at_trace_stop(NULL) != 0) << 2;
		at_status(&st);
		bad |= (st.recording || st.path != ASYNCTRACE_PATH_NONE ||
			st.reason != ASYNCTRACE_REASON_NOT_RECORDED) << 3;
		bad |= !strstr(at_reason_text(st.reason), "no session records this process") << 4;
		bad |= !strstr(at_reason_text(ASYNCTRACE_REASON_NO_MODULE), "ASYNCTRACE_OUT=") << 5;
		_exit(bad);
	}
	check(!child_status(pid));
	close(fd);
	done("at_status_without_session_is_not_fast_path");
}

/*
 * at_ticks() returns 0 if the prctl(2) came before the thread's first record in the trace and, if
 * not @earlier, before its first at_ticks().
 */
static void *ticks_forbidden(void *arg)
{
	struct at_trace_result r = { .size = sizeof(r) };
	const bool earlier = arg;
	const int fd = memory();
	intptr_t bad;

	bad = earlier && !at_ticks();
	bad |= (at_trace_start(fd, NULL) != 0) << 1;
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	if (earlier)
		event(1);
	bad |= (at_control()->clock == ASYNCTRACE_CLOCK_COUNTER && at_ticks()) << 2;
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	bad |= (at_trace_stop(&r) || r.delivered + r.dropped != earlier) << 3;
	return (void *)bad;
}

static void check_ticks(intptr_t earlier)
{
	const pid_t pid = fork();
	pthread_t fresh;
	void *bad;

	if (!pid) {
		pthread_create(&fresh, NULL, ticks_forbidden, (void *)earlier);
		pthread_join(fresh, &bad);
		_exit((intptr_t)bad);
	}
	check(!child_status(pid), "%d", (int)earlier);
}

static void forbidden(void)
{
	struct at_status_info st = { .size = sizeof(st) };
	struct at_trace_result r;
	int fd, mode;
	pid_t pid;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("# PR_SET_TSC: not tested, because the sanitizer's runtime reads the counter\n");
	return;
#endif
	if (prctl(PR_GET_TSC, &mode, 0, 0, 0)) {
		printf("# PR_SET_TSC: not tested, because this kernel does not have it\n");
		return;
	}
	fd = memory();
	/* If the counter is forbidden before the start, the trace uses another clock. */
	pid = fork();
	if (!pid) {
		int bad;

		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		bad = at_trace_start(fd, NULL) != 0;
		event(1);
		at_status(&st);
		bad |= (st.path != ASYNCTRACE_PATH_FALLBACK ||
			st.reason != ASYNCTRACE_REASON_CLOCK) << 1;
		r = (struct at_trace_result){ .size = sizeof(r) };
		bad |= (at_trace_stop(&r) || r.delivered != 1) << 2;
		_exit(bad);
	}
	check(!child_status(pid));
	/* If the counter is forbidden later, events without a stamp are dropped. */
	pid = fork();
	if (!pid) {
		int bad;

		bad = at_trace_start(fd, NULL) != 0;
		at_status(&st);
		if (st.clock)
			_exit(0);	/* the trace does not use the counter */
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		at_thread.epoch = 0;	/* as in a thread that has not traced yet */
		at_thread.gate = 0;
		event(1);
		at_status(&st);
		bad |= (st.path != ASYNCTRACE_PATH_NONE ||
			st.reason != ASYNCTRACE_REASON_TSC_FORBIDDEN) << 1;
		prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
		r = (struct at_trace_result){ .size = sizeof(r) };
		bad |= (at_trace_stop(&r) || r.delivered || r.dropped != 1) << 2;
		_exit(bad);
	}
	check(!child_status(pid));
	check_ticks(false);
	check_ticks(true);
	close(fd);
	done("forbidden_counter_raises_no_signal");
}

/* Kernels before 6.12 on arm64 do not know PR_GET_TSC. The counter is then allowed. */
static void cannot_be_forbidden(void)
{
	const pid_t pid = fork();

	if (!pid) {
		struct at_status_info st = { .size = sizeof(st) };
		struct at_trace_result r = { .size = sizeof(r) };
		int bad;

		if (sandbox(SYS_prctl, SECCOMP_RET_ERRNO | EINVAL, 0))
			_exit(0);
		bad = at_trace_start(memory(), NULL) != 0;
		errno = 77;
		event(1);
		bad |= (at_counter_forbidden() || errno != 77) << 1;
		at_status(&st);
		bad |= (st.path == ASYNCTRACE_PATH_NONE) << 2;
		bad |= (at_trace_stop(&r) || r.delivered != 1) << 3;
		_exit(bad);
	}
	check(!child_status(pid));
	done("counter_is_allowed_if_PR_GET_TSC_fails");
}

/* Runs in a child. The exit status has a bit for each failed check. */
static int start_with_locked_memory(void)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };
	int fd = memory(), bad;

	/* A privileged process has no limit. In a user namespace without that user, none is. */
	if ((!getuid() && setuid(65534) && errno != EINVAL) || setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    mlockall(MCL_FUTURE))
		return 1;
	bad = (at_trace_start(fd, NULL) != -EAGAIN) << 1;
	event(0);
	bad |= (at_flight_start(0, 0) != -EAGAIN) << 2;
	event(1);
	munlockall();
	bad |= (at_trace_start(fd, NULL) != 0) << 3;
	bad |= (at_trace_stop(NULL) != 0) << 4;
	return bad;
}

static void locked_memory(void)
{
	int status;
	pid_t pid;

	/* A sanitizer maps memory, and fails first. */
	if (SANITIZED)
		return;
	pid = fork();
	if (!pid)
		_exit(start_with_locked_memory());
	status = child_status(pid);
	check(!status, "%#x", status);
	done("start_fails_if_memory_must_not_be_locked");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 0;	/* this process is a program that a child has executed */
	starting();
	I5_salt_is_one_of_process();
	forked();
	forked_amid();
	forks_amid_stops();
	others();
	status_after_stop();
	forbidden();
	cannot_be_forbidden();
	locked_memory();
	return finish();
}
