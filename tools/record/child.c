// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: finds and starts the command */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

/* Returns 0 if the file can be executed, or a negative errno. */
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
 * Finds the command as execvp(3) does, so that a typing error is reported before a session is
 * made and the output file is overwritten. Returns 0 or an exit status.
 */
int record_find_command(struct record_options *o)
{
	const char *path = getenv("PATH"), *at, *end, *file = o->cmd[0];
	char *full = o->cmd_path;
	int err = -ENOENT, one;

	if (strchr(file, '/')) {
		err = check_executable(file);
		snprintf(full, sizeof(o->cmd_path), "%s", file);
	} else {
		for (at = path ? path : "/bin:/usr/bin"; *file && err; at = end + 1) {
			end = strchrnul(at, ':');
			snprintf(full, sizeof(o->cmd_path), "%.*s%s%s", (int)(end - at), at,
				 end > at ? "/" : "./", file);
			one = check_executable(full);
			/*
			 * execvp(3) continues after EACCES, and reports it if no later
			 * directory has the command.
			 */
			if (!one || one == -EACCES)
				err = one;
			if (!err || !*end)
				break;
		}
	}
	if (!err)
		return 0;
	tool_error("cannot run '%s': %s", tool_text(file), strerror(-err));
	return err == -ENOENT || err == -ENOTDIR ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

/* Reports that the command cannot be started because of errno. Returns a negative errno. */
static int cannot_start(const struct recorder *r)
{
	const int err = -errno;

	tool_error("cannot start '%s': %s", tool_text(r->opt.cmd[0]), strerror(-err));
	return err;
}

/*
 * Does not start the command if a signal that asks to stop has come already: the command has not
 * got it. The exit status is that of a command which the signal ends.
 */
static bool came_too_early(struct recorder *r)
{
	record_take_signals(r);
	if (!r->nr_signals)
		return false;
	tool_error("a signal came before '%s' was started, so it was not run",
		   tool_text(r->opt.cmd[0]));
	r->unstarted = true;
	r->status = r->signal;
	return true;
}

/*
 * Forks a child that executes the command. The child waits until tracepoints and cgroups are
 * watched for it, if they are recorded, so that nothing of the command is missed. Returns 0 when
 * the command begins to run or a signal ended it before, an exit status if it cannot be executed,
 * or a negative errno. Prints a message unless the command begins to run.
 */
int record_start_child(struct recorder *r)
{
	int pipe[2], go[2], err = 0;
	ssize_t got;

	if (came_too_early(r))
		return 0;
	if (pipe2(pipe, O_CLOEXEC))
		return cannot_start(r);
	if (pipe2(go, O_CLOEXEC)) {
		err = cannot_start(r);
		close(pipe[0]);
		close(pipe[1]);
		return err;
	}
	r->child = fork();
	if (r->child < 0) {
		err = cannot_start(r);
		r->child = 0;
		close(pipe[0]);
		close(pipe[1]);
		close(go[0]);
		close(go[1]);
		return err;
	}
	if (!r->child) {
		record_restore_signals(r);
		close(go[1]);
		do {
			got = read(go[0], &err, 1);
		} while (got < 0 && errno == EINTR);
		/* The recorder died. */
		if (got != 1)
			_exit(RECORD_FAILED);
		execvp(r->opt.cmd[0], r->opt.cmd);
		err = errno;
		got = write(pipe[1], &err, sizeof(err));
		_exit(got == sizeof(err) ? RECORD_NOT_FOUND : RECORD_FAILED);
	}
	close(pipe[1]);
	close(go[0]);
	record_watch_tracepoints(r, r->child);
	record_watch_cgroups(r, r->child);
	/*
	 * The child did not get signals of the terminal that came before fork(). If it got them,
	 * another one does no harm, because the command does not run yet.
	 */
	r->forking = true;
	record_take_signals(r);
	r->forking = false;
	got = write(go[1], "", 1);
	close(go[1]);
	do {
		got = read(pipe[0], &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	close(pipe[0]);
	if (got != sizeof(err))
		return 0;
	waitpid(r->child, NULL, 0);
	r->child = 0;
	tool_error("cannot run '%s': %s", tool_text(r->opt.cmd[0]), strerror(err));
	return err == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
}

/* Returns the exit status that a shell would give for a status of waitpid(2). */
int record_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
