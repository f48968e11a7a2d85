/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects times for exact percentiles and histograms. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Times are below 2^63 ns, so the sum of a few may exceed 64 bits. Sums of times that may overlap
 * are therefore wider. Returns @sum, or UINT64_MAX if it is larger.
 */
static inline uint64_t sum_limited(unsigned __int128 sum)
{
	return sum < UINT64_MAX ? sum : UINT64_MAX;
}

/* A struct that is filled with zeros has no samples. */
struct samples {
	uint64_t *of;
	size_t nr, room;
	unsigned __int128 sum;
};

/* Returns 0 or -ENOMEM. */
int samples_add(struct samples *s, uint64_t ns);
/* Sorts in ascending order, which the functions below require. */
void samples_sort(struct samples *s);
/*
 * Nearest rank: returns the index of the least of @nr sorted numbers that at least @percent
 * percent of them do not exceed. @nr must not be 0.
 */
size_t percentile_index(size_t nr, double percent);
/* Returns the sample at the index of percentile_index(), or 0 if there are no samples. */
uint64_t samples_percentile(const struct samples *s, double percent);
void samples_free(struct samples *s);

/*
 * Divides the samples into buckets, from the bucket of the least to that of the greatest: 0 to
 * 100 ns, then five buckets for each power of ten.
 */
struct histogram {
	const struct samples *samples;
	size_t bucket, end;
	size_t next;		/* index of the first sample after the previous bucket */
	/* The current bucket: from .from until before .to */
	uint64_t from, to;
	size_t count;
};

/* @s must be sorted. */
struct histogram histogram_of(const struct samples *s);
/* Moves to the next bucket. Returns false if there is none. */
bool histogram_next(struct histogram *h);

#endif /* REPORT_SAMPLES_H */
