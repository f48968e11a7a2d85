// SPDX-License-Identifier: GPL-2.0
/* tools/proc: states of threads, from files made by hand, and of a process that runs */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/asynctrace_fxt.h>

#include "proc/states.h"

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

/* --- files made by hand ---------------------------------------------------------------- */

static char root[] = "/tmp/test_proc.XXXXXX";

static void make_root(void)
{
	char cmd[128];

	assert_non_null(mkdtemp(root));
	snprintf(cmd, sizeof(cmd), "mkdir -p %s/proc/70/task", root);
	assert_int_equal(system(cmd), 0);
}

static void remove_root(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	assert_int_equal(system(cmd), 0);
}

static void write_file(int tid, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/70/task/%d", root, tid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/70/task/%d/%s", root, tid, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Makes a thread that began 3 seconds after boot. */
static void make_thread(int tid, const char *comm, char state, const char *syscall)
{
	char text[256];

	snprintf(text, sizeof(text), "%d (%s) %c 1 70 70 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 %ld 99 88\n",
		 tid, comm, state, 3 * sysconf(_SC_CLK_TCK));
	write_file(tid, "stat", text);
	if (syscall)
		write_file(tid, "syscall", syscall);
}

/* Finds the thread @tid. Returns false if it is not there. */
static bool find(const char *at, pid_t pid, int tid, struct proc_state *found)
{
	struct proc_threads t;
	struct proc_state s;
	bool seen = false;
	int more;

	assert_int_equal(proc_threads_open(&t, at, pid), 0);
	while ((more = proc_threads_next(&t, &s)) > 0) {
		if (s.tid == tid)
			*found = s;
		seen |= s.tid == tid;
	}
	assert_int_equal(more, 0);
	proc_threads_close(&t);
	return seen;
}

#define WAITS " 0x5 0x1 0x2 0x3 0x4 0x5 0x7ffc00000000 0x7f0000000000\n"

static void files_of_threads_are_parsed(void **unused)
{

	static const struct {
		char letter;
		uint32_t state;
		const char *syscall;
		uint32_t off_cpu;
	} rows[] = {
		{ 'S', 1, "232" WAITS, ASYNCTRACE_FXT_OFF_SYSCALL },
		{ 'D', 2, "0" WAITS, ASYNCTRACE_FXT_OFF_SYSCALL },
		{ 'D', 2, "-1 0x7ffc00000000 0x7f0000000000\n", ASYNCTRACE_FXT_OFF_EXCEPTION },
		{ 'I', 2, "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", 0 },
		{ 'S', 1, "running\n", 0 },
		{ 'S', 1, NULL, 0 },
		/* A 32-bit program has other numbers of system calls. */
		{ 'S', 1, "162 0x5 0x0 0x0 0x0 0x0 0x0 0xffc00000 0xf7f00000\n", 0 },
		{ 'T', 4, "232" WAITS, 0 },
		{ 't', 8, NULL, 0 },
		{ 'Z', 0x20, NULL, 0 },
		{ 'R', 0, "232" WAITS, 0 },
	};
	const int nr = sizeof(rows) / sizeof(rows[0]);
	struct proc_state s;

	(void)unused;
	make_root();
	for (int i = 0; i < nr; i++)
		make_thread(100 + i, "worker", rows[i].letter, rows[i].syscall);
	make_thread(200, "a) S (b) R", 'S', NULL);
	make_thread(201, "(sd-pam)", '?', NULL);
	write_file(202, "stat", "202 (cut) S 1 2");
	for (int i = 0; i < nr; i++) {
		assert_true(find(root, 70, 100 + i, &s));
		assert_string_equal(s.comm, "worker");
		assert_int_equal(s.state, rows[i].state);
		assert_int_equal(s.off_cpu, rows[i].off_cpu);
		assert_int_equal(s.argument, rows[i].off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL ? 5 : 0);
		assert_in_range(s.since, 3000000000, 3020000000);
	}
	assert_true(find(root, 70, 200, &s));
	assert_string_equal(s.comm, "a) S (b) R");
	assert_int_equal(s.state, 1);
	assert_false(find(root, 70, 201, &s));
	assert_false(find(root, 70, 202, &s));
	remove_root();
}

/* --- a process that runs ----------------------------------------------------------------- */

static int ready[2], channel[2], sockets[2];

static void *sleep_in(void *arg)
{
	const char *kind = arg;
	const int32_t tid = syscall(SYS_gettid);
	volatile uint64_t turns = 0;
	char byte;

	pthread_setname_np(pthread_self(), kind);
	if (write(ready[1], &tid, sizeof(tid)) != sizeof(tid))
		abort();
	if (!strcmp(kind, "pipe"))
		return read(channel[0], &byte, 1) ? arg : NULL;
	if (!strcmp(kind, "socket"))
		return read(sockets[0], &byte, 1) ? arg : NULL;
	for (; !strcmp(kind, "spin"); turns++)
		;
	for (;;)
		pause();
}

static void state_of_a_running_process_is_read(void **unused)
{
	static const struct {
		char *kind;
		int32_t state;
		long syscall;
		unsigned int file;
	} rows[] = {
		{ "pipe", 1, SYS_read, ASYNCTRACE_FXT_FILE_PIPE },
		{ "socket", 1, SYS_read, ASYNCTRACE_FXT_FILE_SOCKET },
		{ "spin", 0, 0, 0 },
	};
	const uint64_t began = now();
	int32_t tids[3];
	pid_t child;

	(void)unused;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		/* If the test fails, nothing else would end the thread that spins. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, sleep_in, rows[i].kind))
				abort();
		}
		for (;;)
			pause();
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(read(ready[0], &tids[i], sizeof(tids[i])), sizeof(tids[i]));
	for (int i = 0; i < 3; i++) {
		struct proc_state s = { .state = 99 };
		int k = 0;

		/* The threads began in any order, and each falls asleep a little later. */
		do {
			const struct timespec moment = { .tv_nsec = 1000000 };

			assert_true(find("", child, tids[i], &s));
			for (k = 0; k < 3 && strcmp(s.comm, rows[k].kind); k++)
				;
			nanosleep(&moment, NULL);
		} while (k == 3 || s.state != (uint32_t)rows[k].state ||
			 (s.off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL &&
			  s.syscall != (uint32_t)rows[k].syscall));
		assert_true(s.since <= s.from && s.from < s.until && s.until < now() + 1000000);
		assert_true(s.from + 1000000 > began);
		assert_true(s.until - s.from >= 2000000);
		if (!s.off_cpu)		/* running, or this user may not trace the child */
			continue;
		assert_int_equal(s.off_cpu, ASYNCTRACE_FXT_OFF_SYSCALL | rows[k].file << 4);
		assert_int_equal(s.argument, k ? sockets[0] : channel[0]);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(proc_is_ours(""));
	assert_int_equal(proc_threads_open(&(struct proc_threads){ 0 }, "", child), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_threads_are_parsed),
		cmocka_unit_test(state_of_a_running_process_is_read),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
