/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking for threads of providers' processes that have no entry in the table of traced tasks
 */
#ifndef AT_LOOKS_H
#define AT_LOOKS_H

#include <linux/types.h>

struct at_member;

void at_tasks_add_process(struct at_member *m);
u64 at_tasks_round(void);
void at_tasks_add_once(struct at_member *m, u64 round);
void at_tasks_miss(struct at_member *m, u32 threads);
void at_tasks_want_look(struct at_member *m);
void at_tasks_leave_others(const struct at_member *m);
void at_tasks_again(void);
void at_looks_exit(void);

#endif /* AT_LOOKS_H */
