/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts ticks to nanoseconds of CLOCK_BOOTTIME; see clock.c. */
#ifndef COMPOSE_CLOCK_H
#define COMPOSE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct atc_pair {
	uint64_t ticks;
	uint64_t ns;
};

struct atc_segment {
	uint32_t number;
	size_t nr, room;
	struct atc_pair *pairs;	/* sorted; both members ascend */
	uint64_t fixed;		/* times up to this tick were computed and must not change */
};

/*
 * The line between two pairs that the last time was read from. The line stays valid, because
 * atc_clock_pair() adds no pair before the end of a line that was used, and forgets the line if it
 * removes pairs.
 */
struct atc_line {
	size_t segment;		/* index of the line's segment */
	uint64_t from, to;	/* ticks; both 0: no line yet */
	uint64_t ns;		/* time at @from */
	uint64_t rise;		/* ns from @from to @to; (@to - @from) * @rise fits in 64 bits */
	uint64_t inverse;	/* UINT64_MAX / (@to - @from) */
};

struct atc_clock {
	size_t nr, room;
	struct atc_segment *segments;	/* sorted by number */
	struct atc_line line;
};

/*
 * Adds a pair: @ticks and @ns were read at one moment. Returns the index of the pair's segment, or
 * a negative errno.
 */
ssize_t atc_clock_pair(struct atc_clock *k, uint32_t segment, uint64_t ticks, uint64_t ns);
/*
 * Finds the time of @ticks in the segment with index @s. Returns 0; -1 if that time is before the
 * segment; 1 if it is after the segment.
 */
int atc_clock_find(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns);

/*
 * Same as atc_clock_find(), but inline and faster for records on the line that was used last,
 * which most records of a chunk are.
 */
static inline int atc_clock_ns(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns)
{
	const struct atc_line *l = &k->line;
	uint64_t product, quotient;

	if (s != l->segment || ticks < l->from || ticks >= l->to)
		return atc_clock_find(k, s, ticks, ns);
	/* A division takes many cycles. Multiply instead: the quotient is right, or 1 too small. */
	product = (ticks - l->from) * l->rise;
	quotient = (unsigned __int128)product * l->inverse >> 64;
	quotient += product - quotient * (l->to - l->from) >= l->to - l->from;
	*ns = l->ns + quotient;
	return 0;
}

uint64_t atc_clock_start(const struct atc_clock *k);
uint64_t atc_clock_end(const struct atc_clock *k);
void atc_clock_free(struct atc_clock *k);

#pragma GCC visibility pop

#endif /* COMPOSE_CLOCK_H */
