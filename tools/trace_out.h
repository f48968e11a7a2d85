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

/* What at_compose_finish() may still write, and a chunk's smallest room. */
#define TRACE_OUT_RESERVE	(64 * 1024)
#define TRACE_OUT_MIN		(1024 * 1024)

/**
 * struct trace_out - see above. The caller fills the first block.
 * @path: the file, or "-"
 * @max_size: bytes, of all files, after which no more is written; 0: no limit
 * @rotate: bytes, after which a new file is begun; 0: never by size
 * @numbered: the files are FILE.0.fxt and so on
 * @keep: how many of these there may be; 0: any number
 * @continued: the session was begun before this file
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
 * @compose: what makes it
 */
struct trace_out {
	const char *path;
	uint64_t max_size;
	uint64_t rotate;
	bool numbered;
	unsigned int keep;
	bool continued;
	const sigset_t *mask;
	int wait_fd;
	bool (*interrupted)(void *arg);
	void *arg;

	int fd;
	char name[4096];
	unsigned int first;
	unsigned int number;
	uint64_t before;
	struct at_compose *compose;
};

/* What became of it: above 0: fine; a negative errno: no more, and a message was given. */
enum {
	TRACE_OUT_FULL	= 0,	/* @max_size is reached: no more, without a message */
	TRACE_OUT_OK	= 1,
};

/* Begins the first file. 0, or a negative errno, and a message. */
int trace_out_open(struct trace_out *o);
/* Adds what one read(2) of a session has returned: @got bytes at @buffer. As above. */
int trace_out_chunk(struct trace_out *o, const void *buffer, size_t got);
/* Begins the next file. As above. */
int trace_out_rotate(struct trace_out *o);
/* Writes what is buffered. As above. */
int trace_out_flush(struct trace_out *o);
/*
 * Ends the file. @goes_on: the session does not end with it. 0, or a negative
 * errno, and a message, but where @err, which is then returned, was told already.
 */
int trace_out_finish(struct trace_out *o, bool goes_on, int err);
void trace_out_free(struct trace_out *o);
/* For people: its name, those of several, or "standard output". */
const char *trace_out_name(const struct trace_out *o);

/* Takes "SIZE", or "SIZE,N". False, and a message, where it is wrong. */
bool trace_out_parse_rotate(struct trace_out *o, char *text);
bool trace_out_parse_max(struct trace_out *o, const char *text);

#endif /* AT_TRACE_OUT_H */
