// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Times of records: when a record was published, and times that a provider gives.
 */
#include "internal.h"
#include "times.h"

void at_compose_join(struct at_compose *c)
{
	c->joins = true;
}

/*
 * Finds the time of a stamp in segment @s. If the composer joined rings that were already in use,
 * a stamp may be older than the composer's start: its writer read the clock before the start and
 * published the record afterwards. Such a record gets the time of the start.
 */
static int stamp_ns(struct at_compose *c, size_t s, uint64_t ticks, uint64_t *ns)
{
	const int where = atc_clock_ns(&c->clock, s, ticks, ns);

	if (where >= 0 || s || !c->joins)
		return where;
	*ns = atc_clock_start(&c->clock);
	return 0;
}

/*
 * Finds the segment and time of a record. The stamps of a ring never decrease within a segment. So
 * a smaller stamp belongs to a later segment: at the latest, to the segment in which the chunk was
 * read.
 */
bool atc_time_published_in_any(struct at_compose *c, const struct atc_context *x,
			       uint64_t ticks, uint64_t *ns)
{
	struct atc_ring *r = x->ring;

	for (size_t s = r->segment; s <= x->segment; s++) {
		if (s == r->segment && ticks < r->last_ticks)
			continue;
		if (s == x->segment && ticks > x->ticks)
			continue;
		if (stamp_ns(c, s, ticks, ns))
			continue;
		r->segment = s;
		atc_note_published(r, ticks, ns);
		return true;
	}
	return false;
}

bool atc_time_given(struct at_compose *c, const struct atc_context *x, uint64_t ticks,
		    uint64_t end, uint64_t end_ns, uint64_t *ns)
{
	size_t s = x->ring->segment + (ticks <= end);

	while (s-- > 0) {
		int where = atc_clock_ns(&c->clock, s, ticks, ns);

		if (where > 0 && ticks > end)
			return false;
		if (where > 0)
			*ns = c->clock.segments[s + 1].pairs[0].ns;
		if (where >= 0) {
			if (*ns > end_ns)
				*ns = end_ns;
			return true;
		}
	}
	*ns = atc_clock_start(&c->clock);
	return ticks <= end;
}
