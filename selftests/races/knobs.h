/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Knobs of a module built with CONFIG_ASYNCTRACE_RACES
 */
#ifndef KNOBS_H
#define KNOBS_H

/* Ends the program if the module has no such knob. */
void knob_set(const char *knob, const char *value);

#endif /* KNOBS_H */
