/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The destination of a trace: a file, a series of files, or a pipe */
#ifndef AT_TRACE_OUT_H
#define AT_TRACE_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/compose.h>

#include "cputime/cputime.h"
#include "record/pack.h"
#include "tail/tail.h"

/*
 * Bytes kept free for what at_compose_finish() writes. For each thread without a name it writes
 * about 100 bytes, so a file with more than about 600 such threads may exceed its limit. Threads
 * have no names if the session has lost the names.
 */
#define TRACE_OUT_RESERVE	(64 * 1024)
/* Smallest limit that a user may set for a file, or for all files */
#define TRACE_OUT_MIN		(1024 * 1024)

/**
 * struct trace_out - the destination of a trace. The caller fills the first block.
 * @path: the file, or "-". The contents are compressed if it ends in .gz or .zst.
 * @max_size: limit of the bytes of all files, for trace_out_full(); 0: no limit
 * @chunk: expected bytes of the largest chunk
 * @rotate: bytes after which a new file begins; 0: no limit
 * @numbered: the files are FILE.0.fxt and so on
 * @keep: limit of the number of these files; 0: no limit
 * @continued: the session began before this file
 * @slow: write only the records that slow operations need; .nr_bounds 0: write all
 * @cpu_time: durations get the CPU time of their threads
 * @missed: for @cpu_time: see cputime_settle()
 * @ends: consequence of a failure, for messages: "recording ends here"
 * @wait_fd: descriptor that interrupts waiting; -1: none
 * @interrupted: called while a named pipe has no reader, or a reader takes no data: each second or
 *	more often, and when @wait_fd is ready. true: give up
 * @arg: argument of @interrupted
 *
 * @fd: descriptor of the current file; -1: none
 * @start: offset of the trace in the current file, if that is a regular file
 * @target: destination of the current file's bytes
 * @name: name of the current file
 * @first: number of the oldest file that exists
 * @number: number of the current file
 * @before: bytes of the files before the current one
 * @largest: room for the largest chunk, expected or seen
 * @over: the file has ended or cannot be written: records are only counted
 * @failed: the end of the file could not be written
 * @reported: the error that trace_out_check() reported; 0: none
 * @unopened: the next file could not be opened, which was reported
 * @rest: bytes of the last record that a pipe has not taken yet
 * @pack: compresses the current file; NULL: it is not compressed
 * @tail: chooses records, for @slow
 * @cputime: adds CPU times, for @cpu_time. Its records may be of later files than the current one
 * @compose: turns chunks into records of the trace
 */
struct trace_out {
	const char *path;
	uint64_t max_size;
	uint64_t chunk;
	uint64_t rotate;
	bool numbered;
	unsigned int keep;
	bool continued;
	struct tail_options slow;
	bool cpu_time;
	bool missed;
	const char *ends;
	int wait_fd;
	bool (*interrupted)(void *arg);
	void *arg;

	int fd;
	uint64_t start;
	struct at_compose_options target;
	char name[4096];
	unsigned int first;
	unsigned int number;
	uint64_t before;
	uint64_t largest;
	bool over;
	bool failed;
	int reported;
	bool unopened;
	size_t rest;
	struct pack *pack;
	struct tail *tail;
	struct cputime *cputime;
	struct at_compose *compose;
};

/*
 * These functions return 0, or a negative errno after a message. After a failure or
 * trace_out_end(), further records are counted as unwritten, which is not an error.
 */

/* Opens the first file. */
int trace_out_open(struct trace_out *o);
/*
 * Names the ring of the records that the composer makes next. @provider: 0 for the kernel. @ring:
 * number of the ring, or ASYNCTRACE_COMPOSE_RING_TRACEPOINTS | CPU for events of tracepoints.
 */
int trace_out_ring(struct trace_out *o, uint32_t provider, uint32_t ring);
/* Writes the result of one read(2) of a session: @got bytes at @buffer. */
int trace_out_chunk(struct trace_out *o, const void *buffer, size_t got);
/* Begins the next file. */
int trace_out_rotate(struct trace_out *o);
/*
 * Call this when all records until @ns have been written. CPU times of durations that ended by then
 * are final, so records that waited for them are written.
 */
int trace_out_settle(struct trace_out *o, uint64_t ns);
/* Writes buffered data. */
int trace_out_flush(struct trace_out *o);
/*
 * Handles the error @err of the composer, for callers that use @compose. Returns 0, or @err after a
 * message.
 */
int trace_out_check(struct trace_out *o, int err);
/* Ends the file, but not the session. */
int trace_out_end(struct trace_out *o);

/*
 * True if the next chunk may make all files together larger than @max_size. Call this before
 * read(2), because read(2) removes the chunk from the session, so it must be written. If a chunk
 * takes more room than expected, the files may exceed @max_size by the difference.
 */
bool trace_out_full(const struct trace_out *o);

/*
 * Ends the file, unless trace_out_end() did. @goes_on: the session continues. Returns 0, or a
 * negative errno after a message. A failure that was reported before is not reported again.
 */
int trace_out_finish(struct trace_out *o, bool goes_on);
void trace_out_free(struct trace_out *o);
/* Returns the size of all files that were written, and of their contents before compression. */
uint64_t trace_out_stored(const struct trace_out *o);
uint64_t trace_out_unpacked(const struct trace_out *o);
/* Returns the file's name, a description of several, or "standard output", for messages. */
const char *trace_out_name(const struct trace_out *o);

/* Parse "SIZE", or "SIZE,N". Return false after a message if the text is wrong. */
bool trace_out_parse_rotate(struct trace_out *o, char *text);
bool trace_out_parse_max(struct trace_out *o, const char *text);

#endif /* AT_TRACE_OUT_H */
