/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduces a trace during recording to the records that slow operations need (record
 * --slower-than).
 *
 * Records wait in a window of bounded size. When an operation has ended and the analysis can
 * account for its time, the records that its answer depends on are marked. Records that leave
 * the window unmarked are filtered out. The resulting file gives the same answers.
 */
#ifndef TAIL_H
#define TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAIL_WINDOW_MIN	(256 * 1024)

/* Operations of a type that take longer than .ns are slow. */
struct tail_bound {
	const char *type;	/* "request", "http/request", or "*" for all */
	uint64_t ns;
	const char *text;	/* type and time as the user wrote them */
};

struct tail_options {
	const struct tail_bound *bounds;
	size_t nr_bounds;
	uint64_t before;	/* nanoseconds before an operation to keep */
	uint64_t window;	/* limit in bytes of the waiting records; at least
				   TAIL_WINDOW_MIN */
	/* Like write(2), but returns a negative errno. */
	ssize_t (*write)(void *arg, const void *buf, size_t len);
	void *arg;
};

/* Records of one ring that are not in the file */
struct tail_source {
	uint32_t provider, ring;
	struct tail_left {
		uint64_t events, switches, wakeups;
	} filtered, unwritten;
};

struct tail_counts {
	uint64_t operations;	/* slow operations in the file, complete or not */
	uint64_t incomplete;	/* of these: operations that had not ended */
	uint64_t left_out;	/* slow operations that are not in the file: their records exceeded
				   the window, or they count in .long_names */
	uint64_t long_names;	/* slow operations whose category and name do not fit into a
				   record */
	uint64_t hasty;		/* slow operations in the file that were written too early: records
				   of their threads may be missing; see .hasty in analysis.h */
	uint64_t late;		/* records that came too late to be sorted */
	uint64_t unnamed;	/* names that the analysis replaced by "..." at its limit: types
				   may be mixed up */
	uint64_t trimmed;	/* arguments left out of records that would be too long, because
				   each record in the file contains its names as text */
};

struct tail;

/* Returns NULL if there is no memory. */
struct tail *tail_new(const struct tail_options *o);
void tail_free(struct tail *t);
/* Names the ring of the records that follow. Returns 0 or -ENOMEM. */
int tail_source(struct tail *t, uint32_t provider, uint32_t ring);
/*
 * Takes whole records. Returns the words taken, fewer than @nr after an error, see
 * tail_error().
 */
size_t tail_push(struct tail *t, const uint64_t *words, size_t nr);
/* Writes records that have been decided on. */
void tail_flush(struct tail *t);
/* Ends the trace and writes the rest. Returns 0 or a negative errno. */
int tail_finish(struct tail *t);
/* Returns the first failure, of writing or memory: a negative errno; or 0. */
int tail_error(const struct tail *t);
/* Returns the bytes of the file that are whole records. */
uint64_t tail_written(const struct tail *t);
const struct tail_counts *tail_counts(const struct tail *t);
const struct tail_source *tail_sources(const struct tail *t, size_t *nr);

#endif /* TAIL_H */
