/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writers that are killed at random moments
 */
#ifndef KILL_H
#define KILL_H

#include "run.h"

/* The provider of the module's sessions. */
#define KILL_PROVIDER	"kill"

/*
 * Runs two tests: with @kills writers that are killed one at a time while others go on in the
 * same rings, and with @kills / 4 processes that are killed with all their writers. The second
 * kills all writers at once if they belong to this process.
 */
void kill_tests(struct at_ctl *ctl, unsigned int kills);

#endif /* KILL_H */
