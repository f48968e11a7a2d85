/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session that is over and read, while another one clears the names: one test.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdint.h>

#include <asynctrace/session.h>

/* @fix: to be switched off: then the test looks for the spoiled session; or NULL */
void names_test(struct at_ctl *ctl, uint32_t *state, const char *fix, uint32_t rounds);

#endif /* NAMES_H */
