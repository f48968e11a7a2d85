/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test: a session is stopped while probes record
 */
#ifndef PROBES_H
#define PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/session.h>

/*
 * Runs the test for @rounds. @clear: starts the session again with a clear. @fix: NULL, or the
 * fix to switch off; then the test must find a spoiled session.
 */
void probes_test(struct at_ctl *ctl, uint32_t *state, bool clear, const char *fix, uint32_t rounds);

#endif /* PROBES_H */
