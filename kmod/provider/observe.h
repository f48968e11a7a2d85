/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptor of a provider: reports whether the provider is being recorded, and accepts
 * alerts.
 */
#ifndef AT_OBSERVE_H
#define AT_OBSERVE_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct asynctrace_alert;
struct at_file;
struct at_provider;

/**
 * struct at_bucket - rate limit of a provider's alerts
 * @fill_lock: protects the other members
 * @left: alerts that may be raised at once
 * @filled: when @left was last increased, jiffies
 * @refused: alerts dropped because they came too fast, and not yet reported
 */
struct at_bucket {
	spinlock_t fill_lock;	/* @left, @filled, @refused */
	u32 left;
	unsigned long filled;
	u32 refused;
};

/* Initial value of at_file.seen: differs from every state. */
#define AT_SEEN_NOTHING	(~0ULL)

void at_observe_init(struct at_provider *p);
void at_observe_update(struct at_provider *p);
ssize_t at_observe_read(struct at_file *file, struct at_provider *p, char __user *buf,
			size_t count, bool nonblock);
__poll_t at_observe_poll(struct at_file *file, struct at_provider *p, struct file *f,
			 poll_table *wait);
long at_alert(struct at_provider *p, const struct asynctrace_alert *alert);

#endif /* AT_OBSERVE_H */
