/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that the caller adds to those of the session: tracepoint.c and states.c */
#ifndef COMPOSE_ADDED_H
#define COMPOSE_ADDED_H

#include "composer.h"

#pragma GCC visibility push(hidden)

/*
 * Returns the index that records of the kernel's section use for @text. The first call for a text
 * in a file also writes the string record that defines the index. 0: no index is free, so the
 * caller writes the text inline.
 */
unsigned int atc_name_index(struct at_compose *c, const char *text);

/* Rings of tracepoints follow the rings of scheduling records, of which there are 2^16. */
#define ATC_RING_TRACEPOINTS	(UINT16_MAX + 1)

/*
 * struct atc_state - the last state of a thread that was not on a CPU. If the trace is split, the
 * next file repeats it.
 * @valid: the state is known and has not ended; if false, only @came and @woken are valid
 * @left: a switch record showed the state; if false, the caller has read it from /proc
 * @since, @from, @until, @argument, @state, @off_cpu, @syscall: see struct at_compose_thread
 * @came: time of the last switch to the thread
 * @woken: time of the last wakeup of the thread
 */
struct atc_state {
	bool valid, left;
	uint32_t state, off_cpu, syscall;
	uint64_t since, from, until;
	uint64_t argument;
	uint64_t came, woken;
};

/*
 * Note that a record at @ns shows that @t came to a CPU, was woken, ran, or left its CPU. A @t of
 * NULL has no effect. @reason: why the thread left, in .state, .off_cpu, .syscall and .argument;
 * .state is 0 if the thread can still run. Return 0 or -ENOMEM.
 */
int atc_state_came(struct atc_task *t, uint64_t ns);
int atc_state_woken(struct atc_task *t, uint64_t ns);
void atc_state_ran(struct atc_task *t, uint64_t ns);
int atc_state_left(struct atc_task *t, uint64_t ns, const struct atc_state *reason);
/* Repeats in a new file the states that are still valid. */
void atc_states_begin(struct at_compose *c);

#pragma GCC visibility pop

#endif /* COMPOSE_ADDED_H */
