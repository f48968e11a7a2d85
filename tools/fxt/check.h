/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks a trace against the rules of rules.h: takes records in the order of the file, and
 * counts breaches. Memory grows with names, threads, open operations and open durations, and
 * with the window of events that are sorted by time.
 */
#ifndef FXT_CHECK_H
#define FXT_CHECK_H

#include "fxt.h"

struct fxt_finding {
	uint64_t count;
	uint64_t offset;	/* offset of the first breach */
	char detail[160];	/* text about the first breach */
};

struct fxt_tally {
	uint64_t records, bytes, events, switches, wakeups, losses, flows;
	uint64_t asyncs;	/* operations with a begin and an end */
	uint64_t threads;	/* threads with events */
	uint64_t late;		/* events and switches, out of order by more than the window */
};

struct fxt_check;

/*
 * Returns NULL if there is no memory. @window: number of events and switches that are sorted at
 * a time; 0 means 4 million.
 */
struct fxt_check *fxt_check_new(size_t window);
void fxt_check_free(struct fxt_check *c);
/*
 * Requires @count whole async operations called @name. Returns 0 or -ENOMEM.
 * fxt_cross_thread() requires that operations called @name end on another thread than they
 * began on.
 */
int fxt_expect_async(struct fxt_check *c, const char *name, uint64_t count);
int fxt_cross_thread(struct fxt_check *c, const char *name);
/*
 * Checks all records of @r. Returns 0, or a negative errno if reading fails or memory is
 * missing.
 */
int fxt_check_all(struct fxt_check *c, struct fxt_reader *r);
const struct fxt_finding *fxt_findings(const struct fxt_check *c);
const struct fxt_tally *fxt_tally(const struct fxt_check *c);
/*
 * True if the file is a part of a recording: operations that begin in it may end in another
 * file.
 */
bool fxt_is_part(const struct fxt_check *c);
/* True if the file is a part because it has only the records that slow operations need. */
bool fxt_is_selection(const struct fxt_check *c);
/*
 * True if the end of the file is missing or cannot be read: operations that begin in it may have
 * ended there.
 */
bool fxt_is_incomplete(const struct fxt_check *c);
/*
 * True if a breach of @rule does not make this file invalid, for example because the file is only a
 * part of a recording. @loss: also excuse breaches that a loss of records explains.
 */
bool fxt_excused(const struct fxt_check *c, enum fxt_rule rule, bool loss);

#endif /* FXT_CHECK_H */
