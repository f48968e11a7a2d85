/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latencies in buckets whose width grows with the latency. Memory does not depend on the
 * number of latencies. Below 64 ns each bucket is one nanosecond wide; above, a bucket is
 * less than 1/32 of the latencies in it.
 */
#ifndef TOP_BUCKETS_H
#define TOP_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#define BUCKETS_BITS		5
#define BUCKETS			((65 - BUCKETS_BITS) << BUCKETS_BITS)

/* Starts as zeros. */
struct buckets {
	uint64_t nr, max;
	uint64_t of[BUCKETS];
};

void buckets_add(struct buckets *h, uint64_t ns);
/* Add all of @from to @to. */
void buckets_merge(struct buckets *to, const struct buckets *from);
/*
 * The latency that at least @percent percent of all do not exceed (nearest rank). The true
 * one is at most that, and that is at most 1/32 more. 0 if there is none
 */
uint64_t buckets_percentile(const struct buckets *h, double percent);

#endif /* TOP_BUCKETS_H */
