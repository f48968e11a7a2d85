/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers of the protocol tests. One process is controller and provider, so that all steps happen
 * in the order of the test's calls.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "run.h"
#include "raw.h"

/* The name of this process's provider, and the beginning of the names of other providers */
#define PROTO	"proto"

extern struct at_ctl *ctl;
extern struct raw_nl wire;

/* Connects, pins this process to a CPU and registers it. */
void proto_init(void);

/* Opens a session over this process's provider. @opts may be NULL, and its fields 0. */
void session_make(struct run *run, const struct at_session_options *opts);
/* Creates a session like session_make(), but does not initialize it and opens no reader. */
uint32_t session_ready(const struct at_session_options *opts);
/*
 * Starts the session. If the session records this process, waits until the gate is open: a provider
 * has two ranges of rings, and joins later if both are still in use by sessions that just ended.
 */
void session_start(struct run *run);
void session_start_with(struct run *run, const struct at_start_options *opts);
/* Stops the session, reads everything, and checks the reader. */
void session_finish(struct run *run);
/* Does what session_finish() does, and ends the session. */
void session_end(struct run *run);

struct session_seen {
	uint32_t state;
	uint32_t mode;
	uint32_t providers;
	uint32_t late;
	uint32_t nr_categories;
	uint64_t ring_size;
	uint64_t pages;
	char category[ASYNCTRACE_CATEGORY_MAX + 1];
};

/* Returns false if no session has this id. */
bool session_see(uint32_t id, struct session_seen *seen);
uint32_t session_state(uint32_t id);

/* Sums over a session's rings of providers */
struct law {
	uint64_t committed;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t cleared;
	uint64_t pages;
};

struct law law_of(uint32_t session);

/* number of the next event */
extern uint32_t next_number;

uint32_t my_provider(void);
/* Attempts @n more events. Returns how many had an open gate and an enabled category. */
uint32_t emit(uint32_t n);
/* Writes until the session has dropped an event. Returns the number of attempted events. */
uint32_t emit_until_full(struct run *run);

/* Sends a request that must be answered with @error, and with a text if @error is not 0. */
void wire_says(uint8_t cmd, uint32_t session, int error);
/* Returns the number of notifications of this @kind and drops the others. @last may be NULL. */
unsigned int events_told(struct at_notifications *events, uint32_t kind,
			 struct at_notification *last);
/* Returns a provider's session by netlink, 0 if it has none, or a negative errno. */
int provider_session(uint32_t provider);

/* --- the table ------------------------------------------------------------ */

/* A test of a statement in doc/statements.md: its name begins with the statement's id. */
struct statement {
	const char *name;
	void (*test)(void);
};

#define STATEMENT(function) { #function, function }

extern const struct statement state_statements[], provider_statements[];
extern const struct statement category_statements[], buffer_statements[];

#endif /* PROTO_H */
