/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subscribers to notifications
 */
#ifndef SELFTESTS_NOTIFICATIONS_H
#define SELFTESTS_NOTIFICATIONS_H

#include "raw.h"

#define ALL_KINDS	0x7f

/**
 * struct notification - a notification; members without an attribute are 0 or empty
 * @has: bits of its attributes
 */
struct notification {
	uint32_t has;
	uint32_t kind, session, provider, pid, uid, status, generation, ring, durable, lost;
	uint64_t position;
	char name[128];
	char alert[32];
};

/* Milliseconds to wait for a notification that must come; slow machines need long */
#define NOTIFICATION_PATIENCE	240000

/* Subscribes the socket. @session 0: to all sessions. Returns 0 or a negative errno. */
int notification_subscribe(struct raw_nl *nl, uint32_t kinds, uint32_t session);
/*
 * Waits up to @ms for the next notification: returns 0, -EAGAIN or -ENOBUFS. The message is in
 * nl->reply; its length is stored in *bytes unless @bytes is NULL.
 */
int notification_next(struct raw_nl *nl, struct notification *note, int ms, size_t *bytes);
/* Waits for the next notification of this kind and skips others. */
int notification_wait(struct raw_nl *nl, struct notification *note, uint32_t kind);

#endif /* SELFTESTS_NOTIFICATIONS_H */
