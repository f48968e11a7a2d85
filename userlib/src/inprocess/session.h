/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session of the module's that records this process: see session.c
 */
#ifndef AT_SESSION_H
#define AT_SESSION_H

#include <asynctrace/flight.h>

#include "inproc.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_session - a session of this process's own, of this process only
 * @socket: the session ends when it is closed; -1: there is no session
 * @id: of the session
 * @buffer: ASYNCTRACE_READ_MIN bytes
 */
struct at_session {
	int socket;
	uint32_t id;
	char *buffer;
};

/* The module has this process registered, if need be from now on. */
bool at_session_possible(void);
/* A session of the module's records this process now. */
bool at_session_records(void);
/*
 * Makes and starts a session. -EBUSY: another session records this process. Other errors
 * are the kernel's.
 */
int at_session_begin(struct at_session *s, uint32_t mode, uint64_t ring_size);
/* Ends the session. */
void at_session_end(struct at_session *s);
/* In a forked child. */
void at_session_forked(struct at_session *s);
/*
 * Has @c compose a file of what the session holds, and fills in the ledger.
 * Async-signal-safe if @c is.
 */
void at_session_write(const struct at_session *s, struct at_compose *c,
		      struct at_flight_result *res);

#pragma GCC visibility pop

#endif /* AT_SESSION_H */
