/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rings that a trace and the flight recorder share: what rings.c, trace.c, flight.c
 * and window.c know of each other
 */
#ifndef AT_FLIGHT_H
#define AT_FLIGHT_H

#include "inproc.h"

#include <linux/asynctrace.h>

#pragma GCC visibility push(hidden)

/* --- rings.c ----------------------------------------------------------------------------- */

/* The lock of start, stop and fork. Its holder raises no signal and is not cancelled. */
void at_inproc_lock(struct at_quiet *quiet);
void at_inproc_unlock(struct at_quiet *quiet);
/* Before the first start: has at_trace_forked() and the others called. */
int at_inproc_handle_fork(void);
struct at_area *at_rings_area(void);
/*
 * Becomes a user of the rings. If there are none, makes them of @shape and @categories,
 * which were checked, and @shape may lose its rings of CPUs. -EBUSY: another user
 * records other categories.
 */
int at_rings_get(struct at_shape *shape, const char *categories);
/* Another user has shown the rings to the writers already. */
bool at_rings_shared(void);
/* Shows the rings to the writers of this process and opens the gate. */
int at_rings_show(void);
/* Closes the gate if the caller is the last user: true, and nobody writes any more. */
bool at_rings_close(void);
/* Ceases to be a user. The last one gives the process back to the module. */
void at_rings_put(void);

/* --- trace.c ----------------------------------------------------------------------------- */

void at_trace_before_fork(void);
void at_trace_after_fork(void);
void at_trace_forked(void);
/*
 * For the flight recorder: makes the rings of a running trace circular. 0 also if there
 * is no trace. -EBUSY: that is impossible, see at_flight_start(3).
 */
int at_trace_share(void);

/* --- flight.c ---------------------------------------------------------------------------- */

/* The flight recorder runs, and a session of the module's does its work. */
bool at_flight_by_module(void);
void at_flight_forked(void);

#pragma GCC visibility pop

#endif /* AT_FLIGHT_H */
