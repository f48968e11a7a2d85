// SPDX-License-Identifier: GPL-2.0
/*
 * cost COMMAND [ARGUMENT ...]: run the command without its output, and print its CPU time in
 * seconds and its peak memory in KiB. CPU time hardly depends on other work on the machine.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage use;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: cost COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		if (freopen("/dev/null", "w", stdout))
			execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) < 0) {
		perror("cost");
		return 2;
	}
	printf("%.3f %ld\n", seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
