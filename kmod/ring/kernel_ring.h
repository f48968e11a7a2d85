/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring that the kernel writes: one CPU, interrupts off, mapped by nobody.
 *
 * Same sub-buffers and positions as a provider's ring, so that one reader reads
 * both. Here the position is the kernel's own and can be believed.
 */
#ifndef AT_KERNEL_RING_H
#define AT_KERNEL_RING_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "base/race.h"
#include "ring/cursor.h"
#include "ring/share.h"
#include "ring/spare_rings.h"

/**
 * struct at_kring - see above
 * @next: where the next record goes, which is what @position says
 * @end: of the sub-buffer it goes to, for who goes the short way: NULL where nobody may
 * @position: as in struct asynctrace_ring_header
 * @data: at_ring_words() of them; NULL until the CPU has taken a spare
 * @ring_mask: words of the ring - 1
 * @brim: of that sub-buffer; before the first one, it and @next are NULL
 * @kind: whose accounts it has
 * @foreign: tasks that are no member's have their records here, too
 * @reserve: words that are shared out when no more is left
 * @tight: how
 * @sharing: among whom
 * @spares: where its memory comes from
 * @others: account of tasks that are no member's
 * @dropped: records that found no room
 * @limit: up to where sub-buffers may be entered
 * @geometry: the same for the reader
 * @reading: the reader's
 * @kept: the same of the session's consumer, while a snapshot is read
 * @clear: the reader goes on from there; under the same lock
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
	struct at_account others;
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

/* Pages that it holds. */
static inline u64 at_kring_pages(const struct at_kring *r)
{
	return READ_ONCE(r->data) ? (u64)at_ring_words(&r->geometry) * sizeof(u64) / PAGE_SIZE : 0;
}

static inline u64 at_kring_position(const struct at_kring *r)
{
	/* Pairs with the store-releases of at_kring_commit() and at_kring_enter(). */
	return smp_load_acquire(&r->position);
}

static inline u64 at_kring_limit(const struct at_kring *r)
{
	/* Pairs with the reader's store-release: what lies below has been read. */
	return smp_load_acquire(&r->limit);
}

/* Whether there is room for a record the short way; else at_share_room() may find some. */
static __always_inline bool at_kring_has_room(const struct at_kring *r, u32 words)
{
	return likely(r->next + words <= r->end);
}

/* Publishes what was written to the room at r->next. */
static __always_inline void at_kring_commit(struct at_kring *r, u32 words)
{
	at_race_spin(AT_RACE_PROBE);
	r->next += words;
	/* Pairs with the reader's load-acquire of the position. */
	smp_store_release(&r->position, r->position + (ASYNCTRACE_POS_RECORD | words));
}

#endif /* AT_KERNEL_RING_H */
