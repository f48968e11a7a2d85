/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alerts: notifications that a provider sends to subscribers of its session.
 */
#ifndef AT_ALERT_H
#define AT_ALERT_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct asynctrace_alert;
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

void at_alerts_init(struct at_provider *p);
long at_alert(struct at_provider *p, const struct asynctrace_alert *alert);

#endif /* AT_ALERT_H */
