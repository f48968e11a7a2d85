/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of a trace of this process, ordered by time, with copies of their texts
 */
#ifndef KEPT_H
#define KEPT_H

#include "tape.h"

struct kept {
	struct tape_event ev;
	char *category, *name;
	char *key[ASYNCTRACE_FXT_ARGS_MAX];
	char *text[ASYNCTRACE_FXT_ARGS_MAX];	/* of strings; NULL for other types */
};

extern struct kept *kept;
extern unsigned int nr_kept;

/*
 * Begins a trace of this process, whose events are kept. Forgets earlier events. @categories: as of
 * struct tape_options; NULL: all
 */
void kept_begin(const char *categories);
/*
 * Ends the trace, sorts its events, and fails the test if the trace has mistakes. Returns the
 * number of dropped records.
 */
uint64_t kept_end(void);

/* The callback of tape_new() */
void kept_take(const struct tape_event *ev, void *unused);
/* Sorts the events by time. Events of the same time stay in the order of their ring. */
void kept_sort(void);
void kept_forget(void);
/* Returns the argument's number, or @otherwise if the event has no such argument. */
uint64_t kept_number(const struct kept *k, const char *key, uint64_t otherwise);
/* Returns the argument's text, or "". */
const char *kept_text(const struct kept *k, const char *key);
/* Has the event this type and name? */
bool kept_is(const struct kept *k, uint32_t type, const char *name);
/* Returns the number of events of this type and name. */
unsigned int kept_count(uint32_t type, const char *name);

/*
 * Checks each context (asynctrace/context.h) that was made during the trace. Fails the test if it
 * ran before it was made, on two threads at a time, or after it was destroyed, or if it was made or
 * destroyed twice. The events must be sorted.
 */
void kept_check_contexts(void);

#endif /* KEPT_H */
