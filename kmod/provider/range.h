/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: addresses in a provider's mapping at which one session's rings appear. Each provider
 * has two ranges, so that a session can start while writers of the last one may still be active.
 *
 * Faults map the sink at all addresses that have no ring. A range is clean if the sink is mapped
 * nowhere in it. Rings can be put into a clean range at once, because no address has to be
 * zapped. A fault in a range without rings makes the range dirty, and a worker cleans it.
 *
 * Ending and cleaning a range, in this order:
 *
 *  a. The gate on the control page is shut; no new critical section begins.
 *  b. A worker takes the range's zap_sem for writing; every fault holds it for reading. The
 *     worker takes the rings out, and checks that neither one of their pages nor the sink is
 *     locked: then no fault is between look-up and mapping. Then it zaps the addresses. From
 *     here on late stores go to the sink.
 *  c. Each CPU that runs a thread of the provider switches tasks. Until then a thread may
 *     hold a base or a position of the old rings, or may only have seen the gate open, so the
 *     range must not be reused.
 *
 * A provider can make zapping slow by forking children that share its mapping. Therefore a
 * worker zaps, and holds no lock that another provider needs.
 *
 * A thread may lose its CPU for long during a fault. If the worker waited for that thread, the
 * threads of one user could occupy all workers. So the worker waits for no lock of a fault. If a
 * lock is not free, the worker tries again later. Meanwhile new faults in the range wait, so that
 * the locks become free. For the same reason each range has a sink of its own: faults in the other
 * range go on, and do not lock it.
 *
 * Lock order, outermost first: mmap_lock, zap_sem, page lock; and zap_sem, i_mmap_rwsem.
 */
#ifndef AT_RANGE_H
#define AT_RANGE_H

#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"

struct at_provider;
struct at_rings;
struct page;

/**
 * struct at_range - one of a provider's ranges
 * @zap_sem: held for reading by faults, for writing by the worker that zaps
 * @zapping: new faults must wait, because a worker zaps or will try again to do so
 * @faults: faults that wait for @zapping to become false
 * @sink: page that is mapped in place of ring pages, so that late stores hit no ring
 * @rings_lock: protects @rings, @live and @dirty, and the range's limits
 * @rings: rings in the range; NULL: only the sink
 * @live: faults may map pages of @rings; changed under at_lock, too
 * @dirty: the sink may be mapped in the range
 * @ended: rings of the last session, to which writers may still hold addresses; under
 *	at_lock
 * @zapped: @ended has been unmapped. at_range_end() clears it under at_lock before it queues
 *	@work; otherwise only @work accesses it
 * @cleaning: a worker is cleaning the range; under at_lock
 * @work: unmaps @ended, and cleans the range
 * @delay: jiffies until @work tries again; used by the worker only
 * @quiesce: waits until the CPUs have switched tasks, step c
 * @provider: owner of the range
 */
struct at_range {
	struct rw_semaphore zap_sem;
	bool zapping;
	wait_queue_head_t faults;
	struct page *sink;
	spinlock_t rings_lock;		/* @rings, @live, @dirty */
	struct at_rings *rings;
	bool live;
	bool dirty;
	struct at_rings *ended;
	bool zapped;
	bool cleaning;
	struct delayed_work work;
	unsigned long delay;
	struct at_quiesce quiesce;
	struct at_provider *provider;
};

int at_range_init(struct at_range *range, struct at_provider *p);
void at_range_destroy(struct at_range *range);
bool at_range_start(struct at_range *range, struct at_rings *rings);
void at_range_clean(struct at_range *range);
void at_range_end(struct at_range *range);
void at_range_enter(struct at_range *range);
void at_range_leave(struct at_range *range);
struct at_rings *at_range_rings(struct at_range *range);
void at_ranges_flush(void);

#endif /* AT_RANGE_H */
