// SPDX-License-Identifier: GPL-2.0
/*
 * Allocating, taking and freeing spare memory for kernel rings; spare_rings.h says why.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "base/compat.h"
#include "base/quiesce.h"
#include "ring/spare_rings.h"

/* The number of spares to have: at most one for each CPU that has taken none. */
static u32 at_spares_wanted(const struct at_spares *sp, u32 most, u32 cpus)
{
	u32 taken = atomic_read(&sp->taken);

	return min(most, cpus > taken ? cpus - taken : 0);
}

static bool at_spares_calm(const struct at_spares *sp)
{
	return time_after(jiffies, READ_ONCE(sp->busy) + HZ);
}

/*
 * Returns the number of spares to have now. Up to sp->calm spares are kept for offline CPUs, too,
 * because one may come online while the session runs, and take a spare then.
 */
static u32 at_spares_target(const struct at_spares *sp)
{
	u32 calm = at_spares_wanted(sp, sp->calm, num_possible_cpus());

	if (at_spares_calm(sp))
		return calm;
	return max(calm, at_spares_wanted(sp, AT_SPARES, num_online_cpus()));
}

static u32 at_spares_nr(const struct at_spares *sp)
{
	u32 i, nr = 0;

	for (i = 0; i < AT_SPARES; i++)
		nr += !!READ_ONCE(sp->slot[i]);
	return nr;
}

static int at_spares_add(struct at_spares *sp, u64 **slot)
{
	u64 *data = __vmalloc(sp->words * sizeof(u64), GFP_KERNEL_ACCOUNT | __GFP_ZERO |
						       __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!data)
		return -ENOMEM;
	/* Another caller may have filled the slot meanwhile. */
	if (cmpxchg(slot, NULL, data))
		vfree(data);
	return 0;
}

/* Free spares above the target, if no CPU has needed them for a while. */
static void at_spares_trim(struct at_spares *sp, u32 target)
{
	u32 i;

	if (!at_spares_calm(sp))
		return;
	for (i = 0; i < AT_SPARES && at_spares_nr(sp) > target; i++)
		vfree(xchg(&sp->slot[i], NULL));
}

static void at_spares_fill(struct at_spares *sp)
{
	struct mem_cgroup *old = set_active_memcg(sp->memcg);
	u32 i, target;
	int err = 0;

	/*
	 * A CPU that takes a spare from now on queues the worker again. Pairs with the xchg() in
	 * at_spares_take(): a CPU that still finds @asked set has emptied the slot before.
	 */
	smp_store_mb(sp->asked, false);
	target = at_spares_target(sp);
	at_spares_trim(sp, target);
	for (i = 0; i < AT_SPARES && at_spares_nr(sp) < target && !err; i++)
		if (!READ_ONCE(sp->slot[i]))
			err = at_spares_add(sp, &sp->slot[i]);
	set_active_memcg(old);
	WRITE_ONCE(sp->filled, jiffies);
	WRITE_ONCE(sp->failed, err);
}

static void at_spares_fill_fn(struct work_struct *work)
{
	at_spares_fill(container_of(work, struct at_spares, fill));
}

static void at_spares_low(struct irq_work *work)
{
	struct at_spares *sp = container_of(work, struct at_spares, low);

	queue_work(sp->wq, &sp->fill);
}

/**
 * at_spares_init - initialize spares, without allocating them
 * @sp: the spares; allocated by at_spares_prepare()
 * @words: size of each spare
 * @calm: number of spares to keep if no CPU has taken one for a second, at most AT_SPARES
 * @wq: for the worker, which may wait for memory of @memcg
 * @memcg: memory cgroup to charge; must outlive the spares
 */
void at_spares_init(struct at_spares *sp, u64 words, u32 calm, struct workqueue_struct *wq,
		    struct mem_cgroup *memcg)
{
	memset(sp, 0, sizeof(*sp));
	sp->words = words;
	sp->calm = calm;
	sp->wq = wq;
	sp->memcg = memcg;
	/*
	 * Run in hard interrupt context: on PREEMPT_RT, a real-time task on the CPU could keep
	 * another irq_work from running.
	 */
	sp->low = IRQ_WORK_INIT_HARD(at_spares_low);
	INIT_WORK(&sp->fill, at_spares_fill_fn);
}

/* Free the spares. No CPU may call at_spares_take() any more. */
void at_spares_destroy(struct at_spares *sp)
{
	u32 i;

	irq_work_sync(&sp->low);
	cancel_work_sync(&sp->fill);
	for (i = 0; i < AT_SPARES; i++)
		vfree(sp->slot[i]);
}

/**
 * at_spares_prepare - allocate spares for a start
 * @sp: the spares
 *
 * Sleeps. Several callers may do this at once. Spares for CPUs that are offline may be missing.
 *
 * Return: 0 or -ENOMEM.
 */
int at_spares_prepare(struct at_spares *sp)
{
	WRITE_ONCE(sp->busy, jiffies);
	at_spares_fill(sp);
	return at_spares_nr(sp) < at_spares_wanted(sp, AT_SPARES, num_online_cpus()) ? -ENOMEM : 0;
}

/**
 * at_spares_look - queue the worker if the number of spares is wrong and no CPU needs one now
 * @sp: the spares
 *
 * Called periodically while the session runs. If memory is short, this retries once a second.
 */
void at_spares_look(struct at_spares *sp)
{
	if (at_spares_calm(sp) && time_after(jiffies, READ_ONCE(sp->filled) + HZ) &&
	    at_spares_nr(sp) != at_spares_target(sp))
		queue_work(sp->wq, &sp->fill);
}

/**
 * at_spares_take - take memory for a ring
 * @sp: the spares
 *
 * Called by probes, with interrupts off.
 *
 * Return: zeroed memory, which the caller owns; NULL: there is no spare at the moment.
 */
u64 *at_spares_take(struct at_spares *sp)
{
	u64 *data = NULL;
	u32 i;

	for (i = 0; i < AT_SPARES && !data; i++)
		if (READ_ONCE(sp->slot[i]))
			data = xchg(&sp->slot[i], NULL);
	if (data) {
		atomic_inc(&sp->taken);
		WRITE_ONCE(sp->busy, jiffies);
	}
	/* On a CPU that is going offline, irq_work may not run: rely on at_spares_look(). */
	if (!READ_ONCE(sp->asked) && !READ_ONCE(sp->failed) && cpu_online(smp_processor_id())) {
		WRITE_ONCE(sp->asked, true);
		irq_work_queue(&sp->low);
	}
	return data;
}

u64 at_spares_pages(const struct at_spares *sp)
{
	return (u64)at_spares_nr(sp) * PAGE_ALIGN(sp->words * sizeof(u64)) / PAGE_SIZE;
}
