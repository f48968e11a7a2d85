/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that is analysed while it is written: its records in, numbers of operations out.
 *
 *	words -> reader (tools/fxt) -> engine (tools/analysis) -> types (tally.h)
 *			    \-> open operations (open.h), at once
 */
#ifndef TOP_LIVE_H
#define TOP_LIVE_H

#include <stdio.h>

#include "fxt/fxt.h"
#include "hold.h"
#include "tally.h"
#include "open.h"

/* Records that wait to be put in order, at 80 bytes each at most */
#define LIVE_WINDOW	(2u << 20)
#define LIVE_MEMORY	(512ull << 20)

/* Losses that the trace tells */
struct live_lost {
	uint64_t dropped, overwritten, malformed;
};

struct live {
	struct tally tally;
	struct open_table open;
	struct hold hold;
	struct analysis *analysis;
	struct fxt_reader *reader;
	struct fxt_table providers;	/* id + 1: .a its name, from the names below */
	struct fxt_names names;		/* of providers */
	struct fxt_table types;		/* names in the engine: .a the row */
	size_t window;			/* 0: LIVE_WINDOW */
	bool is_file;			/* it can be read again */
	bool own_clock;			/* times of the trace are CLOCK_BOOTTIME of this machine */
	uint64_t begin, newest;		/* of the records read */
	uint64_t records;		/* of programs and of the kernel */
	struct live_lost lost;
	uint64_t late, losses;		/* of engines before this one */
	uint64_t memory;		/* limit in bytes */
	unsigned int restarts;
	bool ended, damaged, incomplete;
	bool complained;		/* since fxt_next() was called */
	int error;			/* it cannot go on: a negative errno */
};

/* @l: zeros but for .memory, .window, .own_clock and .is_file. 0 or -ENOMEM */
int live_open(struct live *l);
/* The next words. 0, or a negative errno: -EBADMSG if the rest cannot be read */
int live_push(struct live *l, const uint64_t *buf, size_t words);
/* The next record, of a source that has a reader; as live_push() */
int live_record(struct live *l, const struct fxt_record *rec);
/* For readers of the source: sets .damaged and .incomplete of @live */
void live_breach(void *live, enum fxt_rule rule, uint64_t offset, const char *detail);
/* At @wall, all records that had been written at trace time @ns have been read. */
void live_read_until(struct live *l, uint64_t wall, uint64_t ns);
/* Analyse what was held back for long enough. 0 or a negative errno */
int live_settle(struct live *l, uint64_t wall);
/*
 * At the end of a file: if records came too late to be put in order, forget all numbers. Then
 * the file must be read again, with live_record(), which puts these records in their places.
 */
bool live_again(struct live *l);
/* There is no more: analyse all. 0 or a negative errno */
int live_end(struct live *l);
/*
 * Begin the analysis anew if it takes too much memory, because a trace can have any number
 * of names and threads. 1 if it did; 0; or a negative errno, -ENOMEM if that did not help
 */
int live_bound(struct live *l);
/* The source tells names and providers again: a new reader. 0 or -ENOMEM */
int live_new_reader(struct live *l);
/* Trace time that the age of operations is measured to */
uint64_t live_now(const struct live *l, uint64_t wall);
/* Records that came too late to be put in order, and times at which records were lost */
uint64_t live_late(const struct live *l);
uint64_t live_losses(const struct live *l);
/*
 * Write to @f why @op, which is open, takes so long. False: the engine does not know it, or
 * not yet
 */
bool live_explain(struct live *l, const struct open_operation *op, FILE *f);
void live_close(struct live *l);

/* CLOCK_BOOTTIME in nanoseconds */
uint64_t live_wall(void);

#endif /* TOP_LIVE_H */
