/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writers that are killed at each instruction
 */
#ifndef STEP_H
#define STEP_H

#include "run.h"

/* The name that the calling process must register: the sessions of the tests record it. */
#define STEP_PROVIDER	"step"

/*
 * Runs the tests. @fallback: events take the fallback ring. @few: only one test, because each
 * step takes a millisecond.
 */
void step_tests(struct at_ctl *ctl, bool fallback, bool few);

#endif /* STEP_H */
