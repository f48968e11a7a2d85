// SPDX-License-Identifier: GPL-2.0
/*
 * fork_prog SCENE: a program that forks in various ways, for test_children.sh
 *
 * Each process that writes events numbers them from 0. At its end it prints a line with its process
 * ID and their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/flight.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#define CHILDREN	20
#define EVENTS		1000
#define THREADS		8

extern char **environ;

/* Fills most of a small stack. */
__thread char local_memory[250000];

static int written;

static void event(void)
{
	const int i = __atomic_fetch_add(&written, 1, __ATOMIC_RELAXED);

	TRACE_INSTANT("fork", "event", TRACE_SCOPE_THREAD, "i", TA_INT32(i));
}

static void events(int n)
{
	while (n--)
		event();
}

/* Prints what test_children.sh expects in the file of this process. */
static void report(void)
{
	char line[32];
	const int n = snprintf(line, sizeof(line), "%d %d\n", getpid(), written);

	if (write(STDOUT_FILENO, line, n) != n)
		abort();
}

static void end(void)
{
	report();
	exit(0);
}

/* Returns true in the child, which has written no event yet. */
static bool child(void)
{
	const pid_t pid = fork();

	if (pid < 0)
		abort();
	if (!pid)
		written = 0;
	return !pid;
}

/* Waits for all children. Returns 1 if one has failed. */
static int children_failed(void)
{
	int status, failed = 0;

	while (wait(&status) > 0)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status);
	return failed;
}

/* --- scenes: each returns in the parent only --------------------------------------------- */

static void many(void)
{
	char c;
	int go[2];

	if (pipe(go))
		abort();
	for (int i = 0; i < CHILDREN; i++) {
		if (!child())
			continue;
		close(go[1]);
		if (read(go[0], &c, 1))
			abort();
		events(EVENTS);
		end();
	}
	close(go[0]);
	close(go[1]);
}

/* Each second generation writes no event. */
static void generations(int n)
{
	const bool silent = n % 2;
	int failed;

	if (!n || !child())
		return;
	if (!silent)
		events(EVENTS);
	generations(n - 1);
	failed = children_failed();
	if (!silent)
		report();
	exit(failed);
}

/* The file has the directory of the start, although daemon(3) changes it. */
static void demon(void)
{
	if (child()) {
		if (daemon(false, true))
			abort();
		events(EVENTS);
		end();
	}
}

/* Children that leave no file */
static void silent(void)
{
	char *const argv[] = { "true", NULL };

	if (child())
		_exit(0);
	if (child())
		exit(0);
	if (child())
		exit(execv("/bin/true", argv));
	if (child()) {
		char *const none[] = { NULL };

		exit(execve("/bin/true", argv, none));
	}
}

/* The end of a scope of the parent is no event of the child. */
static void scope(void)
{
	bool forked;

	{
		TRACE_DURATION("fork", "open");
		forked = child();
	}
	if (forked)
		exit(0);
	{
		TRACE_DURATION("fork", "open");
		forked = child();
		if (forked)
			events(EVENTS);
	}
	if (forked)
		end();
}

/*
 * Lets the threads of a scene begin. Only then may the scene fork: a thread that starts may hold
 * locks of an older address sanitizer, and a child would find them locked.
 */
static pthread_barrier_t barrier;

static bool go_on = true;

/* Writes so slowly that no event is lost. */
static void *write_on(void *arg)
{
	const struct timespec moment = { .tv_nsec = 500000 };

	pthread_barrier_wait(&barrier);
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		events(10);
		nanosleep(&moment, NULL);
	}
	return arg;
}

static void amid(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, write_on, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < CHILDREN; i++) {
		if (child()) {
			events(EVENTS);
			end();
		}
	}
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *write_some(void *arg)
{
	pthread_barrier_wait(&barrier);
	events(EVENTS);
	return arg;
}

/* The first events of a child are in several threads at once. */
static void threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < CHILDREN; i++) {
		if (!child())
			continue;
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (int k = 0; k < THREADS; k++)
			pthread_create(&t[k], NULL, write_some, NULL);
		for (int k = 0; k < THREADS; k++)
			pthread_join(t[k], NULL);
		end();
	}
}

static void handler(int sig)
{
	(void)sig;
	event();
}

static void *idle(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

/*
 * The first event is in a signal handler that has interrupted malloc(3), free(3) or the start. Half
 * of the children have created threads before, which have taken the stacks of the parent's threads.
 */
static void handlers(void)
{
	const struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	const struct itimerval never = { .it_value.tv_usec = 0 };
	pthread_t thread;

	signal(SIGALRM, handler);
	for (int i = 0; i < CHILDREN; i++) {
		if (!child())
			continue;
		pthread_barrier_init(&barrier, NULL, THREADS + 1);
		for (int k = 0; k < THREADS && i % 2; k++)
			pthread_create(&thread, NULL, idle, NULL);
		if (i % 2)
			pthread_barrier_wait(&barrier);
		setitimer(ITIMER_REAL, &often, NULL);
		while (__atomic_load_n(&written, __ATOMIC_RELAXED) < 50)
			for (volatile int k = 0; k < 100; k++)
				free(malloc(k * 50));
		events(EVENTS);
		setitimer(ITIMER_REAL, &never, NULL);
		end();
	}
}

/* The program has another environment and directory when it forks. */
static void changed(void)
{
	for (char **e = environ; *e; e++)
		memset(*e, 'x', strlen(*e));
	clearenv();
	setenv("ASYNCTRACE_OUT", "wrong.%p.fxt", 1);
	setenv("ASYNCTRACE_CATEGORIES", "wrong", 1);
	setenv("ASYNCTRACE_MODE", "wrong", 1);
	setenv("ASYNCTRACE_NAME", "wrong", 1);
	if (chdir("/"))
		abort();
	if (child()) {
		TRACE_INSTANT("not recorded", "event", TRACE_SCOPE_THREAD);
		events(EVENTS);
		end();
	}
}

static void *stop(void *arg)
{
	pthread_barrier_wait(&barrier);
	at_trace_stop(NULL);
	return arg;
}

/* Children forked before the stop are traced, later ones are not. */
static void stopped(void)
{
	pthread_t thread;

	report();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, stop, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < CHILDREN; i++) {
		if (child()) {
			events(EVENTS);
			exit(0);
		}
	}
	pthread_join(thread, NULL);
	if (child()) {
		events(EVENTS);
		exit(TRACE_ENABLED());
	}
	exit(children_failed());
}

/* Children that begin with another function of the library */
static void others(void)
{
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (child()) {
		struct at_trace_result r = { .size = sizeof(r) };
		bool failed = at_trace_start(fd, NULL);

		events(5);
		failed |= at_trace_stop(&r) || r.delivered != 5;
		failed |= at_trace_start(fd, NULL) || at_trace_start(fd, NULL) != -EBUSY;
		events(5);
		failed |= at_trace_stop(NULL);
		events(5);
		exit(failed);
	}
	if (child()) {
		at_provider_register(NULL);
		events(EVENTS);
		end();
	}
	if (child()) {
		if (at_flight_start(0, 0))
			abort();
		events(EVENTS);
		end();
	}
	if (child()) {
		struct at_status_info st = { .size = sizeof(st) };

		at_status(&st);
		if (st.recording || st.reason != ASYNCTRACE_REASON_UNREGISTERED || !TRACE_ENABLED())
			abort();
		events(EVENTS);
		end();
	}
}

/* A child that stops its trace before its first event has no file, and its children have none. */
static void unwanted(void)
{
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (child()) {
		struct at_trace_result r = { .size = sizeof(r), .error = 1, .delivered = 1 };
		bool failed = at_trace_stop(&r) || r.error || r.delivered;

		if (child()) {
			events(EVENTS);
			exit(TRACE_ENABLED());
		}
		events(EVENTS);
		failed |= TRACE_ENABLED() || at_trace_stop(&r) != -ESRCH;
		failed |= at_trace_start(fd, NULL);
		events(5);
		failed |= at_trace_stop(&r) || r.delivered != 5;
		exit(failed | children_failed());
	}
}

/* A child of clone(2) without the C library is not traced: it cannot create a thread. */
static void cloned(void)
{
	if (child()) {
		if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
			events(EVENTS);
			_exit(0);
		}
		if (children_failed())
			abort();
		events(EVENTS);
		end();
	}
}

/* The library's records of the last 50 ms are lost, as in the parent. */
static void abrupt(void)
{
	const struct timespec wait = { .tv_sec = 1 };

	if (child()) {
		events(EVENTS);
		nanosleep(&wait, NULL);
		report();
		_exit(0);
	}
}

static void nowhere(void)
{
	if (rename("d", "e"))
		abort();
	for (int i = 0; i < 2; i++) {
		if (child()) {
			events(EVENTS);
			exit(TRACE_ENABLED());
		}
	}
}

static void taken(void)
{
	char name[32];

	if (child()) {
		snprintf(name, sizeof(name), "t.%d.fxt", getpid());
		if (dprintf(open(name, O_WRONLY | O_CREAT, 0666), "precious\n") < 0)
			abort();
		events(EVENTS);
		end();
	}
}

static void *change_user(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++)
		if (setuid(getuid()))
			abort();
	return arg;
}

/* The first event is in one thread while others call setuid(2), which stops all threads. */
static void users(void)
{
	pthread_t t[3];

	for (int i = 0; i < CHILDREN; i++) {
		if (!child())
			continue;
		alarm(60);
		pthread_barrier_init(&barrier, NULL, 4);
		for (int k = 0; k < 3; k++)
			pthread_create(&t[k], NULL, change_user, NULL);
		pthread_barrier_wait(&barrier);
		events(EVENTS);
		for (int k = 0; k < 3; k++)
			pthread_join(t[k], NULL);
		end();
	}
}

/* The message about the file does not delay the first event. */
static void full(void)
{
	char page[4096] = "";
	int p[2];

	if (!child())
		return;
	if (pipe2(p, O_NONBLOCK))
		abort();
	while (write(p[1], page, sizeof(page)) > 0)
		;
	if (fcntl(p[1], F_SETFL, 0) || dup2(p[1], STDERR_FILENO) < 0)
		abort();
	events(EVENTS);
	while (read(p[0], page, sizeof(page)) > 0)
		;
	end();
}

static bool ending;

/* With the static library, this function runs after the end of the trace. */
static __attribute__((destructor(101))) void end_late(void)
{
	if (ending)
		events(EVENTS);
}

static void ended(void)
{
	if (child()) {
		ending = true;
		exit(0);
	}
}

/*
 * From now on, the kernel takes @action when a thread of this process makes the system call @nr
 * with the second argument @arg. -1: with any
 */
static void enter_sandbox(unsigned int nr, int arg, unsigned int action)
{
	const unsigned int compare = arg < 0 ? BPF_JGE : BPF_JEQ;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | compare | BPF_K, arg < 0 ? 0 : arg, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = 6, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		abort();
}

/*
 * The kernel kills the thread that starts the trace, and no other. Other functions of the library
 * do not wait for its lock.
 */
static void killed(void)
{
	const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (child()) {
		alarm(60);
		enter_sandbox(SYS_openat, -1, SECCOMP_RET_KILL_THREAD);
		events(EVENTS);
		exit(at_trace_stop(NULL) != -EBUSY || at_trace_start(fd, NULL) != -EBUSY ||
		     at_flight_start(0, 0) != -EBUSY);
	}
}

/* Without fcntl(2), or with a security module that allows no locks, a new file is traced to. */
static void lockless(void)
{
	static const struct {
		int command, error;
	} forbidden[] = { { -1, EPERM }, { -1, ENOSYS }, { F_SETLK, EACCES } };

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		if (!child())
			continue;
		enter_sandbox(SYS_fcntl, forbidden[i].command,
			      SECCOMP_RET_ERRNO | forbidden[i].error);
		events(EVENTS);
		end();
	}
}

static void statless(void)
{
	if (child()) {
#ifdef SYS_newfstatat
		enter_sandbox(SYS_newfstatat, -1, SECCOMP_RET_ERRNO | EPERM);
#endif
		enter_sandbox(SYS_fstat, -1, SECCOMP_RET_ERRNO | EPERM);
		enter_sandbox(SYS_statx, -1, SECCOMP_RET_ERRNO | EPERM);
		events(EVENTS);
		exit(TRACE_ENABLED());
	}
}

static bool in_scene, in_sandbox;

/* The leak checker of the address sanitizer needs system calls that the sandbox traps. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return in_sandbox;
}

/* Makes no system call. Its result is wrong then, but with this errno the library ignores that. */
static void trapped(int sig)
{
	(void)sig;
	errno = 0;
}

/* The first system call of the thread that starts the trace takes 6 s of its CPU time. */
static void slowly_trapped(int sig)
{
	static bool again;
	struct timespec now = { 0 };

	if (!__atomic_exchange_n(&again, true, __ATOMIC_RELAXED))
		while (now.tv_sec < 6)
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	trapped(sig);
}

/* Forks a child in which @handler makes the system call close(2). */
static void trap_child(void (*handler)(int sig))
{
	if (child()) {
		in_sandbox = true;
		signal(SIGSYS, handler);
		enter_sandbox(SYS_close, -1, SECCOMP_RET_TRAP);
		events(EVENTS);
		end();
	}
}

static void slow(void)
{
	trap_child(slowly_trapped);
}

/* The program makes the system calls of all its threads in a handler, as browsers do. */
static void trapping(void)
{
	trap_child(trapped);
}

/* The thread that starts a trace calls this function. An event there cannot wait for the start. */
int pthread_setname_np(pthread_t thread, const char *name)
{
	if (in_scene)
		TRACE_INSTANT("fork", "dropped", TRACE_SCOPE_THREAD);
	if (in_sandbox)
		close(-1);
	return (void)thread, (void)name, 0;
}

static void within(void)
{
	in_scene = true;
	if (child()) {
		events(EVENTS);
		end();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} scenes[] = {
		{ "many", many }, { "daemon", demon }, { "silent", silent }, { "scope", scope },
		{ "amid", amid }, { "threads", threads }, { "handlers", handlers },
		{ "changed", changed }, { "stopped", stopped }, { "others", others },
		{ "cloned", cloned }, { "abrupt", abrupt }, { "nowhere", nowhere },
		{ "taken", taken }, { "within", within },
		{ "users", users }, { "full", full }, { "ended", ended }, { "killed", killed },
		{ "trapping", trapping }, { "slow", slow }, { "lockless", lockless },
		{ "statless", statless }, { "unwanted", unwanted },
	};
	int failed;

	alarm(600);
	events(10);
	if (argc > 1 && !strcmp(argv[1], "generations"))
		generations(6);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], scenes[i].name))
			scenes[i].fn();
	failed = children_failed();
	report();
	return failed;
}
