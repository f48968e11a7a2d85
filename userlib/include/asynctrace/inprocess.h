/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: a program that traces itself, without the module
 *
 * The same records by the same writer, in rings that belong to the process. One
 * thread, all signals blocked, takes them from there to a descriptor while the
 * trace runs. There is no scheduling in such a trace: the kernel's part is
 * missing.
 *
 * Without a change to the program the environment starts it:
 *
 *	ASYNCTRACE_OUT=trace.fxt	where to; started before main(), finished
 *					by exit(); %p: the process ID. If the file
 *					exists: trace.PID.fxt, see at_trace_start(3)
 *	ASYNCTRACE_CATEGORIES=a,b*	what; default: all
 *	ASYNCTRACE_MODE=streaming	oneshot, circular or streaming (default)
 *	ASYNCTRACE_BUFFER_SIZE=1M	of one CPU's ring
 *
 * A forked child is not traced: it may start a trace of its own. (One that was
 * made by a bare clone(2), behind the C library's back, writes into its
 * parent's trace.)
 */
#ifndef ASYNCTRACE_INPROCESS_H
#define ASYNCTRACE_INPROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <linux/asynctrace_netlink.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct at_trace_options - what to trace, and into how much memory
 * @size: sizeof(struct at_trace_options)
 * @mode: enum asynctrace_mode; 0: ASYNCTRACE_MODE_STREAMING
 * @ring_size: of one CPU's ring, bytes; rounded up to a power of two, from
 *	16 KiB to 1 GiB; 0: 1 MiB
 * @sub_size: of a sub-buffer, bytes, a power of two from 4 KiB to 512 KiB and
 *	a quarter of the ring; 0: chosen
 * @categories: patterns separated by commas: a category, or a prefix and '*'.
 *	What matches one behind a '-' is not recorded. None, or none but such:
 *	all others
 * @name: of the provider; NULL: ASYNCTRACE_NAME, or else the program's name
 */
struct at_trace_options {
	uint32_t size;
	uint32_t mode;
	uint64_t ring_size;
	uint64_t sub_size;
	const char *categories;
	const char *name;
};

/*
 * Starts a trace into fd, which stays the caller's and open until the stop.
 * options may be NULL. -EBUSY: one runs already, or another process traces into
 * the same file, pipe or socket; a forked child, too, is another process. Also
 * -EBUSY: a session of the module's records the process, or the flight recorder
 * runs and does not go with such a trace, see at_flight_start(3).
 * -EBADF: fd is not open for writing. No cancellation point.
 */
int at_trace_start(int fd, const struct at_trace_options *options);

/**
 * struct at_trace_result - the ledger of a trace
 * @size: sizeof(struct at_trace_result)
 * @error: negative errno of the first write to the descriptor that failed, or 0
 * @delivered: records taken out of the rings
 * @overwritten: records lost to a ring's wrapping
 * @dropped: records that found no room
 *
 * written by the program = delivered + overwritten + dropped, exactly.
 */
struct at_trace_result {
	uint32_t size;
	int32_t error;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t dropped;
};

/*
 * Ends the trace: when it returns the file is complete. result may be NULL.
 * -ESRCH: none runs; otherwise 0 or the error of the descriptor; -EBADF: the
 * program closed it. Not for signal handlers. No cancellation point.
 */
int at_trace_stop(struct at_trace_result *result);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_INPROCESS_H */
