/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a trace keep every rule? Records go in in the order of the file, breaches
 * come out as counts. Memory: names, threads, what is open, and a window in
 * which events are put in order of time.
 */
#ifndef FXT_CHECK_H
#define FXT_CHECK_H

#include "fxt.h"

struct fxt_finding {
	uint64_t count;
	uint64_t offset;	/* of the first */
	char detail[160];	/* of the first */
};

struct fxt_tally {
	uint64_t records, bytes, events, switches, wakeups, losses, flows;
	uint64_t asyncs;	/* operations with begin and end */
	uint64_t threads;	/* with events */
	uint64_t late;		/* events out of order by more than the window */
};

struct fxt_check;

/* @window: events that are put in order at a time; 0: 4 million */
struct fxt_check *fxt_check_new(size_t window);
void fxt_check_free(struct fxt_check *c);
/* NULL or -ENOMEM */
int fxt_expect_async(struct fxt_check *c, const char *name, uint64_t count);
int fxt_cross_thread(struct fxt_check *c, const char *name);
/* All of @r. 0, or a negative errno: it cannot be read, or no memory. */
int fxt_check_all(struct fxt_check *c, struct fxt_reader *r);
const struct fxt_finding *fxt_findings(const struct fxt_check *c);
const struct fxt_tally *fxt_tally(const struct fxt_check *c);
/* The file is a part of a recording: what it begins may end in another one. */
bool fxt_is_part(const struct fxt_check *c);
/* It is a part because it has only what slow operations need. */
bool fxt_is_selection(const struct fxt_check *c);
/* The end of the file is missing: what the file begins may have ended there. */
bool fxt_is_incomplete(const struct fxt_check *c);
/*
 * Whether the file is clean although it breaks @rule. @loss: excuse also what a loss
 * explains.
 */
bool fxt_excused(const struct fxt_check *c, enum fxt_rule rule, bool loss);

#endif /* FXT_CHECK_H */
