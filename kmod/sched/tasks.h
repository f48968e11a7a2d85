/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which tasks are traced: a hash by task, looked up at every switch.
 */
#ifndef AT_TASKS_H
#define AT_TASKS_H

#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/sched.h>

struct at_ksched;
struct at_member;

/**
 * struct at_task - a traced task
 * @node: in the hash; RCU
 * @task: with a reference
 * @ks: who records it; valid as long as the entry can be found
 * @owner: the session's member whose process it belongs to; valid as @ks is
 * @tid: in the session owner's pid namespace
 * @pid: of its process, there
 * @dead: it has switched out for the last time
 * @gone: next of those that were taken out together
 * @rcu: to free it
 * @of_owner: in the owner's list; under at_tasks_lock
 */
struct at_task {
	struct hlist_node node;
	struct task_struct *task;
	struct at_ksched *ks;
	struct at_member *owner;
	s32 tid;
	s32 pid;
	bool dead;
	struct at_task *gone;
	struct rcu_head rcu;
	struct hlist_node of_owner;
};

#define AT_TASKS_BITS	10

extern struct hlist_head at_tasks[1 << AT_TASKS_BITS];

/* The lower half of an address tells tasks apart, and a constant of 32 bits is no load. */
static __always_inline struct hlist_head *at_task_bucket(const struct task_struct *task)
{
	return &at_tasks[hash_32((u32)(unsigned long)task, AT_TASKS_BITS)];
}

/* With interrupts or preemption off, or under rcu_read_lock(). */
static __always_inline struct at_task *at_task_find(const struct task_struct *task)
{
	struct at_task *e;

	hlist_for_each_entry_rcu_notrace(e, at_task_bucket(task), node)
		if (e->task == task)
			return e;
	return NULL;
}

void at_tasks_add_process(struct at_member *m);
u64 at_tasks_round(void);
bool at_tasks_add_once(struct at_member *m, u64 round);
bool at_tasks_have_current(void);
void at_tasks_add_current(struct at_member *m);
void at_tasks_add_child(const struct task_struct *parent, struct task_struct *child);
void at_tasks_leave(struct at_member *m);
void at_tasks_forget(const struct at_ksched *ks);
void at_tasks_mark_dead(struct at_task *e);
void at_tasks_execed(const struct task_struct *task);
void at_tasks_again(void);

int at_tasks_init(void);
void at_tasks_exit(void);

#endif /* AT_TASKS_H */
