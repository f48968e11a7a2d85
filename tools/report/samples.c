// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact percentiles and histograms of times */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fxt/table.h"
#include "samples.h"

/* The last bucket begins at 6.31 * 10^18 ns and has no upper bound. Times are below 2^63 ns. */
#define BUCKETS		86

int samples_add(struct samples *s, uint64_t ns)
{
	if (!more_room(&s->of, s->nr, &s->room, sizeof(*s->of)))
		return -ENOMEM;
	s->of[s->nr++] = ns;
	s->sum += ns;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void samples_sort(struct samples *s)
{
	if (s->nr)
		qsort(s->of, s->nr, sizeof(*s->of), by_number);
}

size_t percentile_index(size_t nr, double percent)
{
	/* Tolerate rounding: 2.2 * 1500 / 100 is a little more than 33 as a double. */
	double share = percent * nr / 100;
	size_t rank = ceil(share - share * 1e-12);

	return rank ? rank - 1 : 0;
}

uint64_t samples_percentile(const struct samples *s, double percent)
{
	return s->nr ? s->of[percentile_index(s->nr, percent)] : 0;
}

void samples_free(struct samples *s)
{
	free(s->of);
	*s = (struct samples){ 0 };
}

/* Returns the least time of a bucket. */
static uint64_t bucket_from(size_t bucket)
{
	/* 100 times powers of the fifth root of 10 */
	static const uint64_t first[] = { 100, 158, 251, 398, 631 };
	uint64_t ns;

	if (!bucket)
		return 0;
	if (bucket >= BUCKETS)
		return UINT64_MAX;
	ns = first[(bucket - 1) % 5];
	for (size_t i = (bucket - 1) / 5; i; i--)
		ns *= 10;
	return ns;
}

struct histogram histogram_of(const struct samples *s)
{
	struct histogram h = { .samples = s };

	if (!s->nr)
		return h;
	while (bucket_from(h.bucket + 1) <= s->of[0])
		h.bucket++;
	h.end = h.bucket + 1;
	while (bucket_from(h.end) <= s->of[s->nr - 1])
		h.end++;
	return h;
}

bool histogram_next(struct histogram *h)
{
	if (h->bucket == h->end)
		return false;
	h->from = bucket_from(h->bucket++);
	h->to = bucket_from(h->bucket);
	h->next += h->count;
	for (h->count = 0; h->next + h->count < h->samples->nr; h->count++)
		if (h->samples->of[h->next + h->count] >= h->to)
			break;
	return true;
}
