/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All events of a tape, in order of time, with texts of their own
 */
#ifndef KEPT_H
#define KEPT_H

#include "tape.h"

struct kept {
	struct tape_event ev;
	char *category, *name;
	char *key[ASYNCTRACE_FXT_ARGS_MAX];
	char *text[ASYNCTRACE_FXT_ARGS_MAX];	/* of strings; else NULL */
};

extern struct kept *kept;
extern unsigned int nr_kept;

/* For tape_new(). */
void kept_take(const struct tape_event *ev, void *unused);
/* Sorts the events by time; those of one time stay in the order of their ring. */
void kept_sort(void);
void kept_forget(void);
/* The argument's number, or @otherwise if the event has no such argument */
uint64_t kept_number(const struct kept *k, const char *key, uint64_t otherwise);
/* The argument's text, or "" */
const char *kept_text(const struct kept *k, const char *key);
/* Is it an event of that type and name? */
bool kept_is(const struct kept *k, uint32_t type, const char *name);
/* How many are */
unsigned int kept_count(uint32_t type, const char *name);

#endif /* KEPT_H */
