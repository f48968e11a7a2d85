/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adding and removing traced tasks
 */
#ifndef AT_TASKS_H
#define AT_TASKS_H

#include "sched/task_table.h"

struct at_task *at_task_kept(const struct task_struct *task);
bool at_task_wanted(struct task_struct *task, const struct at_ksched *ks,
		    const struct at_member *owner);
int at_task_add(struct at_task *e, struct task_struct *task, struct at_ksched *ks,
		struct at_member *owner);
bool at_tasks_have_current(void);
void at_tasks_add_current(struct at_member *m);
void at_tasks_set_cell(struct at_provider *p);
void at_tasks_add_child(const struct task_struct *parent, struct task_struct *child);
void at_tasks_leave(struct at_member *m);
bool at_tasks_none(const struct at_member *m);
void at_tasks_forget(const struct at_ksched *ks);
void at_tasks_mark_dead(struct at_task *e);
void at_tasks_execed(const struct task_struct *task);
bool at_tasks_leaving(void);

int at_tasks_init(void);
void at_tasks_exit(void);

#endif /* AT_TASKS_H */
