// SPDX-License-Identifier: GPL-2.0
/*
 * Starting and ending a range; range.h says in which order, and why.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "base/race.h"
#include "provider/provider.h"
#include "provider/range.h"
#include "ring/user_rings.h"
#include "session/member.h"

static void at_range_zap(struct at_range *range)
{
	struct at_provider *p = range->provider;
	const struct at_layout *l = &p->layout;
	u32 i = range - p->range;

	at_provider_zap(p, at_layout_headers(l, i), l->header_pages);
	at_race(AT_RACE_ZAP);
	at_provider_zap(p, at_layout_rings(l, i), (u64)(l->nr_rings + 1) * l->ring_pages);
}

static void at_range_quiet(struct at_quiesce *q)
{
	struct at_range *range = container_of(q, struct at_range, quiesce);
	struct at_provider *p = range->provider;

	mutex_lock(&at_mutex);
	at_rings_put(range->ended);
	range->ended = NULL;
	/* A session may have been waiting for this. */
	at_member_retry(p);
	mutex_unlock(&at_mutex);
	at_provider_put(p);
}

int at_range_init(struct at_range *range, struct at_provider *p)
{
	init_rwsem(&range->sem);
	range->provider = p;
	range->quiesce.done = at_range_quiet;
	return zalloc_cpumask_var(&range->quiesce.cpus, GFP_KERNEL_ACCOUNT) ? 0 : -ENOMEM;
}

void at_range_destroy(struct at_range *range)
{
	free_cpumask_var(range->quiesce.cpus);
}

/* May new rings be put there? */
bool at_range_free(const struct at_range *range)
{
	lockdep_assert_held(&at_mutex);
	return !range->rings && !range->ended;
}

/**
 * at_range_start - let rings appear
 * @range: where; at_range_free()
 * @rings: what; a reference is taken
 */
void at_range_start(struct at_range *range, struct at_rings *rings)
{
	struct page *sink = range->provider->sink;

	lockdep_assert_held(&at_mutex);
	at_rings_get(rings);
	down_write(&range->sem);
	WRITE_ONCE(range->rings, rings);
	/* Faults that have looked the sink up have mapped it after this. */
	if (at_fixed(AT_FIX_LOCK_SINK)) {
		lock_page(sink);
		unlock_page(sink);
	}
	at_range_zap(range);
	up_write(&range->sem);
}

/**
 * at_range_end - let rings disappear
 * @range: where; the gate is shut already
 *
 * The rings' pages keep what they hold, and nobody can change it any more. The
 * range's reference is dropped when writers have left; nobody waits for that.
 */
void at_range_end(struct at_range *range)
{
	struct at_rings *rings = range->rings;

	lockdep_assert_held(&at_mutex);
	if (!rings)
		return;
	if (at_fixed(AT_FIX_RWSEM))
		down_write(&range->sem);
	WRITE_ONCE(range->rings, NULL);
	if (at_fixed(AT_FIX_LOCK_RING))
		at_rings_sync_pages(rings);
	at_range_zap(range);
	if (at_fixed(AT_FIX_RWSEM))
		up_write(&range->sem);

	if (!at_fixed(AT_FIX_RANGES)) {
		at_rings_put(rings);
		return;
	}
	range->ended = rings;
	/*
	 * Any CPU: who has seen the gate open, and then read no more than a
	 * position, has left no trace of that on any ring.
	 */
	if (rings->opened)
		cpumask_copy(range->quiesce.cpus, cpu_possible_mask);
	else
		cpumask_clear(range->quiesce.cpus);
	at_provider_get(range->provider);
	at_quiesce(&range->quiesce);
}
