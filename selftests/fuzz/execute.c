// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program, operation by operation, and frees what it leaves
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/asynctrace.h>

#include "execute.h"

#define CHILDREN	8

struct env env;
__thread sigjmp_buf trap;
static __thread volatile sig_atomic_t trapped;
static pid_t children[CHILDREN];
static unsigned int nr_children;

static struct {
	pthread_t thread;
	sem_t go, done;
	const struct op *op;
	bool busy;
} helper;

uint64_t resolve(enum ref ref, unsigned int slot)
{
	switch (ref) {
	case REF_SESSION:
		return env.sessions[slot % SESSIONS];
	case REF_COOKIE:
		return env.cookies[slot % FDS];
	case REF_PROVIDER:
		return env.providers[slot % FDS];
	case REF_PID:
		return slot ? (pid_t)slot : getpid();
	case REF_UID:
		return slot ? NOBODY : (int)getuid();
	default:
		return 0;
	}
}

/* Handles a store to an unmapped or read-only page. */
static void on_fault(int sig)
{
	if (!trapped) {
		signal(sig, SIG_DFL);
		return;
	}
	siglongjmp(trap, 1);
}

static void on_alarm(int sig)
{
	(void)sig;	/* the signal has interrupted the call */
}

static void dispatch(const struct op *op)
{
	if (sigsetjmp(trap, 1))
		return;
	trapped = 1;
	switch (op->kind) {
	case OP_OPEN ... OP_POLL:
		device_op(op);
		break;
	case OP_MMAP ... OP_WRITE:
		memory_op(op);
		break;
	case OP_SOCKET ... OP_RECEIVE:
		netlink_op(op);
		break;
	case OP_USER:
		/*
		 * The system call changes only this thread; the C library's function would change
		 * all.
		 */
		syscall(SYS_setresuid, op->a & 1 ? NOBODY : 0, op->a & 1 ? NOBODY : 0, 0);
		break;
	case OP_SLEEP:
		usleep(op->a % 5000);
		break;
	}
	trapped = 0;
}

void run_op(const struct op *op)
{
	char text[8];
	int len = 0;

	if (op->fail && env.fail_nth >= 0) {
		len = snprintf(text, sizeof(text), "%u", op->fail);
		len = pwrite(env.fail_nth, text, len, 0);
	}
	dispatch(op);
	for (int i = 0; len > 0 && i < 9 && pwrite(env.fail_nth, "0", 1, 0) != 1; i++)
		;
}

/* --- two operations at a time ----------------------------------------------------- */

static void *help(void *arg)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	for (;;) {
		while (sem_wait(&helper.go))
			;
		dispatch(helper.op);
		sem_post(&helper.done);
	}
	return arg;
}

static void join_helper(void)
{
	while (helper.busy) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 200000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (!sem_timedwait(&helper.done, &until))
			helper.busy = false;
		else
			pthread_kill(helper.thread, SIGUSR1);
	}
}

static void start_helper(const struct op *op)
{
	join_helper();
	helper.op = op;
	helper.busy = true;
	sem_post(&helper.go);
}

/* --- children ---------------------------------------------------------------------- */

enum {
	FORK_BESIDE = 1,	/* the parent does not wait */
	FORK_EXEC = 2,		/* in the end, the child executes another program */
};

static unsigned int fork_op(const struct program *p, unsigned int at)
{
	static const int spaces[] = {
		CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWUSER | CLONE_NEWNET,
		CLONE_NEWNS,
		CLONE_NEWUSER | CLONE_NEWPID, CLONE_FILES, CLONE_NEWTIME,
	};
	const struct op *op = &p->ops[at];
	unsigned int end = at + 1 + op->a % 6;
	pid_t pid;

	if (end > p->nr_ops)
		end = p->nr_ops;
	pid = nr_children < CHILDREN ? fork() : -1;
	if (!pid) {
		cover_child();
		if (op->c)
			unshare(spaces[op->c % ARRAY(spaces)]);
		for (unsigned int i = at + 1; i < end; i++)
			dispatch(&p->ops[i]);
		if (op->b & FORK_EXEC)
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	if (pid > 0)
		children[nr_children++] = pid;
	if (pid > 0 && !(op->b & FORK_BESIDE)) {
		/* If the child waits forever, the alarm ends this wait. */
		waitpid(pid, NULL, 0);
		cover_children();
	}
	return end;
}

static int vm_child(void *arg)
{
	for (unsigned int i = 0; i < FDS; i++)
		ioctl(env.fds[i], ASYNCTRACE_IOC_THREAD, arg);
	_exit(0);
}

/* Makes a process that shares the memory but is not in the thread group. */
static void vmclone(void)
{
	static char stack[32768] __attribute__((aligned(16)));
	pid_t pid = nr_children < CHILDREN ?
		clone(vm_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) : -1;

	if (pid > 0)
		children[nr_children++] = pid;
	/*
	 * Wait for the child also if the alarm interrupts that, because the next one would use the
	 * same stack.
	 */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void end_children(void)
{
	for (unsigned int i = 0; i < nr_children; i++) {
		kill(children[i], SIGKILL);
		while (waitpid(children[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	nr_children = 0;
}

/* --- a program ----------------------------------------------------------------------- */

static unsigned int key(const struct op *op)
{
	return op->kind == OP_NETLINK ? 64 + op->cmd % 64 * 2 + !!(op->flags & 0x300) : op->kind;
}

static void alarm_after(int ms)
{
	struct itimerval t = { .it_value.tv_usec = ms * 1000, .it_interval.tv_usec = ms * 1000 };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void clean(void)
{
	syscall(SYS_setresuid, 0, 0, 0);
	for (unsigned int i = 0; i < MAPS; i++)
		if (env.maps[i].at)
			munmap(env.maps[i].at, env.maps[i].size);
	for (unsigned int i = 0; i < FDS; i++)
		if (env.fds[i] >= 0)
			close(env.fds[i]);
	for (unsigned int i = 0; i < SOCKETS; i++)
		if (env.sockets[i] >= 0)
			close(env.sockets[i]);
	netlink_end_detached();
}

static void nothing(void)
{
	memset(env.fds, 0xff, sizeof(env.fds));
	memset(env.sockets, 0xff, sizeof(env.sockets));
	memset(env.cookies, 0, sizeof(env.cookies));
	memset(env.providers, 0, sizeof(env.providers));
	memset(env.sessions, 0, sizeof(env.sessions));
	memset(env.maps, 0, sizeof(env.maps));
	env.nr_sessions = 0;
}

void execute_init(void)
{
	struct sigaction fault = { .sa_handler = on_fault }, alarm = { .sa_handler = on_alarm };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	sigaction(SIGUSR1, &alarm, NULL);
	signal(SIGPIPE, SIG_IGN);
	env.fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (env.fail_nth < 0)
		err(1, "/proc/thread-self/fail-nth: this needs the debug kernel");
	netlink_init();
	sem_init(&helper.go, 0, 0);
	sem_init(&helper.done, 0, 0);
	if (pthread_create(&helper.thread, NULL, help, NULL))
		err(1, "a thread");
}

void execute(const struct program *p)
{
	unsigned int i = 0;

	nothing();
	alarm_after(500);
	if (p->nobody)
		syscall(SYS_setresuid, NOBODY, NOBODY, 0);
	while (i < p->nr_ops) {
		const struct op *op = &p->ops[i++];

		cover_begin();
		if (op->kind == OP_FORK)
			i = fork_op(p, i - 1);
		else if (op->kind == OP_VMCLONE)
			vmclone();
		else if (op->async && i < p->nr_ops)
			start_helper(op);
		else
			run_op(op);
		cover_end(key(op));
	}
	join_helper();
	cover_begin();
	end_children();
	clean();
	cover_end(OP_KINDS);
	cover_children();
	alarm_after(0);
}
