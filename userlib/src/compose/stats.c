// SPDX-License-Identifier: LGPL-2.1-or-later
/* Statistics of composed, lost and unwritten records */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "added.h"
#include "composer.h"
#include "internal.h"

static int by_id(const void *a, const void *b)
{
	const struct at_compose_provider *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->serial > y->serial) - (x->serial < y->serial);
}

static int by_provider_and_index(const void *a, const void *b)
{
	const struct at_compose_ring *x = a, *y = b;

	if (x->provider != y->provider)
		return x->provider < y->provider ? -1 : 1;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return (x->ring > y->ring) - (x->ring < y->ring);
}

/*
 * Adds @n to *@sum, at most up to the largest number, because a provider may claim any number of
 * drops.
 */
static void add_saturating(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void add_counts(struct at_compose_counts *sum, const struct at_compose_counts *n)
{
	add_saturating(&sum->events, n->events);
	add_saturating(&sum->switches, n->switches);
	add_saturating(&sum->wakeups, n->wakeups);
	add_saturating(&sum->bytes, n->bytes);
	add_saturating(&sum->delivered, n->delivered);
	add_saturating(&sum->malformed, n->malformed);
	add_saturating(&sum->overwritten, n->overwritten);
	add_saturating(&sum->dropped, n->dropped);
	add_saturating(&sum->cleared, n->cleared);
	add_saturating(&sum->unwritten, n->unwritten);
	add_saturating(&sum->filtered, n->filtered);
}

static uint64_t records_of(const struct at_compose_counts *n)
{
	return n->events + n->switches + n->wakeups;
}

static uint64_t take(uint64_t *from, uint64_t *wanted)
{
	const uint64_t n = *wanted < *from ? *wanted : *from;

	*from -= n;
	*wanted -= n;
	return n;
}

/*
 * Subtracts records from those that @from counts as delivered, at most those of *@wanted. Returns
 * their number, and leaves the rest in *@wanted.
 */
static uint64_t take_records(struct at_compose_counts *from, struct at_compose_counts *wanted)
{
	const uint64_t n = take(&from->events, &wanted->events) +
			   take(&from->switches, &wanted->switches) +
			   take(&from->wakeups, &wanted->wakeups);

	from->delivered -= n;
	return n;
}

int at_compose_left_out(struct at_compose *c, uint32_t provider, uint32_t ring,
			const struct at_compose_counts *filtered,
			const struct at_compose_counts *unwritten)
{
	const uint32_t index = ring & ASYNCTRACE_COMPOSE_RING_TRACEPOINTS ?
			       ATC_RING_TRACEPOINTS + (ring & UINT16_MAX) : ring;
	const struct atc_provider *last = atc_provider(c, provider);
	struct at_compose_counts have = { 0 }, not_wanted = *filtered, failed = *unwritten;
	const struct at_compose_counts gone = {
		.events = filtered->events + unwritten->events,
		.switches = filtered->switches + unwritten->switches,
		.wakeups = filtered->wakeups + unwritten->wakeups,
	};

	if (!records_of(&gone))
		return 0;
	for (const struct atc_provider *p = last; p; p = p->earlier) {
		const struct atc_ring *r = atc_ring_find(c, p, index);

		if (r)
			add_counts(&have, &r->counts);
	}
	if (gone.events > have.events || gone.switches > have.switches ||
	    gone.wakeups > have.wakeups)
		return -EINVAL;
	for (const struct atc_provider *p = last; p; p = p->earlier) {
		struct atc_ring *r = atc_ring_find(c, p, index);

		if (!r)
			continue;
		r->counts.filtered += take_records(&r->counts, &not_wanted);
		r->counts.unwritten += take_records(&r->counts, &failed);
	}
	return 0;
}

/* Returns the item of @p before the items are sorted. */
static struct at_compose_provider *item_of(struct at_compose *c, const struct atc_provider *p)
{
	return c->stat_providers + p->file_id - 1;
}

static void describe(struct at_compose_provider *p, const struct atc_provider *from)
{
	*p = (struct at_compose_provider){
		.id = from->id, .pid = from->pid, .flags = from->flags,
		.strings = from->nr_strings, .bad_strings = from->bad_strings,
		.threads = from->nr_slots, .serial = from->serial,
		.sched_dropped = from->sched_dropped, .names_dropped = from->names_dropped,
	};
	memcpy(p->name, from->name, sizeof(p->name));
}

static void sum_up(struct at_compose *c)
{
	struct at_compose_stats *s = &c->stats;
	struct at_compose_ring *r = c->stat_rings;

	atc_map_each(&c->providers, e)
		for (const struct atc_provider *p = e->value; p; p = p->earlier)
			describe(item_of(c, p), p);
	atc_map_each(&c->rings, e) {
		const struct atc_ring *from = e->value;

		*r++ = (struct at_compose_ring){
			.provider = from->provider->id, .ring = from->index & UINT16_MAX,
			.flags = from->flags, .serial = from->provider->serial,
			.counts = from->counts,
		};
		add_counts(&item_of(c, from->provider)->counts, &from->counts);
		add_counts(&s->total, &from->counts);
	}
	add_saturating(&s->total.overwritten, c->ended.counts.overwritten);
	add_saturating(&s->total.dropped, c->ended.counts.dropped);
	add_saturating(&s->total.cleared, c->ended.counts.cleared);
}

void at_compose_totals(const struct at_compose *c, struct at_compose_counts *total)
{
	*total = (struct at_compose_counts){ 0 };
	atc_map_each(&c->rings, e) {
		const struct atc_ring *ring = e->value;

		if (ring->provider != c->kernel)
			add_counts(total, &ring->counts);
	}
}

const struct at_compose_stats *at_compose_stats(struct at_compose *c)
{
	struct at_compose_stats *s = &c->stats;
	void *p;

	p = atc_realloc(c->stat_providers, c->nr_providers * sizeof(*c->stat_providers));
	if (!p)
		return NULL;
	c->stat_providers = p;
	p = atc_realloc(c->stat_rings, (c->rings.used + 1) * sizeof(*c->stat_rings));
	if (!p)
		return NULL;
	c->stat_rings = p;
	*s = (struct at_compose_stats){
		.written = c->out.before + at_compose_written(c),
		.unnamed = c->unnamed,
		.inferred = c->inferred,
		.overlaps = c->overlaps,
		.protocol = c->protocol,
		.start = atc_clock_start(&c->clock),
		.end = atc_clock_end(&c->clock),
		.nr_providers = c->nr_providers,
		.nr_rings = c->rings.used,
		.ended = c->ended,
	};
	sum_up(c);
	qsort(c->stat_providers, s->nr_providers, sizeof(*c->stat_providers), by_id);
	qsort(c->stat_rings, s->nr_rings, sizeof(*c->stat_rings), by_provider_and_index);
	s->providers = c->stat_providers;
	s->rings = c->stat_rings;
	return s;
}
