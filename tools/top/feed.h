/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of records: a session, a pipe, or a file */
#ifndef TOP_FEED_H
#define TOP_FEED_H

#include <asynctrace/compose.h>

#include "live.h"
#include "session/args.h"
#include "record/taken.h"

/* Limit of the duration of one call of struct feed's .take */
#define FEED_NS		50000000ull

/* Results of .take. Other results are a negative errno, after a message. */
enum { FEED_NOTHING, FEED_MORE, FEED_END };

struct feed {
	const char *path;	/* NULL: a session */
	int fd;			/* for poll(2); -1: more can be read at any time */
	int (*take)(struct feed *f, struct live *l);
	void (*close)(struct feed *f);
	void *buffer;

	/* A file or a pipe. .rest: bytes of an incomplete word */
	struct fxt_reader *reader;
	size_t rest;
	bool begun;

	/* A session */
	struct session_args args;
	const char *attach;	/* name or id; NULL: make a session */
	struct at_ctl *ctl;
	struct at_compose *compose;
	struct at_compose_options compose_options;
	struct taken taken;
	uint64_t round;		/* begin of the present round of reading all rings; 0: none */
	bool hung_up;		/* another process ended the session */
};

/*
 * Opens the feed that the filled members of @f choose. Returns 0, or a negative errno after a
 * message.
 */
int feed_open(struct feed *f, struct live *l);
int feed_open_session(struct feed *f, struct live *l);
int feed_open_file(struct feed *f, struct live *l);
/*
 * Counts the records that programs and the kernel tried to write so far, like
 * at_compose_stats(). For a trace, only the sums of its losses are known.
 */
void feed_counts(struct feed *f, const struct live *l, struct at_compose_counts *counts);
/*
 * Restarts the analysis if the program uses too much memory. Call this after each call of .take.
 * Returns 0, or a negative errno after a message.
 */
int feed_bound(struct feed *f, struct live *l);
void feed_close(struct feed *f);
/* Prints that reading failed, with the reason. Returns @err. */
int feed_failed(const struct feed *f, int err);

#endif /* TOP_FEED_H */
