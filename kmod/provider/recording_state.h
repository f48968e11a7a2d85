/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading and polling a provider's descriptor: tells the provider if a session records it.
 */
#ifndef AT_RECORDING_STATE_H
#define AT_RECORDING_STATE_H

#include <linux/poll.h>
#include <linux/types.h>

struct at_file;
struct at_provider;

/* Initial value of at_file.seen: differs from every state. */
#define AT_SEEN_NOTHING	(~0ULL)

void at_observe_init(struct at_provider *p);
void at_observe_update(struct at_provider *p);
ssize_t at_observe_read(struct at_file *file, struct at_provider *p, char __user *buf,
			size_t count, bool nonblock);
__poll_t at_observe_poll(struct at_file *file, struct at_provider *p, struct file *f,
			 poll_table *wait);

#endif /* AT_RECORDING_STATE_H */
