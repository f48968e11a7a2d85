// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Output of an in-process trace: a descriptor of the caller, or the file that ASYNCTRACE_OUT
 * names
 *
 * Child processes inherit ASYNCTRACE_OUT, and a command may run again. So a file that has content
 * is never written to. Two processes may have the same pipe or the same new file. A record lock
 * (fcntl(2)) makes sure that only one of them writes there. A record lock belongs to the process,
 * so a forked child does not share it, unlike a lock of flock(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inproc.h"

/*
 * Programs use low descriptor numbers: some close them all, some expect the lowest number to be
 * free.
 */
#define AT_FD_MIN	512
/* Limit of file names that are tried. */
#define AT_NAMES_MAX	1000

/* Clears the descriptor and its flags. Keeps the name and the owner, which messages need. */
static void forget_file(struct at_output *out)
{
	out->fd = out->callers = -1;
	out->made = out->named = out->regular = false;
	out->size = 0;
}

/*
 * Has this process locked the file? Another copy of the library in the process, as in a plug-in,
 * may write there. The locks of a process do not conflict with each other, but F_OFD_GETLK asks for
 * a lock of the open file, with which they do. The locks of files that the caller opened may be the
 * program's own.
 */
static bool locked_by_us(const struct at_output *out)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return *out->name && !fcntl(out->fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK &&
	       l.l_pid == getpid();
}

/*
 * Sets a lock. Returns 0; -EBUSY if another process, or another copy of the library, has one;
 * -ENOLCK if the file system has no locks, or if a sandbox or a security module forbids them.
 */
static int set_lock(struct at_output *out)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool busy;

	if (locked_by_us(out)) {
		out->owner = getpid();
		return -EBUSY;
	}
	if (!fcntl(out->fd, F_SETLK, &l))
		return 0;
	busy = errno == EAGAIN;
	/* EACCES: a security module, or CIFS if another process has the lock */
	if ((busy || errno == EACCES) && !fcntl(out->fd, F_GETLK, &l) && l.l_type != F_UNLCK) {
		out->owner = l.l_pid;
		busy = true;
	}
	return busy ? -EBUSY : -ENOLCK;
}

/*
 * Locks the file of @out for this process. Returns 0; -EBUSY if the file is already locked; -EBADF
 * if the descriptor is not open for writing. *unlocked: locks are not possible. A character
 * device is not locked, because many processes may write to /dev/null.
 */
static int lock_file(struct at_output *out, bool *unlocked)
{
	struct stat st;
	int flags = fcntl(out->fd, F_GETFL), err;

	/* After another error, a sandbox forbids fcntl(2). */
	*unlocked = flags < 0 && errno != EBADF;
	if ((flags < 0 && !*unlocked) || fstat(out->fd, &st))
		return -errno;
	if (!*unlocked && ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH))
		return -EBADF;
	out->dev = st.st_dev;
	out->ino = st.st_ino;
	out->regular = S_ISREG(st.st_mode);
	if (S_ISCHR(st.st_mode) || *unlocked)
		return 0;
	err = set_lock(out);
	*unlocked = err == -ENOLCK;
	return err == -EBUSY ? err : 0;
}

static int duplicate(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, AT_FD_MIN);

	/* RLIMIT_NOFILE may be lower than AT_FD_MIN. */
	return high < 0 && errno == EINVAL ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : high;
}

/*
 * Writes go to a duplicate, so that they never reach another file that has got the number @fd
 * meanwhile. As long as the duplicate is open, the file system does not give the number of its
 * inode to another file. So comparing device and inode shows whether @fd is still the file.
 */
int at_output_adopt(struct at_output *out, int fd)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	bool unlocked;
	int err;

	forget_file(out);
	*out->name = '\0';
	out->fd = fd;
	err = lock_file(out, &unlocked);
	if (!err) {
		out->callers = fd;
		out->fd = duplicate(fd);
		if (out->fd >= 0)
			return 0;
		err = -errno;
		fcntl(fd, F_SETLK, &l);
	}
	forget_file(out);
	return err;
}

/* --- names ---------------------------------------------------------------- */

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
 * Makes the name to try if @name exists. Adds the process id, unless @name contains it, and a count
 * if that name exists, too, before the ending: trace.fxt, trace.1234.fxt, trace.1234.2.fxt.
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

/* --- files that ASYNCTRACE_OUT names -------------------------------------- */

/* Takes the result of open(2), a descriptor or -1. Moves the descriptor to a high number. */
static int own_file(struct at_output *out, int fd)
{
	int high;

	if (fd < 0)
		return -errno;
	high = duplicate(fd);
	/* The file is not locked yet, so this close() releases no record lock. */
	if (high >= 0)
		close(fd);
	out->fd = high >= 0 ? high : fd;
	return 0;
}

static int close_file(struct at_output *out, int err)
{
	close(out->fd);
	forget_file(out);
	return err;
}

/* Returns the number of an inherited descriptor, if @name means one; otherwise -1. */
static int inherited_fd(const char *name)
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

/* Locks a pipe, a socket, a device or an inherited descriptor. Creates and empties no file. */
static int lock_as_it_is(struct at_output *out)
{
	bool unlocked;
	int err = lock_file(out, &unlocked);

	return err ? close_file(out, err) : 0;
}

/*
 * Locks the file, which must be an empty regular one. Otherwise, or if another process uses it,
 * closes it and returns -EEXIST: another name must be tried. Other errors would come with each
 * name; after them, a new file is also removed.
 */
static int lock_if_empty(struct at_output *out)
{
	struct stat st;
	bool unlocked;
	int err = lock_file(out, &unlocked);

	if (err && err != -EBUSY) {
		if (out->made)
			unlink(out->name);
		return close_file(out, err);
	}
	/* Read the size after locking: another process may have written before. */
	if (!err && !(unlocked && !out->made) && !fstat(out->fd, &st) && S_ISREG(st.st_mode) &&
	    !st.st_size)
		return 0;
	return close_file(out, -EEXIST);
}

/*
 * Creates the file, or opens an existing empty one. Returns -EEXIST if another name must be
 * tried.
 */
static int create_or_reuse(struct at_output *out)
{
	int err = own_file(out, open(out->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));

	out->made = !err;
	if (err == -EEXIST && own_file(out, open(out->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK |
						 O_CLOEXEC | O_NOCTTY)))
		return -EEXIST;
	if (err && err != -EEXIST)
		return err;
	/*
	 * Before this process has the lock, another process may have found the new file empty,
	 * locked it, and even written its whole trace.
	 */
	err = lock_if_empty(out);
	out->named = !err;
	return err;
}

int at_output_open(struct at_output *out, const char *name, bool has_pid)
{
	const int fd = inherited_fd(name);
	struct stat st;
	int err;

	forget_file(out);
	strcpy(out->name, name);
	/* The program may change its directory before at_output_fd() needs the name again. */
	if (*name == '/' || !getcwd(out->directory, sizeof(out->directory)))
		*out->directory = '\0';
	if (fd >= 0) {
		out->fd = duplicate(fd);
		return out->fd < 0 ? -errno : lock_as_it_is(out);
	}
	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		err = own_file(out, open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY));
		return err ? err : lock_as_it_is(out);
	}
	err = create_or_reuse(out);
	for (unsigned int i = 1; err == -EEXIST && i <= AT_NAMES_MAX; i++) {
		err = other_name(name, has_pid, i, out->name, sizeof(out->name));
		if (!err)
			err = create_or_reuse(out);
	}
	return err;
}

/* --- use ------------------------------------------------------------------ */

/* Is @fd the file of the trace? */
static bool is_file(const struct at_output *out, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == out->dev && st.st_ino == out->ino;
}

void at_output_wrote(struct at_output *out)
{
	if (out->named && is_file(out, out->fd))
		out->size = lseek(out->fd, 0, SEEK_CUR);
}

/*
 * Is the position behind the last write? If not, the descriptor is another file, which has got the
 * number of the inode. The position of a descriptor that the library did not open may be anywhere.
 */
static bool is_at_end(const struct at_output *out)
{
	return !out->named || lseek(out->fd, 0, SEEK_CUR) == out->size;
}

/*
 * Is the file, opened again by its name, that of the trace? While it was closed, another file may
 * have got its name and the number of its inode, but hardly as many bytes.
 */
static bool is_file_again(struct at_output *out)
{
	return is_file(out, out->fd) && lseek(out->fd, 0, SEEK_END) == out->size &&
	       set_lock(out) != -EBUSY;
}

static int open_again(struct at_output *out)
{
	char path[2 * PATH_MAX + 1] = "";

	if (!out->named || (*out->name != '/' && !*out->directory))
		return -EBADF;
	if (*out->name != '/')
		strcat(strcpy(path, out->directory), "/");
	strcat(path, out->name);
	if (own_file(out, open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)))
		return -EBADF;
	if (is_file_again(out))
		return out->fd;
	close(out->fd);
	out->fd = -1;
	return -EBADF;
}

/* A daemon, for example, closes all descriptors that it does not know: see closefrom(3). */
int at_output_fd(struct at_output *out)
{
	if (out->callers >= 0 && !is_file(out, out->callers))
		return -EBADF;
	if (is_file(out, out->fd) && is_at_end(out))
		return out->fd;
	if (out->callers < 0)
		return open_again(out);
	out->fd = duplicate(out->callers);
	return out->fd < 0 ? -errno : out->fd;
}

int at_output_close(struct at_output *out)
{
	int err = 0;

	/* This also releases the record lock, if it is the caller's file. */
	if (out->fd >= 0 && is_file(out, out->fd))
		err = close(out->fd) ? -errno : 0;
	out->fd = -1;
	return err;
}

void at_output_discard(struct at_output *out)
{
	struct stat st;

	/* Is the file of this name still the file that was created here? */
	if (out->made && !lstat(out->name, &st) && st.st_dev == out->dev && st.st_ino == out->ino)
		unlink(out->name);
	at_output_close(out);
}
