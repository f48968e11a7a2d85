/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scheduling side of a session: records switches and wakeups of its threads.
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

/* Entries of a CPU's cache of recorded task names */
#define AT_NAMED	256

/**
 * struct at_named - a task and its name
 * @task: value of at_task_key()
 * @name: value of at_name_key()
 */
struct at_named {
	u64 task;
	u64 name;
};

/**
 * struct at_kcpu - a session's kernel rings on one CPU
 * @events: switches and wakeups
 * @switch_head: first word of a switch on this CPU, by ASYNCTRACE_FXT_STATE_*
 * @names: names of the tasks in @events; each record is a struct asynctrace_task_name
 * @reasons: switches say why the outgoing task leaves its CPU
 * @foreign: at_ksched.foreign, which the fast path finds here
 * @named: cache of the tasks whose names were recorded lately
 */
struct at_kcpu {
	struct at_kring events;
	u64 switch_head[ASYNCTRACE_FXT_STATE_DEAD + 1];
	struct at_kring names;
	bool reasons;
	bool foreign;
	struct at_named named[AT_NAMED];
};

/**
 * struct at_ksched - the scheduling side of a session
 * @node: in the probes' list of sessions, if @all is set; RCU
 * @cpu: rings of each possible CPU; a ring gets its memory when its CPU first writes
 * @spares: spare memory for each kind of ring
 * @quick: for each CPU, its entry of @cpu if the fast path may be used there: the session is
 *	started, and the clock is the counter; otherwise an entry without room
 * @ns: pid namespace of the session's owner; NULL: the initial one
 * @clock: enum asynctrace_clock
 * @all: records every task, not only those of providers
 * @reasons: switches say why the outgoing task leaves its CPU
 * @foreign: may name tasks that belong to no provider of the session
 * @plain: @foreign is set, and thread ids are those of the initial pid namespace
 * @on: the session is started
 * @probed: counted in at_nr_probed; under at_lock
 * @listed: tasks may be added; changed under at_lock
 * @missed: number of members' threads without an entry; see at_tasks_looked()
 * @left: cookie of the grace period of the last stop: when it is over, probes that found @on
 *	set before that stop have returned
 * @sharing: counts of the members that share the rings
 * @session: the session, which owns this structure
 * @end_work: makes the probes forget the session; holds a reference to the session
 */
struct at_ksched {
	struct list_head node;
	struct at_kcpu __percpu *cpu;
	struct at_spares spares[AT_KRINGS];
	struct at_kcpu * __percpu *quick;
	struct pid_namespace *ns;
	u32 clock;
	bool all;
	bool reasons;
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
 * struct at_sched_cost - work of the probes since the module was loaded
 * @calls: number of calls of probes
 * @switches: number of switches recorded
 * @wakings: number of wakeups recorded
 */
struct at_sched_cost {
	u64 calls;
	u64 switches;
	u64 wakings;
};

void at_sched_cost(struct at_sched_cost *cost);

#endif /* AT_SCHED_H */
