/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram of latencies in memory of fixed size. Below 64 ns, each bucket is one nanosecond
 * wide. Above, the width of a bucket is at most 1/32 of the latencies in it.
 */
#ifndef TOP_BUCKETS_H
#define TOP_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#define BUCKETS_BITS		5
#define BUCKETS			((65 - BUCKETS_BITS) << BUCKETS_BITS)

/* A histogram filled with zeros is valid and empty. */
struct buckets {
	uint64_t nr, max;
	uint64_t of[BUCKETS];
};

void buckets_add(struct buckets *h, uint64_t ns);
/* Adds all latencies of @from to @to. */
void buckets_merge(struct buckets *to, const struct buckets *from);
/*
 * Returns an upper bound of a percentile of the latencies (nearest rank). The bound exceeds the
 * exact percentile by at most 1/32. Returns 0 if there are no latencies.
 */
uint64_t buckets_percentile(const struct buckets *h, double percent);

#endif /* TOP_BUCKETS_H */
