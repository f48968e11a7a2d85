// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where a process that traces itself writes: a descriptor of the caller, or what
 * ASYNCTRACE_OUT names
 *
 * ASYNCTRACE_OUT is inherited by child processes, and the same command is run again.
 * So a file that has content is never opened, and a record lock (fcntl(2)) tells two
 * processes apart that have the same pipe, or the same new file. A record lock belongs
 * to the process: a forked child does not share it, unlike a lock of flock(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inproc.h"

/* Low numbers are the program's: some programs close them all, some count on them. */
#define AT_FD_MIN	512
/* File names that are tried before the library gives up. */
#define AT_NAMES_MAX	1000

/* Forgets all but the name, which messages need. */
static void forget(struct at_output *out)
{
	out->fd = -1;
	out->own = out->made = out->regular = out->locked = false;
}

/*
 * Locks the file of @out for this process: 0, or -EBUSY if another process has the lock,
 * or -EBADF if the descriptor is not open for writing. *unlocked: the file system has no
 * locks. A character device is not locked: many processes write to /dev/null.
 */
static int lock(struct at_output *out, bool *unlocked)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;
	int flags = fcntl(out->fd, F_GETFL);

	*unlocked = false;
	if (flags < 0 || fstat(out->fd, &st))
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
		return -EBADF;
	out->dev = st.st_dev;
	out->ino = st.st_ino;
	out->regular = S_ISREG(st.st_mode);
	if (S_ISCHR(st.st_mode))
		return 0;
	if (!fcntl(out->fd, F_SETLK, &l)) {
		out->locked = true;
		return 0;
	}
	if (errno == EAGAIN || errno == EACCES) {
		if (!fcntl(out->fd, F_GETLK, &l) && l.l_type != F_UNLCK)
			out->owner = l.l_pid;
		return -EBUSY;
	}
	*unlocked = true;
	return 0;
}

int at_output_adopt(struct at_output *out, int fd)
{
	bool unlocked;
	int err;

	forget(out);
	*out->name = '\0';
	out->fd = fd;
	err = lock(out, &unlocked);
	if (err)
		forget(out);
	return err;
}

/* --- names ------------------------------------------------------------------------- */

int at_output_expand(const char *pattern, char *name, size_t size, struct at_output_name *what)
{
	size_t used = 0;
	int n;

	*what = (struct at_output_name){ 0 };
	for (const char *s = pattern; *s; s++) {
		if (*s == '%' && s[1] == 'p') {
			n = snprintf(name + used, size - used, "%d", getpid());
			what->has_pid = true;
			s++;
		} else {
			if (*s == '%' && *++s != '%') {
				what->wrong = *s;
				return -EINVAL;
			}
			n = snprintf(name + used, size - used, "%c", *s);
		}
		used += n;
		if (used >= size)
			return -ENAMETOOLONG;
	}
	return 0;
}

/*
 * The name to try if @name exists: with the process' number, and from the second attempt
 * on with a count, before the ending: trace.fxt, trace.1234.fxt, trace.1234.2.fxt.
 */
static int other_name(const char *name, bool has_pid, unsigned int attempt, char *to, size_t size)
{
	const char *base = strrchr(name, '/'), *ending;
	char pid[16] = "", count[16] = "";
	int n;

	base = base ? base + 1 : name;
	ending = strrchr(base, '.');
	if (!ending || ending == base)
		ending = base + strlen(base);
	if (!has_pid)
		snprintf(pid, sizeof(pid), ".%d", getpid());
	if (has_pid || attempt > 1)
		snprintf(count, sizeof(count), ".%u", has_pid ? attempt + 1 : attempt);
	n = snprintf(to, size, "%.*s%s%s%s", (int)(ending - name), name, pid, count, ending);
	return n < (int)size ? 0 : -ENAMETOOLONG;
}

/* --- files that ASYNCTRACE_OUT names ----------------------------------------------------- */

static int duplicate(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, AT_FD_MIN);

	/* RLIMIT_NOFILE may be lower than that. */
	return high < 0 && errno == EINVAL ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : high;
}

/* Takes what open(2) returned: a descriptor, which moves to a high number, or -1. */
static int own(struct at_output *out, int fd)
{
	int high;

	if (fd < 0)
		return -errno;
	high = duplicate(fd);
	/* The file is not locked yet: this close() releases no record lock. */
	if (high >= 0)
		close(fd);
	out->fd = high >= 0 ? high : fd;
	out->own = true;
	return 0;
}

static int drop(struct at_output *out, int err)
{
	close(out->fd);
	forget(out);
	return err;
}

/* The number of a descriptor that the program was started with, if @name means one. */
static int inherited(const char *name)
{
	static const char *const directories[] = { "/dev/fd/", "/proc/self/fd/" };
	char *end;
	long fd;

	if (!strcmp(name, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(name, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const size_t n = strlen(directories[i]);

		if (strncmp(name, directories[i], n) || name[n] < '0' || name[n] > '9')
			continue;
		fd = strtol(name + n, &end, 10);
		if (!*end && fd <= INT32_MAX)
			return fd;
	}
	return -1;
}

/* Pipes, sockets, devices, and descriptors that others opened: no file is made or emptied. */
static int lock_as_it_is(struct at_output *out)
{
	bool unlocked;
	int err = lock(out, &unlocked);

	return err ? drop(out, err) : 0;
}

/* Locks the file if it is an empty one, and closes it if not. */
static int lock_if_empty(struct at_output *out)
{
	struct stat st;
	bool unlocked;

	/* A size from before the lock may be that of before another process wrote. */
	if (!lock(out, &unlocked) && !(unlocked && !out->made) && !fstat(out->fd, &st) &&
	    S_ISREG(st.st_mode) && !st.st_size)
		return 0;
	return drop(out, -EEXIST);
}

/* Makes the file, or takes an existing one that is empty. -EEXIST: try another name. */
static int make(struct at_output *out)
{
	int err = own(out, open(out->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));

	out->made = !err;
	if (err == -EEXIST && own(out, open(out->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK |
					    O_CLOEXEC | O_NOCTTY)))
		return -EEXIST;
	if (err && err != -EEXIST)
		return err;
	/*
	 * Another process may have found the new file empty, locked it, and even written its
	 * whole trace, before this process has the lock.
	 */
	return lock_if_empty(out);
}

int at_output_open(struct at_output *out, const char *name, bool has_pid)
{
	const int fd = inherited(name);
	struct stat st;
	int err;

	forget(out);
	strcpy(out->name, name);
	if (fd >= 0) {
		out->fd = duplicate(fd);
		out->own = true;
		return out->fd < 0 ? -errno : lock_as_it_is(out);
	}
	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		err = own(out, open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY));
		return err ? err : lock_as_it_is(out);
	}
	err = make(out);
	for (unsigned int i = 1; err == -EEXIST && i <= AT_NAMES_MAX; i++) {
		err = other_name(name, has_pid, i, out->name, sizeof(out->name));
		if (!err)
			err = make(out);
	}
	return err;
}

/* --- use ------------------------------------------------------------------------------- */

int at_output_check(const struct at_output *out)
{
	struct stat st;

	return !fstat(out->fd, &st) && st.st_dev == out->dev && st.st_ino == out->ino ? 0 :
	       -EBADF;
}

int at_output_close(struct at_output *out)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	int err = 0;

	if (out->fd >= 0 && !at_output_check(out)) {
		if (out->own)
			err = close(out->fd) ? -errno : 0;
		else if (out->locked)
			fcntl(out->fd, F_SETLK, &l);
	}
	out->fd = -1;
	return err;
}

void at_output_discard(struct at_output *out)
{
	struct stat st;

	/* Still the file that was made here, and not another one of its name? */
	if (out->made && !lstat(out->name, &st) && st.st_dev == out->dev && st.st_ino == out->ino)
		unlink(out->name);
	at_output_close(out);
}
