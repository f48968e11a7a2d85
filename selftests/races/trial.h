/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct trial - sessions, of which none is to be spoiled; with a fix switched off, one is
 * @fix: the knob that is off, or NULL
 * @sessions: so many there were
 * @spoiled: of these
 * @events: that all of them have seen
 */
struct trial {
	const char *fix;
	uint32_t sessions, spoiled;
	uint64_t events;
};

/* Begins the test of that race. */
void trial_begin(struct trial *t, const char *race, const char *fix);
/* @wrong: with one more session, or NULL. */
void trial_add(struct trial *t, const char *wrong);
/*
 * Returns whether another session is needed after @rounds of them. How often a race occurs
 * depends on the machine: if no session had an event, or the fix is off and no session was
 * spoiled, more are tried.
 */
bool trial_goes_on(const struct trial *t, uint32_t rounds);
void trial_end(const struct trial *t);

#endif /* TRIAL_H */
