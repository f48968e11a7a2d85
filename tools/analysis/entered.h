/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that threads have entered: see entered.c. */
#ifndef ANALYSIS_ENTERED_H
#define ANALYSIS_ENTERED_H

#include "engine.h"

/*
 * Notes that @t works on the operation with the id @id from @ns on; 0: on none. @record, @name:
 * record and name of the scope in which it works
 */
int entered_set(struct analysis *a, struct thread *t, uint64_t ns, uint64_t id, uint64_t record,
		uint32_t name);
/*
 * Drops the works of @t on operations that have ended. Returns the number of the others, which can
 * be more than 1, because several open operations may have the same id.
 */
size_t entered_open(struct thread *t);
/*
 * Handles a scheduling record or a mark at @ns. It shows that @t has worked on @id since @from, and
 * that it works on nothing else at @ns. Operations that began after @newest do not count.
 */
int entered_show(struct analysis *a, struct thread *t, uint64_t ns, uint64_t from, uint64_t id,
		 uint64_t newest);
/*
 * Notes that some thread entered the operation @id, which began at @begin. The trace does not show
 * which thread it was.
 */
void entered_operation(struct analysis *a, uint64_t id, uint64_t begin);
/*
 * Handle the begin @it or the end @it of the scope @d, which is on the stack of @t. entered_end():
 * .end of @d is set; @d NULL: the trace has no begin, or the begin was left out.
 */
int entered_begin(struct analysis *a, struct thread *t, struct duration *d, const struct item *it);
int entered_end(struct analysis *a, struct thread *t, const struct duration *d,
		const struct item *it);
/* The trace has no end of @d of @t, which lasts until @ns: hands it out if it is an open scope. */
int entered_end_lost(struct analysis *a, struct thread *t, const struct duration *d, uint64_t ns);
/* Hand out scopes that did not end. */
int entered_finish(struct analysis *a);
/* Hands out a row for the instant @rec if @rec names an operation. */
int entered_note(struct analysis *a, const struct fxt_record *rec);
/* Handles the exit of @t at @ns. Another thread may get its number next. */
int entered_exit(struct analysis *a, struct thread *t, uint64_t ns);

#endif /* ANALYSIS_ENTERED_H */
