/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a session (ksched.c) to the scheduler's probes (probes.c)
 */
#ifndef AT_PROBES_H
#define AT_PROBES_H

struct at_ksched;

int at_probes_need(struct at_ksched *ks);
void at_probes_release(struct at_ksched *ks);
void at_probes_list(struct at_ksched *ks);
void at_probes_unlist(struct at_ksched *ks);
void at_probes_forget(struct at_ksched *ks);

#endif /* AT_PROBES_H */
