/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lock of start, stop and fork, the handlers of fork(2), and the rings that a trace and the
 * flight recorder share
 */
#ifndef AT_FLIGHT_H
#define AT_FLIGHT_H

#include "inproc.h"

#include <linux/asynctrace.h>

#pragma GCC visibility push(hidden)

/* --- rings.c -------------------------------------------------------------- */

/*
 * Takes the lock of start, stop and fork. Its holder cannot be cancelled, and its writes raise no
 * signal: see at_quiet_begin().
 */
void at_inproc_lock(struct at_quiet *quiet);
void at_inproc_unlock(struct at_quiet *quiet);
/*
 * The holder of the lock calls these around an operation that may last long, such as a write to a
 * pipe. Other threads may fork(2) in between, but at_inproc_lock() still waits.
 */
void at_inproc_allow_fork(void);
void at_inproc_forbid_fork(void);
/**
 * struct at_fork_handlers - functions of a user of the rings, called around fork(2)
 * @before: called in the parent, with the lock of at_inproc_lock() held; or NULL
 * @after: called in the parent, with that lock held; or NULL
 * @child: called in the child
 */
struct at_fork_handlers {
	void (*before)(void);
	void (*after)(void);
	void (*child)(void);
};

/* Registers the caller's handlers. Called at each start; further calls have no effect. */
int at_inproc_handle_fork(const struct at_fork_handlers *handlers);
/*
 * Registers the handlers of fork(2) that take the lock of at_inproc_lock(). Call it before the
 * registration of handlers for a lock under which callbacks of the program run. As fork(2) calls
 * the handlers that were registered last first, it then takes the locks in the order in which a
 * callback that starts or stops a trace takes them. Takes the lock. Returns 0 or a negative errno.
 */
int at_inproc_fork_first(void);
struct at_area *at_rings_area(void);
/*
 * Makes the caller a user of the rings. If there are no rings, allocates them by @shape and
 * @categories, which the caller has checked. Without membarrier(2), it sets @shape->nr_rings to 0.
 * Returns 0 or a negative errno; -EBUSY: there is another user, and not both record all categories.
 */
int at_rings_get(struct at_shape *shape, const char *categories);
/* Does a session of the module record the process, too? */
bool at_rings_beside(void);
/* Has another user already shown the rings to the writers? */
bool at_rings_shared(void);
/* Shows the rings to the writers of this process, and opens the gate. */
int at_rings_show(void);
/* If the caller is the last user, closes the gate, waits for all writers and returns true. */
bool at_rings_close(void);
/* Ends the use of the rings. The last user returns the process to the module. */
void at_rings_put(void);

/* --- trace.c -------------------------------------------------------------- */

/*
 * Lets the flight recorder use the rings of a running trace, by making them circular. Returns 0,
 * also if no trace runs; -EBUSY: these rings cannot become circular, see at_flight_start(3).
 */
int at_trace_share(void);

#pragma GCC visibility pop

#endif /* AT_FLIGHT_H */
