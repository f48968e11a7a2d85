/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered events: who wrote it, under which generation, and which of his it is.
 * All else in the event follows from the number, so that a reader can tell
 * whether it is intact.
 */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

#define NU_WRITERS	2048
#define NU_SHAPES	6

/* Bits of a number. */
#define NU_SEQ(n)	((uint32_t)(n))
#define NU_WRITER(n)	((n) >> 32 & 0xffff)
#define NU_GENERATION(n) ((uint32_t)((n) >> 48))

/*
 * Writes the event (@writer, @seq), stamped with the generation it is written
 * under. @shape: 0..NU_SHAPES-1, or -1: varied. Returns that generation; 0: there
 * was nothing to write to.
 */
uint32_t nu_emit(uint32_t writer, uint32_t seq, int shape);
/* The gate, having registered if that was still to be done. 0: shut. */
uint32_t nu_gate(void);

/**
 * struct nu_seen - what was delivered
 * @events: all of them
 * @of: by writer
 * @generations: different ones, modulo 2^16, in the order they were seen
 * @spoiled: events that are not what their number says, twice there, or not in
 *	order
 * @first: the first of them
 */
struct nu_seen {
	uint64_t events;
	uint32_t of[NU_WRITERS];
	uint32_t max[NU_WRITERS];	/* the highest number + 1 */
	uint32_t slot[NU_WRITERS];
	uint8_t *bits[NU_WRITERS];
	uint32_t room[NU_WRITERS];
	uint32_t *next;			/* by writer and ring */
	uint32_t nr_generations;
	uint32_t generation[64];
	uint64_t per_generation[64];
	uint64_t spoiled;
	char first[200];
};

void nu_seen_init(struct nu_seen *s);
void nu_seen_free(struct nu_seen *s);
/* The number of an event that is intact. */
uint64_t nu_number(const struct rd_event *ev);
/* For rd_open(). */
void nu_event(const struct rd_event *ev, void *seen);

#endif /* NUMBERED_H */
