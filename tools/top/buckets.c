// SPDX-License-Identifier: GPL-2.0-or-later
/* A histogram of latencies in memory of fixed size */
#include "buckets.h"
#include "report/samples.h"

#define SUB	(1u << BUCKETS_BITS)

static size_t bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < 2 * SUB)
		return ns;
	shift = 63 - __builtin_clzll(ns) - BUCKETS_BITS;
	return shift * SUB + (ns >> shift);
}

/* Returns the largest latency of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	unsigned int shift;

	if (bucket < 2 * SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return ((bucket % SUB + SUB) << shift) + ((1ull << shift) - 1);
}

void buckets_add(struct buckets *h, uint64_t ns)
{
	h->of[bucket_of(ns)]++;
	h->nr++;
	if (ns > h->max)
		h->max = ns;
}

void buckets_merge(struct buckets *to, const struct buckets *from)
{
	if (!from->nr)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		to->of[i] += from->of[i];
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
}

uint64_t buckets_percentile(const struct buckets *h, double percent)
{
	uint64_t seen = 0, rank, end;
	size_t i = 0;

	if (!h->nr)
		return 0;
	rank = percentile_index(h->nr, percent) + 1;
	for (; i + 1 < BUCKETS; i++) {
		seen += h->of[i];
		if (seen >= rank)
			break;
	}
	end = bucket_end(i);
	return end < h->max ? end : h->max;
}
