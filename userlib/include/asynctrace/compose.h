/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compose a trace file (FXT) from the chunks of a session.
 *
 *	struct at_compose_options o = { .size = sizeof(o), .fd = fd };
 *	struct at_compose *c = at_compose_new(&o);
 *
 *	while ((n = read(session, buf, sizeof(buf))) > 0) {
 *		const struct asynctrace_chunk *chunk = (void *)buf;
 *
 *		err = at_compose_chunk(c, chunk, buf + chunk->size);
 *	}
 *	err = at_compose_finish(c);
 *	print(at_compose_stats(c));
 *	at_compose_free(c);
 *
 * A provider may have written anything into the chunks of its rings. Whatever
 * is there, what reaches the file is well formed, is under that provider's own
 * threads, and spoils nobody else's records. What does not is counted:
 *
 *	attempted = delivered + malformed + overwritten + cleared + dropped + unwritten + filtered
 *
 * holds for each ring, exactly, also where writing fails, as on a full disk: whoever
 * wants to know all that is missing hands over the rest, too.
 *
 * The file: times are CLOCK_BOOTTIME nanoseconds. Provider 1 is the kernel
 * ("asynctrace-kernel": context switches, wakeups, names, clocks, losses), and
 * the provider that the session calls N is provider N + 1. Records of a ring
 * keep their order, save that a duration moves before what it encloses.
 * asynctrace(5) describes the rest.
 *
 * A composer is used by one thread at a time; there is no state outside it.
 * Functions return 0 or a negative errno.
 */
#ifndef ASYNCTRACE_COMPOSE_H
#define ASYNCTRACE_COMPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/asynctrace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct at_compose;

/**
 * struct at_compose_options - where the file goes
 * @size: sizeof(struct at_compose_options)
 * @fd: a file, pipe or socket, used where @write is NULL; it stays the
 *	caller's, who also sees to SIGPIPE. May be non-blocking.
 * @write: takes up to @len bytes as write(2) does, but returns how many it
 *	took (at least 1) or a negative errno. It need not keep records whole.
 * @arg: first argument of @write
 * @buffer: bytes collected before they are written; 0: 256 KiB
 * @flags: ASYNCTRACE_COMPOSE_*
 */
struct at_compose_options {
	uint32_t size;
	int fd;
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
	size_t buffer;
	uint32_t flags;
};

/*
 * Others may have read the session before, and what happened then is in another
 * file, if in any: this one begins where the reading does.
 */
#define ASYNCTRACE_COMPOSE_CONTINUED	(1u << 0)

/**
 * at_compose_new - a composer; the file's head is written at once, or buffered
 *
 * NULL with errno set where memory is short (ENOMEM) or @opts wrong (EINVAL).
 */
struct at_compose *at_compose_new(const struct at_compose_options *opts);

/**
 * at_compose_chunk - add what one read(2) of a session returned
 * @chunk: the head; need not be aligned
 * @payload: chunk->bytes bytes, copied before they are looked at
 *
 * 0. Malformed records are no error, they are counted.
 * -EPROTO: the chunk contradicts linux/asynctrace.h, which providers cannot
 * cause; it was left out, and the composer goes on. -ENOMEM likewise.
 * Anything else is from writing. Then the file ends at the last whole record
 * (where it is a regular file, it is cut there), and this and all later calls
 * return the same error. What is handed over from then on, or after the end of the
 * last file, is counted as unwritten.
 */
int at_compose_chunk(struct at_compose *c, const struct asynctrace_chunk *chunk,
		     const void *payload);

/* Bytes of a string that a tracepoint's value keeps */
#define ASYNCTRACE_COMPOSE_TEXT_MAX	1000

/**
 * struct at_compose_value - a field of a tracepoint's event
 * @name: of the field; up to 255 bytes are kept
 * @type: ASYNCTRACE_FXT_ARG_INT64, _UINT64, _POINTER or _STRING
 * @bytes: length of @text, of which up to ASYNCTRACE_COMPOSE_TEXT_MAX bytes are kept
 * @number: the value if it is no string; a signed one as two's complement
 * @text: the value if it is a string; need not end in NUL, may be any bytes
 */
struct at_compose_value {
	const char *name;
	uint32_t type;
	uint32_t bytes;
	uint64_t number;
	const char *text;
};

/**
 * struct at_compose_tracepoint - an event of one of the kernel's tracepoints
 * @size: sizeof(struct at_compose_tracepoint)
 * @clock: enum asynctrace_clock: what @time is in
 * @time: ticks of the session's counter, or CLOCK_BOOTTIME nanoseconds
 * @cpu: where it happened
 * @tid: in which thread; 0: the CPU's idle task
 * @pid: the thread's process; 0: not known
 * @comm: the thread's name, used if the session does not name it; may be NULL
 * @category: the tracepoint's subsystem, as "block"
 * @name: the tracepoint's name, as "block_rq_issue"
 * @nr_values: fields in @values, at most 15
 * @values: the fields
 */
struct at_compose_tracepoint {
	uint32_t size;
	uint32_t clock;
	uint64_t time;
	uint32_t cpu;
	int32_t tid;
	int32_t pid;
	uint32_t nr_values;
	const char *comm;
	const char *category;
	const char *name;
	const struct at_compose_value *values;
};

/**
 * at_compose_add_tracepoint - add an event that the caller read from ftrace
 *
 * Events of one CPU are to be in order of time. 0, and the event counts as delivered in a
 * ring with ASYNCTRACE_COMPOSE_RING_TRACEPOINTS. -EAGAIN: its time cannot be told before
 * the next chunk of the session; call again after that. -ERANGE: it was before the session
 * began, or while the clock stood still. -EINVAL: @event is wrong. In these cases it was not
 * added and not counted. Other errors as of at_compose_chunk().
 */
int at_compose_add_tracepoint(struct at_compose *c, const struct at_compose_tracepoint *event);

/**
 * at_compose_tracepoint_counts - account for events that are not in the file
 * @cpu: of this CPU's ring of tracepoints
 * @overwritten: events that ftrace overwrote, since the beginning
 * @dropped: events that found no room in ftrace's buffer, since the beginning
 * @unwritten: events read but not added since the last call
 *
 * A marker in the file shows new losses. Errors as of at_compose_add_tracepoint().
 */
int at_compose_tracepoint_counts(struct at_compose *c, uint32_t cpu, uint64_t overwritten,
				 uint64_t dropped, uint64_t unwritten);

/*
 * Write out what is buffered: whole records. A signal that kills the process can end a
 * write(2) early, within a record; readers then report that the end is missing.
 */
int at_compose_flush(struct at_compose *c);

/* The session is over: write what can be known only now, and flush. */
int at_compose_finish(struct at_compose *c);

/**
 * at_compose_next - end the file, but not the session, and begin another one
 * @opts: where that one goes; NULL: whoever reads the session next sees to it
 *
 * Each file is whole: names are told again where they are used again, and the
 * counters of at_compose_stats() go on. What began in one and ended in another
 * file is in neither as a whole, so both say that they are parts.
 *
 * As at_compose_finish(), or -EINVAL where @opts is wrong; then nothing happened.
 * After -ENOMEM the next file has begun, and lacks names; after another error it has
 * not.
 */
int at_compose_next(struct at_compose *c, const struct at_compose_options *opts);

/* Bytes of the present file, buffered ones included. */
uint64_t at_compose_written(const struct at_compose *c);

/* Free everything; the descriptor stays open. NULL is fine. */
void at_compose_free(struct at_compose *c);

/**
 * struct at_compose_counts - of a ring, of a provider, of all
 * @events: records of providers in the file
 * @switches: context switches of the kernel in the file
 * @wakeups: wakeups in the file
 * @bytes: payload bytes of the chunks they came in
 * @delivered: records in the file: @events + @switches + @wakeups
 * @malformed: records handed out that are none that may be in the file
 * @overwritten: records lost because a ring went round
 * @dropped: records that found no room
 * @cleared: records that a later start cleared before anybody read them
 * @unwritten: records handed out that are not in the file because it could not be
 *	written, was at its end, or memory was short
 * @filtered: records that the caller left out of the file; at_compose_left_out()
 */
struct at_compose_counts {
	uint64_t events;
	uint64_t switches;
	uint64_t wakeups;
	uint64_t bytes;
	uint64_t delivered;
	uint64_t malformed;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t cleared;
	uint64_t unwritten;
	uint64_t filtered;
};

/**
 * at_compose_left_out - records that were delivered to @write are not in the file
 * @provider: as the session calls it; 0: the kernel
 * @ring: as in the head of the chunks that brought them
 * @filtered: .events, .switches and .wakeups that the caller did not want
 * @unwritten: the same of those that it could not write
 *
 * For callers whose write function looks at the records. They count as filtered or unwritten
 * from then on. -EINVAL: so many were not delivered.
 */
int at_compose_left_out(struct at_compose *c, uint32_t provider, uint32_t ring,
			const struct at_compose_counts *filtered,
			const struct at_compose_counts *unwritten);

/* The ring has the events of the kernel's tracepoints on one CPU. */
#define ASYNCTRACE_COMPOSE_RING_TRACEPOINTS	(1u << 31)

/**
 * struct at_compose_ring - of one ring
 * @provider: as the session calls it; 0: the kernel
 * @ring: the CPU, but for the fallback ring
 * @flags: ASYNCTRACE_CHUNK_F_FALLBACK, _LAST, ASYNCTRACE_COMPOSE_RING_TRACEPOINTS
 * @counts: what came from it
 */
struct at_compose_ring {
	uint32_t provider;
	uint32_t ring;
	uint32_t flags;
	struct at_compose_counts counts;
};

/**
 * struct at_compose_provider - of one provider
 * @id: as the session calls it; 0: the kernel
 * @pid: its process, or 0
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @strings: names it interned
 * @bad_strings: name records that were not well formed
 * @threads: threads it has
 * @name: as registered, UTF-8
 * @counts: of all its rings
 * @sched_dropped: of the kernel's @counts.dropped, those of its threads
 * @names_dropped: names that the kernel dropped, of its threads and of those they met
 */
struct at_compose_provider {
	uint32_t id;
	int32_t pid;
	uint32_t flags;
	uint32_t strings;
	uint32_t bad_strings;
	uint32_t threads;
	char name[3 * ASYNCTRACE_NAME_MAX + 1];
	struct at_compose_counts counts;
	uint64_t sched_dropped;
	uint64_t names_dropped;
};

/**
 * struct at_compose_ended - of providers that had ended before the recording began
 * @providers: how many; they are in no list
 * @counts: sums over their rings. @counts.delivered went to those who read the session before
 * @sched_dropped: as of struct at_compose_provider
 * @names_dropped: likewise
 */
struct at_compose_ended {
	uint64_t providers;
	struct at_compose_counts counts;
	uint64_t sched_dropped;
	uint64_t names_dropped;
};

/**
 * struct at_compose_stats - what was composed so far
 * @written: bytes of all its files, buffered ones included
 * @unnamed: threads in scheduling records for which no name came
 * @inferred: context switches added where the kernel's do not join: after a
 *	loss, and where the threads between were not recorded
 * @overlaps: durations that viewers may drop, because another one of their
 *	thread began in the same nanosecond and no earlier one was free
 * @protocol: chunks refused with -EPROTO
 * @start: time of the first clock pair, ns; 0: there was none
 * @end: time of the last one
 * @total: of all rings, and of @ended what is lost
 * @ended: providers that had ended before
 */
struct at_compose_stats {
	uint64_t written;
	uint64_t unnamed;
	uint64_t inferred;
	uint64_t overlaps;
	uint64_t protocol;
	uint64_t start;
	uint64_t end;
	struct at_compose_counts total;
	size_t nr_providers;
	const struct at_compose_provider *providers;
	size_t nr_rings;
	const struct at_compose_ring *rings;
	struct at_compose_ended ended;
};

/* g++ -Wshadow: "hides constructor", because the structure has the function's name. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * What there is so far, providers by id, rings by provider and index. The
 * answer belongs to @c and is valid until the next call with it. NULL: no
 * memory.
 */
const struct at_compose_stats *at_compose_stats(struct at_compose *c);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_COMPOSE_H */
