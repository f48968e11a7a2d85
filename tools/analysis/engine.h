/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State and functions that the parts of the engine share. The path of a record:
 *
 *	engine.c	turns a record of the reader into an item
 *	pair.c		makes operations of pairs of events
 *	order.c		sorts items by time
 *	late.c		hands on items that came too late, in a second reading
 *	scheduling.c	determines the states of threads and CPUs
 *	pending.c	determines states that only later records show
 *	history.c	keeps these states by time
 *	forget.c	frees history
 *	identity.c	knows the names of threads that had one id after each other
 *	losses.c	knows the times of lost records
 *	throttling.c	knows the times in which CPU quotas throttled processes
 *	durations.c	determines when a thread works on an operation
 *	entered.c	does the same for threads that enter operations
 *	cells.c		does the same from ids in scheduling records
 *	ends.c		finds the work of a thread at some time
 *	off_cpu.c	decodes switches: why threads leave their CPUs
 *	operations.c	finds begins and ends of operations
 *	account.c	makes the intervals of an operation that has ended
 *	path.c		makes its critical path
 *	busy.c		sums what threads worked on while operations were queued
 *	orphans.c	makes rows of events without their counterpart
 *	threads.c	makes rows of threads, wakeups, waits and turns
 *	needs.c		collects the records that a row depends on
 *	selection.c	reads marks of a file with slow operations only, and keeps other marks
 */
#ifndef ANALYSIS_ENGINE_H
#define ANALYSIS_ENGINE_H

#include "account.h"
#include "analysis.h"
#include "fxt/asyncs.h"
#include "fxt/names.h"
#include "fxt/table.h"
#include "item.h"
#include "losses.h"
#include "operation.h"
#include "selection.h"
#include "thread.h"

/* --- needs.c ------------------------------------------------------------------------------- */

/* Buffers that are reused for each answer */
struct needs_room {
	struct analysis_thread_state *threads;
	struct analysis_cpu_state *cpus;
	struct analysis_other_operation *operations;
	size_t nr_threads, nr_cpus, nr_operations;
	size_t room_threads, room_cpus, room_operations;
};

/* --- engine.c ------------------------------------------------------------------------------ */

/* The string table of a provider: numbers of names + 1, or 0 for a string that is not defined */
struct strings {
	struct fxt_sparse of;	/* uint32_t */
};

struct analysis {
	struct analysis_options opts;
	struct analysis_sink sink;
	struct analysis_totals totals;
	struct fxt_names names;
	struct order order;
	struct late late;
	struct fxt_table threads;	/* tid + 1: .a struct thread */
	struct cpu *cpus;
	size_t nr_cpus;
	size_t history;			/* number of spans, occupants and works in memory */
	uint64_t horizon;		/* rows leave out operations that began at this time or
					   before */
	uint64_t floor;			/* history before this time was dropped because of
					   the limit */
	uint64_t now;			/* time of the current item */
	size_t forget_at;		/* size of the history at which the next scan for
					   unneeded parts runs */
	bool over;			/* no more records come */
	uint64_t entered_last;		/* time at which an operation was entered last */
	uint64_t busy_version;		/* sums of busy.c with another version are invalid */
	struct fxt_asyncs asyncs;	/* open operations */
	struct operation *oldest, *newest;
	size_t nr_operations;		/* from .oldest to .newest */
	size_t nr_waiting;		/* operations that wait for the state of a thread */
	struct losses losses;
	uint64_t filled;		/* number of provider events, all of which tell of a loss */
	uint64_t lost_until;		/* before this time, scheduling records of some CPU
					   are missing */
	struct fxt_table providers;	/* id + 1: .a name's number + 1, .b struct strings */
	const struct strings *strings;	/* cache of .strings_of; NULL: empty */
	uint32_t strings_of;
	struct fxt_table throttled;	/* pid + 1: .a struct quotas */
	struct fxt_table cgroups;	/* number of the path + 1 */
	uint64_t counted;		/* number of the current operation */
	struct intervals whole, intervals, path;	/* of the current operation */
	struct intervals parts;		/* of the current wait */
	struct scratch scratch;		/* of account.c */
	struct needs_room needs;
	struct marks marks;
	uint64_t child, parent;		/* operations of the last ITEM_PARENT */
	uint64_t wanted_id;		/* id of the next operation that the selection was
					   made for */
	bool wants;			/* .wanted_id is valid */
};

int engine_item(struct analysis *a, const struct item *it);
/* Ends what @t works on at @ns, because the thread that had this id until then has ended. */
int thread_exits(struct analysis *a, struct thread *t, uint64_t ns);

#endif /* ANALYSIS_ENGINE_H */
