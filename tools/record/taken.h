/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports providers that a session matches but does not get, because another session has them, or
 * because there is no memory for their rings. The module sends a notification for each, as only
 * the module knows which providers match.
 */
#ifndef AT_TAKEN_H
#define AT_TAKEN_H

#include <stdbool.h>

#include <asynctrace/session.h>

/**
 * struct taken - reports about one session
 * @notifications: the module's notifications; NULL: not available
 * @told: number of providers that were reported
 * @more: number of further providers, which are only counted
 * @lost: notifications were lost: of providers that are not recorded, or that joined
 */
struct taken {
	struct at_notifications *notifications;
	unsigned int told;
	unsigned int more;
	bool lost;
};

/* Call this before the session is started. Returns 0, or a negative errno after a message. */
int taken_open(struct taken *t, uint32_t session);
/* Returns the descriptor for poll(2), or -1 if there is none. */
int taken_fd(const struct taken *t);
/*
 * Prints providers that were reported since the last call on standard error. @ctl is used to
 * find their sessions.
 */
void taken_tell(struct taken *t, struct at_ctl *ctl);
/* Prints how many providers were only counted, and closes the notifications. May be repeated. */
void taken_close(struct taken *t);

#endif /* AT_TAKEN_H */
