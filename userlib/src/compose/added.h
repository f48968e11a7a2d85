/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that the caller adds to those of the session: tracepoint.c and states.c */
#ifndef COMPOSE_ADDED_H
#define COMPOSE_ADDED_H

#include "composer.h"

#pragma GCC visibility push(hidden)

/*
 * Returns the index of a text in the kernel's section, which may write a record. 0: the text must
 * be written inline.
 */
unsigned int atc_name_index(struct at_compose *c, const char *text);

/* The state of a thread. See struct at_compose_thread. */
struct atc_state {
	uint64_t since, from, until;
	uint64_t argument;
	uint32_t state, off_cpu, syscall;
};

/* Repeats in a new file the states that are still valid. */
void atc_states_begin(struct at_compose *c);

#pragma GCC visibility pop

#endif /* COMPOSE_ADDED_H */
