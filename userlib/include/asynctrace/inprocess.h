/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: in-process traces, without the module
 *
 * The macros write their records into rings of the process. While the trace runs, one thread of
 * the library writes the records to a descriptor as a trace file. This thread blocks all signals.
 * Scheduling is not in the trace, because it needs the kernel module.
 *
 * The environment can start a trace of an unchanged program:
 *
 *	ASYNCTRACE_OUT=trace.fxt	file name; %p stands for the process ID. The trace
 *					starts before main() and ends in exit(3). If the
 *					file exists: trace.PID.fxt, see at_trace_start(3)
 *	ASYNCTRACE_CATEGORIES=a,b*	categories; default: all
 *	ASYNCTRACE_MODE=streaming	oneshot, circular or streaming (default)
 *	ASYNCTRACE_BUFFER_SIZE=1M	bytes of one CPU's ring
 *
 * If a session of the module records the process when a trace starts, both have its records. If no
 * session does, none records the process before the trace stops: this is not supported yet. See
 * at_trace_start(3).
 *
 * A forked child is not in its parent's trace, but it may start its own. If ASYNCTRACE_OUT has %p,
 * the first macro in each child does so: see at_trace_start(3). A child made by clone(2) without
 * the C library writes into its parent's trace.
 *
 * Thread safety: both functions are thread-safe.
 *
 * Signal safety: neither may be called in a signal handler. Neither is a cancellation point.
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
 * struct at_trace_options - settings of a trace
 * @size: sizeof(struct at_trace_options)
 * @mode: enum asynctrace_mode; 0: ASYNCTRACE_MODE_STREAMING
 * @ring_size: bytes of one CPU's ring, 16 KiB to 1 GiB, rounded up to a power of two; 0: 1 MiB
 * @sub_size: bytes of a sub-buffer: a power of two, 4 KiB to 512 KiB, at most a quarter of the
 *	ring; 0: the library chooses
 * @categories: at most 100 patterns of at most 100 bytes, separated by commas. A pattern is a
 *	category, or a prefix and '*'. A pattern after '-' excludes categories. If there are
 *	only exclusions or no patterns, all other categories are recorded. Empty patterns, as in
 *	"a,,b", are ignored
 * @name: name of the provider in the file, 1 to 100 bytes; NULL: ASYNCTRACE_NAME, or the
 *	program's name
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
 * at_trace_start - start a trace
 * @fd: descriptor to write to. It remains the caller's and must stay open until the stop. The
 *	library writes to a duplicate
 * @options: settings; NULL: the defaults
 *
 * Return: 0; -EBUSY: see below; -EBADF: @fd is not open for writing; -EMFILE: no descriptor is left
 * for the duplicate; -EINVAL: an option is wrong; -ENOMEM: no memory for the rings; -EAGAIN: the
 * thread could not be created, or the program has called mlockall(2) with MCL_FUTURE, and
 * RLIMIT_MEMLOCK leaves no room for the library's memory.
 *
 * -EBUSY has five causes. A trace runs already. Another thread of a forked child is starting the
 * child's trace, and takes too long. Another process, for example a forked child, writes a trace to
 * the same file, pipe or socket. The flight recorder runs and cannot share its rings with this
 * trace, see at_flight_start(3). This copy of the library records nothing: see
 * ASYNCTRACE_REASON_MIXED in at_status(3).
 *
 * After an error, nothing has been written to @fd.
 */
int at_trace_start(int fd, const struct at_trace_options *options);

/**
 * struct at_trace_result - accounts of a trace
 * @size: in: sizeof(struct at_trace_result)
 * @error: negative errno of the first write to the descriptor that failed, or 0
 * @delivered: records in the file
 * @overwritten: records lost to wraparound
 * @dropped: records that found no room
 * @malformed: records that must not be in the file: events of a virtual thread with a time in the
 *	future or beyond the limit on virtual threads, blobs of an unknown type, and records that
 *	the program has damaged
 * @unwritten: records that were read from the rings but are not in the file, because it could not
 *	be written or memory was short
 *
 * Accounting invariant, for all records that the program has attempted to write during the trace:
 *
 *	attempted = delivered + overwritten + dropped + malformed + unwritten
 *
 * If @size does not include the last members, at_trace_stop() does not set them.
 */
struct at_trace_result {
	uint32_t size;
	int32_t error;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t malformed;
	uint64_t unwritten;
};

/*
 * at_trace_stop - stop the trace; the file is then complete
 * @result: out: accounts, may be NULL; the caller sets @result->size
 *
 * In a forked child whose trace by ASYNCTRACE_OUT would begin at its first macro, this function
 * returns 0, the counts are 0, and no trace begins.
 *
 * Return: 0; -ESRCH: no trace runs; -EINVAL: @result->size is too small, and the trace goes on;
 * -EBUSY: another thread of a forked child is starting the child's trace, and takes too long;
 * -EBADF: the program has closed the descriptor; or the error of write(2). After the last two, the
 * trace has ended, too.
 */
int at_trace_stop(struct at_trace_result *result);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_INPROCESS_H */
