/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The participants of a session, each a process that can be killed: providers that write, one that
 * waits for changes of its session, the controller, and the recorder
 */
#ifndef CAST_H
#define CAST_H

#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/session.h>

#include "reader.h"

/* The names of all these providers begin with this. */
#define CAST		"cast"
/* Microseconds between two polls: more frequent ones would use all CPU time of an emulator */
#define CAST_PAUSE	3000
#define CAST_WRITERS	2
/* Records that a writer writes at most */
#define CAST_EVENTS	(1u << 16)

enum cast_role {
	CAST_WRITER, CAST_WRITER_TWO, CAST_OBSERVER, CAST_CONTROLLER, CAST_RECORDER,
	CAST_ROLES
};

enum cast_reading {
	CAST_WAITS,	/* reads, and waits in read(2) for more */
	CAST_LINGERS,	/* reads like CAST_WAITS, with a pause after each chunk */
	CAST_RESTS,	/* reads six chunks, and the rest after @read_on is set */
	CAST_READINGS
};

struct cast_plan {
	uint32_t mode;
	uint32_t sched;
	bool detached;
	enum cast_reading reading;
};

/* Counts that the recorder had at the end */
struct cast_report {
	struct cast_sums {
		uint64_t delivered, overwritten, cleared, dropped, parsed;
	} of[CAST_WRITERS];
	bool last;
	uint64_t malformed, spoiled;
	char why[512];
};

/**
 * struct cast - shared memory of the participants
 * @hush: tells writers to stop writing
 * @target: tells the controller where to take the session, enum asynctrace_session_state
 * @read_on: tells the recorder to read everything
 * @provider: ids of the providers
 * @written: events that a writer has attempted
 * @silent: the writer has seen @hush, and @written is final
 * @session: id of the session
 * @state: the state that the controller has reached
 * @consuming: the recorder has opened the session
 * @in_read: the recorder is in read(2), or uses what that returned
 * @took: number of a writer's events that the recorder got
 * @has: a bit for each event that the recorder got
 * @report: the recorder's counts
 */
struct cast {
	volatile uint32_t hush, target, read_on;
	volatile uint32_t provider[CAST_OBSERVER + 1];
	volatile uint32_t written[CAST_WRITERS];
	volatile uint32_t silent[CAST_WRITERS];
	volatile uint32_t session, state;
	volatile uint32_t consuming, in_read;
	volatile uint32_t took[CAST_WRITERS];
	uint8_t has[CAST_WRITERS][CAST_EVENTS / 8];
	struct cast_report report;
};

extern struct cast *cast;

void cast_init(void);
pid_t cast_fork(enum cast_role role, const struct cast_plan *plan);
/* Takes a session from @state to the next one. Returns 0 or a negative errno. */
int cast_step(struct at_ctl *ctl, uint32_t session, uint32_t state);

/* Finds writer and number of an event. Returns false if no writer here wrote it. */
bool cast_event(const struct rd_event *ev, uint32_t *writer, uint32_t *seq);

#endif /* CAST_H */
