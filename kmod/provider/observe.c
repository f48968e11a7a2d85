// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptor of a provider: state of the recording, and alerts.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "control/monitor.h"
#include "provider/observe.h"
#include "provider/provider.h"
#include "session/member.h"
#include "session/session.h"

/* Size of an alert burst, and jiffies until one more is allowed */
#define AT_ALERTS_MAX		16
#define AT_ALERT_PERIOD		max_t(unsigned long, HZ / 100, 1)

void at_observe_init(struct at_provider *p)
{
	init_waitqueue_head(&p->observers);
	spin_lock_init(&p->alerts.fill_lock);
	p->alerts.left = AT_ALERTS_MAX;
	p->alerts.filled = jiffies;
}

/**
 * at_observe_update - publish a change of what a provider can observe
 * @p: the provider
 *
 * Gate and state share one word, so that a reader without at_lock sees a consistent pair.
 */
void at_observe_update(struct at_provider *p)
{
	const struct at_member *m = p->member;
	u64 now = p->control->gate | (u64)(m ? m->session->state : 0) << 32;

	lockdep_assert_held(&at_lock);
	if (now == p->observed && !p->dead)
		return;
	WRITE_ONCE(p->observed, now);
	wake_up_interruptible(&p->observers);
}

static bool at_observe_news(const struct at_file *file, const struct at_provider *p)
{
	return READ_ONCE(p->observed) != READ_ONCE(file->seen) || READ_ONCE(p->dead);
}

/**
 * at_observe_read - read(2) of a provider's descriptor
 * @file: the descriptor
 * @p: the provider
 * @buf: for a struct asynctrace_observed
 * @count: size of @buf
 * @nonblock: do not wait for a change
 *
 * Return: number of bytes; 0 if the provider has ended; -EAGAIN, -EPERM for another
 * process, -EINVAL if @count is too small, -EFAULT, -ERESTARTSYS.
 */
ssize_t at_observe_read(struct at_file *file, struct at_provider *p, char __user *buf,
			size_t count, bool nonblock)
{
	struct asynctrace_observed o = {};
	u64 now;

	if (p->mm != current->mm)
		return -EPERM;
	if (count < offsetofend(struct asynctrace_observed, reserved))
		return -EINVAL;
	if (!at_observe_news(file, p)) {
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(p->observers, at_observe_news(file, p)))
			return -ERESTARTSYS;
	}
	if (READ_ONCE(p->dead))
		return 0;
	now = READ_ONCE(p->observed);
	o.gate = lower_32_bits(now);
	o.state = upper_32_bits(now);
	count = min(count, sizeof(o));
	o.size = count;
	if (copy_to_user(buf, &o, count))
		return -EFAULT;
	WRITE_ONCE(file->seen, now);
	return count;
}

__poll_t at_observe_poll(struct at_file *file, struct at_provider *p, struct file *f,
			 poll_table *wait)
{
	poll_wait(f, &p->observers, wait);
	if (READ_ONCE(p->dead))
		return EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	return at_observe_news(file, p) ? EPOLLIN | EPOLLRDNORM : 0;
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
