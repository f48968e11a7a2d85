/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered events: what is in them follows from writer and number, so that each
 * one delivered can be told to be intact, and whether its writer's order was kept
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "tape.h"

#define NB_WRITERS	64

/**
 * struct numbers - what came of whom
 * @of: events, by writer
 * @lowest: number, by writer
 * @next: one more than the highest number seen, by ring and writer
 * @plain: events without a number in them
 * @spoilt: events that are not what their number says
 * @gate: of the session, for nb_write_gate()
 * @foreign: events that came through another gate
 * @disordered: events whose number is not above the last of that writer there
 */
struct numbers {
	uint64_t of[NB_WRITERS];
	uint64_t lowest[NB_WRITERS];
	uint64_t (*next)[NB_WRITERS];
	uint64_t plain;
	uint64_t spoilt;
	uint32_t gate;
	uint64_t foreign;
	uint64_t disordered;
};

void nb_init(struct numbers *n);
void nb_free(struct numbers *n);
/* Writes one event, of one of several shapes. */
void nb_write(uint32_t writer, uint64_t number);
/* The same, with the gate in it: what came through another one is foreign. */
void nb_write_gate(uint32_t writer, uint64_t number);
/* For tape_new(). */
void nb_take(const struct tape_event *ev, void *numbers);
void nb_check(const struct numbers *n);

#endif /* NUMBERS_H */
