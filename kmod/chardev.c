// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/asynctrace. After open(2) a descriptor has no role. An ioctl or a netlink request makes
 * it the descriptor of a provider, or a session's consumer.
 */
#include <linux/asynctrace.h>
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "control/announced_categories.h"
#include "control/netlink.h"
#include "provider/provider.h"
#include "provider/recording_state.h"
#include "provider/thread_slot_numbers.h"
#include "sched/sched.h"
#include "sched/tasks.h"
#include "session/member.h"
#include "session/session.h"

/* Limit on the size of a registration's attributes: a name and a few numbers. */
#define AT_ATTRS_MAX	512

static int at_open(struct inode *inode, struct file *f)
{
	struct at_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	file->f = f;
	file->seen = AT_SEEN_NOTHING;
	f->private_data = file;
	return nonseekable_open(inode, f);
}

static int at_release(struct inode *inode, struct file *f)
{
	struct at_file *file = f->private_data;
	struct at_provider *p;

	spin_lock(&at_lock);
	/* From here on no request finds the descriptor by its cookie to register a provider. */
	at_file_forget(file);
	p = file->provider;
	if (p)
		at_provider_end(p);
	spin_unlock(&at_lock);
	if (file->session)
		at_session_unconsume(file->session);
	if (p) {
		/* Restore f_mapping, because at_provider_release() frees its present inode. */
		f->f_mapping = inode->i_mapping;
		at_provider_release(p);
	}
	kfree(file);
	return 0;
}

static struct at_provider *at_file_provider(struct at_file *file)
{
	/* Pairs with the store-release in at_provider_publish(). */
	return smp_load_acquire(&file->provider);
}

static struct at_session *at_file_session(struct at_file *file)
{
	/* Pairs with the store-release in at_file_set_session(). */
	return smp_load_acquire(&file->session);
}

static int at_file_mmap(struct file *f, struct vm_area_struct *vma)
{
	struct at_provider *p = at_file_provider(f->private_data);

	return p ? at_mmap(p, vma) : -ENXIO;
}

/*
 * Copy a structure that begins with its size, see uapi/linux/asynctrace.h. @min is the size of
 * its first version.
 */
static long at_get_arg(void *to, size_t size, size_t min, const void __user *from)
{
	u32 theirs;

	if (get_user(theirs, (const u32 __user *)from))
		return -EFAULT;
	if (theirs < min)
		return -EINVAL;
	if (theirs > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, size, from, theirs);
}

static long at_ioc_hello(struct at_file *file, struct asynctrace_hello __user *arg)
{
	struct asynctrace_hello hello;
	u32 size, abi, salt;
	long ret;

	ret = at_get_arg(&hello, sizeof(hello), offsetofend(struct asynctrace_hello, cookie), arg);
	if (ret)
		return ret;
	size = hello.size;
	abi = hello.abi;
	salt = hello.salt;
	if (hello.reserved)
		return -EINVAL;
	hello = (struct asynctrace_hello){
		.size = sizeof(hello),
		.abi = ASYNCTRACE_ABI_VERSION,
	};
	if (abi != ASYNCTRACE_ABI_VERSION) {
		ret = -EPROTO;
	} else {
		ret = at_file_hello(file);
		if (ret)
			return ret;
		spin_lock(&at_lock);
		if (file->mm == current->mm) {
			hello.cookie = file->cookie;
			file->salt = salt;
		} else {
			ret = -EPERM;
		}
		spin_unlock(&at_lock);
	}
	if (copy_to_user(arg, &hello, min_t(size_t, size, sizeof(hello))))
		return -EFAULT;
	return ret;
}

static long at_ioc_register(struct at_file *file, struct asynctrace_attrs __user *arg)
{
	struct at_provider_args args = {};
	struct asynctrace_attrs attrs;
	bool started;
	void *buf;
	u64 cookie;
	long ret;

	ret = at_get_arg(&attrs, sizeof(attrs),
			 offsetofend(struct asynctrace_attrs, reserved), arg);
	if (ret)
		return ret;
	if (attrs.reserved || attrs.len > AT_ATTRS_MAX)
		return -EINVAL;
	buf = memdup_user(u64_to_user_ptr(attrs.attrs), attrs.len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	ret = at_netlink_parse_provider_attrs(buf, attrs.len, &args, NULL);
	if (ret)
		goto out;
	ret = at_file_hello(file);
	if (ret)
		goto out;
	cookie = READ_ONCE(file->cookie);
	ret = at_provider_register(cookie, &args, &attrs.id, &started, NULL);
	if (!ret && put_user(attrs.id, &arg->id))
		ret = -EFAULT;
out:
	kfree(buf);
	return ret;
}

static long at_ioc_announce(struct at_file *file, struct asynctrace_attrs __user *arg)
{
	struct asynctrace_attrs attrs;
	void *buf;
	long ret;

	ret = at_get_arg(&attrs, sizeof(attrs),
			 offsetofend(struct asynctrace_attrs, reserved), arg);
	if (ret)
		return ret;
	if (attrs.reserved || attrs.len > AT_KNOWN_ATTRS_MAX)
		return -EINVAL;
	buf = vmemdup_user(u64_to_user_ptr(attrs.attrs), attrs.len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	ret = at_known_ioctl(file, buf, attrs.len);
	kvfree(buf);
	return ret;
}

static long at_ioc_alert(struct at_file *file, struct asynctrace_alert __user *arg)
{
	struct at_provider *p = at_file_provider(file);
	struct asynctrace_alert alert;
	long ret;

	if (!p)
		return -ENXIO;
	ret = at_get_arg(&alert, sizeof(alert), offsetofend(struct asynctrace_alert, name), arg);
	if (ret)
		return ret;
	return alert.reserved ? -EINVAL : at_alert(p, &alert);
}

/* Add the calling thread to those that the provider's session traces. */
static void at_ioc_add_current(struct at_provider *p)
{
	struct at_session *s = NULL;
	struct at_member *m;

	spin_lock(&at_lock);
	m = p->member;
	if (m && m->session->ks) {
		s = m->session;
		at_session_get(s);
		at_member_get(m);
	}
	spin_unlock(&at_lock);
	if (!s)
		return;
	at_tasks_add_current(m);
	at_member_put(m);
	at_session_put(s);
}

static long at_ioc_thread(struct at_file *file, struct asynctrace_slot __user *arg)
{
	struct at_provider *p = at_file_provider(file);
	struct asynctrace_slot out = {};
	u32 size = 0;
	long slot;

	if (arg) {
		slot = at_get_arg(&out, sizeof(out),
				  offsetofend(struct asynctrace_slot, reserved), arg);
		if (slot)
			return slot;
		if (out.reserved)
			return -EINVAL;
		size = out.size;
		out = (struct asynctrace_slot){ .size = sizeof(out) };
	}
	if (!p)
		return -ENXIO;
	if (p->mm != current->mm)
		return -EPERM;
	if (task_tgid(current) != p->pid) {
		WRITE_ONCE(p->others, true);
		/*
		 * Pairs with the smp_mb() in at_provider_cpus(): either at_provider_cpus()
		 * sees p->others, or this thread sees the gate shut.
		 */
		smp_mb();
	}
	slot = at_slot_get(p, arg ? &out.cell : NULL);
	/*
	 * The session traces only threads of the provider's thread group by itself. Add the
	 * calling thread, which is in another group.
	 */
	if (slot > 0 && READ_ONCE(p->member) && task_tgid(current) != p->pid &&
	    !at_tasks_have_current())
		at_ioc_add_current(p);
	if (slot < 0 || !arg)
		return slot;
	out.slot = slot;
	if (copy_to_user(arg, &out, min_t(size_t, size, sizeof(out))))
		return -EFAULT;
	return slot;
}

static int at_file_set_session(struct at_file *file, struct at_session *s)
{
	int err = 0;

	spin_lock(&at_lock);
	if (file->provider || file->session)
		err = -EBUSY;
	else
		/* Pairs with the load-acquire in at_file_session(). */
		smp_store_release(&file->session, s);
	spin_unlock(&at_lock);
	return err;
}

static long at_ioc_consume(struct at_file *file, struct asynctrace_consume __user *arg)
{
	struct asynctrace_consume c;
	struct at_session *s;
	long ret;

	ret = at_get_arg(&c, sizeof(c), offsetofend(struct asynctrace_consume, reserved), arg);
	if (ret)
		return ret;
	if (c.flags & ~ASYNCTRACE_CONSUME_F_SNAPSHOT || c.reserved)
		return -EINVAL;
	/*
	 * Check before at_session_consume(), which excludes other consumers of the session.
	 * at_file_set_session() checks again under at_lock.
	 */
	if (at_file_provider(file) || at_file_session(file))
		return -EBUSY;
	s = at_session_consume(c.session, c.flags & ASYNCTRACE_CONSUME_F_SNAPSHOT);
	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = at_file_set_session(file, s);
	if (ret)
		at_session_unconsume(s);
	return ret;
}

static long at_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	struct at_file *file = f->private_data;
	void __user *p = (void __user *)arg;

	if (_IOC_TYPE(cmd) != ASYNCTRACE_IOC_MAGIC)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(ASYNCTRACE_IOC_HELLO):
		return at_ioc_hello(file, p);
	case _IOC_NR(ASYNCTRACE_IOC_REGISTER):
		return at_ioc_register(file, p);
	case _IOC_NR(ASYNCTRACE_IOC_THREAD):
		return at_ioc_thread(file, p);
	case _IOC_NR(ASYNCTRACE_IOC_CONSUME):
		return at_ioc_consume(file, p);
	case _IOC_NR(ASYNCTRACE_IOC_ALERT):
		return at_ioc_alert(file, p);
	case _IOC_NR(ASYNCTRACE_IOC_ANNOUNCE):
		return at_ioc_announce(file, p);
	}
	return -ENOTTY;
}

#ifdef CONFIG_COMPAT
/* Reject 32-bit tasks: they need two stores for a ring position, which must be stored at once. */
static long at_compat_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	return -EOPNOTSUPP;
}
#endif

static ssize_t at_read(struct file *f, char __user *buf, size_t count, loff_t *pos)
{
	struct at_session *s = at_file_session(f->private_data);
	struct at_provider *p = at_file_provider(f->private_data);

	if (p)
		return at_observe_read(f->private_data, p, buf, count, f->f_flags & O_NONBLOCK);
	return s ? at_session_read(s, buf, count, f->f_flags & O_NONBLOCK) : -ENXIO;
}

static __poll_t at_poll(struct file *f, poll_table *wait)
{
	struct at_session *s = at_file_session(f->private_data);
	struct at_provider *p = at_file_provider(f->private_data);

	if (p)
		return at_observe_poll(f->private_data, p, f, wait);
	if (!s)
		return EPOLLERR;
	poll_wait(f, &s->wait, wait);
	/* Check the state after poll_wait(). Pairs with wq_has_sleeper() in at_session_wake(). */
	smp_mb();
	if (READ_ONCE(s->state) == ASYNCTRACE_SESSION_STATE_TERMINATED)
		return EPOLLIN | EPOLLRDNORM | EPOLLHUP;
	/* Reading a snapshot never blocks. */
	return READ_ONCE(s->readable) || READ_ONCE(s->snapshot) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations at_fops = {
	.owner = THIS_MODULE,
	.open = at_open,
	.release = at_release,
	.mmap = at_file_mmap,
	.unlocked_ioctl = at_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = at_compat_ioctl,
#endif
	.read = at_read,
	.poll = at_poll,
	.llseek = noop_llseek,
};

static struct miscdevice at_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = ASYNCTRACE_DEVICE,
	.fops = &at_fops,
	/* Every process may register a provider; each request checks what its caller may see. */
	.mode = 0666,
};

int at_chardev_init(void)
{
	return misc_register(&at_device);
}

void at_chardev_exit(void)
{
	misc_deregister(&at_device);
}
