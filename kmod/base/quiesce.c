// SPDX-License-Identifier: GPL-2.0
/*
 * The grace period of restartable sequences.
 *
 * A thread may be anywhere in its critical section when its ring is removed. Once its CPU has
 * run another task, the thread has left the section or will restart it: the kernel aborts a
 * sequence whose thread was switched out. An RCU grace period is not enough, because user
 * mode is a quiescent state, and membarrier is not exported. So a work item runs on each CPU
 * that may be running a writer.
 *
 * Each request waits only for its own CPUs, so that a real-time task that occupies a CPU
 * delays no other requests. A waiting request does not block CPU hotplug.
 */
#include <linux/cpu.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "base/compat.h"
#include "base/quiesce.h"
#include "base/race.h"

struct workqueue_struct *at_wq;
struct workqueue_struct *at_user_wq;
struct workqueue_struct *at_zap_wq;
struct workqueue_struct *at_wake_wq;
static struct workqueue_struct *at_switch_wq;

/**
 * struct at_switch - makes one CPU run another task
 * @work: runs on the CPU; its worker is the task that the CPU switches to
 * @requests: nodes of the requests that wait for @work
 * @cpu: the CPU
 */
struct at_switch {
	struct work_struct work;
	struct llist_head requests;
	int cpu;
};

static DEFINE_PER_CPU(struct at_switch, at_switches);

/* Number of requests whose ->done has not returned. Unloading the module waits for 0. */
static atomic_t at_quiesce_open;

static void at_quiesce_put(struct at_quiesce *q)
{
	if (atomic_dec_and_test(&q->left))
		queue_work(at_wq, &q->work);
}

static void at_switch_fn(struct work_struct *work)
{
	struct at_switch *sw = container_of(work, struct at_switch, work);
	struct at_quiesce_node *node, *next;

	/*
	 * This work must run on sw->cpu. If it runs on another CPU, queue it again, unless
	 * sw->cpu is offline: an offline CPU has no tasks.
	 */
	if (raw_smp_processor_id() != sw->cpu && cpu_online(sw->cpu)) {
		queue_work_on(sw->cpu, at_switch_wq, work);
		return;
	}
	llist_for_each_entry_safe(node, next, llist_del_all(&sw->requests), link)
		at_quiesce_put(node->q);
}

/*
 * Queue work on the CPUs that ->which has set. Skip offline CPUs: their writers were migrated,
 * which aborts critical sections.
 */
static void at_quiesce_send(struct at_quiesce *q)
{
	int cpu;

	atomic_set(&q->left, 1);
	at_race(AT_RACE_SWITCH);
	if (at_fixed(AT_FIX_SWITCH)) {
		cpus_read_lock();
		for_each_cpu_and(cpu, q->cpus, cpu_online_mask) {
			struct at_switch *sw = per_cpu_ptr(&at_switches, cpu);

			atomic_inc(&q->left);
			q->node[cpu].q = q;
			llist_add(&q->node[cpu].link, &sw->requests);
			queue_work_on(cpu, at_switch_wq, &sw->work);
		}
		cpus_read_unlock();
	}
	at_quiesce_put(q);
}

static void at_quiesce_fn(struct work_struct *work)
{
	struct at_quiesce *q = container_of(work, struct at_quiesce, work);

	if (q->sent) {
		q->done(q);
		if (atomic_dec_and_test(&at_quiesce_open))
			wake_up_var(&at_quiesce_open);
		return;
	}
	q->sent = true;
	cpumask_clear(q->cpus);
	q->which(q, q->cpus);
	at_quiesce_send(q);
}

/**
 * at_quiesce - call ->done when all writers have left their critical sections
 * @q: from at_quiesce_prepare(); must not be reused before ->done is called
 *
 * Does not wait, and may be called with locks held that ->which and ->done take.
 */
void at_quiesce(struct at_quiesce *q)
{
	q->sent = false;
	atomic_inc(&at_quiesce_open);
	queue_work(at_wq, &q->work);
}

/* Wait until no request is open. Only ->done may still make requests during the wait. */
void at_quiesce_wait(void)
{
	wait_var_event(&at_quiesce_open, !atomic_read(&at_quiesce_open));
}

/**
 * at_quiesce_prepare - initialise a request
 * @q: the request; zeroed by the caller
 * @which: see struct at_quiesce
 * @done: see struct at_quiesce
 *
 * Return: 0 or -ENOMEM. The caller must call at_quiesce_destroy() in both cases.
 */
int at_quiesce_prepare(struct at_quiesce *q,
		       void (*which)(struct at_quiesce *q, struct cpumask *cpus),
		       void (*done)(struct at_quiesce *q))
{
	INIT_WORK(&q->work, at_quiesce_fn);
	q->which = which;
	q->done = done;
	if (!zalloc_cpumask_var(&q->cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	q->node = kvcalloc(nr_cpu_ids, sizeof(*q->node), GFP_KERNEL_ACCOUNT);
	return q->node ? 0 : -ENOMEM;
}

void at_quiesce_destroy(struct at_quiesce *q)
{
	kvfree(q->node);
	free_cpumask_var(q->cpus);
}

int at_quiesce_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct at_switch *sw = per_cpu_ptr(&at_switches, cpu);

		INIT_WORK(&sw->work, at_switch_fn);
		init_llist_head(&sw->requests);
		sw->cpu = cpu;
	}
	at_wq = alloc_workqueue("asynctrace", WQ_UNBOUND, 0);
	if (!at_wq)
		return -ENOMEM;
	at_user_wq = alloc_workqueue("asynctrace_user", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!at_user_wq)
		goto err_wq;
	at_zap_wq = alloc_workqueue("asynctrace_zap", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!at_zap_wq)
		goto err_user_wq;
	at_wake_wq = alloc_workqueue("asynctrace_wake", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!at_wake_wq)
		goto err_zap_wq;
	/* High priority, so that a busy CPU does not delay the release of ring memory. */
	at_switch_wq = alloc_workqueue("asynctrace_switch", WQ_HIGHPRI | WQ_PERCPU, 0);
	if (at_switch_wq)
		return 0;
	destroy_workqueue(at_wake_wq);
err_zap_wq:
	destroy_workqueue(at_zap_wq);
err_user_wq:
	destroy_workqueue(at_user_wq);
err_wq:
	destroy_workqueue(at_wq);
	return -ENOMEM;
}

/* Wait for the work that sessions have queued, and for the work that it queues. */
void at_quiesce_flush(void)
{
	flush_workqueue(at_user_wq);
	flush_workqueue(at_wq);
	/* No descriptor is open and no subscriber is left, so this work is not queued any more. */
	flush_workqueue(at_wake_wq);
}

void at_quiesce_exit(void)
{
	destroy_workqueue(at_user_wq);
	destroy_workqueue(at_wake_wq);
	destroy_workqueue(at_zap_wq);
	destroy_workqueue(at_wq);
	destroy_workqueue(at_switch_wq);
}
