// SPDX-License-Identifier: GPL-2.0
/* The command of asynctrace record: how its start can fail, and which signals it gets */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/record.h"

/* --- stand-ins for the rest of the recorder -------------------------------------------------- */

static bool interrupt_start;

/* Makes a signal as that of a terminal, but of this process alone. */
static void interrupt(void)
{
	siginfo_t si = { .si_signo = SIGINT, .si_code = SI_KERNEL };

	syscall(SYS_rt_sigqueueinfo, getpid(), SIGINT, &si);
}

/* Is called after fork(), but a signal that is taken then may have come before. */
void record_watch_tracepoints(struct recorder *r, pid_t pid)
{
	(void)r, (void)pid;
	if (interrupt_start)
		interrupt();
}

void record_watch_cgroups(struct recorder *r, pid_t pid)
{
	(void)r, (void)pid;
}

void record_line_clear(const struct recorder *r)
{
	(void)r;
}

const char *trace_out_name(const struct trace_out *o)
{
	(void)o;
	return "t.fxt";
}

/* --- tests ---------------------------------------------------------------------------------- */

static char *command[] = { (char *)"true", NULL };

/* Starts the command with @files more descriptors. Returns the result; *@said: the messages */
static int start(struct recorder *r, rlim_t files, char said[256])
{
	const int terminal = dup(STDERR_FILENO), kept = memfd_create("messages", 0);
	struct rlimit limit, before;
	ssize_t n;
	int err;

	assert_true(terminal >= 0 && kept >= 0);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	/* kept has the largest descriptor. */
	limit.rlim_cur = kept + 1 + files;
	setrlimit(RLIMIT_NOFILE, &limit);
	err = record_start_child(r);
	setrlimit(RLIMIT_NOFILE, &before);
	dup2(terminal, STDERR_FILENO);
	n = pread(kept, said, 255, 0);
	said[n > 0 ? n : 0] = '\0';
	close(terminal);
	close(kept);
	return err;
}

static void command_runs(void **state)
{
	struct recorder r = { .opt.cmd = command, .signals = -1 };
	char said[256];
	int status;

	(void)state;
	assert_int_equal(start(&r, 4, said), 0);
	assert_string_equal(said, "");
	assert_int_equal(waitpid(r.child, &status, 0), r.child);
	assert_int_equal(record_exit_status(status), 0);
}

static void missing_descriptors_are_reported(void **state)
{
	(void)state;
	for (rlim_t files = 0; files < 4; files++) {
		struct recorder r = { .opt.cmd = command, .signals = -1 };
		char said[256];

		assert_int_equal(start(&r, files, said), -EMFILE);
		assert_non_null(strstr(said, "cannot start 'true': Too many open files\n"));
		assert_int_equal(r.child, 0);
	}
}

/*
 * After the recording, both signals wait for the recorder, which gets SIGHUP first. The first one
 * that it passes on ends the command.
 */
static void waiting_recorder_passes_signals_on(void **state)
{
	static char *sleeper[] = { (char *)"sleep", (char *)"infinity", NULL };
	static const struct {
		bool numbered;	/* SIGHUP begins the next file while files are written */
		int sent, ends;
	} rows[] = {
		{ false, SIGTERM, SIGHUP },
		{ true, SIGTERM, SIGTERM },
		{ true, SIGINT, SIGINT },
		{ true, SIGQUIT, SIGQUIT },
	};

	(void)state;
	signal(SIGHUP, SIG_DFL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recorder r = { .opt.cmd = sleeper, .out.numbered = rows[i].numbered };

		/* A shell that starts this test in the background has SIGQUIT ignored. */
		signal(rows[i].sent, SIG_DFL);
		assert_int_equal(record_open_signals(&r), 0);
		assert_int_equal(record_start_child(&r), 0);
		kill(getpid(), SIGHUP);
		kill(getpid(), rows[i].sent);
		record_wait_child(&r);
		/* A signal that the recorder did not need must not end the test. */
		signal(SIGHUP, SIG_IGN);
		signal(rows[i].sent, SIG_IGN);
		record_restore_signals(&r);
		close(r.signals);
		assert_int_equal(r.child, 0);
		assert_int_equal(record_exit_status(r.status), 128 + rows[i].ends);
	}
}

static void signal_during_start_reaches_command(void **state)
{
	struct recorder r = { .opt.cmd = command };

	(void)state;
	signal(SIGINT, SIG_DFL);
	assert_int_equal(record_open_signals(&r), 0);
	interrupt_start = true;
	assert_int_equal(record_start_child(&r), 0);
	interrupt_start = false;
	record_wait_child(&r);
	record_restore_signals(&r);
	close(r.signals);
	assert_int_equal(record_exit_status(r.status), 128 + SIGINT);
}

/* Returns what record_interrupted() says when @sig is pending. */
static bool interrupted_by(struct recorder *r, int sig)
{
	kill(getpid(), sig);
	return record_interrupted(r);
}

/*
 * While the reader of a pipe stalls, each signal wakes the recorder, also that of a child that
 * ended. The first signal ends the recording, and makes the recorder print that it waits.
 */
static void only_new_signal_ends_the_wait(void **state)
{
	struct recorder r = { .out.fd = 0 };

	(void)state;
	assert_int_equal(record_open_signals(&r), 0);
	assert_false(interrupted_by(&r, SIGCHLD));
	assert_false(r.stalled);
	assert_false(interrupted_by(&r, SIGTERM));
	assert_true(r.stalled);
	assert_true(interrupted_by(&r, SIGINT));
	assert_false(interrupted_by(&r, SIGCHLD));
	assert_true(interrupted_by(&r, SIGTERM));
	record_restore_signals(&r);
	close(r.signals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_runs),
		cmocka_unit_test(missing_descriptors_are_reported),
		cmocka_unit_test(waiting_recorder_passes_signals_on),
		cmocka_unit_test(signal_during_start_reaches_command),
		cmocka_unit_test(only_new_signal_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
