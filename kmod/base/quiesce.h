/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AT_QUIESCE_H
#define AT_QUIESCE_H

#include <linux/cpumask.h>
#include <linux/list.h>

/**
 * struct at_quiesce - waits until writers have left
 * @node: in the queue
 * @cpus: those on which writers may be
 * @done: called on a workqueue when each of @cpus has run another task since
 *	at_quiesce() was called; may sleep
 */
struct at_quiesce {
	struct list_head node;
	cpumask_var_t cpus;
	void (*done)(struct at_quiesce *q);
};

void at_quiesce(struct at_quiesce *q);

int at_quiesce_init(void);
void at_quiesce_flush(void);
void at_quiesce_exit(void);

/* Where everything runs that must not hold up a caller. */
extern struct workqueue_struct *at_wq;

#endif /* AT_QUIESCE_H */
