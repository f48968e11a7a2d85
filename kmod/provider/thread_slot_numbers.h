/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Thread slots: the numbers by which a provider's records name its threads.
 */
#ifndef AT_THREAD_SLOT_NUMBERS_H
#define AT_THREAD_SLOT_NUMBERS_H

#include <linux/asynctrace.h>
#include <linux/types.h>

struct at_provider;
struct pid;
struct pid_namespace;

long at_slot_get(struct at_provider *p, u32 *cell);
u32 at_slot_cell(struct at_provider *p, const struct pid *pid);
u32 at_slots_last(const struct at_provider *p);
u32 at_slots_read(struct at_provider *p, u32 *cursor, u32 last, struct pid_namespace *ns,
		  struct asynctrace_thread *threads, u32 max);
void at_slots_destroy(struct at_provider *p);

#endif /* AT_THREAD_SLOT_NUMBERS_H */
