/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: the flight recorder
 *
 *	at_flight_start(0, 0);
 *	...
 *	if (something_went_wrong)
 *		at_flight_write(fd, NULL);
 *
 * The program keeps its latest records in memory, in rings whose size does not grow. Each
 * at_flight_write() makes a complete trace file of what the rings hold at that moment, and
 * disturbs no thread that traces. It may be called from a signal handler, for instance when
 * the program crashes: see userlib/examples/crash of the sources.
 *
 * The flight recorder runs beside a trace of at_trace_start(); at_flight_start(3) says which
 * ones. With the module, a circular session of the program's own does the work, and
 * other readers can read that session, too.
 *
 * A forked child has no flight recorder; it may start its own.
 */
#ifndef ASYNCTRACE_FLIGHT_H
#define ASYNCTRACE_FLIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values that 0 stands for. */
#define ASYNCTRACE_FLIGHT_AGE	10000000000ull		/* ns */
#define ASYNCTRACE_FLIGHT_BYTES	(10ull << 20)

/*
 * Starts the flight recorder. A file has at least the records of the last min_age
 * nanoseconds (0: 10 s), and not many older ones, unless these do not fit into max_bytes
 * of memory (0: 10 MiB, at most 1 TiB). Then it has the latest that do. Both are hints:
 * each CPU has a ring of at least 16 KiB, and beside a trace the size is that of the trace's
 * rings.
 *
 * Returns 0 or a negative errno. -EBUSY: it runs already; or a trace of another kind runs,
 * or a session of the module's that is not the program's own records the process: see
 * at_flight_start(3). -EINVAL: max_bytes is too large. -ENOMEM: there is no memory for the
 * rings. Thread-safe; not for signal handlers. No cancellation point.
 */
int at_flight_start(uint64_t min_age, uint64_t max_bytes);

/**
 * struct at_flight_result - the ledger of one at_flight_write()
 * @size: sizeof(struct at_flight_result)
 * @error: what at_flight_write() returned
 * @bytes: of the file
 * @delivered: records in the file
 * @older: records that the rings still held, and min_age or max_bytes left out
 * @overwritten: records that the rings no longer held
 * @dropped: records that found no room
 * @malformed: records that something in the program has spoilt
 * @unwritten: records taken out of the rings that are not in the file, because it could not
 *	be written or memory was short
 *
 * Since at_flight_start() the program has attempted to write
 *
 *	delivered + older + overwritten + dropped + malformed + unwritten
 *
 * records, exactly. After -ESRCH and -EBUSY all are 0.
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
 * Writes what the rings hold to fd, from its file offset on. The recorder goes on, so that
 * this can be called any number of times. result may be NULL.
 *
 * Returns 0 or a negative errno. -ESRCH: no recorder runs. -EBUSY: another call is writing,
 * perhaps the one that this signal handler has interrupted. Both write nothing. Otherwise the
 * error of write(2): then the file ends with a whole record. No SIGPIPE and no SIGXFSZ is
 * raised.
 *
 * Thread-safe and async-signal-safe: it allocates nothing and takes no lock. A handler needs
 * 16 KiB of stack. No cancellation point.
 */
int at_flight_write(int fd, struct at_flight_result *result);

/*
 * Ends the recorder, after a running at_flight_write(). -ESRCH: none runs. Thread-safe; not for
 * signal handlers. No cancellation point.
 */
int at_flight_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_FLIGHT_H */
