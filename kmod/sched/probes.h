/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a session (ksched.c) and of its list of tasks (tasks.c) to the scheduler's probes
 * (probes.c)
 */
#ifndef AT_PROBES_H
#define AT_PROBES_H

struct at_ksched;
struct at_task;

int at_probes_need(struct at_ksched *ks);
void at_probes_release(struct at_ksched *ks);
void at_probes_list(struct at_ksched *ks);
void at_probes_unlist(struct at_ksched *ks);
void at_probes_forget(struct at_ksched *ks);
void at_probes_watch(const struct at_task *e);

#endif /* AT_PROBES_H */
