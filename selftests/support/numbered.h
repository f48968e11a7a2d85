/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered events
 *
 * The number says which thread wrote the event, under which generation, and which of the
 * thread's events it is. Everything else in the event follows from the number, so that a
 * reader can tell whether the event is intact.
 */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

#define NU_WRITERS	2048
/* Number of shapes that are never written in a later generation than that in their number */
#define NU_SHAPES	6
/* Number of all shapes. The others may be written in a later generation, or have no number. */
#define NU_ALL_SHAPES	14
#define NU_VARIED	-1	/* one of the first NU_SHAPES */
#define NU_ANY		-2	/* one of NU_ALL_SHAPES */

/* Bits of a number. */
#define NU_SEQ(n)	((uint32_t)(n))
#define NU_WRITER(n)	((n) >> 32 & 0xffff)
#define NU_GENERATION(n) ((uint32_t)((n) >> 48))

/*
 * Tries to write event number @seq of @writer. @shape: a shape's number, NU_VARIED or NU_ANY.
 * Returns the gate, of which the event's number has the lower 16 bits; 0: nothing was attempted.
 */
uint32_t nu_emit(uint32_t writer, uint32_t seq, int shape);
/* Returns the gate, after registering if that had to be done. 0: the gate is closed. */
uint32_t nu_gate(void);

/**
 * struct nu_seen - the events that a reader was given
 * @events: number of events
 * @of: number of events by writer
 * @max: one more than the highest number, by writer
 * @slot: the writer's thread slot
 * @bits: a bit for each number seen, by writer
 * @room: bytes allocated in @bits
 * @next: one more than the last number, by writer and ring
 * @nr_generations: number of different generations
 * @generation: the generations, modulo 2^16, in the order in which they were seen
 * @per_generation: events with this generation
 * @spoiled: events that contradict their number, were seen before, or are out of order
 * @first: describes the first spoiled event
 */
struct nu_seen {
	uint64_t events;
	uint32_t of[NU_WRITERS];
	uint32_t max[NU_WRITERS];
	uint32_t slot[NU_WRITERS];
	uint8_t *bits[NU_WRITERS];
	uint32_t room[NU_WRITERS];
	uint32_t *next;
	uint32_t nr_generations;
	uint32_t generation[64];
	uint64_t per_generation[64];
	uint64_t spoiled;
	char first[200];
};

void nu_seen_init(struct nu_seen *s);
void nu_seen_free(struct nu_seen *s);
/* Returns the number of an event that is intact. */
uint64_t nu_number(const struct rd_event *ev);
/* The callback of rd_open(). @seen: a struct nu_seen */
void nu_event(const struct rd_event *ev, void *seen);

#endif /* NUMBERED_H */
