/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: composing a trace file (FXT) from the chunks of a session
 *
 *	static int write_trace(int session, int fd)
 *	{
 *		static _Alignas(8) char buf[ASYNCTRACE_READ_MIN];
 *		const struct asynctrace_chunk *chunk = (void *)buf;
 *		struct at_compose_options o = { .size = sizeof(o), .fd = fd };
 *		struct pollfd readable = { .fd = session, .events = POLLIN };
 *		struct at_compose *c = at_compose_new(&o);
 *		int err = 0, failed;
 *		ssize_t n;
 *
 *		if (!c)
 *			return -errno;
 *		while ((n = read(session, buf, sizeof(buf))) > 0 ||
 *		       (n < 0 && (errno == EAGAIN || errno == EINTR))) {
 *			if (n < 0) {
 *				poll(&readable, 1, -1);
 *				continue;
 *			}
 *			failed = at_compose_chunk(c, chunk, buf + chunk->size);
 *			err = err ? err : failed;
 *		}
 *		if (n < 0 && !err)
 *			err = -errno;
 *		failed = at_compose_finish(c);
 *		at_compose_free(c);
 *		return err ? err : failed;
 *	}
 *
 * A provider may have written anything into its rings. The composer checks all of it. Records in
 * the file are well formed and belong to threads of their provider. Accounting invariant, for
 * each ring, also if writing fails:
 *
 *	attempted = delivered + malformed + overwritten + cleared + dropped + unwritten + filtered
 *
 * To count all losses after an error, the caller must pass the remaining chunks, too.
 *
 * The file: times are CLOCK_BOOTTIME nanoseconds. Provider 1 is the kernel
 * ("asynctrace-kernel"): context switches, wakeups, names, clocks, losses. The composer numbers
 * the session's providers from 2 on, because the session may use an id again. Records of a ring
 * keep their order, except that a duration moves before the events that it encloses.
 * asynctrace(5) describes the format.
 *
 * Return values: unless stated otherwise, a function returns 0 or a negative errno.
 *
 * Thread safety: one thread at a time may use a composer. Different threads may use different
 * composers at the same time.
 *
 * Signal safety: no function of this header may be called in a signal handler.
 */
#ifndef ASYNCTRACE_COMPOSE_H
#define ASYNCTRACE_COMPOSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- composer: create and free -------------------------------------------- */

struct at_compose;

/* Flag of a composer: another file has what happened before its first chunk. */
#define ASYNCTRACE_COMPOSE_CONTINUED	(1u << 0)

/**
 * struct at_compose_options - destination of a file
 * @size: sizeof(struct at_compose_options)
 * @fd: a file, pipe or socket, used if @write is NULL; may be non-blocking. The composer does
 *	not close it. The caller must handle SIGPIPE
 * @write: writes up to @len bytes like write(2), and returns the number of bytes written, at
 *	least 1, or a negative errno. It need not keep records whole. After -ENOSPC or
 *	-EDQUOT, it may be called again with fewer bytes
 * @arg: first argument of @write
 * @buffer: size of the buffer, bytes; 0: 256 KiB
 * @flags: ASYNCTRACE_COMPOSE_CONTINUED, or 0
 */
struct at_compose_options {
	uint32_t size;
	int fd;
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
	size_t buffer;
	uint32_t flags;
};

/**
 * at_compose_new - create a composer
 * @opts: destination of its first file
 *
 * Return: the composer; NULL with errno: ENOMEM, or EINVAL if @opts is wrong.
 */
struct at_compose *at_compose_new(const struct at_compose_options *opts);

/* Frees a composer. The descriptor stays open. NULL has no effect. */
void at_compose_free(struct at_compose *c);

/* --- composer: add records ------------------------------------------------ */

/**
 * at_compose_chunk - add a chunk
 * @c: the composer
 * @chunk: header of the chunk; need not be aligned
 * @payload: chunk->bytes bytes, which are copied before they are checked
 *
 * Malformed records are no error; they are counted.
 *
 * Return: 0; -EPROTO: the chunk contradicts linux/asynctrace.h, which providers cannot cause;
 * -ENOMEM. After these two errors, the chunk is left out, and the composer can continue. All
 * other errors are errors of writing: the file ends with its last whole record (a regular file
 * is truncated), and this and all later calls return the same error. Later records, and records
 * after the end of the last file, count as unwritten.
 */
int at_compose_chunk(struct at_compose *c, const struct asynctrace_chunk *chunk,
		     const void *payload);

/* Bytes of a string value of a tracepoint that are written. */
#define ASYNCTRACE_COMPOSE_TEXT_MAX	1000

/**
 * struct at_compose_value - a field of a tracepoint's event
 * @name: name of the field, of which up to 255 bytes are written
 * @type: ASYNCTRACE_FXT_ARG_INT64, _UINT64, _POINTER or _STRING
 * @bytes: length of @text, of which up to ASYNCTRACE_COMPOSE_TEXT_MAX bytes are written
 * @number: value of a field that is no string; two's complement if it is signed
 * @text: value of a string; any bytes, need not end in a NUL
 */
struct at_compose_value {
	const char *name;
	uint32_t type;
	uint32_t bytes;
	uint64_t number;
	const char *text;
};

/**
 * struct at_compose_tracepoint - an event of a tracepoint of the kernel
 * @size: sizeof(struct at_compose_tracepoint)
 * @clock: enum asynctrace_clock: clock of @time
 * @time: ticks of the session's counter, or CLOCK_BOOTTIME nanoseconds
 * @cpu: CPU of the event
 * @tid: thread of the event; 0: the CPU's idle task
 * @pid: process of the thread; 0: unknown
 * @comm: name of the thread, used if the session has no name for it; may be NULL. @pid and @comm of
 *	a later event replace those of an earlier one
 * @category: subsystem of the tracepoint, for example "block"
 * @name: name of the tracepoint, for example "block_rq_issue"
 * @nr_values: number of fields in @values, at most 15
 * @values: the fields
 * @operation: number in a field that is meant for the id of an operation; 0: none
 * @flags: ASYNCTRACE_COMPOSE_TRACEPOINT_*, or 0
 * @reserved: 0
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
	uint64_t operation;
	uint32_t flags;
	uint32_t reserved;
};

/*
 * _JOINED: add the event only if @operation joins it to an operation. _UNJOINED: add it only if
 * not. A caller that has recorded the events of some threads and the events of all threads uses
 * both, so that each event is added once.
 */
#define ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED	(1u << 0)
#define ASYNCTRACE_COMPOSE_TRACEPOINT_UNJOINED	(1u << 1)

/**
 * at_compose_add_tracepoint - add an event that the caller has read from ftrace
 * @c: the composer
 * @event: the event; events of one CPU should be added in order of time
 *
 * The event counts as delivered in a ring with ASYNCTRACE_COMPOSE_RING_TRACEPOINTS.
 *
 * event->operation joins the event to an operation if its bits 44 to 63 are the salt of a
 * process that the session records: the kernel gives each process its own salt. The event's
 * thread does not matter, because an interrupt can occur on any thread. The event gets the
 * argument "operation" after its fields, so a 15th field is left out. Any other number joins
 * nothing. A field of the name "operation" that is an unsigned number and joins nothing becomes
 * the argument "field operation".
 *
 * A process joins events only after its provider's chunk has come, and chunks of other rings may
 * come earlier. So add events when read(2) of the session's descriptor has failed with EAGAIN or
 * returned 0: the composer then has all processes that were recorded at its newest time.
 *
 * Return: 0; -EAGAIN: the next chunk of the session is needed to know the event's time: call
 * again after at_compose_chunk(); -ERANGE: the event is from before the session, or from a time
 * when the clock was stopped; -ENOENT: event->flags left it out; -EINVAL: @event is wrong;
 * -ENOBUFS: there is no memory to count the events of its CPU. After these five errors, the event
 * is neither added nor counted. After an error of at_compose_chunk(), it counts as unwritten; -EIO
 * stands for an error of the file that would be one of the five.
 */
int at_compose_add_tracepoint(struct at_compose *c, const struct at_compose_tracepoint *event);

/**
 * at_compose_tracepoint_counts - account for events of tracepoints that are not in the file
 * @c: the composer
 * @cpu: CPU of the events
 * @overwritten: number of events that ftrace has overwritten since the beginning
 * @dropped: number of events that found no room in ftrace's buffer since the beginning
 * @unwritten: number of events that the caller has read but not added since the last call
 *
 * The file gets a marker if losses have grown.
 *
 * Return: 0; -EAGAIN: no chunk was added yet; -EINVAL: @cpu is above 65535; -ENOMEM. After these
 * three errors, nothing was counted. Or the error of writing, after which the counts are complete.
 */
int at_compose_tracepoint_counts(struct at_compose *c, uint32_t cpu, uint64_t overwritten,
				 uint64_t dropped, uint64_t unwritten);

/**
 * struct at_compose_counter - values of a process that the caller has measured
 * @size: sizeof(struct at_compose_counter)
 * @pid: the process
 * @time: CLOCK_BOOTTIME nanoseconds
 * @comm: name of the process's main thread, used if the session has no name for it; may be NULL
 * @category: for example "cgroup"
 * @name: name of the counter, which distinguishes it from other counters of the process
 * @values: the values, of type ASYNCTRACE_FXT_ARG_INT64 or _UINT64
 * @nr_values: number of values, 1 to 15
 */
struct at_compose_counter {
	uint32_t size;
	int32_t pid;
	uint64_t time;
	const char *comm;
	const char *category;
	const char *name;
	const struct at_compose_value *values;
	size_t nr_values;
};

/**
 * at_compose_add_counter - add values of a process that the caller has measured
 * @c: the composer
 * @counter: the values
 *
 * The file gets a counter in the section of the kernel. No ring counts it. Counters of programs are
 * in other sections, so a reader can distinguish them.
 *
 * Return: 0; -EAGAIN: the time is later than the session's last chunk: call again after
 * at_compose_chunk(); -ERANGE: the time is from before the session; -EINVAL: @counter is wrong.
 * After these three errors, the file has not changed. Or an error of at_compose_chunk().
 */
int at_compose_add_counter(struct at_compose *c, const struct at_compose_counter *counter);

/**
 * struct at_compose_thread - a thread and its state, which the caller has read from /proc
 * @size: sizeof(struct at_compose_thread)
 * @provider: provider id of the session, whose process has the thread; 0: the session has recorded
 *	all threads since its start
 * @tid: the thread
 * @pid: its process
 * @comm: name of the thread, used if the session has no name for it
 * @since: the thread has existed at least since then
 * @from: the state was read at @from or later
 * @until: the state was read at @until or earlier
 * @state: Linux's task state as a number; 0: running or runnable
 * @off_cpu: ASYNCTRACE_FXT_OFF_*
 * @syscall: number of the system call, with ASYNCTRACE_FXT_OFF_SYSCALL
 * @argument: first argument of that system call
 *
 * Times are CLOCK_BOOTTIME nanoseconds. The times of records may be off by 100 us from that clock,
 * so leave a margin between @from and @until.
 */
struct at_compose_thread {
	uint32_t size;
	uint32_t provider;
	int32_t tid;
	int32_t pid;
	const char *comm;
	uint64_t since;
	uint64_t from;
	uint64_t until;
	uint32_t state;
	uint32_t off_cpu;
	uint32_t syscall;
	uint64_t argument;
};

/**
 * at_compose_add_thread - add a thread and its state
 * @c: the composer
 * @thread: the thread
 *
 * A session records how states of threads change. So a reader of the file does not know the state
 * of a thread without records, unless the state is added. Scheduling records of the thread up to
 * @until override the state. Later files of the session (see at_compose_next()) repeat the state
 * until the thread has a record of the time from @from on. After that record, the files have the
 * state that the records show.
 *
 * Return: 0; -EAGAIN: the session has not introduced the provider yet: call again after
 * at_compose_chunk(); -ESRCH: by the session's records, the thread or the provider belongs to
 * another process; -EINVAL: @thread is wrong. After these three errors, the file has not changed.
 * Or an error of at_compose_chunk().
 */
int at_compose_add_thread(struct at_compose *c, const struct at_compose_thread *thread);

/* --- composer: files ------------------------------------------------------ */

/**
 * at_compose_flush - write all buffered records
 * @c: the composer
 *
 * A signal that kills the process may end a write(2) within a record. Readers then report that
 * the end of the file is missing.
 *
 * Return: 0 or the error of writing.
 */
int at_compose_flush(struct at_compose *c);

/**
 * at_compose_next - end the file, and begin another file of the same session
 * @c: the composer
 * @opts: destination of the next file; NULL: the caller composes no further file
 *
 * Each file is complete: names are written again when they are used again. Counts of
 * at_compose_stats() continue. An operation may begin in one file and end in the next one, so
 * both files state that they are parts.
 *
 * Return: 0; -EINVAL: @opts is wrong, or the session's end was written; then nothing has
 * changed; -ENOMEM: the next file has begun, but lacks names; or the error of writing, after
 * which there is no next file.
 */
int at_compose_next(struct at_compose *c, const struct at_compose_options *opts);

/**
 * at_compose_finish - write the end of the session, and flush
 * @c: the composer
 *
 * Return: 0; -ENOMEM; or the error of writing.
 */
int at_compose_finish(struct at_compose *c);

/* Returns the bytes of the present file, including buffered ones. */
uint64_t at_compose_written(const struct at_compose *c);

/* --- statistics ----------------------------------------------------------- */

/**
 * struct at_compose_counts - counts of a ring, of a provider, or of all rings
 * @events: records of providers in the file
 * @switches: context switches of the kernel in the file
 * @wakeups: wakeups of the kernel in the file
 * @bytes: payload bytes of the chunks
 * @delivered: records in the file: @events + @switches + @wakeups
 * @malformed: records read that are invalid, so they are not in the file
 * @overwritten: records lost to wraparound
 * @dropped: records that found no room
 * @cleared: records that a later start cleared before they were read
 * @unwritten: records read that are not in the file, because it could not be written or was at
 *	its end, or memory was short
 * @filtered: records that the caller left out; see at_compose_left_out()
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
 * at_compose_left_out - subtract records that the write function of the caller has left out
 * @c: the composer
 * @provider: provider id of the session; 0: the kernel
 * @ring: ring of the chunks that had the records; for events of tracepoints,
 *	ASYNCTRACE_COMPOSE_RING_TRACEPOINTS with the CPU
 * @filtered: number of .events, .switches and .wakeups that the caller did not want
 * @unwritten: number of .events, .switches and .wakeups that the caller could not write
 *
 * The records no longer count as delivered, but as filtered or unwritten. If several providers
 * have had the id, one after the other, the counts of all their rings with this index are changed.
 *
 * Return: 0; -EINVAL: fewer records were delivered, and the counts have not changed.
 */
int at_compose_left_out(struct at_compose *c, uint32_t provider, uint32_t ring,
			const struct at_compose_counts *filtered,
			const struct at_compose_counts *unwritten);

/* Flag of a ring: it has the events of the kernel's tracepoints on one CPU. */
#define ASYNCTRACE_COMPOSE_RING_TRACEPOINTS	(1u << 31)

/**
 * struct at_compose_ring - statistics of one ring
 * @provider: provider id of the session; 0: the kernel
 * @ring: number of its CPU, except for the fallback ring
 * @flags: ASYNCTRACE_CHUNK_F_FALLBACK, _LAST, ASYNCTRACE_COMPOSE_RING_TRACEPOINTS
 * @serial: serial number of the provider
 * @counts: counts of the ring
 */
struct at_compose_ring {
	uint32_t provider;
	uint32_t ring;
	uint32_t flags;
	uint64_t serial;
	struct at_compose_counts counts;
};

/**
 * struct at_compose_provider - statistics of one provider
 * @id: provider id of the session; 0: the kernel
 * @pid: its process, or 0
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @strings: number of names that it has interned
 * @bad_strings: number of malformed name records
 * @threads: number of its threads
 * @serial: its serial number; a later provider may get @id again, but not @serial
 * @name: its name, UTF-8
 * @counts: sums over its rings
 * @sched_dropped: dropped scheduling records of its threads; they are part of the kernel's
 *	@counts.dropped
 * @names_dropped: dropped names of its threads, and of tasks that switched with them or woke
 *	them
 */
struct at_compose_provider {
	uint32_t id;
	int32_t pid;
	uint32_t flags;
	uint32_t strings;
	uint32_t bad_strings;
	uint32_t threads;
	uint64_t serial;
	char name[3 * ASYNCTRACE_NAME_MAX + 1];
	struct at_compose_counts counts;
	uint64_t sched_dropped;
	uint64_t names_dropped;
};

/**
 * struct at_compose_ended - statistics of providers that ended before the first chunk
 * @providers: number of these providers, which are in no list
 * @counts: sums over their rings; @counts.delivered was delivered to earlier readers
 * @sched_dropped: dropped scheduling records of their threads
 * @names_dropped: dropped names of their threads
 */
struct at_compose_ended {
	uint64_t providers;
	struct at_compose_counts counts;
	uint64_t sched_dropped;
	uint64_t names_dropped;
};

/**
 * struct at_compose_stats - statistics
 * @written: bytes of all files, including buffered ones
 * @unnamed: number of threads in scheduling records that have no name
 * @inferred: number of context switches that were added, because records were lost or threads in
 *	between are not recorded
 * @overlaps: number of durations that viewers may drop, because they begin in the same
 *	nanosecond as an event that they enclose
 * @protocol: number of chunks rejected with -EPROTO
 * @start: time of the first clock pair, ns; 0: none
 * @end: time of the last clock pair, ns
 * @total: sums over all rings; includes the losses of @ended
 * @nr_providers: number of items in @providers
 * @providers: sorted by id and serial number
 * @nr_rings: number of items in @rings
 * @rings: sorted by provider, as in @providers, and index
 * @ended: providers that ended before the first chunk
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

/* g++ -Wshadow warns that the function hides the constructor of the structure. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
/**
 * at_compose_stats - get statistics
 * @c: the composer
 *
 * Return: statistics, which belong to @c and are valid until the next call with it; NULL: no
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
