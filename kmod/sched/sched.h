/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler did to the threads of a session.
 */
#ifndef AT_SCHED_H
#define AT_SCHED_H

#include <linux/asynctrace_fxt.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "ring/kernel_ring.h"

struct at_member;
struct at_provider;
struct at_session;
struct pid_namespace;

/* Tasks whose names a CPU remembers to have told. */
#define AT_NAMED	256

/**
 * struct at_kcpu - a session's kernel rings on one CPU
 * @events: switches and wakeups
 * @switch_head: first word of a switch on this CPU, by ASYNCTRACE_FXT_STATE_*
 * @open: the task that runs was shown coming, and is not traced: its leaving is
 *	to be shown, too
 * @names: of the tasks in them; struct asynctrace_task_name, one a record
 * @named: tasks whose names were told lately, by at_name_key()
 */
struct at_kcpu {
	struct at_kring events;
	u64 switch_head[ASYNCTRACE_FXT_STATE_DEAD + 1];
	bool open;
	struct at_kring names;
	u64 named[AT_NAMED];
};

/**
 * struct at_ksched - the scheduling side of a session
 * @node: among those that the probes know; RCU
 * @cpu: rings of each possible CPU; they get their memory when the CPU first writes
 * @spares: that memory, for each kind of ring
 * @quick: the CPU's rings, where a probe may record into them without asking any
 *	further: the session is started, the clock is the counter, and no session
 *	records every task. Else NULL.
 * @ns: pid namespace of the session's owner, NULL: the initial one
 * @clock: enum asynctrace_clock
 * @all: records every task, not only those of providers
 * @foreign: may name tasks that are not of the session's providers
 * @plain: and does so by the ids that the kernel has at hand
 * @on: the session is started
 * @probed: it counts among those that need the probes; under at_probes_mutex
 * @listed: @node is in use, and tasks may be added; under at_lock
 * @missed: threads of its members that there was no entry for; see at_tasks_looked()
 * @left: the grace period after which no probe is left that found it on before the
 *	last stop
 * @sharing: among whom the rings are shared
 * @session: whose; it holds this
 * @end_work: has the probes forget it, with a reference on the session
 */
struct at_ksched {
	struct list_head node;
	struct at_kcpu __percpu *cpu;
	struct at_spares spares[AT_KRINGS];
	struct at_kcpu * __percpu *quick;
	struct pid_namespace *ns;
	u32 clock;
	bool all;
	bool foreign;
	bool plain;
	bool on;
	bool probed;
	bool listed;
	u64 missed;
	unsigned long left;
	struct at_sharing sharing;
	struct at_session *session;
	struct work_struct end_work;
};

struct at_ksched *at_ksched_new(struct at_session *s);
void at_ksched_free(struct at_ksched *ks);
int at_ksched_prepare(struct at_ksched *ks);
void at_ksched_list(struct at_ksched *ks);
void at_ksched_open(struct at_ksched *ks);
void at_ksched_stop(struct at_ksched *ks);
void at_ksched_wait(const struct at_ksched *ks);
void at_ksched_unlist(struct at_ksched *ks);
void at_ksched_look(struct at_ksched *ks);
u64 at_ksched_pages(const struct at_ksched *ks);

int at_sched_init(void);
void at_sched_exit(void);

/**
 * struct at_sched_cost - what the probes did since the module was loaded
 * @calls: probes that ran
 * @switches: of them, those that recorded a switch
 * @wakings: a wakeup
 */
struct at_sched_cost {
	u64 calls;
	u64 switches;
	u64 wakings;
};

void at_sched_cost(struct at_sched_cost *cost);

#endif /* AT_SCHED_H */
