/* SPDX-License-Identifier: GPL-2.0 */
/* The grace period of restartable sequences: waiting until writers have left their sections */
#ifndef AT_QUIESCE_H
#define AT_QUIESCE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/llist.h>
#include <linux/workqueue.h>

struct at_quiesce;

/* Links a request into the queue of one CPU */
struct at_quiesce_node {
	struct llist_node link;
	struct at_quiesce *q;
};

/**
 * struct at_quiesce - a request to wait until writers have left
 * @which: sets the CPUs that a writer may be running on; runs on a workqueue, may sleep
 * @done: called on a workqueue when each of these CPUs has run another task since @which
 *	returned; may sleep, and may call at_quiesce() again
 * @cpus: the CPUs that @which has set
 * @left: CPUs that have not yet run another task, plus 1 while work is being queued on CPUs
 * @sent: work has been queued on the CPUs
 * @work: queues work on the CPUs, and later calls @done
 * @node: one for each possible CPU
 */
struct at_quiesce {
	void (*which)(struct at_quiesce *q, struct cpumask *cpus);
	void (*done)(struct at_quiesce *q);
	cpumask_var_t cpus;
	atomic_t left;
	bool sent;
	struct work_struct work;
	struct at_quiesce_node *node;
};

int at_quiesce_prepare(struct at_quiesce *q,
		       void (*which)(struct at_quiesce *q, struct cpumask *cpus),
		       void (*done)(struct at_quiesce *q));
void at_quiesce_destroy(struct at_quiesce *q);
void at_quiesce(struct at_quiesce *q);
void at_quiesce_wait(void);

int at_quiesce_init(void);
void at_quiesce_flush(void);
void at_quiesce_exit(void);

/*
 * For work that must not delay a caller. It must not wait for memory of a user's cgroup: if many
 * items waited, those of other users could not run.
 */
extern struct workqueue_struct *at_wq;
/* For work of sessions of unprivileged users, which may wait for memory of their cgroups */
extern struct workqueue_struct *at_user_wq;
/*
 * For removing pages from address spaces. This work must not delay at_wq, because it takes long
 * if a provider has many forked children. It must not wait for threads of a provider: see
 * provider/range.h.
 */
extern struct workqueue_struct *at_zap_wq;
/*
 * For waking threads that read or poll a descriptor or a subscriber's socket. A user chooses their
 * number, so they must not be woken under at_lock, or by a worker of at_wq.
 */
extern struct workqueue_struct *at_wake_wq;

#endif /* AT_QUIESCE_H */
