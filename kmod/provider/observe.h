/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a provider can see and say through its descriptor: whether it is recorded,
 * and alerts
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
 * struct at_bucket - how many alerts a provider may still raise
 * @fill_lock: protects the rest
 * @left: so many at once
 * @filled: when it was last filled up, jiffies
 * @refused: alerts that came too fast, and nobody was told of yet
 */
struct at_bucket {
	spinlock_t fill_lock;	/* @left, @filled, @refused */
	u32 left;
	unsigned long filled;
	u32 refused;
};

/* Nothing was read yet: no state is that. */
#define AT_SEEN_NOTHING	(~0ULL)

void at_observe_init(struct at_provider *p);
void at_observe_update(struct at_provider *p);
ssize_t at_observe_read(struct at_file *file, struct at_provider *p, char __user *buf,
			size_t count, bool nonblock);
__poll_t at_observe_poll(struct at_file *file, struct at_provider *p, struct file *f,
			 poll_table *wait);
long at_alert(struct at_provider *p, const struct asynctrace_alert *alert);

#endif /* AT_OBSERVE_H */
