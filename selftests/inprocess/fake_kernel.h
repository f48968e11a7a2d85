/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake kernel that sends the session library the answers that a test chooses
 *
 * libmnl's socket calls are wrapped (-Wl,--wrap): the fake looks at what the library sends, and
 * the test queues what it receives. Both build and parse messages with the real libmnl.
 */
#ifndef SELFTESTS_FAKE_KERNEL_H
#define SELFTESTS_FAKE_KERNEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <asynctrace/session.h>

#define FAMILY	0x1234
#define PORTID	77
#define SESSION	5

struct fake_kernel {
	char sent[64 * 1024] __attribute__((aligned(8)));
	char message[64 * 1024] __attribute__((aligned(8)));
	unsigned int head, tail;	/* numbers of messages received and queued */
	void (*answer)(const struct nlmsghdr *request);
	uint32_t abi;
	bool no_family;
	unsigned int callocs;	/* calls of calloc(3), of which the last fails; 0: none fails */
	int fd, peer;		/* a pair of sockets: the library's, and the kernel's end */
};

extern struct fake_kernel kernel;

struct nlmsghdr *new_message(uint16_t type, uint16_t flags);
struct nlmsghdr *new_answer(uint8_t cmd);
void queue_message(const struct nlmsghdr *nlh);
/* Queues an ack without extended attributes. */
void ack(int error);
/* Queues the end of a dump. */
void done(void);
struct at_ctl *open_ctl(void (*answer)(const struct nlmsghdr *request));

#endif /* SELFTESTS_FAKE_KERNEL_H */
