/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Interface of the sample driver: /dev/asynctrace_sample */
#ifndef ASYNCTRACE_SAMPLE_H
#define ASYNCTRACE_SAMPLE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SAMPLE_DEVICE	"asynctrace_sample"

enum sample_how {
	SAMPLE_INTERRUPT	= 0,	/* complete the request in a timer's interrupt */
	SAMPLE_WORKER		= 1,	/* complete it in a thread of the kernel */
};

/**
 * struct sample_request - a request to the device
 * @operation: id of the operation that the request belongs to; read(2) returns it
 * @delay_us: time until the request completes, at most SAMPLE_DELAY_MAX_US
 * @how: enum sample_how
 */
struct sample_request {
	__u64 operation;
	__u32 delay_us;
	__u32 how;
};

#define SAMPLE_DELAY_MAX_US	1000000

/* Returns at once. read(2) waits for a completion and returns its request's operation, a __u64. */
#define SAMPLE_IOC_SUBMIT	_IOW('s', 0x40, struct sample_request)

#endif /* ASYNCTRACE_SAMPLE_H */
