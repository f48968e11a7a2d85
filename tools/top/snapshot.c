// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes snapshots of all numbers */
#include <string.h>

#include "snapshot.h"
#include "sum.h"

static void fill_numbers(struct numbers *n, const struct sums *s)
{
	*n = (struct numbers){
		.count = s->latencies.nr, .max = s->latencies.max, .sum_ns = s->sum_ns,
		.p50 = buckets_percentile(&s->latencies, 50),
		.p99 = buckets_percentile(&s->latencies, 99),
	};
	memcpy(n->ns, s->ns, sizeof(n->ns));
}

static void take_types(struct snapshot *s, struct live *l)
{
	static struct sums recent;

	tally_rates(&l->tally, l->begin);
	s->interval = l->tally.interval;
	s->nr_types = l->tally.nr;
	for (size_t i = 0; i < s->nr_types; i++) {
		const struct top_type *t = l->tally.of[i];
		struct type_row *row = &s->types[i];

		memset(&recent, 0, sizeof(recent));
		tally_recent(&l->tally, t, &recent);
		row->type = t;
		row->open = t->open;
		row->rate = t->rate;
		fill_numbers(&row->all, &t->all);
		fill_numbers(&row->recent, &recent);
	}
}

static void take_open(struct snapshot *s, const struct live *l, uint64_t now)
{
	s->nr_open = 0;
	s->more_open = l->open.more;
	for (const struct open_operation *op = l->open.oldest; op; op = op->newer) {
		s->ages[s->nr_open] = now > op->begin ? now - op->begin : 0;
		s->open[s->nr_open++] = *op;
	}
}

static uint64_t delay(const struct live *l, uint64_t now)
{
	const uint64_t settled = l->tally.now > l->begin ? l->tally.now : l->begin;

	return !l->ended && now > settled ? now - settled : 0;
}

void snapshot_take(struct snapshot *s, struct feed *f, struct live *l, uint64_t wall)
{
	const uint64_t now = live_now(l, wall), before = s->counts.delivered, since = s->wall;

	feed_counts(f, l, &s->counts);
	s->wall = wall;
	/* When a file is read a second time, the count starts again from 0. */
	if (since && wall > since)
		s->record_rate = s->counts.delivered < before ? 0 :
				 (s->counts.delivered - before) * 1e9 / (wall - since);
	take_types(s, l);
	take_open(s, l, now);
	s->settled = l->tally.now;
	s->delay = delay(l, now);
	s->late = live_late(l);
	s->losses = live_losses(l);
	s->restarts = l->restarts;
	s->ended = l->ended;
	s->damaged = l->damaged;
	s->incomplete = l->incomplete;
}

uint64_t snapshot_attempted(const struct snapshot *s)
{
	const struct at_compose_counts *c = &s->counts;
	const uint64_t parts[] = {
		c->malformed, c->overwritten, c->cleared, c->dropped, c->unwritten,
	};
	uint64_t sum = c->delivered;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum_add(&sum, parts[i]);
	return sum;
}

double snapshot_share(const struct snapshot *s)
{
	const uint64_t attempted = snapshot_attempted(s);

	return attempted ? (double)s->counts.delivered / attempted : 1;
}
