/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times in which records were lost, and items that came too late to be sorted. */
#ifndef ANALYSIS_LOSSES_H
#define ANALYSIS_LOSSES_H

#include "item.h"

/* --- losses.c ---------------------------------------------------------------------------- */

struct loss {
	uint64_t from, to;
	uint32_t provider;	/* name */
	uint32_t ring;		/* name of the pseudo thread that shows the loss */
	uint64_t dropped, overwritten, malformed;
	int cpu;		/* of the kernel's ring of scheduling records; else -1 */
	bool tracepoints;	/* only events of the kernel's tracepoints were lost */
	bool stopped;		/* nothing was recorded, because the session was stopped */
};

/* A time in which events may be missing */
struct window {
	uint64_t from, to;
};

struct losses {
	struct loss *rows;	/* rows that wait for their time */
	size_t nr_rows, room_rows, nr_waiting;
	struct window *of;	/* in order, disjoint */
	size_t first, nr, room;
	uint64_t after;		/* all windows so far end before this time */
	uint64_t forgotten;	/* end of the last window that was forgotten; 0: none */
	/* The time at which the session was stopped, if it was not started again; or 0 */
	uint64_t stopped;
	/* The file's begin, if the session may have been stopped then; or 0 */
	uint64_t continued;
};

int losses_record(struct analysis *a, const struct fxt_record *rec);
/*
 * Handles an instant of the recorder's pseudo thread "clock", which may say that the session was
 * stopped or started. A session that is started again has recorded nothing since it was stopped.
 */
int losses_moment(struct analysis *a, const struct fxt_record *rec);
int losses_item(struct analysis *a, const struct item *it);
/* Keeps @loss until the item @it is handed on, and makes @it refer to @loss. */
int losses_add(struct analysis *a, const struct loss *loss, struct item *it);
/*
 * Returns the end of the last time within @from..@to in which events may be missing, at most
 * @to. Returns 0 if all events are there. Losses of all providers count, because threads of any
 * process may work on an operation.
 *
 * A complete duration is written when it ends. So a loss may hide durations that began any time
 * before it, in which a thread worked on the operation.
 */
uint64_t losses_until(const struct analysis *a, uint64_t from, uint64_t to);
bool losses_within(const struct analysis *a, uint64_t from, uint64_t to);
/*
 * True if losses_within() is, or if @from is before the end of a window that the analysis has
 * forgotten.
 */
bool losses_hide(const struct analysis *a, uint64_t from, uint64_t to);
void losses_forget(struct analysis *a, uint64_t ns);

/* --- late.c --------------------------------------------------------------------------------- */

struct late_item {
	uint64_t number;	/* position among the trace's items */
	struct item item;	/* ITEM_LOSS: .id is an index of late.losses */
};

struct late {
	struct late_item *of;	/* in the order of the file */
	const struct late_item **by_time;	/* sorted, in the second reading; else NULL */
	struct loss *losses;
	size_t nr, room, nr_losses, room_losses;
	uint64_t items;		/* number of items read so far */
	size_t left_out, handed_on;
};

/*
 * Handles @it at its place in the file. Returns true if the caller must skip @it, because the
 * second reading hands it on at its time.
 */
bool late_item(struct analysis *a, const struct item *it);
/* Hands on the late items before @ns. */
int late_before(struct analysis *a, uint64_t ns);
void late_free(struct late *l);

#endif /* ANALYSIS_LOSSES_H */
