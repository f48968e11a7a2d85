/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The floor: a generation. Events of this generation and of earlier ones have been cleared and must
 * not be delivered. For one session at a time.
 */
#ifndef FLOOR_H
#define FLOOR_H

#include "run.h"

/* Makes the session's reader check each event. No floor is set yet. */
void floor_watch(struct run *run);
void floor_raise(uint32_t generation);
/* Does what nu_event() does and checks the generation. For other readers of the session. */
void floor_event(const struct rd_event *ev, void *seen);
/* Fails the test if an event of the floor, or of an earlier generation, was delivered. */
void floor_check(void);

#endif /* FLOOR_H */
