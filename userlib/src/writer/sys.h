/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls without the C library's wrappers, for code that runs inside any macro
 *
 * Some wrappers are cancellation points, and a program may have replaced others by traced
 * functions. Results are those of the wrappers: -1 and errno.
 */
#ifndef AT_SYS_H
#define AT_SYS_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int at_sys_open(const char *path, int flags)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int at_sys_close(int fd)
{
	return syscall(SYS_close, fd);
}

static inline ssize_t at_sys_read(int fd, void *buf, size_t len)
{
	return syscall(SYS_read, fd, buf, len);
}

static inline ssize_t at_sys_readlink(const char *path, char *buf, size_t len)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, buf, len);
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

static inline int at_sys_fstat(int fd, void *st)
{
	return syscall(SYS_fstat, fd, st);
}

static inline int at_sys_madvise(void *addr, size_t bytes, int advice)
{
	return syscall(SYS_madvise, addr, bytes, advice);
}

static inline int at_sys_munmap(void *addr, size_t bytes)
{
	return syscall(SYS_munmap, addr, bytes);
}

static inline int at_sys_prctl(int option, void *arg)
{
	return syscall(SYS_prctl, option, arg, 0, 0, 0);
}

static inline ssize_t at_sys_getrandom(void *buf, size_t len, unsigned int flags)
{
	return syscall(SYS_getrandom, buf, len, flags);
}

static inline uint32_t at_sys_getpid(void)
{
	return syscall(SYS_getpid);
}

static inline uint32_t at_sys_gettid(void)
{
	return syscall(SYS_gettid);
}

static inline int at_sys_tkill(uint32_t tid, int sig)
{
	return syscall(SYS_tkill, tid, sig);
}

static inline int at_sys_sigprocmask(int how, const uint64_t *set, uint64_t *old)
{
	return syscall(SYS_rt_sigprocmask, how, set, old, sizeof(*set));
}

static inline int at_sys_futex(uint32_t *word, int op, uint32_t value, const struct timespec *ts)
{
	return syscall(SYS_futex, word, op, value, ts, NULL, 0);
}

static inline int at_sys_clock_gettime(clockid_t clock, struct timespec *ts)
{
	return syscall(SYS_clock_gettime, clock, ts);
}

static inline int at_sys_nanosleep(const struct timespec *ts)
{
	return syscall(SYS_nanosleep, ts, NULL);
}

#endif /* AT_SYS_H */
