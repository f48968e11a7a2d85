/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time that records are held back before they are analysed. A record may be read after later
 * ones of other rings, and a complete duration is written at its end, but begins before what
 * it encloses. So records wait until all that had been read by then is at least as old as
 * the longest duration of the last minute, and some more.
 */
#ifndef TOP_HOLD_H
#define TOP_HOLD_H

#include <stddef.h>
#include <stdint.h>

#define HOLD_MIN	1000000000ull
/* Durations that are longer come late, which is counted. */
#define HOLD_MAX	10000000000ull
#define HOLD_SAMPLES	256
/* Nanoseconds. HOLD_SAMPLES samples at the largest spacing last longer than HOLD_MAX. */
#define HOLD_SPACING	50000000ull
/* The longest duration counts for one to two of these. */
#define HOLD_MEMORY	30000000000ull

/* Starts as zeros. Times called @wall are nanoseconds of any clock of this machine. */
struct hold {
	struct {
		uint64_t wall, ns;
	} samples[HOLD_SAMPLES];
	size_t nr;			/* so far; the last HOLD_SAMPLES of them are there */
	uint64_t longest[2], since;	/* durations: of this period and the one before */
};

/* A complete duration of @ns was read. */
void hold_duration(struct hold *h, uint64_t ns);
/* At @wall, all records up to trace time @ns had been read that were written by then. */
void hold_sample(struct hold *h, uint64_t wall, uint64_t ns);
/* The present delay in ns */
uint64_t hold_ns(const struct hold *h);
/* Trace time before which records can be analysed at @wall; 0: none yet */
uint64_t hold_until(const struct hold *h, uint64_t wall);

#endif /* TOP_HOLD_H */
