/* SPDX-License-Identifier: GPL-2.0 */
/* The sessions of a race test: how many are needed, and how many were spoiled */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct trial - sessions of the test of a race: none may be spoiled, but if a fix is off, at
 *	least one must be
 * @fix: the knob that is off, or NULL
 * @sessions: number of sessions
 * @spoiled: number of spoiled sessions
 * @events: number of events that were read from the sessions
 */
struct trial {
	const char *fix;
	uint32_t sessions, spoiled;
	uint64_t events;
};

/* Begins the test of a race. */
void trial_begin(struct trial *t, const char *race, const char *fix);
/* Adds a session. @wrong: what is wrong with it, or NULL. */
void trial_add(struct trial *t, const char *wrong);
/*
 * Is another session needed? At least @rounds sessions are, unless enough were spoiled before. How
 * often a race occurs depends on the machine: if no event was read, or a fix is off and no
 * session was spoiled, up to 20 times as many are needed.
 */
bool trial_goes_on(const struct trial *t, uint32_t rounds);
void trial_end(const struct trial *t);

#endif /* TRIAL_H */
