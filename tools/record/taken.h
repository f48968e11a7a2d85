/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Providers that a session wants and does not get: a provider is in one session at a
 * time. The module tells; it is the one that knows whom a session wants.
 */
#ifndef AT_TAKEN_H
#define AT_TAKEN_H

#include <stdbool.h>

#include <asynctrace/session.h>

/**
 * struct taken - of one session
 * @events: what the module tells; NULL: none could be had
 * @told: providers that were told of
 * @enough: there were more, and nothing is told any longer
 */
struct taken {
	struct at_notifications *events;
	unsigned int told;
	bool enough;
};

/* Before the session is started. A message, and a negative errno, where that fails. */
int taken_open(struct taken *t, uint32_t session);
/* For poll(2); -1: none. */
int taken_fd(const struct taken *t);
/* Tells, on standard error, of those since the last call. @ctl finds who has them. */
void taken_tell(struct taken *t, struct at_ctl *ctl);
void taken_close(struct taken *t);

#endif /* AT_TAKEN_H */
