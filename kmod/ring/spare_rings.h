/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for kernel rings, allocated before a CPU first writes to its ring.
 *
 * A session's threads may use only a few of a machine's hundreds of CPUs. So a ring has no
 * memory until its CPU writes the first record. A probe cannot allocate memory: it takes a
 * spare, and a worker allocates the next one.
 *
 * When a session starts, all CPUs may begin to write at once. So there are up to AT_SPARES
 * spares until no CPU has taken one for a second, and fewer afterwards. A CPU that finds no
 * spare drops and counts its records until the worker has run.
 */
#ifndef AT_SPARE_RINGS_H
#define AT_SPARE_RINGS_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mem_cgroup;

#define AT_SPARES	16U

/**
 * struct at_spares - spare memory of rings of one size
 * @slot: spares; NULL: none. Taken and filled with atomic operations, without a lock
 * @words: size of each spare
 * @calm: number of spares to keep if no CPU has taken one for a second
 * @taken: number of spares that CPUs have taken; a CPU takes at most one
 * @busy: time of the last start, or at which a CPU last took a spare, in jiffies
 * @asked: the worker is queued, and has not looked at @slot yet
 * @filled: when the worker last tried to allocate, in jiffies
 * @failed: the last allocation failed; at_spares_look() retries
 * @low: queues the worker, because a probe must not wake a task
 * @fill: the worker, which allocates spares
 * @wq: where @fill is queued, because it may wait for memory of @memcg
 * @memcg: memory cgroup that is charged, or NULL
 */
struct at_spares {
	u64 *slot[AT_SPARES];
	u64 words;
	u32 calm;
	atomic_t taken;
	unsigned long busy;
	unsigned long filled;
	bool asked;
	bool failed;
	struct irq_work low;
	struct work_struct fill;
	struct workqueue_struct *wq;
	struct mem_cgroup *memcg;
};

void at_spares_init(struct at_spares *sp, u64 words, u32 calm, struct workqueue_struct *wq,
		    struct mem_cgroup *memcg);
void at_spares_destroy(struct at_spares *sp);
int at_spares_prepare(struct at_spares *sp);
void at_spares_look(struct at_spares *sp);
u64 *at_spares_take(struct at_spares *sp);
u64 at_spares_pages(const struct at_spares *sp);

#endif /* AT_SPARE_RINGS_H */
