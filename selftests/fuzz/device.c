// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on descriptors of the device
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/asynctrace.h>

#include "execute.h"

static void opened(const struct op *op, int *fd)
{
	if (*fd >= 0)
		return;
	/* Nonblocking: no operation may wait. */
	*fd = open("/dev/" ASYNCTRACE_DEVICE, (op->a & O_ACCMODE) | O_CLOEXEC | O_NONBLOCK);
}

static void closed(unsigned int slot)
{
	if (env.fds[slot] >= 0)
		close(env.fds[slot]);
	env.fds[slot] = -1;
	env.cookies[slot] = 0;
	env.providers[slot] = 0;
}

static void hello(const struct op *op, unsigned int slot)
{
	struct asynctrace_hello h = { .size = op->a, .abi = op->b };

	if (!ioctl(env.fds[slot], ASYNCTRACE_IOC_HELLO, &h))
		env.cookies[slot] = h.cookie;
}

static void attrs(const struct op *op, unsigned int slot, unsigned long cmd)
{
	static __thread char buf[1 << 16] __attribute__((aligned(8)));
	size_t len = message_attrs(op, buf, sizeof(buf), resolve);
	struct asynctrace_attrs a = { .size = op->a, .reserved = op->b };

	len -= op->cut < len ? op->cut : 0;
	a.len = op->c == 1 ? op->b : len;
	a.attrs = op->c == 1 ? op->a : (uintptr_t)buf;
	if (!ioctl(env.fds[slot], cmd, &a) && cmd == ASYNCTRACE_IOC_REGISTER)
		env.providers[slot] = a.id;
}

static void consume(const struct op *op, int fd)
{
	struct asynctrace_consume c = {
		.size = op->a, .flags = op->b, .reserved = op->c,
		.session = env.sessions[op->cmd % SESSIONS],
	};

	ioctl(fd, ASYNCTRACE_IOC_CONSUME, &c);
}

static void alert(const struct op *op, int fd)
{
	struct asynctrace_alert a = { .size = sizeof(a) };

	for (size_t i = 0; i < sizeof(a.name) && i < op->a; i++)
		a.name[i] = op->b >> (i & 7);
	ioctl(fd, ASYNCTRACE_IOC_ALERT, &a);
}

static void any(const struct op *op, int fd)
{
	static __thread uint64_t words[64];
	struct rng r = { op->c };

	/* Skip ioctls of file systems, which can freeze the machine's disk. */
	if ((op->a >> 8 & 0xff) == 'X')
		return;
	for (size_t i = 0; i < ARRAY(words); i++)
		words[i] = rnd(&r);
	ioctl(fd, op->a, op->b ? (uintptr_t)words : op->c);
}

static void reads(const struct op *op, int fd)
{
	static __thread char buf[1 << 20];
	size_t size = op->a && op->a < sizeof(buf) ? op->a : ASYNCTRACE_READ_MIN;

	for (uint64_t i = 0; i < op->b % 64; i++)
		if (read(fd, op->c == 1 ? (char *)8 : buf, size) <= 0)
			break;
}

void device_op(const struct op *op)
{
	unsigned int slot = op->slot % FDS;
	int fd = env.fds[slot];

	switch (op->kind) {
	case OP_OPEN:
		opened(op, &env.fds[slot]);
		break;
	case OP_CLOSE:
		closed(slot);
		break;
	case OP_HELLO:
		hello(op, slot);
		break;
	case OP_REGISTER:
		attrs(op, slot, ASYNCTRACE_IOC_REGISTER);
		break;
	case OP_ANNOUNCE:
		attrs(op, slot, ASYNCTRACE_IOC_ANNOUNCE);
		break;
	case OP_THREAD:
		ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL);
		break;
	case OP_CONSUME:
		consume(op, fd);
		break;
	case OP_ALERT:
		alert(op, fd);
		break;
	case OP_IOCTL:
		any(op, fd);
		break;
	case OP_READ:
		reads(op, fd);
		break;
	case OP_POLL: {
		struct pollfd p = { .fd = fd, .events = op->a };

		poll(&p, 1, 0);
		break;
	}
	}
}
