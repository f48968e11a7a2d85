/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: the flight recorder
 *
 *	at_flight_start(0, 0);
 *	...
 *	if (something_went_wrong)
 *		at_flight_write(fd, NULL);
 *
 * The program keeps its latest records in memory, in rings of a fixed size. Each
 * at_flight_write() makes a complete trace file of the rings' present records. It stops no
 * thread, and a signal handler may call it, for instance when the program crashes. The program in
 * userlib/examples/crash shows this.
 *
 * The flight recorder can run at the same time as some traces of at_trace_start(); see
 * at_flight_start(3). If the module is loaded, no such trace runs, and no other session has the
 * process, a circular session of the module records it. Other readers can read that session, too.
 *
 * A forked child has no flight recorder, but it may start its own.
 *
 * Thread safety: all functions are thread-safe.
 *
 * Signal safety: only at_flight_write() may be called in a signal handler. No function is a
 * cancellation point.
 */
#ifndef ASYNCTRACE_FLIGHT_H
#define ASYNCTRACE_FLIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Defaults of at_flight_start(). */
#define ASYNCTRACE_FLIGHT_AGE	10000000000ull		/* ns */
#define ASYNCTRACE_FLIGHT_BYTES	(10ull << 20)

/*
 * at_flight_start - start the flight recorder
 * @min_age: age of the oldest records that a file must have, ns; 0: ASYNCTRACE_FLIGHT_AGE. A file
 *	can also have older records: for each CPU, up to a sixteenth of its ring. If a session of
 *	the module records, @min_age has no effect
 * @max_bytes: limit on the records in a file, bytes, at most 1 TiB; 0: ASYNCTRACE_FLIGHT_BYTES.
 *	If the records of the last @min_age are larger, a file has the latest of them
 *
 * Both are hints. Each CPU has a ring of at least 16 KiB. If a trace runs already, the recorder
 * uses the rings of that trace.
 *
 * Return: 0; -EBUSY: the recorder runs already, or a trace runs that cannot share its rings (see
 * at_flight_start(3)), or another thread of a forked child is starting the child's trace, and takes
 * too long; -EINVAL: @max_bytes is too large; -ENOMEM: no memory for the rings; -EAGAIN: the
 * program has called mlockall(2) with MCL_FUTURE, and RLIMIT_MEMLOCK leaves no room for the
 * library's memory; with the module, also errors of at_session_create() in asynctrace/session.h.
 */
int at_flight_start(uint64_t min_age, uint64_t max_bytes);

/**
 * struct at_flight_result - accounts of one at_flight_write()
 * @size: in: sizeof(struct at_flight_result)
 * @error: the return value of at_flight_write()
 * @bytes: bytes of the file
 * @delivered: records in the file
 * @older: records in the rings that were left out because of min_age or max_bytes
 * @overwritten: records lost to wraparound
 * @dropped: records that found no room
 * @malformed: records that must not be in the file: see struct at_trace_result
 * @unwritten: records that were read from the rings but are not in the file, because it could not
 *	be written or memory was short
 *
 * Accounting invariant, for all records that the program has attempted to write since
 * at_flight_start():
 *
 *	attempted = delivered + older + overwritten + dropped + malformed + unwritten
 *
 * After -ESRCH, -EBUSY, -EDEADLK and -EPERM, and if the module's session cannot be read, all counts
 * are 0.
 */
struct at_flight_result {
	uint32_t size;
	int32_t error;
	uint64_t bytes;
	uint64_t delivered;
	uint64_t older;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t malformed;
	uint64_t unwritten;
};

/*
 * at_flight_write - write the rings' present records to a file
 * @fd: descriptor to write to, from its file offset on
 * @result: out: accounts, may be NULL; the caller sets @result->size
 *
 * The recorder continues, so this function may be called any number of times. It allocates no
 * memory, takes no lock, and raises neither SIGPIPE nor SIGXFSZ. A signal handler needs 16 KiB of
 * stack for it.
 *
 * Return: 0; -ESRCH: the recorder does not run; -EBUSY: a call of another thread is writing;
 * -EDEADLK: this signal handler has interrupted a call of its own thread that is writing; -EPERM:
 * the calling thread may not read the counter (PR_SET_TSC); -EINVAL: @result->size is too small.
 * After these errors, nothing is written. -ENOMEM: the memory reserved at the start was too small,
 * and the file lacks records; or the error of write(2), after which a regular file ends with a
 * whole record.
 */
int at_flight_write(int fd, struct at_flight_result *result);

/*
 * at_flight_stop - stop the flight recorder
 *
 * Waits for a running at_flight_write().
 *
 * Return: 0; -ESRCH: the recorder does not run.
 */
int at_flight_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_FLIGHT_H */
