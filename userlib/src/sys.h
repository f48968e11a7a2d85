/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls without the C library's wrappers, for code that runs in the middle of
 * any macro
 *
 * The wrappers of open(2) and the like are cancellation points, and a program may
 * have put its own, traced functions in their place. Results are those of the
 * wrappers: -1 and errno.
 */
#ifndef AT_SYS_H
#define AT_SYS_H

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct sockaddr;

static inline int at_sys_open(const char *path, int flags)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int at_sys_close(int fd)
{
	return syscall(SYS_close, fd);
}

static inline int at_sys_fcntl(int fd, int cmd, long arg)
{
	return syscall(SYS_fcntl, fd, cmd, arg);
}

static inline int at_sys_ioctl(int fd, unsigned long request, void *arg)
{
	return syscall(SYS_ioctl, fd, request, arg);
}

static inline int at_sys_socket(int domain, int type, int protocol)
{
	return syscall(SYS_socket, domain, type, protocol);
}

static inline ssize_t at_sys_sendto(int fd, const void *buf, size_t len, int flags,
				    const void *addr, size_t addr_len)
{
	return syscall(SYS_sendto, fd, buf, len, flags, addr, addr_len);
}

static inline ssize_t at_sys_recvfrom(int fd, void *buf, size_t len, int flags, void *addr,
				      void *addr_len)
{
	return syscall(SYS_recvfrom, fd, buf, len, flags, addr, addr_len);
}

#endif /* AT_SYS_H */
