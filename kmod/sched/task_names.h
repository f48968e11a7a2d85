/* SPDX-License-Identifier: GPL-2.0 */
/* Table of task names, for the consumers that a session has in turn */
#ifndef AT_TASK_NAMES_H
#define AT_TASK_NAMES_H

#include <linux/asynctrace.h>
#include <linux/types.h>

struct at_kring;
struct at_ksched;
struct at_session;
struct at_span;
struct at_task_names;

struct at_task_names *at_task_names_new(const struct at_session *s);
void at_task_names_free(struct at_task_names *names);
void at_task_names_drain(struct at_task_names *names, const struct at_ksched *ks);
unsigned long at_task_names_begin(struct at_task_names *names, const struct at_ksched *ks,
				  unsigned long told);
bool at_task_names_added(const struct at_task_names *names, unsigned long told);
unsigned long at_task_names_copy(struct at_task_names *names, const struct at_kring *r,
				 const struct at_span *span);
u32 at_task_names_fill(const struct at_ksched *ks);
u32 at_task_names_read(struct at_task_names *names, unsigned long *cursor,
		       unsigned long last, struct asynctrace_task_name *to, u32 max);
u64 at_task_names_lost(const struct at_task_names *names, const struct at_ksched *ks);

#endif /* AT_TASK_NAMES_H */
