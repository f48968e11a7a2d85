// SPDX-License-Identifier: GPL-2.0
/* Counts the sessions of a race test, and decides how many are needed */
#include "../support/common.h"
#include "trial.h"

/* Stop after this number of spoiled sessions, because most are spoiled in the same way. */
#define ENOUGH	4
/* Limit of sessions, in multiples of the rounds, if a race must occur or no event was read */
#define MORE	20

void trial_begin(struct trial *t, const char *race, const char *fix)
{
	*t = (struct trial){ .fix = fix };
	if (fix)
		ktap_begin("%s, no %s: spoiled", race, fix);
	else
		ktap_begin("%s: no session is spoiled", race);
}

void trial_add(struct trial *t, const char *wrong)
{
	t->spoiled += !!wrong;
	if (wrong && t->spoiled < ENOUGH)
		ktap_note("session %u: %s", t->sessions, wrong);
	t->sessions++;
}

bool trial_goes_on(const struct trial *t, uint32_t rounds)
{
	if (t->spoiled >= (t->fix ? 1 : ENOUGH))
		return false;
	if (t->sessions < rounds)
		return true;
	return (t->fix || !t->events) && t->sessions < MORE * rounds;
}

void trial_end(const struct trial *t)
{
	ktap_note("%u sessions, %llu records delivered, %u spoiled", t->sessions,
		  (unsigned long long)t->events, t->spoiled);
	ktap_check(!!t->spoiled == !!t->fix, "%u sessions were spoiled", t->spoiled);
	ktap_end();
}
