/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The size of a ring and of its sub-buffers, and the format of a position
 */
#ifndef AT_GEOMETRY_H
#define AT_GEOMETRY_H

#include <linux/asynctrace.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct at_geometry - a ring's size; both numbers are powers of two
 * @sub_words: words of a sub-buffer
 * @nsub: sub-buffers of a ring
 * @circular: old sub-buffers are overwritten
 */
struct at_geometry {
	u32 sub_words;
	u32 nsub;
	bool circular;
};

static inline u32 at_ring_words(const struct at_geometry *g)
{
	return g->sub_words * g->nsub;
}

/*
 * The geometry of a ring of @bytes with sub-buffers of @sub bytes. If @sub is 0, the
 * sub-buffers get a default size. @sub is reduced if the ring is too small for
 * ASYNCTRACE_SUBBUFS_MIN sub-buffers. Both sizes are powers of two within the limits of
 * linux/asynctrace.h.
 */
static inline struct at_geometry at_geometry_of(u64 bytes, u64 sub, bool circular)
{
	if (!sub)
		sub = clamp_t(u64, bytes / 16, ASYNCTRACE_SUBBUF_MIN, ASYNCTRACE_SUBBUF_MAX);
	sub = min_t(u64, sub, bytes / ASYNCTRACE_SUBBUFS_MIN);
	return (struct at_geometry){
		.sub_words = sub / sizeof(u64),
		.nsub = bytes / sub,
		.circular = circular,
	};
}

static inline u64 at_pos_linear(u64 pos, bool fallback)
{
	return pos & (fallback ? ASYNCTRACE_FALLBACK_POS_MASK : ASYNCTRACE_POS_MASK);
}

static inline u32 at_pos_count(u64 pos)
{
	return pos >> ASYNCTRACE_POS_BITS;
}

/*
 * The linear offset up to which writers may enter sub-buffers after @taken words were read. Behind
 * the last sub-buffer that a position can express, records are dropped and counted. That is after 2
 * PiB in the ring of a CPU, and after 512 GiB in the fallback ring.
 */
static inline u64 at_ring_limit(const struct at_geometry *g, u64 taken, bool fallback)
{
	u64 end = at_pos_linear(U64_MAX, fallback) + 1 - g->sub_words;

	if (g->circular)
		return end;
	return min(end, taken / g->sub_words * g->sub_words + at_ring_words(g));
}

#endif /* AT_GEOMETRY_H */
