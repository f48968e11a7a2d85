/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times of records: times.c */
#ifndef COMPOSE_TIMES_H
#define COMPOSE_TIMES_H

#include "composer.h"

#pragma GCC visibility push(hidden)

/* Notes that the latest record of @r was published at @ticks, which is @ns. Corrects @ns. */
static inline void atc_note_published(struct atc_ring *r, uint64_t ticks, uint64_t *ns)
{
	r->last_ticks = ticks;
	if (*ns < r->last_ns)
		*ns = r->last_ns;
	r->last_ns = *ns;
	if (!r->first_ns)
		r->first_ns = *ns;
}

/* Same as atc_time_published(), but slower. */
bool atc_time_published_in_any(struct at_compose *c, const struct atc_context *x,
			       uint64_t ticks, uint64_t *ns);

/*
 * Finds the time at which a record of the ring was published. Returns false if the time is
 * impossible.
 */
static inline bool atc_time_published(struct at_compose *c, const struct atc_context *x,
				      uint64_t ticks, uint64_t *ns)
{
	struct atc_ring *r = x->ring;

	/* Most records are of the segment in which the chunk was read. */
	if (r->segment != x->segment || ticks < r->last_ticks || ticks > x->ticks ||
	    atc_clock_ns(&c->clock, r->segment, ticks, ns))
		return atc_time_published_in_any(c, x, ticks, ns);
	atc_note_published(r, ticks, ns);
	return true;
}

/*
 * Finds the time of @ticks, a stamp that a provider wrote as data into a record, for instance as
 * the begin of a duration. The stamp may be in an older segment, or older than the session. The
 * record was published at @end ticks and @end_ns. Returns false if the stamp is later than that.
 */
bool atc_time_given(struct at_compose *c, const struct atc_context *x, uint64_t ticks,
		    uint64_t end, uint64_t end_ns, uint64_t *ns);

#pragma GCC visibility pop

#endif /* COMPOSE_TIMES_H */
