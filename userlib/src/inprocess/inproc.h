/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The in-process back end: what its files, and its tests, share
 */
#ifndef AT_INPROC_H
#define AT_INPROC_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/asynctrace.h>
#include <asynctrace/inprocess.h>

#pragma GCC visibility push(hidden)

struct at_compose;
struct at_compose_counts;

/* --- quiet.c: writing from threads of the program ------------------------------------- */

/* Signal mask and cancel state before a quiet section. Sections may nest. */
struct at_quiet {
	sigset_t mask;
	sigset_t pending;
	int cancel;
};

/*
 * From here on write(2) raises no SIGPIPE and no SIGXFSZ, a stopped terminal no SIGTTOU,
 * and the thread is not cancelled.
 */
void at_quiet_begin(struct at_quiet *quiet);
void at_quiet_end(struct at_quiet *quiet);
/* Prints one line on standard error, in one piece. */
void at_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- output.c: the descriptor, and files that ASYNCTRACE_OUT names --------------------------- */

/**
 * struct at_output - where a trace is written
 * @fd: the descriptor; -1: none
 * @own: opened here, and closed here
 * @made: the file @name was made here
 * @regular: a regular file: a write does not wait for a reader
 * @locked: this process has a record lock on the file
 * @dev: device of the file
 * @ino: inode of the file: the program may close @fd and open another file as @fd
 * @owner: the process that has the lock, after -EBUSY; 0: unknown
 * @name: of the file, or what was tried last; empty for a descriptor of the caller
 */
struct at_output {
	int fd;
	bool own;
	bool made;
	bool regular;
	bool locked;
	dev_t dev;
	ino_t ino;
	pid_t owner;
	char name[PATH_MAX];
};

/* Result of reading a file name pattern: does it hold %p, and, after -EINVAL, the wrong letter. */
struct at_output_name {
	bool has_pid;
	char wrong;
};

/* Replaces %p and %% of ASYNCTRACE_OUT: -EINVAL for another letter, or -ENAMETOOLONG. */
int at_output_expand(const char *pattern, char *name, size_t size, struct at_output_name *what);
/* Opens @name, or if that exists a file with another name: see @out->name. */
int at_output_open(struct at_output *out, const char *name, bool has_pid);
/* The caller's descriptor. -EBUSY: another process traces there; -EBADF: not for writing. */
int at_output_adopt(struct at_output *out, int fd);
/* -EBADF: the program has closed the descriptor. */
int at_output_check(const struct at_output *out);
/* Closes the descriptor if it was opened here. */
int at_output_close(struct at_output *out);
/* As at_output_close(), and removes the file if at_output_open() created it. */
void at_output_discard(struct at_output *out);

/* --- trace.c ---------------------------------------------------------------------------- */

/* What a start was doing when it failed. */
enum at_start_step {
	AT_START_OPTIONS,
	AT_START_MEMORY,
	AT_START_OUTPUT,
	AT_START_THREAD,
};

/**
 * struct at_trace_losses - what became of records, beyond struct at_trace_result
 * @missing: records that were delivered and are not in the file
 * @met: of those dropped, records that met another one in the fallback ring
 */
struct at_trace_losses {
	uint64_t missing;
	uint32_t met;
};

/*
 * As at_trace_start() and at_trace_stop(), for ASYNCTRACE_OUT: the trace goes to a file, @out
 * names it, and @step says what failed.
 */
int at_trace_start_file(const char *name, bool has_pid, const struct at_trace_options *options,
			const struct at_output **out, enum at_start_step *step);
/* -ESRCH: no trace runs, or the program started it. */
int at_trace_stop_file(struct at_trace_result *res, const struct at_output **out,
		       struct at_trace_losses *losses);

/* --- compose_out.c ------------------------------------------------------------------------- */

/*
 * Has @before called before each write(2) of the composer, and @after behind it. If
 * @before returns an error, nothing is written: the error is that of the write.
 */
void at_compose_around_writes(struct at_compose *c, int (*before)(void *arg),
			      void (*after)(void *arg), void *arg);
/*
 * The sums of at_compose_stats() without the kernel's rings. Async-signal-safe: it allocates
 * and sorts nothing.
 */
void at_compose_totals(const struct at_compose *c, struct at_compose_counts *total);

/* --- area.c: the memory, laid out as the module does -------------------------------- */

/**
 * struct at_shape - what a run's rings look like
 * @mode: enum asynctrace_mode
 * @nr_rings: rings of CPUs; 0: only the fallback ring
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
 * struct at_area - shared memory with the control area and, behind it, the rings
 * @fd: a memfd with this memory, or -1: the memory is anonymous
 * @shape: of the rings
 * @control: the control area, writable here; at_gate_ shows it read-only
 * @rw: the read-write area, as the drainer sees it
 */
struct at_area {
	int fd;
	struct at_shape shape;
	struct asynctrace_control *control;
	char *rw;
	size_t control_size;
	size_t rw_size;
};

/* Bytes of one CPU's ring; a size that is no power of two is rounded up. */
uint64_t at_ring_size(const struct at_trace_options *options);
/* From the user's wishes; -EINVAL. Finds out about CPUs and clock. */
int at_shape_init(struct at_shape *shape, const struct at_trace_options *options);
/*
 * Checks the patterns in @categories, which commas separate; NULL is fine. Returns 0 with
 * their number in @n; -E2BIG: there are @n, too many; -ENAMETOOLONG: the one at @wrong has
 * @n bytes, too many; -EINVAL: the one at @wrong is a '-' without a category.
 */
int at_categories_check(const char *categories, const char **wrong, size_t *n);
/* @categories passed at_categories_check(). The gate in the area is closed. */
int at_area_create(struct at_area *area, const struct at_shape *shape, const char *categories);
void at_area_destroy(struct at_area *area);
/*
 * Under the lock of the back end: shows the area to the writers of this process. If that
 * fails, the writers see empty memory and a closed gate.
 */
int at_area_attach(struct at_area *area);
/* Puts empty memory in its place again. */
void at_area_detach(void);
/* Opens the gate with a new generation, or closes it with 0. */
void at_area_gate(struct at_area *area, uint32_t generation);
uint32_t at_new_generation(void);
/* After the gate was closed: no writer is in the rings any more. */
bool at_area_quiesce(void);
/* Can critical sections be ended from outside? */
bool at_membarrier_init(void);

/* --- reader.c: takes records out of one ring -------------------------------------------- */

/**
 * struct at_mark - a moment in the life of a ring
 * @position: as its header line had it
 * @records: records committed before
 * @dropped: records that found no room before
 */
struct at_mark {
	uint64_t position;
	uint64_t records;
	uint64_t dropped;
};

/**
 * struct at_reader - how far one ring was read
 * @area: where it is
 * @ring: its index
 * @begin: what was before is not counted
 * @end: what comes after is not read, if @ends
 * @ends: @end is valid
 * @next: linear offset of the next word to take
 * @delivered: records taken
 * @overwritten: records lost to wrapping
 * @older: records left out by at_reader_leave_out()
 * @broken: sub-buffers whose head was not what it must be: never, unless memory
 *	was spoilt
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
 * struct at_extent - what is committed of one sub-buffer and was not yet taken
 * @words: where
 * @nwords: how many
 * @records: how many records they claim to be
 * @end: linear offset behind them
 * @next: linear offset to go on at
 * @whole: nothing more will come in this sub-buffer
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
 * The next extent, or false: nothing is there. In circular mode the ring must be
 * quiet, because what was looked at may be written over meanwhile.
 */
bool at_reader_next(struct at_reader *rd, struct at_extent *x);
/*
 * As at_reader_next(), also while writers of a circular ring go on: the words are copied to
 * @to, which has room for a sub-buffer, and then checked not to have been written over.
 */
bool at_reader_copy(struct at_reader *rd, struct at_extent *x, uint64_t *to);
/* The extent was used: goes on, and in streaming mode lets writers have it. */
void at_reader_done(struct at_reader *rd, const struct at_extent *x);
uint64_t at_reader_dropped(const struct at_reader *rd);
/* The present moment; the ring may be written meanwhile. */
void at_reader_mark(const struct at_reader *rd, struct at_mark *m);
/* Before the first read: what was committed or dropped before @m is not counted. */
void at_reader_begin(struct at_reader *rd, const struct at_mark *m);
/* Records committed or dropped after @m are neither read nor counted. */
void at_reader_end(struct at_reader *rd, const struct at_mark *m);

/**
 * struct at_oldest - the sub-buffer that a reader of a circular ring would read next
 * @sub: its number
 * @records: records committed before it
 * @records_after: records committed up to its end
 * @after: when the first record behind it was published, ticks; UINT64_MAX: none was, or
 *	that cannot be told
 * @words: from there to the reader's end
 */
struct at_oldest {
	uint64_t sub;
	uint64_t records;
	uint64_t records_after;
	uint64_t after;
	uint64_t words;
};

/* The reader must have an end. False: nothing is left to read. */
bool at_reader_oldest(struct at_reader *rd, struct at_oldest *o);
/* Goes on behind that sub-buffer. False, and nothing is changed: it is the last one. */
bool at_reader_leave_out(struct at_reader *rd, const struct at_oldest *o);

/* --- slots.c ------------------------------------------------------------------------------ */

void at_slots_forked(void);
int at_slots_init(void);
/* Fills @t from slot @slot; false: that one is not there (yet). */
bool at_slots_get(uint32_t slot, struct asynctrace_thread *t);
uint32_t at_slots_last(void);

/* --- drain.c: from rings to chunks ----------------------------------------------------------- */

/*
 * Takes a chunk: 0 or a negative errno, with which it is not called again. Without
 * a chunk: what came so far should now survive the death of the process.
 */
typedef int (*at_sink)(void *arg, const struct asynctrace_chunk *chunk, const void *payload);

/* The states of a request by at_drain_share(). */
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
	bool at_end;		/* rings are read in the last round only */
	bool live;		/* the rings are circular, and written while they are read */
	uint64_t *copy;		/* a sub-buffer, if @live */
	uint64_t *used;		/* a bit for each slot handed out; NULL: all slots are */
	char name[ASYNCTRACE_NAME_MAX + 1];
	uint32_t strings;	/* words of the durable ring handed out */
	uint32_t threads;	/* slots handed out */
	uint64_t clock_at;	/* CLOCK_BOOTTIME of the last pair, ns */
	uint64_t flushed_at;
	uint64_t busiest;	/* words that the fullest ring held in the last round */

	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t wake;
	pthread_cond_t paused;
	bool stop;
	enum at_share share;
	bool pause;		/* a fork() is on its way */
	bool working;		/* the thread may hold locks of malloc() or the C library */
};

int at_drain_init(struct at_drain *d, struct at_area *area, const char *name, at_sink sink,
		  void *arg);
/**
 * struct at_taken - an extent that was copied
 * @next: the one after it; NULL: none
 * @reader: as it was before the extent
 * @extent: with the words in the copy
 */
struct at_taken {
	struct at_taken *next;
	struct at_reader reader;
	struct at_extent extent;
};

/*
 * Instead of all that follows: hands out @taken, and the threads that @d->used does not have,
 * from the moment @began on. The readers have come to their end. Async-signal-safe if the
 * sink is. Only the members up to @d->name need to be set.
 */
int at_drain_once(struct at_drain *d, const struct asynctrace_clock_pair *began,
		  const struct at_taken *taken);
/* The present moment on all clocks. */
void at_clock_pair_now(const struct at_area *area, struct asynctrace_clock_pair *now);
/* From now on the rings, circular ones, are read while they are written. */
int at_drain_live(struct at_drain *d);
/*
 * Makes the rings circular while the thread drains them. -EBUSY: the thread waits in write(2)
 * for too long.
 */
int at_drain_share(struct at_drain *d);
int at_drain_start(struct at_drain *d);	/* the thread */
void at_drain_stop(struct at_drain *d);	/* joins it */
/* Between these two the thread holds no lock of malloc() or the C library. */
void at_drain_pause(struct at_drain *d);
void at_drain_resume(struct at_drain *d);
/* The thread waits for the system, and may be paused, between these two. */
void at_drain_leave(struct at_drain *d);
void at_drain_enter(struct at_drain *d);
/* One round over all rings; last: the gate is closed and nobody writes. */
void at_drain_round(struct at_drain *d, bool last);
void at_drain_result(const struct at_drain *d, struct at_trace_result *res);
void at_drain_free(struct at_drain *d);

#pragma GCC visibility pop

#endif /* AT_INPROC_H */
