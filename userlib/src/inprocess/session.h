/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session of the module that records this process; see session.c */
#ifndef AT_SESSION_H
#define AT_SESSION_H

#include <sys/types.h>

#include <asynctrace/compose.h>
#include <asynctrace/flight.h>

#include "inproc.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_session - a session that records only this process
 * @socket: closing it ends the session; -1: no session
 * @inode: inode of @socket, because the program may close all its descriptors
 * @id: id of the session
 * @buffer: ASYNCTRACE_READ_MIN bytes
 */
struct at_session {
	int socket;
	ino_t inode;
	uint32_t id;
	char *buffer;
};

/* Registers this process if needed. Returns true if the module can record it. */
bool at_session_possible(void);
/* Does a session of the module record this process now? */
bool at_session_records(void);
/*
 * Creates and starts a session. Returns 0; -EBUSY if another session has this process; or the
 * kernel's error.
 */
int at_session_begin(struct at_session *s, uint32_t mode, uint64_t ring_size);
/* Ends the session. */
void at_session_end(struct at_session *s);
/* Drops the session in a forked child. The parent's session continues. */
void at_session_forked(struct at_session *s);
/*
 * Composes a file of the session's records with @c, and fills in the counts. Async-signal-safe if
 * @c is.
 */
void at_session_write(const struct at_session *s, struct at_compose *c,
		      struct at_flight_result *res);

#pragma GCC visibility pop

#endif /* AT_SESSION_H */
