/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to the module's gate and rings while at_gate_ is the gate of an in-process trace: see
 * beside.h
 *
 * at_beside_begin() maps the control page of the registration a second time. The module's gate is
 * in that mapping. When no in-process trace runs, at_gate_ is the module's gate.
 */
#ifndef AT_MODULE_VIEW_H
#define AT_MODULE_VIEW_H

#include "destination.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_view - the mappings of one registration with the module
 * @control: the first page of the control area, mapped again; or, when the registration has ended,
 *	a private page whose gate is ATTACH or OFF
 * @area: the control area
 * @rw: the read-write area
 *
 * A registration gets a new view at a new address, which stays mapped. So a thread that uses an
 * old view finds its gate closed, also if the new registration has the same gate.
 */
struct at_view {
	struct asynctrace_control *control;
	const char *area;
	char *rw;
};

/**
 * struct at_run - the module's present run and its rings
 * @view: the rings
 * @gate: the gate; OFF or ATTACH: there is no run
 * @run: the gate value with which the run began
 */
struct at_run {
	const struct at_view *view;
	uint32_t gate;
	uint32_t run;
};

bool at_beside_on(void);

struct at_module;

/*
 * Begins beside mode. @open: the descriptor of @module is valid. If it is not, the next record
 * registers the process again. Returns 0 or a negative errno. The caller holds the back end's lock.
 */
int at_beside_begin(const struct at_module *module, bool open);
/*
 * Ends beside mode. The caller holds the back end's lock, and at_gate_, the gate of the in-process
 * trace, is at ATTACH or closed. The module's gate may be open.
 */
void at_beside_end(void);

/*
 * Functions for the registration. The caller holds the back end's lock.
 *
 * at_beside_hold() closes the module's gate, so that threads wait for the next registration.
 * at_beside_registered() opens it: the process has registered. Returns 0 or a negative errno.
 * at_beside_refuse(): the process will not register, so threads no longer wait.
 * at_beside_forked(): a forked child has begun.
 */
void at_beside_hold(void);
int at_beside_registered(const struct at_module *module);
void at_beside_refuse(void);
void at_beside_forked(void);
/* The module's gate. */
uint32_t at_beside_gate(void);

/* Reads the present run. Returns false if there is none. */
bool at_run_present(struct at_run *r);
/* Does the run go on under the same gate? The fence orders all earlier loads before this check. */
bool at_run_still(const struct at_run *r);
/* Does the module's run want this category? The answer is valid if the gate is unchanged. */
bool at_beside_wanted(const char *category);
/* Counts @n records as dropped by the module. Returns false if its gate is no longer @gate. */
bool at_beside_drop(uint32_t gate, uint32_t n);
/* Does the run want this category? The answer is valid if at_run_still() is true afterwards. */
bool at_run_wants(const struct at_run *r, const char *category);
/* The rings of the run. @thread: the calling thread's binding to them. */
struct at_destination at_run_rings(const struct at_run *r, struct at_thread *thread);
/* Changes with each registration: threads must learn their slots of the module again. */
uint32_t at_view_epoch(void);

#pragma GCC visibility pop

#endif /* AT_MODULE_VIEW_H */
