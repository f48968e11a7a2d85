/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that threads have entered: see entered.c. */
#ifndef ANALYSIS_ENTERED_H
#define ANALYSIS_ENTERED_H

#include "engine.h"

/*
 * From @it on, @t works on the operation with the id @id; 0: on none. @record and @name: of the
 * scope in which it does.
 */
int entered_set(struct analysis *a, struct thread *t, const struct item *it, uint64_t id,
		uint64_t record, uint32_t name);
/* A thread that the trace does not show entered the open operations with the id @id. */
void entered_mark(struct analysis *a, uint64_t id);
/* The scope @d begins with @it, or ended with it. It is on the stack no more. */
int entered_begin(struct analysis *a, struct thread *t, struct duration *d, const struct item *it);
int entered_end(struct analysis *a, struct thread *t, const struct duration *d,
		const struct item *it);
/* Hand out scopes that did not end. */
int entered_finish(struct analysis *a);
/* If @rec, an instant, is one of an operation, hand it out. */
int entered_note(struct analysis *a, const struct fxt_record *rec);
/* A thread exited: its number may be another thread's next. */
void entered_exit(struct analysis *a, const struct item *it);

#endif /* ANALYSIS_ENTERED_H */
