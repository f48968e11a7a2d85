/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What in a trace tells of a mistake in the traced program. asynctrace-report(1) defines the
 * lints. Memory grows with the numbers of threads and of types, not with the trace's length.
 */
#ifndef REPORT_LINTS_H
#define REPORT_LINTS_H

#include "analysis/analysis.h"
#include "fxt/table.h"

#define LINT_SELF_WAKES		10			/* wakeups of a thread, at least */
#define LINT_LONG_TURN_NS	1000000000u		/* running without a sleep */
#define LINT_LOST_WAKE_NS	1000000000u		/* blocked until the trace's end */
#define LINT_HERD		3			/* threads, at least */
#define LINT_HERD_NS		100000u			/* from the first wakeup to the last */
#define LINT_FUTILE_NS		100000u			/* running until the next sleep, at most */
#define LINT_TYPES		1000			/* of one provider, at most */
#define LINT_BURST		1000			/* begins of one type, at least */
#define LINT_BURST_NS		1000000u		/* from the first to the last: less than that */

enum lint {
	LINT_SELF_WAKE,
	LINT_NEVER_YIELDS,
	LINT_LOST_WAKE,
	LINT_THUNDERING_HERD,
	LINT_MANY_TYPES,
	LINT_CREATION_BURST,
	LINTS
};

/* The word for it; never NULL */
const char *lint_name(enum lint lint);
/* A sentence: what it means */
const char *lint_meaning(enum lint lint);

struct lint_example {
	struct analysis_id id;
	bool has_id;
	const struct analysis_thread *thread;	/* NULL: none is known */
	uint64_t ns;
};

/* Names and threads are the analysis's. */
struct finding {
	enum lint lint;
	/* The subject: a thread; the type of .type; its provider; or neither: interrupts */
	const struct analysis_thread *thread;
	struct analysis_id type;
	uint64_t count;
	uint64_t part, all;	/* the share */
	uint64_t ns;		/* 0: no time belongs to it */
	struct lint_example example;
};

struct lints {
	struct lint_thread *threads;
	struct lint_waker *wakers;
	struct lint_type *types;
	struct lint_provider *providers;
	size_t nr_threads, room_threads, nr_wakers, room_wakers, nr_types, room_types;
	size_t nr_providers, room_providers;
	/* .a index of the above and 1 */
	struct fxt_table by_thread, by_waker, by_type, by_provider;
	uint64_t herds;		/* number of the last one */
	struct fxt_table last_herds;	/* waker and thread: .a number of the last that has both */

	struct finding *of;
	size_t nr, room;
	bool failed;		/* no memory for a finding */
};

/* Rows of the analysis. 0 or -ENOMEM */
int lints_wakeup(struct lints *l, const struct analysis_wakeup *wakeup);
int lints_turn(struct lints *l, const struct analysis_turn *turn);
int lints_begin(struct lints *l, const struct analysis_begin *begin);
int lints_operation(struct lints *l, const struct analysis_operation *op);
/* @turn is over: what became of the herd that its thread was woken with? */
int lints_turn_over(struct lints *l, const struct analysis_turn *turn);
/* A wakeup, which is wanted, ended @turn. */
int lints_woken(struct lints *l, const struct analysis_turn *turn);
/* After the last row: fill .of, in order of lints. @ns: how long the trace is */
void lints_find(struct lints *l, uint64_t ns);
void lints_free(struct lints *l);

/* --- between the files of lints ----------------------------------------------------------- */

struct lint_thread {
	const struct analysis_thread *thread;
	uint64_t wakeups, self_wakes;
	struct lint_example self_wake;
	uint64_t long_turns, long_ns, longest_ns;
	struct lint_example longest;
	struct herd *herd;	/* it was woken with, and the turn is not over */
};

struct lint_thread *lint_thread_of(struct lints *l, const struct analysis_thread *t);
/* A new finding of @lint */
void lints_add(struct lints *l, const struct finding *finding);
void lints_find_threads(struct lints *l, uint64_t ns);
void lints_find_herds(struct lints *l);
void lints_find_types(struct lints *l);
void lints_free_herds(struct lints *l);
void lints_free_types(struct lints *l);

static inline struct lint_example example_of(const struct analysis_id *id,
					     const struct analysis_thread *thread, uint64_t ns)
{
	struct lint_example e = { .has_id = id, .thread = thread, .ns = ns };

	if (id)
		e.id = *id;
	return e;
}

#endif /* REPORT_LINTS_H */
