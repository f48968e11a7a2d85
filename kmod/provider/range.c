// SPDX-License-Identifier: GPL-2.0
/*
 * Starting, ending and cleaning a range; range.h explains the order of the steps.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/wait_bit.h>

#include "base/race.h"
#include "provider/provider.h"
#include "provider/range.h"
#include "ring/user_rings.h"
#include "session/member.h"

/* Longest time until a worker tries again to zap a range, jiffies */
#define AT_ZAP_DELAY_MAX	max_t(unsigned long, HZ / 10, 1)

/* Number of works of ranges that are queued, running or waiting for their timer */
static atomic_t at_range_works;

static void at_range_zap(struct at_range *range)
{
	struct at_provider *p = range->provider;
	const struct at_layout *l = &p->layout;
	u32 i = range - p->range;

	at_provider_zap(p, at_layout_headers(l, i), l->header_pages);
	at_race(AT_RACE_ZAP);
	at_provider_zap(p, at_layout_rings(l, i), (u64)(l->nr_rings + 1) * l->ring_pages);
}

/**
 * at_range_enter - begin a fault: keep a range from being zapped
 * @range: the range
 */
void at_range_enter(struct at_range *range)
{
	wait_event(range->faults, !READ_ONCE(range->zapping));
	down_read(&range->zap_sem);
}

/**
 * at_range_leave - end what at_range_enter() began
 * @range: the range
 *
 * A fault that maps a page must have locked the page.
 */
void at_range_leave(struct at_range *range)
{
	up_read(&range->zap_sem);
}

/**
 * at_range_rings - find the rings that a fault maps
 * @range: the range; its zap_sem is held
 *
 * Return: the rings; NULL if the fault must map the sink. The range is then marked dirty.
 */
struct at_rings *at_range_rings(struct at_range *range)
{
	struct at_rings *rings;

	spin_lock(&range->rings_lock);
	rings = range->live ? range->rings : NULL;
	if (!rings)
		range->dirty = true;
	spin_unlock(&range->rings_lock);
	return rings;
}

/*
 * Has every fault that looked up a page of @rings, or the sink, mapped it? The caller excludes new
 * faults.
 */
static bool at_range_is_settled(const struct at_range *range, struct at_rings *rings)
{
	return (!rings || !at_fixed(AT_FIX_LOCK_RING) || at_rings_are_settled(rings)) &&
	       (!at_fixed(AT_FIX_LOCK_SINK) || at_page_is_settled(range->sink));
}

/*
 * Unmap the whole range. @rings: the rings that may be mapped, or NULL.
 *
 * Returns false if a fault may be about to map a page. The caller must then try again later. Until
 * it succeeds, faults in the range wait.
 */
static bool at_range_empty(struct at_range *range, struct at_rings *rings)
{
	/* Read once: a test may change the setting before up_write(). */
	const bool exclusive = at_fixed(AT_FIX_RWSEM);
	bool settled;

	if (exclusive) {
		WRITE_ONCE(range->zapping, true);
		if (!down_write_trylock(&range->zap_sem))
			return false;
	}
	spin_lock(&range->rings_lock);
	range->rings = NULL;
	range->dirty = false;
	spin_unlock(&range->rings_lock);
	settled = at_range_is_settled(range, rings);
	if (settled)
		at_range_zap(range);
	if (exclusive)
		up_write(&range->zap_sem);
	if (settled) {
		WRITE_ONCE(range->zapping, false);
		wake_up(&range->faults);
	}
	return settled;
}

/* Drop the references of queued work. */
static void at_range_work_done(struct at_range *range)
{
	struct at_provider *p = range->provider;

	at_contents_put(p);
	at_provider_put(p);
	if (atomic_dec_and_test(&at_range_works))
		wake_up_var(&at_range_works);
}

/* Let the work run again. It keeps its references unless it has been queued meanwhile. */
static void at_range_work_again(struct at_range *range)
{
	range->delay = clamp(range->delay * 2, 1UL, AT_ZAP_DELAY_MAX);
	if (!queue_delayed_work(at_zap_wq, &range->work, range->delay))
		at_range_work_done(range);
}

static void at_range_work(struct work_struct *work)
{
	struct at_range *range = container_of(to_delayed_work(work), struct at_range, work);
	struct at_provider *p = range->provider;
	struct at_rings *ended;
	bool cleaning;

	spin_lock(&at_lock);
	ended = range->zapped ? NULL : range->ended;
	cleaning = range->cleaning;
	spin_unlock(&at_lock);
	if ((ended || cleaning) && !at_range_empty(range, ended)) {
		at_range_work_again(range);
		return;
	}
	range->delay = 0;
	if (ended) {
		range->zapped = true;
		if (at_fixed(AT_FIX_RANGES)) {
			at_provider_get(p);
			at_contents_get(p);
			at_quiesce(&range->quiesce);
		} else {
			spin_lock(&at_lock);
			range->ended = NULL;
			spin_unlock(&at_lock);
			at_rings_put(ended);
		}
	}
	if (cleaning) {
		spin_lock(&at_lock);
		range->cleaning = false;
		at_member_retry(p);
		spin_unlock(&at_lock);
	}
	at_range_work_done(range);
}

static void at_range_queue(struct at_range *range)
{
	atomic_inc(&at_range_works);
	at_provider_get(range->provider);
	at_contents_get(range->provider);
	if (!queue_delayed_work(at_zap_wq, &range->work, 0))
		at_range_work_done(range);
}

/**
 * at_ranges_flush - wait until no work of a range is queued or running
 *
 * Called at module exit. Flushing the workqueue does not wait for work that waits for its timer.
 */
void at_ranges_flush(void)
{
	wait_var_event(&at_range_works, !atomic_read(&at_range_works));
	/* The last work may not have returned yet. */
	flush_workqueue(at_zap_wq);
}

/* Find the CPUs that may run writers. Rings whose gate was never open have no writers. */
static void at_range_cpus(struct at_quiesce *q, struct cpumask *cpus)
{
	struct at_range *range = container_of(q, struct at_range, quiesce);

	if (range->ended->opened)
		at_provider_cpus(range->provider, cpus);
}

static void at_range_quiet(struct at_quiesce *q)
{
	struct at_range *range = container_of(q, struct at_range, quiesce);
	struct at_provider *p = range->provider;
	struct at_rings *ended;

	spin_lock(&at_lock);
	ended = range->ended;
	range->ended = NULL;
	/* A session may be waiting for a free range. */
	at_member_retry(p);
	/* If late stores made the range dirty, clean it before the next session needs it. */
	if (READ_ONCE(range->dirty))
		at_range_clean(range);
	spin_unlock(&at_lock);
	at_rings_put(ended);
	at_contents_put(p);
	at_provider_put(p);
}

int at_range_init(struct at_range *range, struct at_provider *p)
{
	init_rwsem(&range->zap_sem);
	spin_lock_init(&range->rings_lock);
	init_waitqueue_head(&range->faults);
	INIT_DELAYED_WORK(&range->work, at_range_work);
	range->provider = p;
	range->sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!range->sink)
		return -ENOMEM;
	return at_quiesce_prepare(&range->quiesce, at_range_cpus, at_range_quiet);
}

void at_range_destroy(struct at_range *range)
{
	at_quiesce_destroy(&range->quiesce);
	if (range->sink)
		put_page(range->sink);
}

/**
 * at_range_start - put rings into a range
 * @range: the range
 * @rings: the rings; a reference is taken on success
 *
 * Return: true on success; false: the range is in use, or is not clean.
 */
bool at_range_start(struct at_range *range, struct at_rings *rings)
{
	bool clean;

	lockdep_assert_held(&at_lock);
	if (range->rings || range->ended || range->cleaning)
		return false;
	spin_lock(&range->rings_lock);
	clean = !range->dirty;
	if (clean) {
		u64 *limit = at_range_limits(range);
		u32 i;

		for (i = 0; i < rings->nr; i++)
			WRITE_ONCE(limit[i],
				   at_ring_limit(&rings->geometry, 0, i == rings->nr - 1));
		range->rings = rings;
		range->live = true;
	}
	spin_unlock(&range->rings_lock);
	if (clean)
		at_rings_get(rings);
	return clean;
}

/**
 * at_range_clean - let a worker clean a range, unless it is in use
 * @range: the range
 *
 * at_member_retry() is called when the range is clean.
 */
void at_range_clean(struct at_range *range)
{
	lockdep_assert_held(&at_lock);
	if (range->rings || range->ended || range->cleaning)
		return;
	range->cleaning = true;
	at_range_queue(range);
}

/**
 * at_range_end - take the rings out of a range
 * @range: the range; the gate is shut already
 *
 * Does not wait: the range's reference to the rings is dropped when all writers have
 * left.
 */
void at_range_end(struct at_range *range)
{
	lockdep_assert_held(&at_lock);
	if (!range->rings || range->ended)
		return;
	spin_lock(&range->rings_lock);
	range->live = false;
	spin_unlock(&range->rings_lock);
	range->ended = range->rings;
	range->zapped = false;
	at_range_queue(range);
}
