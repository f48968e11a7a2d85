/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of a trace that is being recorded, only what slow operations need (record --slower-than).
 *
 * Records wait in a window of bounded size. When an operation has ended and the analysis can
 * tell where its time went, the records that its answer depends on are marked. What leaves the
 * window unmarked is filtered out. The file that comes of it gives the same answers.
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
	const char *type;	/* "request", "http/request", or "*" */
	uint64_t ns;
	const char *text;	/* both, as the user wrote it */
};

struct tail_options {
	const struct tail_bound *bounds;
	size_t nr_bounds;
	uint64_t before;	/* nanoseconds before an operation that are kept, too */
	uint64_t window;	/* bytes of records that wait; at least TAIL_WINDOW_MIN */
	/* As write(2), but a negative errno */
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
	uint64_t operations;	/* slow ones in the file, complete or not */
	uint64_t incomplete;	/* of these: had not ended */
	uint64_t left_out;	/* slow ones that the window did not hold as a whole, and: */
	uint64_t long_names;	/* slow ones whose category and name do not fit into a record */
	uint64_t hasty;		/* slow ones in the file, maybe without all that was known of their threads */
	uint64_t late;		/* records that came too late to be put in order */
	uint64_t unnamed;	/* names for which the analysis had no room: types may be mixed up */
	uint64_t trimmed;	/* arguments that did not fit into a record with its names */
};

struct tail;

/* NULL: no memory */
struct tail *tail_new(const struct tail_options *o);
void tail_free(struct tail *t);
/* The records that come next are of this ring. 0 or -ENOMEM */
int tail_source(struct tail *t, uint32_t provider, uint32_t ring);
/* Take whole records. Returns the words taken: fewer than @nr if memory lacks, see tail_error() */
size_t tail_push(struct tail *t, const uint64_t *words, size_t nr);
/* Write what is decided. */
void tail_flush(struct tail *t);
/* No more records come: write all that is to be written. 0 or a negative errno. */
int tail_finish(struct tail *t);
/* The first failure, of writing or for lack of memory: a negative errno; or 0 */
int tail_error(const struct tail *t);
/* Bytes of the file, whole records */
uint64_t tail_written(const struct tail *t);
const struct tail_counts *tail_counts(const struct tail *t);
const struct tail_source *tail_sources(const struct tail *t, size_t *nr);

#endif /* TAIL_H */
