// SPDX-License-Identifier: GPL-2.0
/*
 * Reading and polling a provider's descriptor: tells the provider if a session records it.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "base/quiesce.h"
#include "provider/recording_state.h"
#include "provider/provider.h"
#include "session/member.h"
#include "session/session.h"

/* Wake without at_lock, because the provider's user chooses the number of waiters. */
static void at_observe_wake_fn(struct work_struct *work)
{
	struct at_provider *p = container_of(work, struct at_provider, wake_work);

	wake_up_interruptible(&p->observers);
	at_provider_put(p);
}

void at_observe_init(struct at_provider *p)
{
	init_waitqueue_head(&p->observers);
	INIT_WORK(&p->wake_work, at_observe_wake_fn);
}

/**
 * at_observe_update - publish a change of what a provider can observe
 * @p: the provider
 *
 * Gate and state share one word, so that a reader without at_lock sees a consistent pair. A
 * worker wakes the readers.
 */
void at_observe_update(struct at_provider *p)
{
	const struct at_member *m = p->member;
	u64 now = p->control->gate | (u64)(m ? m->session->state : 0) << 32;

	lockdep_assert_held(&at_lock);
	if (now == p->observed && !p->dead)
		return;
	WRITE_ONCE(p->observed, now);
	/*
	 * A thread that begins to wait after this check sees the change. Pairs with the barriers
	 * in wait_event_interruptible() and at_observe_poll().
	 */
	if (!wq_has_sleeper(&p->observers))
		return;
	at_provider_get(p);
	if (!queue_work(at_wake_wq, &p->wake_work))
		at_provider_put(p);
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
	/* Check the state after poll_wait(). Pairs with wq_has_sleeper() in at_observe_update(). */
	smp_mb();
	if (READ_ONCE(p->dead))
		return EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	return at_observe_news(file, p) ? EPOLLIN | EPOLLRDNORM : 0;
}
