// SPDX-License-Identifier: LGPL-2.1-or-later
/* Opening of files that a client names. No file outside of the directory can be opened. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "httpd.h"

/*
 * Opens a path segment by segment and follows no symbolic link. For kernels before Linux 5.6,
 * which have no openat2, and for sandboxes that forbid openat2. Stricter than openat2, and as
 * safe.
 */
static int open_by_segment(int dirfd, const char *path)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int at = dirfd;

	for (;;) {
		size_t n = strcspn(path, "/");
		bool last = !path[n];
		int fd, flags, err;

		if (n > NAME_MAX)
			fd = -1, errno = ENAMETOOLONG;
		else {
			memcpy(name, path, n);
			name[n] = '\0';
			flags = last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
			fd = openat(at, n ? name : ".", O_CLOEXEC | O_NOFOLLOW | flags);
		}
		err = errno;
		if (fd < 0 && err == ENOTDIR && !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(st.st_mode))
			err = ELOOP;
		if (at != dirfd)
			close(at);
		if (fd < 0)
			return -err;
		if (last)
			return fd;
		at = fd;
		path += n + 1;
	}
}

int file_open(int dirfd, const char *path)
{
	static atomic_bool no_openat2;
	struct open_how how = {
		/* O_NONBLOCK: opening a FIFO must not block. */
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	if (http_path_climbs(path))
		return -EXDEV;
	path += strspn(path, "/");
	if (!*path)
		path = ".";
	while (!atomic_load_explicit(&no_openat2, memory_order_relaxed)) {
		long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

		if (fd >= 0)
			return fd;
		/* EAGAIN means that a rename happened meanwhile: try again. */
		if (errno == ENOSYS || errno == EPERM)
			atomic_store_explicit(&no_openat2, true, memory_order_relaxed);
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return open_by_segment(dirfd, path);
}

int file_status(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
		return 404;
	case EXDEV:	/* the path leaves the directory, or may leave it */
	case ELOOP:
	case EACCES:
	case EPERM:
	case EROFS:
	case ENXIO:	/* the path names a socket, or a device without a driver */
		return 403;
	case EISDIR:	/* the upload has the name of a directory */
		return 409;
	case ENOSPC:
	case EDQUOT:
		return 507;
	}
	return 500;
}

/* Uploads have plain names. Names with a leading dot are reserved for the disk thread. */
bool file_upload_name(const char *path, const char **name)
{
	size_t n = strlen(UPLOAD_PREFIX);

	if (config.upload_fd < 0 || strncmp(path, UPLOAD_PREFIX, n))
		return false;
	*name = path + n;
	if (!**name || **name == '.' || strchr(*name, '/') || strlen(*name) > NAME_MAX)
		*name = NULL;
	return true;
}
