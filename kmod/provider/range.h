/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: addresses in a provider's mapping where one session's rings appear. Each provider
 * has two, so that a session can start while writers of the last one are still waited for.
 *
 * Where no rings are, faults map the sink. A range is clean if the sink is mapped nowhere in
 * it; then rings can appear at once: no address has to be zapped. Whoever faults while there
 * are no rings makes it dirty, and a worker cleans it.
 *
 * Ending and cleaning a range, in this order:
 *
 *  a. The gate on the control page is shut; no new critical section begins.
 *  b. A worker, with the range's rwsem held for writing, which every fault holds for
 *     reading: the rings are taken out, each of their pages and the sink are locked and
 *     unlocked, so that no fault is between look-up and mapping, and the addresses are
 *     zapped. From here on late stores go to the sink.
 *  c. Each CPU that runs a thread of the provider switches tasks. Until then a thread may
 *     hold a base or a position of the old rings, or only know that the gate was open; the
 *     range is not used.
 *
 * Zapping takes as long as the provider has made it by forking children that share its
 * mapping. So it is done by a worker that holds nothing that another provider needs.
 *
 * Lock order: mmap_lock > rwsem > page lock, and rwsem > i_mmap_rwsem.
 */
#ifndef AT_RANGE_H
#define AT_RANGE_H

#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"

struct at_provider;
struct at_rings;

/**
 * struct at_range - one of a provider's ranges
 * @zap_sem: see above
 * @rings_lock: protects @rings, @live and @dirty, and the range's limits
 * @rings: what appears there; NULL: the sink
 * @live: @rings are there for faults; changes under at_lock, too
 * @dirty: the sink may be mapped
 * @ended: rings that writers may still hold addresses of; under at_lock
 * @zapped: they have been taken out; only the worker looks at it
 * @cleaning: a worker cleans it; under at_lock
 * @work: does what takes long
 * @quiesce: for c.
 * @provider: that has the range
 */
struct at_range {
	struct rw_semaphore zap_sem;
	spinlock_t rings_lock;		/* @rings, @live, @dirty */
	struct at_rings *rings;
	bool live;
	bool dirty;
	struct at_rings *ended;
	bool zapped;
	bool cleaning;
	struct work_struct work;
	struct at_quiesce quiesce;
	struct at_provider *provider;
};

int at_range_init(struct at_range *range, struct at_provider *p);
void at_range_destroy(struct at_range *range);
bool at_range_start(struct at_range *range, struct at_rings *rings);
void at_range_clean(struct at_range *range);
void at_range_end(struct at_range *range);
struct at_rings *at_range_rings(struct at_range *range);

#endif /* AT_RANGE_H */
