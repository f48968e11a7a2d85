/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds signs of mistakes in the traced program. asynctrace-report(1) defines the lints. Memory
 * grows with the numbers of threads and of types, not with the trace's length.
 */
#ifndef REPORT_LINTS_H
#define REPORT_LINTS_H

#include "analysis/analysis.h"
#include "fxt/table.h"

#define LINT_SELF_WAKES		10			/* least number of wakeups of a thread */
#define LINT_LONG_TURN_NS	1000000000u		/* running time without a sleep */
#define LINT_LOST_WAKE_NS	1000000000u		/* blocked time until the trace's end */
#define LINT_HERD		3			/* least number of threads */
#define LINT_HERD_NS		100000u			/* most time from the first wakeup to
							   the last */
#define LINT_FUTILE_NS		100000u			/* most running time until the next sleep */
#define LINT_TYPES		1000			/* most types of one provider */
#define LINT_BURST		1000			/* least number of begins of one type */
#define LINT_BURST_NS		1000000u		/* time from the first to the last is
							   less than this */

enum lint {
	LINT_SELF_WAKE,
	LINT_NEVER_YIELDS,
	LINT_LOST_WAKE,
	LINT_THUNDERING_HERD,
	LINT_MANY_TYPES,
	LINT_CREATION_BURST,
	LINTS
};

/* Returns the name of a lint; never NULL. */
const char *lint_name(enum lint lint);
/* Returns a sentence that explains the lint. */
const char *lint_meaning(enum lint lint);

struct lint_example {
	struct analysis_id id;
	bool has_id;
	const struct analysis_thread *thread;	/* NULL: none is known */
	uint64_t ns;
};

/* Names and threads belong to the analysis. */
struct finding {
	enum lint lint;
	/*
	 * The subject is a thread, a type, a provider (.type.provider), or interrupts if none
	 * is set.
	 */
	const struct analysis_thread *thread;
	struct analysis_id type;
	uint64_t count;
	uint64_t part, all;	/* the share .part of .all */
	uint64_t ns;		/* 0: the finding has no time */
	struct lint_example example;
};

struct lints {
	struct lint_thread *threads;
	struct lint_waker *wakers;
	struct lint_type *types;
	struct lint_provider *providers;
	size_t nr_threads, room_threads, nr_wakers, room_wakers, nr_types, room_types;
	size_t nr_providers, room_providers;
	/* .a index in the arrays above + 1 */
	struct fxt_table by_thread, by_waker, by_type, by_provider;
	uint64_t herds;		/* number of the last herd */
	/* By waker and thread: .a is the last herd in which the waker woke the thread. */
	struct fxt_table last_herds;

	struct finding *of;
	size_t nr, room;
	bool failed;		/* a finding was dropped because memory was missing */
};

/* Take rows of the analysis. Return 0 or -ENOMEM. */
int lints_wakeup(struct lints *l, const struct analysis_wakeup *wakeup);
int lints_turn(struct lints *l, const struct analysis_turn *turn);
int lints_begin(struct lints *l, const struct analysis_begin *begin);
int lints_operation(struct lints *l, const struct analysis_operation *op);
/* Judges the thread of @turn as a part of its herd. Called when the turn is over. */
int lints_turn_over(struct lints *l, const struct analysis_turn *turn);
/* Adds the thread of @turn to a herd. A wakeup has ended the sleep after the turn. */
int lints_woken(struct lints *l, const struct analysis_turn *turn);
/* Fills .of after the last row, in order of lints. @ns: length of the trace */
void lints_find(struct lints *l, uint64_t ns);
void lints_free(struct lints *l);

/* --- shared by the files of lints --------------------------------------------------------- */

struct lint_thread {
	const struct analysis_thread *thread;
	uint64_t wakeups, self_wakes;
	struct lint_example self_wake;
	uint64_t long_turns, long_ns, longest_ns;
	struct lint_example longest;
	struct herd *herd;	/* of the last wakeup; NULL when the turn after it is over */
};

struct lint_thread *lint_thread_of(struct lints *l, const struct analysis_thread *t);
/* Appends a finding. .failed is set if there is no memory. */
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
