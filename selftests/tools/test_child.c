// SPDX-License-Identifier: GPL-2.0
/* The command of asynctrace record: how its start can fail */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/record.h"

/* --- stand-ins for the rest of the recorder -------------------------------------------------- */

void record_restore_signals(const struct recorder *r)
{
	(void)r;
}

void record_watch_tracepoints(struct recorder *r, pid_t pid)
{
	(void)r, (void)pid;
}

void record_watch_cgroups(struct recorder *r, pid_t pid)
{
	(void)r, (void)pid;
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
	struct recorder r = { .opt.cmd = command };
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
		struct recorder r = { .opt.cmd = command };
		char said[256];

		assert_int_equal(start(&r, files, said), -EMFILE);
		assert_non_null(strstr(said, "cannot start 'true': Too many open files\n"));
		assert_int_equal(r.child, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_runs),
		cmocka_unit_test(missing_descriptors_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
