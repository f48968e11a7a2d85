/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test: names are cleared while an ended session is read
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdint.h>

#include <asynctrace/session.h>

/*
 * Runs the test for @rounds. @fix: a fix to switch off, so that the test must find a session with
 * wrong names; NULL: switch off none.
 */
void names_test(struct at_ctl *ctl, uint32_t *state, const char *fix, uint32_t rounds);

#endif /* NAMES_H */
