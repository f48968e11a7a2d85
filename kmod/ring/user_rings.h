/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of one provider in one session: header lines, and for each CPU
 * that writes, a ring of single pages.
 */
#ifndef AT_USER_RINGS_H
#define AT_USER_RINGS_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "provider/layout.h"
#include "ring/cursor.h"

struct mem_cgroup;

/**
 * struct at_uring - one ring that user space writes
 * @index: of it
 * @pages: at_ring_words() of them in bytes; NULL until the first is touched,
 *	each NULL until touched; only ever set
 * @nr_pages: there are so many
 * @touched: a page of it was asked for
 * @refused: a page could not be had: nothing more is written
 * @stop: position when the session was last stopped
 * @saved: position up to which subscribers know of full sub-buffers
 * @reading: the reader's
 * @kept: the same of the session's consumer, while a snapshot is read
 * @clear: the reader goes on from there; under the same lock
 */
struct at_uring {
	u32 index;
	struct page **pages;
	atomic_t nr_pages;
	bool touched;
	bool refused;
	u64 stop;
	u64 saved;
	struct at_reading reading;
	struct at_reading kept;
	struct at_clear clear;
};

/**
 * struct at_rings - all rings of one provider in one session
 * @ref: held by the session's member, and until writers have left
 * @geometry: of each ring; set when a member puts them into a range
 * @memcg: what the pages are charged to: the session's, never the provider's
 * @nr_pages: held
 * @opened: the gate to them was open: writers may hold addresses and positions
 * @put_work: of at_rings_put_later()
 * @nr: rings, the fallback ring included
 * @nr_headers: header pages
 * @headers: pages with a line for each ring
 * @ring: the rings
 */
struct at_rings {
	struct kref ref;
	struct at_geometry geometry;
	struct mem_cgroup *memcg;
	atomic_long_t nr_pages;
	bool opened;
	struct work_struct put_work;
	u32 nr;
	u32 nr_headers;
	struct page **headers;
	struct at_uring ring[];
};

struct at_rings *at_rings_new(u32 nr_rings, struct mem_cgroup *memcg);
void at_rings_get(struct at_rings *r);
void at_rings_put(struct at_rings *r);
void at_rings_put_later(struct at_rings *r);
struct asynctrace_ring_header *at_rings_header(const struct at_rings *r, u32 ring);
struct page *at_rings_alloc_page(struct at_rings *r, u32 ring);
struct page *at_rings_install(struct at_rings *r, u32 ring, u32 page, struct page *new);
struct page *at_rings_ring_page(const struct at_rings *r, u32 ring, u32 page);
bool at_rings_wants(const struct at_rings *r, u32 ring, u32 page);
void at_rings_sync_pages(struct at_rings *r);
u64 at_rings_position(const struct at_rings *r, u32 ring);
u64 at_rings_dropped(const struct at_rings *r, u32 ring);
void at_rings_source(struct at_rings *r, u32 ring, struct at_source *src);
u64 at_rings_late(struct at_rings *r, u32 ring, const struct at_cursor *c, u64 pos);
void at_rings_tag(struct at_rings *r, u32 run);
int at_rings_copy(const struct at_rings *r, u32 ring, u64 from, u32 words,
		  void __user *to);

#endif /* AT_USER_RINGS_H */
