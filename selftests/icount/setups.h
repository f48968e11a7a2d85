/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who listens to the scheduler while a pair is measured
 */
#ifndef ICOUNT_SETUPS_H
#define ICOUNT_SETUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "pingpong.h"

enum setup_kind {
	SETUP_NONE,
	SETUP_EMPTY,
	SETUP_FTRACE,
	SETUP_SESSION,
};

enum {
	EVENT_SWITCH	= 1,
	EVENT_WAKING	= 2,
	EVENT_BOTH	= 3,
};

/**
 * struct setup - see above
 * @key: in the JSON file
 * @what: in the table
 * @kind: who listens
 * @events: to what: EVENT_*
 * @process: the partner is a process of its own, and not traced
 * @sched: of a session: enum asynctrace_sched
 * @provider: of a session: whom it records
 * @sessions: number of sessions, the last of which is asked for its counts; 0: one
 * @switches: records of each round's two switches; for the proof that what was
 *	measured did what it is said to do
 * @wakings: the same of its wakings, by pattern
 */
struct setup {
	const char *key;
	const char *what;
	enum setup_kind kind;
	unsigned int events;
	bool process;
	uint32_t sched;
	const char *provider;
	unsigned int sessions;
	unsigned int switches;
	unsigned int wakings[PATTERNS];
};

#define PROVIDER_PAIR		"icount-pair"
#define PROVIDER_BYSTANDER	"icount-bystander"
#define PROVIDER_CROWD		"icount-crowd"

/* Once, before any other thread: registers both providers. */
void setups_prepare(const char *empty_module);

void setup_on(const struct setup *s);
/* When it returns, nobody listens any more. */
void setup_off(const struct setup *s);
/* Records made so far, or false where nobody counts them. */
bool setup_records(const struct setup *s, uint64_t *records);
/* Probes of the module that ran so far. */
uint64_t setup_calls(void);

#endif /* ICOUNT_SETUPS_H */
