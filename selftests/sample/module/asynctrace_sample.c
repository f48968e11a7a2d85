// SPDX-License-Identifier: GPL-2.0
/*
 * A driver whose tracepoints have ids of operations.
 *
 * A program submits requests and waits for their completions with read(2). A request completes
 * in a timer's interrupt or in a kernel worker, on a thread that has nothing to do with it. The
 * tracepoint of the completion has the id that the program handed over with the request, so a
 * recorder finds the operation that it belongs to.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "sample.h"

#define CREATE_TRACE_POINTS
#include "sample_trace.h"

#define SAMPLE_REQUESTS_MAX	256	/* of an open file */

/**
 * struct sample_file - an open file
 * @lock: protects the lists and @nr; taken in interrupts
 * @pending: requests that have not completed
 * @done: requests that have completed and were not read
 * @nr: number of both
 * @wait: readers
 */
struct sample_file {
	spinlock_t lock;
	struct list_head pending;
	struct list_head done;
	unsigned int nr;
	wait_queue_head_t wait;
};

/**
 * struct sample_work - a request
 * @file: the file that it was submitted to
 * @list: in one of the file's lists
 * @operation: id of the program's operation
 * @timer: completes the request in an interrupt
 * @work: completes it in a worker
 */
struct sample_work {
	struct sample_file *file;
	struct list_head list;
	u64 operation;
	struct hrtimer timer;
	struct delayed_work work;
};

static void sample_complete(struct sample_work *w)
{
	struct sample_file *f = w->file;
	unsigned long flags;

	trace_sample_complete(w->operation, 0);
	spin_lock_irqsave(&f->lock, flags);
	list_move_tail(&w->list, &f->done);
	/* Under the lock, because a reader may otherwise free the request and close the file. */
	wake_up_interruptible(&f->wait);
	spin_unlock_irqrestore(&f->lock, flags);
}

static enum hrtimer_restart sample_timer_fn(struct hrtimer *timer)
{
	sample_complete(container_of(timer, struct sample_work, timer));
	return HRTIMER_NORESTART;
}

static void sample_work_fn(struct work_struct *work)
{
	sample_complete(container_of(to_delayed_work(work), struct sample_work, work));
}

static struct sample_work *sample_new(struct sample_file *f, u64 operation)
{
	struct sample_work *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	w->file = f;
	w->operation = operation;
	INIT_DELAYED_WORK(&w->work, sample_work_fn);
	/* On PREEMPT_RT the timer expires in a softirq, where the file's lock may be taken. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&w->timer, sample_timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	w->timer.function = sample_timer_fn;
#endif
	return w;
}

static long sample_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct sample_file *f = file->private_data;
	struct sample_request request;
	struct sample_work *w;

	if (cmd != SAMPLE_IOC_SUBMIT)
		return -ENOTTY;
	if (copy_from_user(&request, (void __user *)arg, sizeof(request)))
		return -EFAULT;
	if (request.delay_us > SAMPLE_DELAY_MAX_US || request.how > SAMPLE_WORKER)
		return -EINVAL;
	w = sample_new(f, request.operation);
	if (!w)
		return -ENOMEM;

	spin_lock_irq(&f->lock);
	if (f->nr == SAMPLE_REQUESTS_MAX) {
		spin_unlock_irq(&f->lock);
		kfree(w);
		return -EAGAIN;
	}
	f->nr++;
	list_add_tail(&w->list, &f->pending);
	spin_unlock_irq(&f->lock);

	trace_sample_submit(request.operation, request.delay_us);
	if (request.how == SAMPLE_WORKER)
		schedule_delayed_work(&w->work, usecs_to_jiffies(request.delay_us));
	else
		hrtimer_start(&w->timer, ns_to_ktime(request.delay_us * 1000ULL), HRTIMER_MODE_REL);
	return 0;
}

/* Stop what may complete the request. Sleeps. */
static void sample_stop(struct sample_work *w)
{
	hrtimer_cancel(&w->timer);
	cancel_delayed_work_sync(&w->work);
}

static struct sample_work *sample_take_done(struct sample_file *f)
{
	struct sample_work *w;

	spin_lock_irq(&f->lock);
	w = list_first_entry_or_null(&f->done, struct sample_work, list);
	if (w) {
		list_del(&w->list);
		f->nr--;
	}
	spin_unlock_irq(&f->lock);
	return w;
}

static ssize_t sample_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct sample_file *f = file->private_data;
	struct sample_work *w;
	u64 operation;
	int err;

	if (len < sizeof(operation))
		return -EINVAL;
	err = wait_event_interruptible(f->wait, (w = sample_take_done(f)));
	if (err)
		return err;
	/* The timer or the worker may still be about to return. */
	sample_stop(w);
	operation = w->operation;
	kfree(w);
	return copy_to_user(buf, &operation, sizeof(operation)) ? -EFAULT : sizeof(operation);
}

static int sample_open(struct inode *inode, struct file *file)
{
	struct sample_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->pending);
	INIT_LIST_HEAD(&f->done);
	init_waitqueue_head(&f->wait);
	file->private_data = f;
	return stream_open(inode, file);
}

static int sample_release(struct inode *inode, struct file *file)
{
	struct sample_file *f = file->private_data;
	struct sample_work *w, *next;

	/* No request is added any more. One that completes meanwhile moves to the other list. */
	for (;;) {
		spin_lock_irq(&f->lock);
		w = list_first_entry_or_null(&f->pending, struct sample_work, list);
		spin_unlock_irq(&f->lock);
		if (!w)
			break;
		sample_stop(w);
		spin_lock_irq(&f->lock);
		list_move_tail(&w->list, &f->done);
		spin_unlock_irq(&f->lock);
	}
	list_for_each_entry_safe(w, next, &f->done, list) {
		sample_stop(w);
		kfree(w);
	}
	kfree(f);
	return 0;
}

static const struct file_operations sample_fops = {
	.owner = THIS_MODULE,
	.open = sample_open,
	.release = sample_release,
	.read = sample_read,
	.unlocked_ioctl = sample_ioctl,
};

static struct miscdevice sample_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = SAMPLE_DEVICE,
	.fops = &sample_fops,
};
module_misc_device(sample_misc);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Driver whose tracepoints have ids of operations");
