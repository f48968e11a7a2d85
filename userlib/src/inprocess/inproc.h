/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The in-process back end: interfaces of its files, for each other and for its tests */
#ifndef AT_INPROC_H
#define AT_INPROC_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <linux/asynctrace.h>
#include <asynctrace/inprocess.h>

#pragma GCC visibility push(hidden)

/* --- quiet.c: writing from threads of the program ------------------------- */

/* Signal mask and cancel state before a quiet section. Sections may nest. */
struct at_quiet {
	sigset_t mask;
	sigset_t pending;
	int cancel;
};

/*
 * Begins a quiet section of the calling thread. In it, write(2) raises no SIGPIPE and no SIGXFSZ,
 * a write to a terminal raises no SIGTTOU, and the thread cannot be cancelled.
 */
void at_quiet_begin(struct at_quiet *quiet);
void at_quiet_end(struct at_quiet *quiet);
/* Prints one line on standard error, in one piece. */
void at_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- output.c: the descriptor, and files that ASYNCTRACE_OUT names -------- */

/**
 * struct at_output - the file, pipe or socket that a trace is written to
 * @fd: the library's descriptor, which it closes; -1: none
 * @callers: the caller's descriptor, of which @fd is a duplicate; -1: the library opened the file
 * @made: the library created the file @name
 * @named: the library opened the regular file @name, which is empty before the trace
 * @regular: a regular file: a write does not wait for a reader
 * @dev: device of the file
 * @ino: inode of the file: the program may close a descriptor and open another file in its place.
 *	While @fd or @callers is open, no other file gets this number
 * @size: if @named: size of the file after the last write
 * @owner: the process that has the lock, after -EBUSY; 0: unknown
 * @name: name of the file, or the last name tried; empty for a descriptor of the caller
 * @directory: if @name is relative: the directory in which it begins; empty: unknown
 */
struct at_output {
	int fd;
	int callers;
	bool made;
	bool named;
	bool regular;
	dev_t dev;
	ino_t ino;
	off_t size;
	pid_t owner;
	char name[PATH_MAX];
	char directory[PATH_MAX];
};

/* Result of at_output_expand(): true if the pattern has %p; the wrong letter after -EINVAL */
struct at_output_name {
	bool has_pid;
	char wrong;
};

/* Replaces %p and %% of ASYNCTRACE_OUT. Returns 0, -EINVAL for another letter, or -ENAMETOOLONG. */
int at_output_expand(const char *pattern, char *name, size_t size, struct at_output_name *what);
/*
 * Opens @name. If that file exists and is not empty, opens a file with another name, which is
 * then in @out->name. @has_pid: @name contains the process id.
 */
int at_output_open(struct at_output *out, const char *name, bool has_pid);
/*
 * Duplicates the caller's descriptor. Returns 0; -EBUSY: another process writes a trace there;
 * -EBADF: the descriptor is not open for writing; -EMFILE.
 */
int at_output_adopt(struct at_output *out, int fd);
/*
 * Returns the descriptor to write to. If the program has closed the library's descriptor, opens the
 * file again. Returns -EBADF if that fails, or if the program has closed its own descriptor.
 */
int at_output_fd(struct at_output *out);
/* Call this after each write: at_output_fd() recognises the file by its size. */
void at_output_wrote(struct at_output *out);
/* Closes the library's descriptor. */
int at_output_close(struct at_output *out);
/* Like at_output_close(), and removes the file if at_output_open() created it. */
void at_output_discard(struct at_output *out);

/* --- trace.c -------------------------------------------------------------- */

/* The step at which a start failed. */
enum at_start_step {
	AT_START_OPTIONS,
	AT_START_MEMORY,
	AT_START_OUTPUT,
	AT_START_THREAD,
};

/**
 * struct at_target - destination of a trace
 * @fd: the descriptor, if @name is NULL
 * @name: the file
 * @has_pid: @name contains the process id
 * @caller_drains: the trace has no thread before the caller calls at_trace_drain()
 */
struct at_target {
	int fd;
	const char *name;
	bool has_pid;
	bool caller_drains;
};

/*
 * Starts a trace like at_trace_start(), but into a file. *@out has the file's name. After an
 * error, *@step is the step that failed.
 */
int at_trace_start_file(const struct at_target *to, const struct at_trace_options *options,
			const struct at_output **out, enum at_start_step *step);
/* Drains the trace until it is stopped. The stop joins the calling thread. */
void at_trace_drain(void);
/*
 * Stops a trace like at_trace_stop(). Returns -ESRCH if no trace runs, or if the program started
 * it. *@collided: of the dropped records, those that found the fallback ring locked
 */
int at_trace_stop_file(struct at_trace_result *res, const struct at_output **out,
		       uint32_t *collided);

/* --- area.c: the memory of the rings, with the module's layout ------------ */

/**
 * struct at_shape - mode, number and size of a run's rings
 * @mode: enum asynctrace_mode
 * @nr_rings: number of rings of CPUs; 0: only the fallback ring
 * @clock: enum asynctrace_clock
 * @sub_words: words of a sub-buffer
 * @nsub: sub-buffers of a ring
 */
struct at_shape {
	uint32_t mode;
	uint32_t nr_rings;
	uint32_t clock;
	uint32_t sub_words;
	uint32_t nsub;
};

/**
 * struct at_area - shared memory with the control area, followed by the rings
 * @fd: a memfd with this memory; -1: the memory is anonymous
 * @shape: mode, number and size of the rings
 * @control: the control area, writable here; at_gate_ maps it read-only
 * @rw: the read-write area, as the drain thread sees it
 */
struct at_area {
	int fd;
	struct at_shape shape;
	struct asynctrace_control *control;
	char *rw;
	size_t control_size;
	size_t rw_size;
};

/* Returns the bytes of one CPU's ring. A size that is no power of two is rounded up. */
uint64_t at_ring_size(const struct at_trace_options *options);
/*
 * Returns the linear offset up to which writers may enter sub-buffers of a ring after @taken words
 * were read. Behind the last sub-buffer that a position can express, records are dropped and
 * counted.
 */
uint64_t at_area_limit(const struct at_shape *shape, uint32_t ring, uint64_t taken);
/* Computes the shape from the caller's options, the CPUs and the clock. Returns 0 or -EINVAL. */
int at_shape_init(struct at_shape *shape, const struct at_trace_options *options);
/*
 * Checks the comma-separated patterns in @categories, which may be NULL. Returns 0, with their
 * number in *@n; -E2BIG: *@n patterns are too many; -ENAMETOOLONG: the pattern at *@wrong has *@n
 * bytes, which are too many; -EINVAL: the pattern at *@wrong is '-' without a category; -EILSEQ:
 * the pattern at *@wrong, with *@n bytes, has a '*' that is not its last character.
 */
int at_categories_check(const char *categories, const char **wrong, size_t *n);
/* Allocates an area with a closed gate. at_categories_check() must have accepted @categories. */
int at_area_create(struct at_area *area, const struct at_shape *shape, const char *categories);
void at_area_destroy(struct at_area *area);
/*
 * Maps the area for the writers of this process. @gate: the initial gate. It is closed, or ATTACH,
 * which makes other threads wait for the caller, who holds the back end's lock. After an error, the
 * writers see empty memory and a closed gate.
 */
int at_area_attach(struct at_area *area, uint32_t gate);
/* Replaces the mapping by empty memory. */
void at_area_detach(void);
/* Opens the gate with a new generation. Generation 0 closes the gate. */
void at_area_gate(struct at_area *area, uint32_t generation);
/* Closes the gate so that other threads wait for the caller, who holds the back end's lock. */
void at_area_hold(struct at_area *area);
uint32_t at_new_generation(void);

/* --- reader.c: takes records out of one ring ------------------------------ */

/**
 * struct at_mark - state of a ring at one moment
 * @position: the position of its header line
 * @records: records committed until then
 * @dropped: records dropped until then
 */
struct at_mark {
	uint64_t position;
	uint64_t records;
	uint64_t dropped;
};

/**
 * struct at_reader - progress of reading one ring
 * @area: the area with the ring
 * @ring: index of the ring
 * @begin: records before are not counted
 * @end: records after are not read, if @ends
 * @ends: @end is valid
 * @next: linear offset of the next word to read
 * @delivered: records read
 * @overwritten: records lost to wraparound
 * @older: records skipped by at_reader_leave_out()
 * @broken: sub-buffers with a wrong header; not 0 only if the program has damaged the ring
 */
struct at_reader {
	struct at_area *area;
	uint32_t ring;
	bool ends;
	struct at_mark begin;
	struct at_mark end;
	uint64_t next;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t older;
	uint64_t broken;
};

/**
 * struct at_extent - committed words of one sub-buffer that have not been read
 * @words: their address
 * @nwords: their number
 * @records: number of records that they claim to have
 * @end: linear offset behind them
 * @next: linear offset at which to continue
 * @whole: the sub-buffer is complete
 */
struct at_extent {
	const uint64_t *words;
	uint64_t nwords;
	uint64_t records;
	uint64_t end;
	uint64_t next;
	bool whole;
};

void at_reader_init(struct at_reader *rd, struct at_area *area, uint32_t ring);
/*
 * Finds the next extent. Returns false if there is none. A circular ring must not be written
 * meanwhile, because writers may overwrite the extent.
 */
bool at_reader_next(struct at_reader *rd, struct at_extent *x);
/*
 * Like at_reader_next(), but also for a circular ring that is being written. Copies the words to
 * @to, which has room for a sub-buffer, and retries if they were overwritten meanwhile.
 */
bool at_reader_copy(struct at_reader *rd, struct at_extent *x, uint64_t *to);
/* Moves the reader behind the extent. In streaming mode, writers may then reuse its sub-buffer. */
void at_reader_done(struct at_reader *rd, const struct at_extent *x);
uint64_t at_reader_dropped(const struct at_reader *rd);
/* Reads the present state of the ring, which may be written meanwhile. */
void at_reader_mark(const struct at_reader *rd, struct at_mark *m);
/*
 * Makes the reader ignore records committed or dropped before @m. To be called before the first
 * read.
 */
void at_reader_begin(struct at_reader *rd, const struct at_mark *m);
/* Makes the reader ignore records committed or dropped after @m. */
void at_reader_end(struct at_reader *rd, const struct at_mark *m);

/**
 * struct at_oldest - the sub-buffer that a reader of a circular ring would read next
 * @sub: its number
 * @records: records committed before it
 * @records_after: records committed up to its end
 * @after: time of the first event after this sub-buffer, ticks; that of a complete duration is its
 *	end; UINT64_MAX: no such event, or unknown
 * @words: words from the reader's position, which may be inside the sub-buffer, to the reader's end
 */
struct at_oldest {
	uint64_t sub;
	uint64_t records;
	uint64_t records_after;
	uint64_t after;
	uint64_t words;
};

/*
 * Finds the oldest sub-buffer. Returns false if nothing is left to read. at_reader_end() must
 * have been called.
 */
bool at_reader_oldest(struct at_reader *rd, struct at_oldest *o);
/* Skips the sub-buffer @o. Returns false and changes nothing if @o is the last one. */
bool at_reader_leave_out(struct at_reader *rd, const struct at_oldest *o);

/* --- clocks.c: the counter and the kernel's clocks at one moment ---------- */

/* Makes a system call: the vDSO reads a counter that the program may have forbidden. */
uint64_t at_now_ns(clockid_t clock);
/* Reads all clocks at one moment. */
void at_clock_pair_now(const struct at_area *area, struct asynctrace_clock_pair *now);
/* Sets the ticks and the time of @c to those of one moment. */
void at_clock_stamp(const struct at_area *area, struct asynctrace_chunk *c);

/* --- drain.c: from rings to chunks ---------------------------------------- */

/*
 * A function that takes a chunk. A NULL chunk asks the function to flush: the chunks so far should
 * survive the death of the process. Returns 0 or a negative errno. After an error, the function is
 * not called again.
 */
typedef int (*at_sink)(void *arg, const struct asynctrace_chunk *chunk, const void *payload);

/* States of a request by at_drain_share(). */
enum at_share {
	AT_SHARE_NONE,
	AT_SHARE_ASKED,
	AT_SHARE_DONE,
};

struct at_drain {
	struct at_area *area;
	struct at_reader *readers;
	at_sink sink;
	void *arg;
	int error;
	bool at_end;		/* read the rings only in the last round */
	bool live;		/* the rings are circular, and written while they are read */
	uint64_t *copy;		/* room for a sub-buffer; needed if @live */
	uint64_t *used;		/* a bit for each slot handed out; NULL: all slots are handed out */
	char name[ASYNCTRACE_NAME_MAX + 1];
	uint32_t strings;	/* words of the durable ring handed out */
	uint32_t threads;	/* slots handed out */
	bool listed;		/* the names of threads that lived at the start were handed out */
	uint64_t clock_at;	/* CLOCK_BOOTTIME of the last pair, ns */
	uint64_t flushed_at;
	uint64_t busiest;	/* words in the fullest ring in the last round */

	pthread_t thread;
	pthread_mutex_t lock;	/* protects the members below */
	pthread_cond_t wake;
	pthread_cond_t paused;
	bool going;
	bool stop;
	enum at_share share;
	bool writing;		/* the thread is in write(2) */
	bool pause;		/* a fork() is about to happen */
	bool working;		/* the thread may hold locks of malloc() or the C library */
};

int at_drain_init(struct at_drain *d, struct at_area *area, const char *name, at_sink sink,
		  void *arg);
/**
 * struct at_taken - an extent that was copied
 * @next: the next copy; NULL: none
 * @reader: state of the ring's reader before it read the extent
 * @extent: the extent; @words points to the copy
 */
struct at_taken {
	struct at_taken *next;
	struct at_reader reader;
	struct at_extent extent;
};

/*
 * Hands out a whole trace from the copies @taken, without the thread that the functions below use.
 * Before each copy, hands out the threads of its records that @d->used does not have yet. @began:
 * the first clock pair. The caller must have set the members of @d up to .name, and all readers
 * must have reached their end. Async-signal-safe if the sink is.
 */
int at_drain_once(struct at_drain *d, const struct asynctrace_clock_pair *began,
		  const struct at_taken *taken);
/* Prepares for reading circular rings while they are written. */
int at_drain_live(struct at_drain *d);
/* listing.c: calls @fn with names of all live threads but @skip, several at a time. */
void at_live_threads(void (*fn)(void *arg, const struct asynctrace_task_name *names, size_t nr),
		     void *arg, int32_t skip);
/* Does one round over all rings. @last: the gate is closed, and no thread writes. */
void at_drain_round(struct at_drain *d, bool last);
void at_drain_result(const struct at_drain *d, struct at_trace_result *res);
void at_drain_free(struct at_drain *d);

/* --- drain_pause.c: pauses of the thread, and threads that wait for one --- */

/*
 * Between these two calls, the thread holds no lock of malloc() or the C library, unless it did
 * not pause within AT_PAUSE_MAX_MS (see drain_pause.c).
 */
void at_drain_pause(struct at_drain *d);
void at_drain_resume(struct at_drain *d);
/*
 * Between one of the first two calls and the third, the thread is waiting in a system call and may
 * be paused. at_drain_write(): the system call is write(2), which may last for ever.
 */
void at_drain_leave(struct at_drain *d);
void at_drain_write(struct at_drain *d);
void at_drain_enter(struct at_drain *d);
/*
 * Makes the rings circular while the thread drains them. Returns 0; -ENOMEM; -EBUSY: the thread
 * waits too long in write(2).
 */
int at_drain_share(struct at_drain *d);
/* Returns the time of CLOCK_MONOTONIC in @ms milliseconds. */
struct timespec at_after_ms(unsigned int ms);

/* --- drain_thread.c: the thread that drains the rings --------------------- */

/* Creates the thread. It reads and writes nothing before at_drain_go(). */
int at_drain_start(struct at_drain *d);
/*
 * Makes the calling thread, which blocks signals like the thread of at_drain_start(), the one that
 * at_drain_stop() joins. It must call at_drain_run().
 */
void at_drain_adopt(struct at_drain *d);
void at_drain_run(struct at_drain *d);
void at_drain_go(struct at_drain *d);
void at_drain_stop(struct at_drain *d);	/* joins the thread */

#pragma GCC visibility pop

#endif /* AT_INPROC_H */
