/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subscribers of notifications, for tests
 */
#ifndef SELFTESTS_NOTIFICATIONS_H
#define SELFTESTS_NOTIFICATIONS_H

#include "raw.h"

#define ALL_KINDS	0x7f

/**
 * struct event - a notification that arrived; fields that it lacks are 0 or empty
 * @has: bits of the attributes that the notification has
 */
struct event {
	uint32_t has;
	uint32_t kind, session, provider, pid, uid, status, generation, ring, durable, lost;
	uint64_t position;
	char name[128];
	char alert[32];
};

/* Milliseconds to wait for what must come. A slow machine may need long. */
#define EV_PATIENCE	240000

/* Subscribes the socket: 0, or the negative errno. @session 0: all of them. */
int ev_subscribe(struct raw_nl *nl, uint32_t kinds, uint32_t session);
/*
 * The next event, waited for @ms: 0, -EAGAIN, -ENOBUFS. The message's bytes are in
 * nl->reply, *bytes of them, where @bytes is not NULL.
 */
int ev_next(struct raw_nl *nl, struct event *ev, int ms, size_t *bytes);
/* Waits for the next one of that kind; all others before it are forgotten. */
int ev_wait(struct raw_nl *nl, struct event *ev, uint32_t kind);

#endif /* SELFTESTS_NOTIFICATIONS_H */
