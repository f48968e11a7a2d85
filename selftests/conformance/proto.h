/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of the protocol: one process is controller and provider at once,
 * so that nothing happens but what a test does, and in that order.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "run.h"
#include "raw.h"

/* The name of this process' provider, and the beginning of all others'. */
#define PROTO	"proto"

extern struct at_ctl *ctl;
extern struct raw_nl wire;

/* Connects, and makes this process a provider, on one CPU. */
void proto_init(void);

/* A session over this process' provider; @opts may be NULL, and so may fields be 0. */
void session_make(struct run *run, const struct at_session_options *opts);
/* The same, not initialized and without a reader. */
uint32_t session_ready(const struct at_session_options *opts);
/*
 * Starts it, and waits until this process' gate is open, if the session is over it:
 * a provider whose last two sessions ended a moment ago joins a moment later.
 */
void session_start(struct run *run);
void session_start_with(struct run *run, const struct at_start_options *opts);
/* Stops it, reads all of it, checks what the reader found. */
void session_finish(struct run *run);
/* And ends it. */
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

/* False: there is none of this id. */
bool session_see(uint32_t id, struct session_seen *seen);
uint32_t session_state(uint32_t id);

/* Sums over a session's rings of providers. */
struct law {
	uint64_t committed;
	uint64_t delivered;
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t cleared;
	uint64_t pages;
};

struct law law_of(uint32_t session);

/* Of the next event. */
extern uint32_t next_number;

uint32_t my_provider(void);
/* Writes @n more events. Returns how many found the gate open and were wanted. */
uint32_t emit(uint32_t n);
/* Writes until the session has dropped something. Returns how many. */
uint32_t emit_until_full(struct run *run);

/* A request over the wire that must be answered so, and say why. */
void wire_says(uint8_t cmd, uint32_t session, int error);
/* How many events of this @kind are there? The rest is thrown away. @last may be NULL. */
unsigned int events_told(struct at_notifications *events, uint32_t kind,
			 struct at_notification *last);
/* A provider's session by the wire, 0: none; or a negative errno. */
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
