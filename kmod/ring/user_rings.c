// SPDX-License-Identifier: GPL-2.0
/*
 * The rings that providers write: their memory, what the reader takes from their headers, and the
 * copies of their records to user space.
 *
 * Header pages are allocated with the rings, other pages one at a time, on first touch. All are
 * freed together, when no writer can have an address in them any more. All contents of these pages
 * are untrusted.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "base/compat.h"
#include "base/quiesce.h"
#include "ring/user_rings.h"

#define AT_WORDS_PER_PAGE	(PAGE_SIZE / sizeof(u64))

/* If memory is short, fail instead of invoking the OOM killer. */
#define AT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static void at_rings_free(struct work_struct *work)
{
	struct at_rings *r = container_of(work, struct at_rings, free_work);
	u32 pages = DIV_ROUND_UP(at_ring_words(&r->geometry), AT_WORDS_PER_PAGE);
	u32 i, j;

	for (i = 0; i < r->nr; i++) {
		if (!r->ring[i].pages)
			continue;
		for (j = 0; j < pages; j++) {
			if (r->ring[i].pages[j])
				put_page(r->ring[i].pages[j]);
			cond_resched();
		}
		kvfree(r->ring[i].pages);
	}
	for (i = 0; i < r->nr_headers; i++)
		if (r->headers[i])
			put_page(r->headers[i]);
	kfree(r->headers);
	mem_cgroup_put(r->memcg);
	kvfree(r);
}

void at_rings_get(struct at_rings *r)
{
	kref_get(&r->ref);
}

/*
 * A worker frees the rings, because freeing many pages takes long, and because kvfree() must not be
 * called under a spinlock. Any reference may be the last one, also if the caller holds at_lock: a
 * reader may drop the member's reference at any time.
 */
static void at_rings_release(struct kref *ref)
{
	struct at_rings *r = container_of(ref, struct at_rings, ref);

	INIT_WORK(&r->free_work, at_rings_free);
	queue_work(at_wq, &r->free_work);
}

/* Drop a reference; @r may be NULL. The caller may hold at_lock. */
void at_rings_put(struct at_rings *r)
{
	if (r)
		kref_put(&r->ref, at_rings_release);
}

/**
 * at_rings_new - allocate rings without pages and without a size
 * @nr_rings: number of CPU rings
 * @memcg: memory cgroup to charge; may be NULL
 *
 * Allocates the header pages at once, because writers count drops there.
 *
 * Return: the rings, with a reference, or NULL.
 */
struct at_rings *at_rings_new(u32 nr_rings, struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = set_active_memcg(memcg);
	struct at_rings *r;
	u32 i;

	r = kvzalloc(struct_size(r, ring, nr_rings + 1), AT_GFP);
	if (!r)
		goto out;
	kref_init(&r->ref);
	r->nr = nr_rings + 1;
	for (i = 0; i < r->nr; i++)
		r->ring[i].index = i;
	r->nr_headers = at_layout_header_pages(nr_rings);
	/* The session has a reference, but the rings may outlive it. */
	at_memcg_get(memcg);
	r->memcg = memcg;
	r->headers = kcalloc(r->nr_headers, sizeof(*r->headers), AT_GFP);
	if (!r->headers) {
		r->nr_headers = 0;
		goto err;
	}
	for (i = 0; i < r->nr_headers; i++) {
		r->headers[i] = alloc_page(AT_GFP);
		if (!r->headers[i])
			goto err;
	}
	atomic_long_set(&r->nr_pages, r->nr_headers);
out:
	set_active_memcg(old);
	return r;
err:
	set_active_memcg(old);
	at_rings_put(r);
	return NULL;
}

/* A ring's header line, which user space may write at any time. */
struct asynctrace_ring_header *at_rings_header(const struct at_rings *r, u32 ring)
{
	u32 lines = PAGE_SIZE / ASYNCTRACE_LINE;

	return page_address(r->headers[ring / lines]) + ring % lines * ASYNCTRACE_LINE;
}

u64 at_rings_position(const struct at_rings *r, u32 ring)
{
	const struct asynctrace_ring_header *h = at_rings_header(r, ring);

	/* Pairs with the store-release that ends a writer's critical section. */
	return smp_load_acquire(&h->position);
}

/* The number of records that found no room, as the provider claims */
u64 at_rings_dropped(const struct at_rings *r, u32 ring)
{
	u64 dropped = READ_ONCE(at_rings_header(r, ring)->dropped);

	return ring == r->nr - 1 ? dropped & ASYNCTRACE_FALLBACK_DROPS_MASK : dropped;
}

/* Does the ring have a page at this place? Its address range may be larger than the ring. */
bool at_rings_wants(const struct at_rings *r, u32 ring, u32 page)
{
	return ring < r->nr &&
	       (u64)page * AT_WORDS_PER_PAGE < at_ring_words(&r->geometry);
}

static struct page **at_rings_pages(const struct at_rings *r, u32 ring)
{
	/* Pairs with the cmpxchg_release() in at_rings_make_room(). */
	return smp_load_acquire(&r->ring[ring].pages);
}

/* The page at a place of a ring, or NULL. */
struct page *at_rings_ring_page(const struct at_rings *r, u32 ring, u32 page)
{
	struct page **pages = at_rings_pages(r, ring);

	/* Pairs with the cmpxchg_release() in at_rings_install(). */
	return pages ? smp_load_acquire(&pages[page]) : NULL;
}

/* Allocate a ring's array of page pointers. */
static bool at_rings_make_room(struct at_rings *r, u32 ring)
{
	u32 n = DIV_ROUND_UP(at_ring_words(&r->geometry), AT_WORDS_PER_PAGE);
	struct page **pages;

	if (at_rings_pages(r, ring))
		return true;
	pages = kvcalloc(n, sizeof(*pages), AT_GFP);
	if (!pages)
		return false;
	/* Pairs with the load-acquire in at_rings_pages(). */
	if (cmpxchg_release(&r->ring[ring].pages, NULL, pages))
		kvfree(pages);
	return true;
}

/**
 * at_rings_alloc_page - allocate a zeroed page for a ring
 * @r: the rings
 * @ring: index of the ring
 *
 * Charges the session's memory cgroup. If the provider's were charged, the provider's next
 * page fault could invoke the OOM killer.
 *
 * Return: the page, for at_rings_install(), or NULL.
 */
struct page *at_rings_alloc_page(struct at_rings *r, u32 ring)
{
	struct mem_cgroup *old = set_active_memcg(r->memcg);
	struct page *page = at_rings_make_room(r, ring) ? alloc_page(AT_GFP) : NULL;

	set_active_memcg(old);
	return page;
}

/**
 * at_rings_install - install a page in a ring
 * @r: the rings
 * @ring: index of the ring
 * @page: index of the page, accepted by at_rings_wants()
 * @new: from at_rings_alloc_page() for this ring
 *
 * Return: the page installed there now: @new, which then belongs to the ring, or one that
 * another task installed first.
 */
struct page *at_rings_install(struct at_rings *r, u32 ring, u32 page, struct page *new)
{
	struct page **pages = at_rings_pages(r, ring);
	struct page *there;

	/* Pairs with the load-acquire in at_rings_ring_page(). */
	there = cmpxchg_release(&pages[page], NULL, new);
	if (there)
		return there;
	atomic_long_inc(&r->nr_pages);
	atomic_inc(&r->ring[ring].nr_pages);
	return new;
}

/**
 * at_page_is_settled - has every fault that looked up a page mapped it?
 * @page: the page; the caller excludes new faults
 *
 * A fault holds the page's lock until it has mapped the page. The fault's thread may have no CPU
 * quota left, so this function does not wait for the lock.
 *
 * Return: true if no fault is about to map the page.
 */
bool at_page_is_settled(struct page *page)
{
	if (!trylock_page(page))
		return false;
	unlock_page(page);
	return true;
}

/**
 * at_rings_are_settled - has every fault that looked up a page of some rings mapped it?
 * @r: the rings; the caller holds the range's zap_sem for writing, which excludes new faults
 *
 * Return: true if no fault is about to map one of the pages.
 */
bool at_rings_are_settled(struct at_rings *r)
{
	u32 pages = DIV_ROUND_UP(at_ring_words(&r->geometry), AT_WORDS_PER_PAGE);
	u32 i, j;

	for (i = 0; i < r->nr_headers; i++)
		if (!at_page_is_settled(r->headers[i]))
			return false;
	for (i = 0; i < r->nr; i++) {
		/*
		 * A page fault allocates the array without zap_sem. So an array may still
		 * appear, but no pages in it.
		 */
		struct page **of = at_rings_pages(r, i);

		for (j = 0; of && j < pages; j++) {
			if (of[j] && !at_page_is_settled(of[j]))
				return false;
			cond_resched();
		}
	}
	return true;
}

static u64 at_rings_word(const struct at_rings *r, u32 ring, u64 linear)
{
	u32 at = linear & (at_ring_words(&r->geometry) - 1);
	struct page *page = at_rings_ring_page(r, ring, at / AT_WORDS_PER_PAGE);
	u64 *words;

	if (!page)
		return 0;
	words = page_address(page);
	return READ_ONCE(words[at % AT_WORDS_PER_PAGE]);
}

static struct at_rings *at_rings_of(struct at_uring *ring)
{
	return container_of(ring - ring->index, struct at_rings, ring[0]);
}

static u64 at_rings_source_word(void *arg, u64 linear)
{
	struct at_uring *ring = arg;

	return at_rings_word(at_rings_of(ring), ring->index, linear);
}

static u64 at_rings_source_position(void *arg)
{
	struct at_uring *ring = arg;

	return at_rings_position(at_rings_of(ring), ring->index);
}

void at_rings_source(struct at_rings *r, u32 ring, struct at_source *src)
{
	src->geometry = &r->geometry;
	src->fallback = ring == r->nr - 1;
	src->word = at_rings_source_word;
	src->position = at_rings_source_position;
	src->arg = &r->ring[ring];
}

/**
 * at_rings_late - count records that were published after a ring's last stop
 * @r: the rings
 * @ring: index of the ring
 * @c: the reader's cursor in the ring
 * @pos: the ring's position
 *
 * The reader does not deliver these records, and counts them as dropped. A reader's pass that
 * was under way at the stop may have delivered some of them: those do not count here.
 *
 * Return: the number of late records up to @pos.
 */
u64 at_rings_late(struct at_rings *r, u32 ring, const struct at_cursor *c, u64 pos)
{
	struct at_source src;
	u64 before, after;

	at_rings_source(r, ring, &src);
	before = max(at_source_committed(&src, r->ring[ring].stop), c->records);
	after = at_source_committed(&src, pos);
	return after > before ? after - before : 0;
}

/* Bounds at_tag(): a provider that keeps changing the word spoils only its own ring. */
#define AT_TAG_TRIES	16

static void at_tag(u64 *word, u64 tag, u64 mask)
{
	u64 old = READ_ONCE(*word), was;
	int i;

	for (i = 0; i < AT_TAG_TRIES; i++) {
		was = cmpxchg(word, old, (old & ~mask) | (tag & mask));
		if (was == old)
			return;
		old = was;
	}
}

/*
 * Tag the fallback ring's position and drop count with the run. A thread that was
 * preempted in an earlier run then fails to commit its record, or to count its drop.
 */
void at_rings_tag(struct at_rings *r, u32 run)
{
	struct asynctrace_ring_header *h = at_rings_header(r, r->nr - 1);

	at_tag(&h->position, (u64)run << ASYNCTRACE_FALLBACK_TAG_SHIFT,
	       ASYNCTRACE_FALLBACK_TAG_MASK);
	at_tag(&h->dropped, (u64)run << ASYNCTRACE_FALLBACK_DROPS_SHIFT,
	       ~ASYNCTRACE_FALLBACK_DROPS_MASK);
}

/**
 * at_rings_copy - copy words of a ring to user memory
 * @r: the rings
 * @ring: index of the ring
 * @from: linear offset
 * @words: number of words, within one sub-buffer
 * @to: destination
 *
 * A page that was never allocated reads as zeros, which are not valid records.
 *
 * Return: 0 or -EFAULT.
 */
int at_rings_copy(const struct at_rings *r, u32 ring, u64 from, u32 words,
		  void __user *to)
{
	u32 at = from & (at_ring_words(&r->geometry) - 1);

	while (words) {
		u32 in = at % AT_WORDS_PER_PAGE;
		u32 n = min_t(u32, words, AT_WORDS_PER_PAGE - in);
		struct page *page = at_rings_ring_page(r, ring, at / AT_WORDS_PER_PAGE);
		unsigned long left;

		if (page)
			left = copy_to_user(to, page_address(page) + in * sizeof(u64),
					    n * sizeof(u64));
		else
			left = clear_user(to, n * sizeof(u64));
		if (left)
			return -EFAULT;
		to += n * sizeof(u64);
		at += n;
		words -= n;
	}
	return 0;
}
