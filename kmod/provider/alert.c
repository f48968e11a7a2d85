// SPDX-License-Identifier: GPL-2.0
/*
 * Alerts: notifications that a provider sends to subscribers of its session, and their rate
 * limit.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "control/monitor.h"
#include "provider/alert.h"
#include "provider/provider.h"
#include "session/member.h"
#include "session/session.h"

/* Size of an alert burst, and jiffies until one more is allowed */
#define AT_ALERTS_MAX		16
#define AT_ALERT_PERIOD		max_t(unsigned long, HZ / 100, 1)

void at_alerts_init(struct at_provider *p)
{
	spin_lock_init(&p->alerts.fill_lock);
	p->alerts.left = AT_ALERTS_MAX;
	p->alerts.filled = jiffies;
}

/*
 * Take one alert from the bucket. Returns false if alerts come too fast. @refused: set on
 * success to the number refused since the last success.
 */
static bool at_bucket_take(struct at_bucket *b, u32 *refused)
{
	unsigned long more;
	bool ok;

	spin_lock(&b->fill_lock);
	more = (jiffies - b->filled) / AT_ALERT_PERIOD;
	b->left = min_t(unsigned long, b->left + more, AT_ALERTS_MAX);
	b->filled += more * AT_ALERT_PERIOD;
	ok = b->left;
	if (ok) {
		b->left--;
		*refused = b->refused;
		b->refused = 0;
	} else {
		b->refused++;
	}
	spin_unlock(&b->fill_lock);
	return ok;
}

/**
 * at_alert - raise an alert
 * @p: the provider
 * @alert: copied from user space
 *
 * Alerts that come too fast are dropped. The next alert tells subscribers how many were
 * dropped.
 *
 * Return: 0; -EAGAIN if no session records @p or if alerts come too fast, -EPERM for
 * another process, -EINVAL if the name is not valid.
 */
long at_alert(struct at_provider *p, const struct asynctrace_alert *alert)
{
	size_t len = strnlen(alert->name, sizeof(alert->name));
	const struct at_member *m;
	long ret = -EAGAIN;
	u32 refused;

	if (p->mm != current->mm)
		return -EPERM;
	if (!len || len > ASYNCTRACE_ALERT_MAX ||
	    memchr_inv(alert->name + len, 0, sizeof(alert->name) - len))
		return -EINVAL;
	/* A provider that is not recorded, or floods, must not contend for at_lock. */
	if (!READ_ONCE(p->member) || !at_bucket_take(&p->alerts, &refused))
		return -EAGAIN;
	spin_lock(&at_lock);
	m = p->member;
	if (m && m->rings && m->session->state == ASYNCTRACE_SESSION_STATE_STARTED) {
		at_notify_alert(p, alert->name, refused);
		ret = 0;
	}
	spin_unlock(&at_lock);
	return ret;
}
