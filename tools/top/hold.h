/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes how long records are held back before they are analysed. A record may be read after
 * later ones of other rings. A complete duration is written at its end, but begins before the
 * events that it encloses. So each record waits as long as the longest complete duration of the
 * last 30 to 60 seconds lasted, and a quarter longer, within HOLD_MIN and HOLD_MAX.
 */
#ifndef TOP_HOLD_H
#define TOP_HOLD_H

#include <stddef.h>
#include <stdint.h>

#define HOLD_MIN	1000000000ull
/* In ns. Longer durations may come too late to be sorted; live_late() counts these. */
#define HOLD_MAX	10000000000ull
#define HOLD_SAMPLES	256
/* In ns. HOLD_SAMPLES samples with this spacing cover more than HOLD_MAX. */
#define HOLD_SPACING	50000000ull
/* Period in ns. The delay depends on durations read in the current period and the previous one. */
#define HOLD_MEMORY	30000000000ull

/*
 * A zeroed structure is initialized. Times called @wall are nanoseconds of any clock of this
 * machine.
 */
struct hold {
	struct {
		uint64_t wall, ns;
	} samples[HOLD_SAMPLES];
	size_t nr;			/* number of samples so far; only the last
					   HOLD_SAMPLES are kept */
	uint64_t longest[2], since;	/* the longest duration of this period and of the
					   previous one */
};

/* Notes a complete duration of @ns. */
void hold_duration(struct hold *h, uint64_t ns);
/* Notes that at @wall, all records written up to trace time @ns have been read. */
void hold_sample(struct hold *h, uint64_t wall, uint64_t ns);
/* Returns the current delay in ns. */
uint64_t hold_ns(const struct hold *h);
/*
 * Returns the trace time before which records can be analysed at @wall, or 0 if there is none
 * yet.
 */
uint64_t hold_until(const struct hold *h, uint64_t wall);

#endif /* TOP_HOLD_H */
