/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes and tracers that are active while a pair is measured
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
 * struct setup - a probe or a tracer
 * @key: name in the JSON file
 * @what: name in the table
 * @kind: enum setup_kind
 * @events: events that the probe or tracer uses, EVENT_*
 * @process: the partner is another process, which is not traced
 * @sched: enum asynctrace_sched of the session
 * @provider: provider that the session records
 * @flags: enum asynctrace_session_flags of the session
 * @work: work of both tasks for the session
 * @sessions: number of sessions, of which the last one has the counts; 0: one
 * @switches: records of each round's two switches, which show that the measurement is valid
 * @wakings: records of each round's wakeups, by pattern
 */
struct setup {
	const char *key;
	const char *what;
	enum setup_kind kind;
	unsigned int events;
	bool process;
	uint32_t sched;
	const char *provider;
	uint32_t flags;
	enum work work;
	unsigned int sessions;
	unsigned int switches;
	unsigned int wakings[PATTERNS];
};

#define PROVIDER_PAIR		"icount-pair"
#define PROVIDER_BYSTANDER	"icount-bystander"
#define PROVIDER_CROWD		"icount-crowd"

/* Makes the providers of all setups. Called once, before other threads start. */
void setups_prepare(const char *empty_module);

void setup_on(const struct setup *s);
/* When this returns, no probe is active. */
void setup_off(const struct setup *s);
/* Returns the records so far in *records, or false if this setup has no count. */
bool setup_records(const struct setup *s, uint64_t *records);
/* Returns how often probes of the module have run. */
uint64_t setup_calls(void);

#endif /* ICOUNT_SETUPS_H */
