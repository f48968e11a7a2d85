// SPDX-License-Identifier: GPL-2.0
/*
 * The grace period of restartable sequences.
 *
 * A thread may sit anywhere in its critical section when its ring is taken away.
 * Once its CPU has run another task, it has left the section or will restart it:
 * the kernel aborts a sequence whose thread was switched out. RCU does not give
 * that, as user mode is a quiescent state, and membarrier is not exported. So a
 * work item runs on each CPU in question. Requests that come together share one
 * round.
 */
#include <linux/cpu.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "base/race.h"

struct workqueue_struct *at_wq;
static struct workqueue_struct *at_switch_wq;

static DEFINE_PER_CPU(struct work_struct, at_switch_work);
static DEFINE_SPINLOCK(at_quiesce_lock);
static LIST_HEAD(at_quiesce_list);
static cpumask_var_t at_quiesce_cpus;

/* That it runs is all it is for. */
static void at_switch_fn(struct work_struct *work)
{
}

static void at_quiesce_fn(struct work_struct *work)
{
	struct at_quiesce *q, *next;
	LIST_HEAD(batch);
	int cpu;

	spin_lock(&at_quiesce_lock);
	list_splice_init(&at_quiesce_list, &batch);
	spin_unlock(&at_quiesce_lock);
	if (list_empty(&batch))
		return;

	cpumask_clear(at_quiesce_cpus);
	list_for_each_entry(q, &batch, node)
		cpumask_or(at_quiesce_cpus, at_quiesce_cpus, q->cpus);

	at_race(AT_RACE_SWITCH);
	if (at_fixed(AT_FIX_SWITCH)) {
		/* A CPU that is offline has handed its tasks over: migration aborts, too. */
		cpus_read_lock();
		for_each_cpu_and(cpu, at_quiesce_cpus, cpu_online_mask)
			queue_work_on(cpu, at_switch_wq, per_cpu_ptr(&at_switch_work, cpu));
		for_each_cpu_and(cpu, at_quiesce_cpus, cpu_online_mask)
			flush_work(per_cpu_ptr(&at_switch_work, cpu));
		cpus_read_unlock();
	}

	list_for_each_entry_safe(q, next, &batch, node) {
		list_del(&q->node);
		q->done(q);
	}
}

static DECLARE_WORK(at_quiesce_work, at_quiesce_fn);

/**
 * at_quiesce - have ->done called when the CPUs have switched
 * @q: filled in but for the node; belongs to the queue until ->done
 *
 * Does not wait, and may be called with locks held that ->done takes.
 */
void at_quiesce(struct at_quiesce *q)
{
	spin_lock(&at_quiesce_lock);
	list_add_tail(&q->node, &at_quiesce_list);
	spin_unlock(&at_quiesce_lock);
	queue_work(at_wq, &at_quiesce_work);
}

void at_quiesce_flush(void)
{
	flush_work(&at_quiesce_work);
}

int at_quiesce_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&at_switch_work, cpu), at_switch_fn);
	if (!zalloc_cpumask_var(&at_quiesce_cpus, GFP_KERNEL))
		return -ENOMEM;
	at_wq = alloc_workqueue("asynctrace", WQ_UNBOUND, 0);
	if (!at_wq)
		goto err_mask;
	/* High priority: a busy CPU is not to keep ring memory for long. */
	at_switch_wq = alloc_workqueue("asynctrace_switch", WQ_HIGHPRI, 0);
	if (!at_switch_wq)
		goto err_wq;
	return 0;

err_wq:
	destroy_workqueue(at_wq);
err_mask:
	free_cpumask_var(at_quiesce_cpus);
	return -ENOMEM;
}

void at_quiesce_exit(void)
{
	destroy_workqueue(at_wq);
	destroy_workqueue(at_switch_wq);
	free_cpumask_var(at_quiesce_cpus);
}
