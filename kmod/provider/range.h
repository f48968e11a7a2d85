/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range: addresses in a provider's mapping where one session's rings appear.
 * Each provider has two, so that a session can start while writers of the last
 * one are still being waited for.
 *
 * Ending and starting a range, in this order:
 *
 *  a. The gate on the control page is shut; no new critical section begins.
 *  b. With the range's rwsem held for writing, which every fault takes for
 *     reading: the rings are taken out, each of their pages is locked and
 *     unlocked, so that no fault is between look-up and mapping, and the
 *     addresses are zapped. From here on late stores go to the sink.
 *  c. Each CPU switches tasks. Until then a thread may hold a base or a position
 *     of the old rings, or only know that the gate was open; the range is not
 *     used.
 *  d. To start: rwsem for writing, rings in, sink page locked and unlocked, zap.
 *     From here on faults find the new rings.
 *
 * Lock order: mmap_lock > rwsem > page lock, and rwsem > i_mmap_rwsem.
 */
#ifndef AT_RANGE_H
#define AT_RANGE_H

#include <linux/rwsem.h>

#include "base/quiesce.h"

struct at_provider;
struct at_rings;

/**
 * struct at_range - one of a provider's ranges
 * @sem: see above
 * @rings: what appears there; NULL: the sink. Changed under @sem and at_mutex
 * @ended: rings that writers may still hold addresses of; under at_mutex
 * @quiesce: for c.
 * @provider: whose
 */
struct at_range {
	struct rw_semaphore sem;
	struct at_rings *rings;
	struct at_rings *ended;
	struct at_quiesce quiesce;
	struct at_provider *provider;
};

int at_range_init(struct at_range *range, struct at_provider *p);
void at_range_destroy(struct at_range *range);
bool at_range_free(const struct at_range *range);
void at_range_start(struct at_range *range, struct at_rings *rings);
void at_range_end(struct at_range *range);

#endif /* AT_RANGE_H */
