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
 * Runs the test with at least @rounds sessions. @clear: each start of a session clears its rings.
 * @fix: name of a fix to switch off, or NULL. Without the fix, the test must find a session with
 * wrong records.
 */
void probes_test(struct at_ctl *ctl, uint32_t *state, bool clear, const char *fix, uint32_t rounds);

#endif /* PROBES_H */
