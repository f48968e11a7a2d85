/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring that the kernel writes: from one CPU, with interrupts off. User space cannot map it.
 *
 * Sub-buffers and positions have the format of a provider's ring, so that one reader reads
 * both. The position is in kernel memory and can be trusted.
 */
#ifndef AT_KERNEL_RING_H
#define AT_KERNEL_RING_H

#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/types.h>

#include "base/race.h"
#include "ring/cursor.h"
#include "ring/share.h"
#include "ring/spare_rings.h"

/**
 * struct at_kring - a ring that the kernel writes
 * @next: address of the next record, at @position; NULL before the first sub-buffer
 * @end: end of the current sub-buffer for the fast path; NULL while the ring is tight, so
 *	that the fast path finds no room
 * @position: as in struct asynctrace_ring_header
 * @data: at_ring_words() words; NULL until the CPU has taken a spare
 * @ring_mask: words of the ring - 1
 * @brim: end of the current sub-buffer; NULL before the first one
 * @kind: selects the account of a struct at_share
 * @foreign: tasks of no member are recorded in the ring, too
 * @reserve: the last words of the ring's room, which are shared by quota
 * @tight: state of sharing the reserve
 * @sharing: counts of the members that share the ring
 * @spares: spares to take the ring's memory from
 * @others: account of tasks of no member, and of members that joined late
 * @dropped: records that found no room
 * @limit: linear offset up to which sub-buffers may be entered
 * @geometry: size of the ring
 * @reading: progress of the session's reader
 * @kept: @reading of the session's consumer, while a snapshot is read
 * @clear: clear mark; under the session's clear_lock
 */
struct at_kring {
	u64 *next;
	u64 *end;
	u64 position;
	u64 *data;
	u32 ring_mask;
	u64 *brim;
	enum at_kring_kind kind;
	bool foreign;
	u32 reserve;
	struct at_tight tight;
	const struct at_sharing *sharing;
	struct at_spares *spares;
	struct at_share_account others;
	u64 dropped;
	u64 limit;
	struct at_geometry geometry;
	struct at_reading reading;
	struct at_reading kept;
	struct at_clear clear;
};

void at_kring_init(struct at_kring *r, enum at_kring_kind kind, const struct at_geometry *g,
		   const struct at_sharing *sharing, struct at_spares *spares, bool foreign);
void at_kring_destroy(struct at_kring *r);
bool at_kring_enter(struct at_kring *r);
void at_kring_source(struct at_kring *r, struct at_source *src);
int at_kring_copy(const struct at_kring *r, u64 from, u32 words, void __user *to);

/* The number of pages that the ring has */
static inline u64 at_kring_pages(const struct at_kring *r)
{
	u64 bytes = (u64)at_ring_words(&r->geometry) * sizeof(u64);

	return READ_ONCE(r->data) ? PAGE_ALIGN(bytes) / PAGE_SIZE : 0;
}

static inline u64 at_kring_position(const struct at_kring *r)
{
	/* Pairs with the store-releases of at_kring_commit() and at_kring_enter(). */
	return smp_load_acquire(&r->position);
}

static inline u64 at_kring_limit(const struct at_kring *r)
{
	/* Pairs with the reader's store-release: words are reused only after they were read. */
	return smp_load_acquire(&r->limit);
}

/* Is there room for a record on the fast path? If not, at_share_room() may find room. */
static __always_inline bool at_kring_has_room(const struct at_kring *r, u32 words)
{
	return likely(r->next + words <= r->end);
}

/* Publish the record that was written at r->next. */
static __always_inline void at_kring_commit(struct at_kring *r, u32 words)
{
	at_race_spin(AT_RACE_PROBE);
	r->next += words;
	/* Pairs with the reader's load-acquire of the position. */
	smp_store_release(&r->position, r->position + (ASYNCTRACE_POS_RECORD | words));
}

#endif /* AT_KERNEL_RING_H */
