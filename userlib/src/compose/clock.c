// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Converts ticks to nanoseconds of CLOCK_BOOTTIME.
 *
 * A pair has ticks and nanoseconds that were read at one moment. A segment is a time in which the
 * counter runs at a constant rate. The kernel begins a new segment when the counter and
 * CLOCK_BOOTTIME drift apart, for instance after a suspend.
 *
 * Between two pairs of a segment, time is interpolated linearly, exactly and rounded down. So time
 * never goes backwards. If the clock already is CLOCK_BOOTTIME, the conversion changes nothing.
 *
 * Each chunk brings a pair that was read after its payload. So only times between two segments
 * must be extrapolated, from the nearest pairs, but not beyond the other segment.
 *
 * The line between two pairs does not change after a time was computed from it: later pairs within
 * it are ignored. So a tick has the same time in the whole file, in any order of reading rings,
 * unless thin_out() has removed one of the pairs around it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "composer.h"

/* Maximum number of pairs of a segment, see thin_out() */
#define PAIRS_MAX	(1u << 20)

/*
 * thin_out() makes no gap longer than the ticks from its begin to the last pair, divided by
 * 2^GAP_SHIFT.
 */
#define GAP_SHIFT	13

static ssize_t find_segment(struct atc_clock *k, uint32_t number)
{
	size_t s = k->nr;
	struct atc_segment *g;

	while (s && k->segments[s - 1].number > number)
		s--;
	if (s && k->segments[s - 1].number == number)
		return s - 1;
	/*
	 * Reject a segment before the last one: its insertion would change the indexes of later
	 * segments.
	 */
	if (s < k->nr)
		return -EPROTO;
	if (k->nr == k->room) {
		size_t room = k->room ? 2 * k->room : 4;

		g = atc_realloc(k->segments, room * sizeof(*g));
		if (!g)
			return -ENOMEM;
		k->segments = g;
		k->room = room;
	}
	k->segments[s] = (struct atc_segment){ .number = number };
	k->nr++;
	return s;
}

/*
 * Removes pairs from a full segment, and more of them the older they are. A tick between two pairs
 * that remain, for instance of the begin of a long duration, may then get a slightly different
 * time than it had before. The first and the last pair remain.
 *
 * Two consecutive gaps together exceed the limit of one, so at most 600,000 pairs remain.
 */
static void thin_out(struct atc_clock *k, struct atc_segment *g)
{
	const uint64_t last = g->pairs[g->nr - 1].ticks;
	size_t kept = 1;

	for (size_t i = 1; i < g->nr; i++) {
		const uint64_t from = g->pairs[kept - 1].ticks;

		if (i + 1 < g->nr && g->pairs[i + 1].ticks - from <= (last - from) >> GAP_SHIFT)
			continue;
		g->pairs[kept++] = g->pairs[i];
	}
	g->nr = kept;
	k->line = (struct atc_line){ 0 };
}

static int more_pairs(struct atc_clock *k, struct atc_segment *g)
{
	size_t room = g->room ? 2 * g->room : 16;
	struct atc_pair *p;

	if (g->nr >= PAIRS_MAX) {
		thin_out(k, g);
		return 0;
	}
	p = atc_realloc(g->pairs, room * sizeof(*p));
	if (!p)
		return -ENOMEM;
	g->pairs = p;
	g->room = room;
	return 0;
}

/* Returns the number of pairs of @g that are not after @ticks. */
static size_t pairs_until(const struct atc_segment *g, uint64_t ticks)
{
	size_t low = 0, high = g->nr;

	/* Search the newest pairs first, because most ticks are among them. */
	if (high > 8 && g->pairs[high - 8].ticks <= ticks)
		low = high - 8;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (g->pairs[middle].ticks <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

ssize_t atc_clock_pair(struct atc_clock *k, uint32_t segment, uint64_t ticks, uint64_t ns)
{
	ssize_t s = find_segment(k, segment);
	struct atc_segment *g, *before;
	size_t i;
	int err;

	if (s < 0)
		return s;
	g = &k->segments[s];
	before = s ? g - 1 : NULL;
	if (before && before->nr && ns < before->pairs[before->nr - 1].ns)
		ns = before->pairs[before->nr - 1].ns;
	i = pairs_until(g, ticks);
	if (g->nr && (ticks <= g->fixed || (i && g->pairs[i - 1].ticks == ticks)))
		return s;
	if (g->nr == g->room || g->nr >= PAIRS_MAX) {
		err = more_pairs(k, g);
		if (err) {
			if (!g->nr)
				k->nr--;
			return err;
		}
		i = pairs_until(g, ticks);
	}
	if (i && ns < g->pairs[i - 1].ns)
		ns = g->pairs[i - 1].ns;
	if (i < g->nr && ns > g->pairs[i].ns)
		ns = g->pairs[i].ns;
	memmove(g->pairs + i + 1, g->pairs + i, (g->nr - i) * sizeof(*g->pairs));
	g->pairs[i] = (struct atc_pair){ ticks, ns };
	g->nr++;
	return s;
}

static uint64_t ticks_to_ns(uint64_t ticks, const struct atc_pair *a, const struct atc_pair *b)
{
	unsigned __int128 ns = (unsigned __int128)ticks * (b->ns - a->ns) / (b->ticks - a->ticks);

	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/*
 * Converts a difference of @ticks to ns, at the rate of the last or the first two pairs of @g. If
 * @g has only one pair, uses the rate of another segment. If no segment has two pairs, takes a
 * tick for 1 ns.
 */
static uint64_t extrapolate(const struct atc_clock *k, const struct atc_segment *g,
			    uint64_t ticks, bool last)
{
	if (g->nr < 2) {
		const struct atc_segment *other = NULL;

		for (size_t i = 0; i < k->nr && (!other || &k->segments[i] <= g); i++)
			if (k->segments[i].nr >= 2)
				other = &k->segments[i];
		if (!other)
			return ticks;
		return ticks_to_ns(ticks, &other->pairs[0], &other->pairs[other->nr - 1]);
	}
	return last ? ticks_to_ns(ticks, &g->pairs[g->nr - 2], &g->pairs[g->nr - 1])
		    : ticks_to_ns(ticks, &g->pairs[0], &g->pairs[1]);
}

static void fix_times_until(struct atc_segment *g, uint64_t ticks)
{
	if (g->fixed < ticks)
		g->fixed = ticks;
}

static int ns_before(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns)
{
	struct atc_segment *g = &k->segments[s];
	const struct atc_segment *before = s ? g - 1 : NULL;
	uint64_t delta;

	if (!before)
		return -1;
	delta = extrapolate(k, g, g->pairs[0].ticks - ticks, false);
	if (delta > g->pairs[0].ns - before->pairs[before->nr - 1].ns)
		return -1;
	fix_times_until(g, g->pairs[0].ticks);
	*ns = g->pairs[0].ns - delta;
	return 0;
}

static int ns_after(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns)
{
	struct atc_segment *g = &k->segments[s];
	const struct atc_pair *last = &g->pairs[g->nr - 1];
	const struct atc_segment *after = s + 1 < k->nr ? g + 1 : NULL;
	uint64_t delta;

	if (!after)
		return 1;
	/*
	 * If the counter continued between the segments, a tick after the begin of the next segment
	 * is in that segment.
	 */
	if (after->pairs[0].ticks >= last->ticks && ticks >= after->pairs[0].ticks)
		return 1;
	delta = extrapolate(k, g, ticks - last->ticks, true);
	if (delta > after->pairs[0].ns - last->ns)
		return 1;
	fix_times_until(g, ticks);
	*ns = last->ns + delta;
	return 0;
}

static void keep_line(struct atc_clock *k, size_t s, const struct atc_pair *a,
		      const struct atc_pair *b)
{
	uint64_t product;

	if (__builtin_mul_overflow(b->ticks - a->ticks, b->ns - a->ns, &product))
		return;
	k->line = (struct atc_line){
		.segment = s, .from = a->ticks, .to = b->ticks,
		.ns = a->ns, .rise = b->ns - a->ns,
		.inverse = UINT64_MAX / (b->ticks - a->ticks),
	};
}

int atc_clock_find(struct atc_clock *k, size_t s, uint64_t ticks, uint64_t *ns)
{
	struct atc_segment *g = &k->segments[s];
	const struct atc_pair *a, *b;
	size_t i;

	if (ticks < g->pairs[0].ticks)
		return ns_before(k, s, ticks, ns);
	i = pairs_until(g, ticks);
	a = &g->pairs[i - 1];
	if (a->ticks == ticks) {
		fix_times_until(g, ticks);
		*ns = a->ns;
		return 0;
	}
	if (i == g->nr)
		return ns_after(k, s, ticks, ns);
	b = a + 1;
	fix_times_until(g, b->ticks);
	keep_line(k, s, a, b);
	*ns = a->ns + ticks_to_ns(ticks - a->ticks, a, b);
	return 0;
}

uint64_t atc_clock_start(const struct atc_clock *k)
{
	return k->nr ? k->segments[0].pairs[0].ns : 0;
}

uint64_t atc_clock_end(const struct atc_clock *k)
{
	const struct atc_segment *g = k->nr ? &k->segments[k->nr - 1] : NULL;

	return g ? g->pairs[g->nr - 1].ns : 0;
}

void atc_clock_free(struct atc_clock *k)
{
	for (size_t s = 0; s < k->nr; s++)
		atc_free(k->segments[s].pairs);
	atc_free(k->segments);
}
