/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of which exact percentiles and a histogram are wanted */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as zeros. */
struct samples {
	uint64_t *of;
	size_t nr, room;
	uint64_t sum;
};

/* 0 or -ENOMEM */
int samples_add(struct samples *s, uint64_t ns);
/* From the least on. The functions below need that. */
void samples_sort(struct samples *s);
/* Nearest rank: of @nr sorted numbers, the index of the least that at least @percent percent
 * do not exceed. @nr is not 0. */
size_t percentile_index(size_t nr, double percent);
/* The sample at that index; 0 if there is none */
uint64_t samples_percentile(const struct samples *s, double percent);
void samples_free(struct samples *s);

/*
 * The samples in buckets, from the least one's to the greatest one's: 0 to 100 ns, then five
 * buckets for each power of ten
 */
struct histogram {
	const struct samples *samples;
	size_t bucket, end;
	size_t next;		/* sample behind those of the bucket before */
	/* Of the bucket in hand: from .from until before .to */
	uint64_t from, to;
	size_t count;
};

/* @s is sorted. */
struct histogram histogram_of(const struct samples *s);
/* The next bucket; false: there is none. */
bool histogram_next(struct histogram *h);

#endif /* REPORT_SAMPLES_H */
