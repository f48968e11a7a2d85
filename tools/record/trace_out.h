/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a trace goes: a file, several one after the other, or a pipe
 */
#ifndef AT_TRACE_OUT_H
#define AT_TRACE_OUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/compose.h>

#include "tail/tail.h"

/* What at_compose_finish() may still write. */
#define TRACE_OUT_RESERVE	(64 * 1024)
#define TRACE_OUT_MIN		(1024 * 1024)

/**
 * struct trace_out - see above. The caller fills the first block.
 * @path: the file, or "-"
 * @max_size: bytes, of all files, with which trace_out_full() is; 0: no limit
 * @chunk: bytes of the largest chunk that is expected
 * @rotate: bytes, after which a new file is begun; 0: never by size
 * @numbered: the files are FILE.0.fxt and so on
 * @keep: how many of these there may be; 0: any number
 * @continued: the session was begun before this file
 * @slow: only what slow operations need is written; .nr_bounds 0: everything is
 * @ends: what ends if writing fails, for messages: "recording ends here"
 * @mask: signals to wait with for a named pipe's reader, at the first file
 * @wait_fd: descriptor that tells that something wants attention; -1: none
 * @interrupted: called then; true: give up writing
 * @arg: its argument
 *
 * @fd: of the present file; -1: none
 * @name: of the present file
 * @first: number of the oldest file that is still there
 * @number: of the present file
 * @before: bytes of the files before it
 * @largest: room that the largest chunk may take, of those expected and those seen
 * @over: it is at its end, or cannot be written: what comes is only counted
 * @failed: it could not be written to its end
 * @rest: bytes of the last record that a pipe has not taken yet
 * @tail: what chooses of it, for @slow
 * @compose: what makes it
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
	const char *ends;
	const sigset_t *mask;
	int wait_fd;
	bool (*interrupted)(void *arg);
	void *arg;

	int fd;
	char name[4096];
	unsigned int first;
	unsigned int number;
	uint64_t before;
	uint64_t largest;
	bool over;
	bool failed;
	size_t rest;
	struct tail *tail;
	struct at_compose *compose;
};

/*
 * These return 0, or a negative errno after a message. What they are given when that
 * has happened, or after trace_out_end(), is counted as unwritten, and is no error.
 */

/* Begins the first file. */
int trace_out_open(struct trace_out *o);
/* Adds what one read(2) of a session has returned: @got bytes at @buffer. */
int trace_out_chunk(struct trace_out *o, const void *buffer, size_t got);
/* Begins the next file. */
int trace_out_rotate(struct trace_out *o);
/* Writes what is buffered. */
int trace_out_flush(struct trace_out *o);
/* Ends the file, but not the session. */
int trace_out_end(struct trace_out *o);

/*
 * Whether the next chunk may make it larger than @max_size. To be asked before a chunk
 * is read, which is taken out of the session by that: what was read is written. So
 * where a chunk takes more than was expected, the files are larger than @max_size by that.
 */
bool trace_out_full(const struct trace_out *o);

/*
 * Ends the file, where that was not done. @goes_on: the session does not end with it.
 * 0, or a negative errno, and a message, but where @err, which is then returned, was
 * told already.
 */
int trace_out_finish(struct trace_out *o, bool goes_on, int err);
void trace_out_free(struct trace_out *o);
/* For people: its name, those of several, or "standard output". */
const char *trace_out_name(const struct trace_out *o);

/* Takes "SIZE", or "SIZE,N". False, and a message, where it is wrong. */
bool trace_out_parse_rotate(struct trace_out *o, char *text);
bool trace_out_parse_max(struct trace_out *o, const char *text);

#endif /* AT_TRACE_OUT_H */
