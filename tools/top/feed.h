/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of the records: a session, a pipe, or a file */
#ifndef TOP_FEED_H
#define TOP_FEED_H

#include <asynctrace/compose.h>

#include "live.h"
#include "session/args.h"
#include "record/taken.h"

/* A call of feed_take() lasts that long if there is more to read. */
#define FEED_NS		50000000ull

/* Results of feed_take(); others are a negative errno, after a message */
enum { FEED_NOTHING, FEED_MORE, FEED_END };

struct feed {
	const char *path;	/* NULL: a session */
	int fd;			/* for poll(2); -1: there is always more */
	int (*take)(struct feed *f, struct live *l);
	void (*close)(struct feed *f);
	void *buffer;

	/* A file, or a pipe: bytes of a word that is not whole */
	struct fxt_reader *reader;
	size_t rest;
	bool begun;

	/* A session */
	struct session_args args;
	const char *attach;	/* its name or id; NULL: it is made here */
	struct at_ctl *ctl;
	struct at_compose *compose;
	struct at_compose_options compose_options;
	struct taken taken;
	uint64_t round;		/* when the reading of all rings began; 0: it has not */
	bool hung_up;		/* somebody else ended the session */
};

/* 0 or a negative errno, and a message. @f->path, or the session's part, is filled. */
int feed_open(struct feed *f, struct live *l);
int feed_open_session(struct feed *f, struct live *l);
int feed_open_file(struct feed *f, struct live *l);
/*
 * Records that programs and the kernel tried to write so far, and what became of them.
 * @counts: as of at_compose_stats(); only sums of losses are there if a trace tells them
 */
void feed_counts(struct feed *f, const struct live *l, struct at_compose_counts *counts);
/* After each feed_take(): bound the memory. As feed_take() */
int feed_bound(struct feed *f, struct live *l);
void feed_close(struct feed *f);
/* Tell that reading failed, with the reason. Returns @err. */
int feed_failed(const struct feed *f, int err);

#endif /* TOP_FEED_H */
