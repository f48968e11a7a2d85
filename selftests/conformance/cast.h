/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Those who take part in a session, each a process that can be killed: providers that
 * write, one that waits for news of itself, who controls the session, who records it.
 */
#ifndef CAST_H
#define CAST_H

#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/session.h>

#include "reader.h"

/* The names of all their providers begin with this. */
#define CAST		"cast"
/* Microseconds: a machine that is emulated has no time for those who look more often. */
#define CAST_PAUSE	3000
#define CAST_WRITERS	2
/* Records that a writer writes at most */
#define CAST_EVENTS	(1u << 16)

enum cast_role {
	CAST_WRITER, CAST_WRITER_TWO, CAST_OBSERVER, CAST_CONTROLLER, CAST_RECORDER,
	CAST_ROLES
};

enum cast_reading {
	CAST_WAITS,	/* reads on, and waits in read(2) for more */
	CAST_LINGERS,	/* the same, with a pause after each chunk */
	CAST_RESTS,	/* has read some, and reads on when it is told to */
	CAST_READINGS
};

struct cast_plan {
	uint32_t mode;
	uint32_t sched;
	bool detached;
	enum cast_reading reading;
};

/* Counts that the recorder read at the end */
struct cast_report {
	struct cast_sums {
		uint64_t delivered, overwritten, cleared, dropped, parsed;
	} of[CAST_WRITERS];
	bool last;
	uint64_t malformed, spoiled;
	char why[512];
};

/**
 * struct cast - what they say to each other, in memory that they share
 * @hush: writers: write no more
 * @target: controller: take the session there, enum asynctrace_session_state
 * @read_on: recorder: read all there is
 * @provider: ids
 * @written: events that a writer has tried to write
 * @silent: a writer knows of @hush, and @written is complete
 * @session: its id
 * @state: that it has come to, by the controller
 * @consuming: the recorder has it open
 * @in_read: the recorder is in read(2), or looks at what that returned
 * @took: events that it got of a writer
 * @has: which
 * @report: see above
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

/* Which event of which writer. False: it is not one of theirs. */
bool cast_event(const struct rd_event *ev, uint32_t *writer, uint32_t *seq);

#endif /* CAST_H */
