/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Preallocated entries for threads that traced tasks fork
 */
#ifndef AT_TASK_POOL_H
#define AT_TASK_POOL_H

#include <linux/types.h>

struct at_member;
struct at_task;

void at_task_pool_fill(void);
struct at_task *at_task_pool_take(struct at_member *m);
void at_task_pool_put(struct at_task *e);
bool at_task_pool_is_tight(void);
void at_task_pool_exit(void);

#endif /* AT_TASK_POOL_H */
