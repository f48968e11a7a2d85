/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Analyses a trace while it is written: takes records, and yields statistics of operations.
 *
 * words -> reader (tools/fxt) -> engine (tools/analysis) -> types (tally.h)
 *                            \-> open operations (open.h), without waiting for the engine
 */
#ifndef TOP_LIVE_H
#define TOP_LIVE_H

#include <stdio.h>

#include "fxt/fxt.h"
#include "hold.h"
#include "tally.h"
#include "open.h"

/* Limit of records that wait to be sorted, at 80 bytes each at most */
#define LIVE_WINDOW	(2u << 20)
#define LIVE_MEMORY	(512ull << 20)

/* Losses according to the trace */
struct live_lost {
	uint64_t dropped, overwritten, malformed;
};

struct live {
	struct tally tally;
	struct open_table open;
	struct hold hold;
	struct analysis *analysis;
	struct fxt_reader *reader;
	struct fxt_table providers;	/* by id + 1; .a: the name, which is in .names */
	struct fxt_names names;		/* of providers */
	struct fxt_table types;		/* by hash of the engine's names; .a: row of the type */
	size_t window;			/* 0: LIVE_WINDOW */
	bool is_file;			/* the source can be read again */
	const char *path;		/* name for messages about breaches; NULL: no messages */
	bool own_clock;			/* times of the trace are CLOCK_BOOTTIME of this machine */
	uint64_t begin, newest;		/* times of the records read */
	uint64_t stopped;		/* time at which the session was stopped, if it was not
					   started again; or 0 */
	uint64_t records;		/* of programs and of the kernel */
	struct live_lost lost;
	uint64_t late, losses;		/* totals of engines before a restart */
	uint64_t memory;		/* limit in bytes */
	unsigned int restarts;
	bool ended, damaged, incomplete;
	bool unreadable;		/* nothing more can be read: see live_push() */
	int error;			/* a negative errno: the analysis cannot continue */
};

/*
 * Opens the analysis. All members of @l must be zero except .memory, .window, .path, .own_clock
 * and .is_file. Returns 0 or -ENOMEM.
 */
int live_open(struct live *l);
/*
 * Takes the next words. Returns 0 or a negative errno. -EBADMSG: the trace is damaged so that the
 * rest cannot be read. The caller may then call live_end() to analyse what was read.
 */
int live_push(struct live *l, const uint64_t *buf, size_t words);
/* Takes the next record of a source with its own reader. Returns the same as live_push(). */
int live_record(struct live *l, const struct fxt_record *rec);
/*
 * Breach callback for readers: sets .damaged or .incomplete of @live, and prints a message about
 * the first damage and a missing end.
 */
void live_breach(void *live, enum fxt_rule rule, uint64_t offset, const char *detail);
/* Notes that at @wall, all records written up to trace time @ns have been read. */
void live_read_until(struct live *l, uint64_t wall, uint64_t ns);
/* Analyses records that were held back for long enough. Returns 0 or a negative errno. */
int live_settle(struct live *l, uint64_t wall);
/*
 * Call this at the end of a file. If records came too late to be sorted, clears all numbers and
 * returns true. The caller must then read the file again with live_record(), which puts these
 * records in their places.
 */
bool live_again(struct live *l);
/* Analyses the rest: no more records come. Returns 0 or a negative errno. */
int live_end(struct live *l);
/*
 * Restarts the analysis if it takes too much memory, because a trace can have any number of
 * names and threads. Returns 1 after a restart, 0, or a negative errno; -EDQUOT if a restart
 * did not help.
 */
int live_bound(struct live *l);
/* Makes a new reader, for a source that repeats names and providers. Returns 0 or -ENOMEM. */
int live_new_reader(struct live *l);
/* Returns the trace time to which the age of operations is measured. */
uint64_t live_now(const struct live *l, uint64_t wall);
/* live_late(): records that came too late to be sorted. live_losses(): number of losses */
uint64_t live_late(const struct live *l);
uint64_t live_losses(const struct live *l);
/*
 * Writes to @f why @op, which is open, takes so long. Returns false if the engine does not know
 * the operation yet or any more.
 */
bool live_explain(struct live *l, const struct open_operation *op, FILE *f);
void live_close(struct live *l);

/* Returns CLOCK_BOOTTIME in nanoseconds. */
uint64_t live_wall(void);

#endif /* TOP_LIVE_H */
