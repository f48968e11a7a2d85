/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session stopped while probes record: one test.
 */
#ifndef PROBES_H
#define PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/session.h>

/*
 * @clear: it is started again with a clear
 * @fix: to be switched off: then the test looks for the spoiled session; or NULL
 */
void probes_test(struct at_ctl *ctl, uint32_t *state, bool clear, const char *fix, uint32_t rounds);

#endif /* PROBES_H */
