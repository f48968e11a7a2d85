/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rings of one provider in one session: header pages, the rings of CPUs, and the fallback
 * ring. Ring pages are allocated on first touch.
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
 * struct at_uring - a ring that user space writes
 * @index: index in at_rings.ring
 * @pages: pages for at_ring_words() words. The array is allocated for the first page, and
 *	each page on first touch; both stay until the rings are freed
 * @nr_pages: number of pages installed
 * @touched: a writer has touched the ring
 * @refused: a page could not be allocated: the limit stays 0, so that writers drop
 * @stop: position when the session was last stopped
 * @saved: position up to which subscribers were notified of full sub-buffers
 * @reading: progress of the session's reader
 * @kept: @reading of the session's consumer, while a snapshot is read
 * @clear: clear mark; under the session's clear_lock
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
 * @ref: references: the session's member, the provider's range until writers have left,
 *	and functions that use the rings
 * @geometry: size of each ring; set when a member puts the rings into a range
 * @memcg: memory cgroup of the session, which the pages are charged to; may be NULL
 * @nr_pages: number of pages of all rings, including header pages
 * @opened: the gate was opened: writers may have addresses and positions of the rings
 * @free_work: frees the rings
 * @nr: number of rings, including the fallback ring
 * @nr_headers: number of header pages
 * @headers: header pages, with a line for each ring
 * @ring: CPU rings by CPU number, then the fallback ring
 */
struct at_rings {
	struct kref ref;
	struct at_geometry geometry;
	struct mem_cgroup *memcg;
	atomic_long_t nr_pages;
	bool opened;
	struct work_struct free_work;
	u32 nr;
	u32 nr_headers;
	struct page **headers;
	struct at_uring ring[];
};

struct at_rings *at_rings_new(u32 nr_rings, struct mem_cgroup *memcg);
void at_rings_get(struct at_rings *r);
void at_rings_put(struct at_rings *r);
struct asynctrace_ring_header *at_rings_header(const struct at_rings *r, u32 ring);
struct page *at_rings_alloc_page(struct at_rings *r, u32 ring);
struct page *at_rings_install(struct at_rings *r, u32 ring, u32 page, struct page *new);
struct page *at_rings_ring_page(const struct at_rings *r, u32 ring, u32 page);
bool at_rings_wants(const struct at_rings *r, u32 ring, u32 page);
bool at_page_is_settled(struct page *page);
bool at_rings_are_settled(struct at_rings *r);
u64 at_rings_position(const struct at_rings *r, u32 ring);
u64 at_rings_dropped(const struct at_rings *r, u32 ring);
void at_rings_source(struct at_rings *r, u32 ring, struct at_source *src);
u64 at_rings_late(struct at_rings *r, u32 ring, const struct at_cursor *c, u64 pos);
void at_rings_tag(struct at_rings *r, u32 run);
int at_rings_copy(const struct at_rings *r, u32 ring, u64 from, u32 words,
		  void __user *to);

#endif /* AT_USER_RINGS_H */
