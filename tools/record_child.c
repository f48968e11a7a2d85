// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record: the command
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "tool.h"

/* 0 where the file can be executed, or a negative errno. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/*
 * Looks for a command as execvp(3) would, so that a typing error is told before
 * a session is made and the output file is overwritten. 0, or an exit status.
 */
int record_find_command(const char *file)
{
	const char *path = getenv("PATH"), *at, *end;
	char full[4096];
	int err = -ENOENT, one;

	if (strchr(file, '/')) {
		err = check_executable(file);
	} else {
		for (at = path ? path : "/bin:/usr/bin"; *file && err; at = end + 1) {
			end = strchrnul(at, ':');
			snprintf(full, sizeof(full), "%.*s%s%s", (int)(end - at), at,
				 end > at ? "/" : "./", file);
			one = check_executable(full);
			/* As execvp(3): one that may not be executed is remembered. */
			if (!one || one == -EACCES)
				err = one;
			if (!*end)
				break;
		}
	}
	if (!err)
		return 0;
	tool_error("cannot run '%s': %s", file, strerror(-err));
	return err == -ENOENT || err == -ENOTDIR ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

/*
 * Starts the command. Returns 0 once it has been executed, an exit status where
 * it could not be, or a negative errno.
 */
int record_start_child(struct recorder *r)
{
	int pipe[2], err = 0;
	ssize_t got;

	if (pipe2(pipe, O_CLOEXEC))
		return -errno;
	r->child = fork();
	if (r->child < 0) {
		err = -errno;
		r->child = 0;
		close(pipe[0]);
		close(pipe[1]);
		tool_error("cannot start '%s': %s", r->opt.cmd[0], strerror(-err));
		return err;
	}
	if (!r->child) {
		record_restore_signals(r);
		execvp(r->opt.cmd[0], r->opt.cmd);
		err = errno;
		got = write(pipe[1], &err, sizeof(err));
		_exit(got == sizeof(err) ? RECORD_NOT_FOUND : RECORD_FAILED);
	}
	close(pipe[1]);
	do {
		got = read(pipe[0], &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	close(pipe[0]);
	if (got != sizeof(err))
		return 0;
	waitpid(r->child, NULL, 0);
	r->child = 0;
	tool_error("cannot run '%s': %s", r->opt.cmd[0], strerror(err));
	return err == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

/* What a shell would say of a status of waitpid(2). */
int record_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
