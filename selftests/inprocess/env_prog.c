// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is traced by environment variables: see test_env.sh and test_out.sh
 *
 * It writes 1001 events and then does what its arguments say, in order. A number is its exit
 * status.
 *
 *	forever		writes events until it is killed
 *	exec		executes itself with the arguments that follow
 *	spawn		runs itself with the arguments that follow, and waits for it
 *	fork		makes a child that lives until standard input ends
 *	wait		reads standard input to its end
 *	chdir DIR	changes its directory
 *	remove FILE	removes the file
 *	replace FILE	closes all descriptors from 3 on, then opens FILE as each number up to 600
 *	malformed	writes 3 events of a virtual thread with a time in the future
 *	more		writes 1001 events 200 times, 1 ms apart
 */
#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/trace.h>

extern char **environ;

static void events(void)
{
	TRACE_DURATION("law", "scope");
	for (int i = 0; i < 1000; i++)
		TRACE_INSTANT("law", "event", TRACE_SCOPE_THREAD, "i", TA_INT32(i));
}

static void part(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	events();
	nanosleep(&ms, NULL);
}

static void wait_for_end(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static int spawn(char **argv)
{
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void replace(const char *file)
{
	int fd;

	for (fd = 3; fd < 1024; fd++)
		close(fd);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	for (int to = fd + 1; to <= 600; to++)
		dup2(fd, to);
}

int main(int argc, char **argv)
{
	events();
	for (int i = 1; i < argc; i++) {
		if (isdigit((unsigned char)*argv[i]))
			return atoi(argv[i]);
		if (!strcmp(argv[i], "forever")) {
			for (;;)
				part();
		} else if (!strcmp(argv[i], "malformed")) {
			for (int n = 0; n < 3; n++)
				TRACE_VTHREAD_DURATION_BEGIN("law", "future", "queue", 1,
							     UINT64_MAX >> 1);
		} else if (!strcmp(argv[i], "more")) {
			for (int n = 0; n < 200; n++)
				part();
		} else if (!strcmp(argv[i], "exec")) {
			execv("/proc/self/exe", argv + i);
			return 97;
		} else if (!strcmp(argv[i], "spawn")) {
			return spawn(argv + i);
		} else if (!strcmp(argv[i], "fork")) {
			if (!fork()) {
				wait_for_end();
				_exit(0);
			}
		} else if (!strcmp(argv[i], "wait")) {
			wait_for_end();
		} else if (!strcmp(argv[i], "chdir")) {
			if (chdir(argv[++i]))
				return 95;
		} else if (!strcmp(argv[i], "remove")) {
			if (unlink(argv[++i]))
				return 94;
		} else if (!strcmp(argv[i], "replace")) {
			replace(argv[++i]);
		} else {
			fprintf(stderr, "%s: unknown argument %s\n", argv[0], argv[i]);
			return 96;
		}
	}
	return 0;
}
