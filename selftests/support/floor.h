/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A generation that nothing may come of any more, nor of those before it: what was
 * written under them has been cleared. For one session at a time.
 */
#ifndef FLOOR_H
#define FLOOR_H

#include "common.h"

/* Has the reader of the session look. There is no floor yet. */
void floor_watch(struct run *run);
void floor_raise(uint32_t generation);
/* nu_event(), and looks at the generation. For rd_open() of another reader of the session. */
void floor_event(const struct rd_event *ev, void *seen);
/* Fails the test for what came from below the floor. */
void floor_check(void);

#endif /* FLOOR_H */
