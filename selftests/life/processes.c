// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of processes: they execute and spawn programs, become daemons, give up rights, and change
 * their root and their namespaces
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "life.h"

#define WRITERS	4
#define NOBODY	65534

/* --- threads that write during a case -------------------------------------------------------- */

static bool stop_writers;
static uint32_t writing;

static void *write_on(void *arg)
{
	life_write(100);
	__atomic_fetch_add(&writing, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop_writers, __ATOMIC_RELAXED)) {
		life_write(5);
		usleep(100);
	}
	return arg;
}

static void start_writers(pthread_t *th)
{
	/*
	 * Without rseq, all threads write to the fallback ring. If two of them do so at once, one
	 * may drop its record.
	 */
	struct at_status_info st = { .size = sizeof(st) };

	life_write(1);
	at_status(&st);
	life->may_drop = st.path != ASYNCTRACE_PATH_RSEQ;
	for (int i = 0; i < WRITERS; i++)
		LIFE_NEED(!pthread_create(&th[i], NULL, write_on, NULL));
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE) < WRITERS)
		sched_yield();
}

static void end_writers(pthread_t *th)
{
	__atomic_store_n(&stop_writers, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(th[i], NULL);
}

static void *write_some(void *records)
{
	life_write((uintptr_t)records);
	return NULL;
}

static void in_thread(uintptr_t records)
{
	pthread_t th;

	errno = pthread_create(&th, NULL, write_some, (void *)records);
	LIFE_NEED(!errno);
	pthread_join(th, NULL);
}

/* Forks a child that writes, also in a second thread. */
static void in_child(void)
{
	const pid_t pid = life_fork();

	if (!pid) {
		life_write(50);
		in_thread(50);
		life_leave();
		_exit(0);
	}
	life_reap(pid);
}

/* --- programs ------------------------------------------------------------------------------ */

static void execute(unsigned long records)
{
	char **argv, **env;

	life_write(500);
	in_thread(100);
	life_leave();
	life_again(0, records, &argv, &env);
	execve(argv[0], argv, env);
	LIFE_NEED(!"execve");
}

/*
 * Executes a program while other threads write: execve() ends them at any instruction of a macro.
 */
static void execute_amid(unsigned long records)
{
	char **argv, **env;
	pthread_t th[WRITERS];

	start_writers(th);
	life_again(0, records, &argv, &env);
	execve(argv[0], argv, env);
	LIFE_NEED(!"execve");
}

static void vforks(unsigned long children)
{
	char **argv, **env;
	unsigned int nr;
	pid_t pid;

	while (children--) {
		life_write(10);
		nr = life_number();
		life_again(nr, 50, &argv, &env);
		pid = vfork();
		if (!pid) {
			execve(argv[0], argv, env);
			_exit(9);
		}
		LIFE_NEED(pid > 0);
		life->process[nr].pid = pid;
		life_write(10);
		life_reap(pid);
	}
}

static void on_alarm(int sig)
{
	const int saved = errno;

	(void)sig;
	life_write(1);
	errno = saved;
}

static void set_timer(unsigned int us)
{
	const struct itimerval t = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &t, NULL);
}

/*
 * Spawns children. The child of posix_spawn() shares the parent's memory until it executes a
 * program. If a signal handler ran in the child, it would write as the parent.
 */
static void spawns(unsigned long children)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	char **argv, **env;
	pthread_t th[WRITERS];
	unsigned int nr;
	pid_t pid;

	start_writers(th);
	sigaction(SIGALRM, &sa, NULL);
	set_timer(200);
	while (children--) {
		nr = life_number();
		life_again(nr, 50, &argv, &env);
		errno = posix_spawn(&pid, argv[0], NULL, NULL, argv, env);
		LIFE_NEED(!errno);
		life->process[nr].pid = pid;
		life_reap(pid);
	}
	set_timer(0);
	end_writers(th);
}

/* --- daemons ------------------------------------------------------------------------------- */

static void daemonize(unsigned int nr)
{
	pid_t pid;

	LIFE_NEED(setsid() >= 0);
	pid = fork();
	if (pid) {
		life->process[nr].pid = pid;
		_exit(0);
	}
	LIFE_NEED(!chdir("/"));
	umask(0);
	LIFE_NEED(!syscall(SYS_close_range, 0, ~0u, 0));
	for (int i = 0; i < 3; i++)
		LIFE_NEED(open("/dev/null", O_RDWR) == i);
	life_enter(nr);
	life_write(200);
	in_thread(100);
	life_leave();
	_exit(0);
}

static void daemons(unsigned long arg)
{
	const unsigned int nr = life_number();
	pid_t pid;

	(void)arg;
	life_write(100);
	pid = fork();
	if (!pid)
		daemonize(nr);
	life_reap(pid);
	life_write(100);
}

/*
 * Closes all descriptors from 3 on, including that of the trace. The result of at_trace_stop() must
 * still account for each record.
 */
static void close_all(unsigned long arg)
{
	(void)arg;
	life_write(100);
	life->error = -EBADF;
	life->may_drop = true;
	LIFE_NEED(!syscall(SYS_close_range, 3, ~0u, 0));
	life_write(100);
	in_thread(100);
}

/* --- rights, roots, namespaces ------------------------------------------------------------- */

static void set_uid(unsigned long uid)
{
	pthread_t th[WRITERS];

	if (geteuid())
		life_skip("needs root");
	start_writers(th);
	life_write(100);
	LIFE_NEED(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
	LIFE_NEED(geteuid() == uid);
	life_write(100);
	in_thread(100);
	in_child();
	end_writers(th);
}

/*
 * Forks a child in a root without /dev. The child cannot register with the module, so nothing is
 * recorded or counted.
 */
static void unrecorded_child(void)
{
	const pid_t pid = fork();

	if (!pid) {
		struct at_status_info st = { .size = sizeof(st) };

		LIFE_NEED(!TRACE_ENABLED());
		TRACE_INSTANT("life", "nowhere", TRACE_SCOPE_THREAD);
		at_status(&st);
		LIFE_NEED(st.path == ASYNCTRACE_PATH_NONE);
		LIFE_NEED(st.reason == ASYNCTRACE_REASON_NO_MODULE);
		_exit(0);
	}
	life_reap(pid);
}

static void change_root(unsigned long arg)
{
	pthread_t th[WRITERS];

	(void)arg;
	start_writers(th);
	LIFE_NEED(!chdir(life->dir) && !mkdir("root", 0755));
	if (chroot("root"))
		life_skip("needs root");
	LIFE_NEED(!chdir("/") && access("/dev", F_OK));
	life_write(100);
	in_thread(100);
	if (life->module)
		unrecorded_child();
	else
		in_child();
	end_writers(th);
}

/* Tries again after EINVAL: a thread that was joined may still exist for a moment. */
static int unshare_soon(unsigned long flags)
{
	int tries = 1000, err;

	do {
		err = unshare(flags);
	} while (err && errno == EINVAL && tries-- && !usleep(1000));
	return err;
}

/*
 * Unshares namespaces. unshare(CLONE_NEWUSER) fails in a process that traces itself, because such a
 * process has a second thread. The process must still be able to write after the failure. Then it
 * ends its trace and tries again.
 */
static void unshare_in(unsigned long flags)
{
	const bool again = !life->module && flags & CLONE_NEWUSER;

	if (again) {
		LIFE_NEED(unshare(flags) && (errno == EINVAL || errno == EPERM));
		life_write(10);
		life_leave();
	}
	if (unshare_soon(flags))
		life_skip(errno == EPERM ? "needs root" : strerror(errno));
	if (again)
		life_enter(0);
}

#define MOST_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static void namespaces(unsigned long flags)
{
	life_write(100);
	in_thread(100);
	unshare_in(flags);
	life_write(100);
	/* After unshare(CLONE_NEWPID), the kernel does not let the process create a thread. */
	if (!(flags & CLONE_NEWPID))
		in_thread(100);
	in_child();
	life_write(100);
}

/* --- plug-ins ------------------------------------------------------------------------------ */

static const char *const hosts[] = { "host", "host-static", "host-exporting", "host-shared" };
static const char *const plugs[] = { "plug-static.so", "plug-shared.so" };

/* Loads and unloads a plug-in ten times. selftests/plugin does this natively. */
static void plug_ins(unsigned long host)
{
	char program[64], plug[64];
	char *const env[] = { "LD_LIBRARY_PATH=build", NULL };

	/*
	 * Each copy of the library registers while eight threads wait. On a slow machine,
	 * registering takes longer than threads wait, and they drop records.
	 */
	life->may_drop = true;
	for (int i = 0; i < 2; i++) {
		char *const argv[] = { program, plug, "10", "8", NULL };
		const unsigned int nr = life_number();
		pid_t pid;

		snprintf(program, sizeof(program), "build/selftests/plugin/%s", hosts[host]);
		snprintf(plug, sizeof(plug), "build/selftests/plugin/%s", plugs[i]);
		life->process[nr].begun = life->process[nr].ended = 8000 + (host ? 10 : 0);
		fflush(stdout);
		errno = posix_spawn(&pid, program, NULL, NULL, argv, env);
		LIFE_NEED(!errno);
		life->process[nr].pid = pid;
		life_reap(pid);
	}
}

const struct life_case life_process_cases[] = {
	{ "exec_both_programs_are_exact", execute, 300, 0 },
	{ "exec_amid_writers_is_exact", execute_amid, 300, LIFE_MODULE },
	{ "vfork_and_exec_are_exact", vforks, 4, 0 },
	{ "posix_spawn_amid_handlers_is_exact", spawns, 8, 0 },
	{ "daemon_without_descriptors_is_exact", daemons, 0, 0 },
	{ "closed_descriptor_of_trace_is_counted", close_all, 0, LIFE_NATIVE },
	{ "setuid_amid_writers_is_exact", set_uid, NOBODY, 0 },
	{ "chroot_amid_writers_is_exact", change_root, 0, 0 },
	{ "unshare_pid_is_exact", namespaces, CLONE_NEWPID, 0 },
	{ "unshare_mount_is_exact", namespaces, CLONE_NEWNS, 0 },
	{ "unshare_user_is_exact", namespaces, CLONE_NEWUSER, 0 },
	{ "unshare_net_is_exact", namespaces, CLONE_NEWNET, 0 },
	{ "unshare_most_is_exact", namespaces, MOST_NAMESPACES, 0 },
	{ "unshare_all_is_exact", namespaces, MOST_NAMESPACES | CLONE_NEWPID, LIFE_MODULE },
	{ "plugins_of_host_are_exact", plug_ins, 0, LIFE_MODULE },
	{ "plugins_of_host_static_are_exact", plug_ins, 1, LIFE_MODULE },
	{ "plugins_of_host_exporting_are_exact", plug_ins, 2, LIFE_MODULE },
	{ "plugins_of_host_shared_are_exact", plug_ins, 3, LIFE_MODULE },
};

const unsigned int life_nr_process_cases =
	sizeof(life_process_cases) / sizeof(life_process_cases[0]);
