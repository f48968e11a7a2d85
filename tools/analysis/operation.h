/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations: their begins and ends, and events without their counterpart. */
#ifndef ANALYSIS_OPERATION_H
#define ANALYSIS_OPERATION_H

#include "fxt/asyncs.h"
#include "thread.h"

/* --- operations.c -------------------------------------------------------------------- */

#define ANCESTORS_MAX	8

struct operation {
	struct fxt_async async;		/* first: see operation_of() */
	struct analysis_id out;
	/*
	 * Ids: the parent, the parent's parent, and so on. 0 after the last one that is known. A
	 * chain of contexts that make each other is endless, so only the nearest are stored.
	 */
	uint64_t ancestors[ANCESTORS_MAX];
	uint64_t ancestor_records[ANCESTORS_MAX];	/* .begin_record of each; 0: not known */
	uint64_t begin, end;
	uint64_t entered_at;		/* time of the first entry; STILL_OPEN: none so far */
	struct work *exited;		/* the last work that ended by its thread's exit; or NULL */
	uint32_t exited_in;		/* the innermost duration of .exited at the exit */
	uint64_t worked;		/* begin of the work that began last */
	const struct analysis *analysis;
	struct thread *begin_thread, *end_thread;
	struct works works;
	struct operation *older, *newer;	/* operations that have not been handed out */
	struct thread *waits_for;	/* the thread whose state at .end is not known yet */
	struct operation *next_waiting, *previous_waiting;
	uint64_t begin_record, end_record;
	size_t nr_settled;		/* number of works whose thread's state is known
					   until .end */
	unsigned int refs;		/* references of works, plus 1 until the operation is
					   handed out */
	bool ended;
	bool replaced;			/* closed without an end: see replace_pair() */
	bool wanted;			/* one of the slow operations whose records are copied
					   into a smaller trace */
	bool left_out;			/* it began before the horizon */
	bool crowded;			/* see .crowded of struct analysis_totals */
};

/* Returns the operation that contains @async. @async may be NULL. */
static inline struct operation *operation_of(struct fxt_async *async)
{
	return (struct operation *)async;
}

/* True if @op is a part of @whole, or of another part of @whole. */
bool operation_is_part(const struct operation *op, const struct operation *whole);
int operations_begin(struct analysis *a, const struct item *it);
int operations_end(struct analysis *a, const struct item *it);
/* Returns the names of the operation that the event @it belongs to. */
struct analysis_id id_of_item(const struct analysis *a, const struct item *it);
/*
 * True if a thread has entered @op. Then only works within scopes of @op count. Records of equal
 * time have no order, so an entry at the current time or at the end of @op does not count.
 */
bool operation_is_entered(const struct operation *op);
/*
 * Returns the newest open operation with the id @id of the process @pid, or NULL; .async.same_id
 * links the older ones. If asynctrace wrote the file, @pid does not matter.
 */
struct operation *operations_by_id(struct analysis *a, uint64_t id, uint32_t pid);
/*
 * Counts @op and the older open operations with its id, which the caller leaves out because of
 * ANALYSIS_SAME_ID_MAX. @op may be NULL. Counts each operation once.
 */
void operations_crowded(struct analysis *a, struct operation *op);
/* Hands out @op, now or as soon as the states of its threads are known. */
int operations_hand_out(struct analysis *a, struct operation *op);
/* Hands out operations that ended before @ns and still wait for the state of a thread. */
int operations_overdue(struct analysis *a, uint64_t ns);
int operations_finish(struct analysis *a);
/* Hands out operations that waited for @t. */
int operations_settled(struct analysis *a, struct thread *t);
/* Adds @w to the works of @op. Returns 0 or -ENOMEM. */
int operation_work(struct operation *op, struct work *w);
/* The thread of @w has exited in the duration @name, and so ended @w. */
void operation_exited(struct work *w, uint32_t name);
/* Drops the references of @op to works. */
void operation_drop_works(struct operation *op);
/* Drops works before @ns on @op, which is open. */
void operation_forget(struct operation *op, uint64_t ns);
void operation_put(struct operation *op);

/* --- pair.c ------------------------------------------------------------------------------ */

/* If @rec is one of the two events of --pair, adds items that begin or end an operation. */
int pair_event(struct analysis *a, const struct fxt_record *rec);

/* --- orphans.c --------------------------------------------------------------------------- */

/* Hand out a row for the event @it, or for the begin of @op, which did not end. */
int orphan_event(struct analysis *a, enum analysis_orphan_kind kind, const struct item *it);
int orphan_operation(struct analysis *a, const struct operation *op);
/* Hands out a row for the begin of the duration @d of @t, which did not end. */
int orphan_duration(struct analysis *a, const struct thread *t, const struct duration *d);
/* Hands out rows of durations that are still open. */
int orphans_finish(struct analysis *a);

#endif /* ANALYSIS_OPERATION_H */
