// SPDX-License-Identifier: GPL-2.0
/*
 * The first macro of a process, which registers the process
 *
 * A thread that is cancelled or killed in this macro leaves no lock held. The macro also works in a
 * sandbox that answers system calls with signals. It calls no function that the program defines.
 * The tests also run without the module.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

#include "../support/sandbox.h"
#include "tape.h"

static bool passed_macro;

static void *cancelled_before(void *arg)
{
	pthread_cancel(pthread_self());
	TRACE_INSTANT("cancel", "first", TRACE_SCOPE_THREAD);
	passed_macro = true;
	pthread_testcancel();
	return arg;
}

/* Runs in a child that has not traced yet. The exit status has a bit for each failed check. */
static int first_macro(void)
{
	pthread_t thread;
	void *result;
	int err, bad;

	alarm(600);
	pthread_create(&thread, NULL, cancelled_before, NULL);
	pthread_join(thread, &result);
	bad = !passed_macro;
	bad |= (result != PTHREAD_CANCELED) << 1;
	/* The call must return, whatever state the cancelled thread left. */
	err = at_provider_register(NULL);
	bad |= (err && err != -ENOENT && err != -EACCES) << 2;
	return bad;
}

static void *cancelled_before_ids(void *arg)
{
	struct at_traceparent t;
	struct at_operation op;

	pthread_cancel(pthread_self());
	TRACE_OPERATION_BEGIN(&op, "cancel", "first");
	at_traceparent_new(&t, op.id);
	passed_macro = true;
	pthread_testcancel();
	return arg;
}

/* The first ids of a process need random numbers. Getting them is no cancellation point. */
static int first_ids(void)
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, cancelled_before_ids, NULL);
	pthread_join(thread, &result);
	return !passed_macro || result != PTHREAD_CANCELED;
}

/* Ids may be made in a signal handler, which must leave errno as it is. */
static int ids_in_a_sandbox(void)
{
	struct at_traceparent t;
	struct at_operation op;
	int bad;

	if (sandbox(SYS_getrandom, SECCOMP_RET_ERRNO | ENOSYS, 0) ||
	    sandbox(SYS_madvise, SECCOMP_RET_ERRNO | EINVAL, 0))
		return 1;
	errno = ERANGE;
	TRACE_OPERATION_BEGIN(&op, "first", "ids");
	bad = (errno != ERANGE) << 1;
	bad |= !op.id << 2;
	errno = ERANGE;
	at_traceparent_new(&t, op.id);
	bad |= (errno != ERANGE) << 3;
	return bad;
}

static void in_child(const char *name, int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(fn());
	check(waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	done("%s", name);
}

static bool go_on;

static void *ask(void *arg)
{
	struct at_observed o = { .size = sizeof(o) };
	struct at_category c = { .name = "cancel", .description = "a test" };

	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		at_provider_register(NULL);
		at_provider_announce(&c, 1);
		at_provider_observe(&o);
		at_provider_fd();
		at_provider_unregister();
		pthread_testcancel();
	}
	return arg;
}

/* Cancels threads at different moments in the functions that ask() calls. */
static int all_functions(void)
{
	const int rounds = scale("CANCELS", 200);
	pthread_t threads[4];

	go_on = true;
	for (int i = 0; i < rounds; i++) {
		alarm(600);
		for (int t = 0; t < 4; t++)
			if (pthread_create(&threads[t], NULL, ask, NULL))
				return 1;
		for (int t = 0; t < 4; t++)
			pthread_cancel(threads[t]);
		for (int t = 0; t < 4; t++)
			pthread_join(threads[t], NULL);
	}
	at_provider_register(NULL);
	at_provider_unregister();
	return 0;
}

static uint32_t trapped;

/* The handler traces in the middle of the registration. */
static void on_sigsys(int sig)
{
	(void)sig;
	trapped++;
	TRACE_INSTANT("first", "trapped", TRACE_SCOPE_THREAD);
}

static int sandbox_traps(void)
{
	const struct sigaction sa = { .sa_handler = on_sigsys };

	alarm(600);
	if (sigaction(SIGSYS, &sa, NULL) || sandbox(SYS_openat, SECCOMP_RET_TRAP, 0))
		return 1;
	TRACE_INSTANT("first", "in a sandbox", TRACE_SCOPE_THREAD);
	return !trapped << 1;
}

static volatile pid_t killed_tid;

static void *killed_in_macro(void *arg)
{
	killed_tid = syscall(SYS_gettid);
	if (!sandbox(SYS_openat, SECCOMP_RET_KILL_THREAD, 0))
		TRACE_INSTANT("first", "killed", TRACE_SCOPE_THREAD);
	return arg;
}

static int thread_killed(void)
{
	pthread_t thread;
	int err;

	alarm(600);
	if (pthread_create(&thread, NULL, killed_in_macro, NULL))
		return 1;
	/*
	 * The C library does not know that the kernel killed the thread: wait until its id is gone.
	 */
	while (!killed_tid || !syscall(SYS_tkill, killed_tid, 0))
		sched_yield();
	err = at_provider_register(NULL);
	return (err && err != -ENOENT && err != -EACCES) << 1;
}

/*
 * A program may replace these functions of the C library by functions that trace. If a macro called
 * such a function, the macro would call itself.
 */
static __thread bool in_macro;
static uint32_t calls;

#define OWN(type, name, nr, params, ...) \
	type name params { calls += in_macro; return (type)syscall(nr, __VA_ARGS__); }

OWN(int, close, SYS_close, (int fd), fd)
OWN(int, socket, SYS_socket, (int d, int t, int p), d, t, p)
OWN(ssize_t, sendto, SYS_sendto, (int fd, const void *b, size_t n, int f,
				  const struct sockaddr *a, socklen_t l), fd, b, n, f, a, l)
OWN(ssize_t, recvfrom, SYS_recvfrom, (int fd, void *restrict b, size_t n, int f,
				      struct sockaddr *restrict a, socklen_t *restrict l),
    fd, b, n, f, a, l)
OWN(void *, mmap, SYS_mmap, (void *a, size_t n, int p, int f, int fd, off_t o), a, n, p, f, fd, o)
OWN(int, munmap, SYS_munmap, (void *a, size_t n), a, n)
OWN(int, madvise, SYS_madvise, (void *a, size_t n, int adv), a, n, adv)
OWN(int, fstat, SYS_fstat, (int fd, struct stat *st), fd, st)

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	calls += in_macro;
	return syscall(SYS_openat, -100, path, flags, mode);
}

static int own_functions(void)
{
	in_macro = true;
	TRACE_INSTANT("first", "own functions", TRACE_SCOPE_THREAD);
	in_macro = false;
	return !!calls;
}

int main(void)
{
	in_child("I20_first_macro_cancelled_thread_leaves_no_lock", first_macro);
	in_child("first_ids_cancelled_thread_gets_ids", first_ids);
	in_child("ids_without_random_numbers_keep_errno", ids_in_a_sandbox);
	in_child("I20_provider_functions_cancelled_leave_no_lock", all_functions);
	in_child("I20_first_macro_in_trapping_sandbox_survives", sandbox_traps);
	in_child("I20_first_macro_killed_thread_leaves_no_lock", thread_killed);
	in_child("I20_first_macro_calls_no_function_of_program", own_functions);
	return finish();
}
