// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of sessions, and sizes of rings by provider. Ids are translated from the caller's
 * namespaces when the session is created. Providers are matched later, when a session may
 * take them.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/compat.h"
#include "base/pattern.h"
#include "control/control.h"
#include "control/netlink.h"
#include "control/policy.h"
#include "provider/provider.h"
#include "session/filter.h"

/* Limit of the ancestors of a process that a filter looks at */
#define AT_ANCESTORS_MAX	256

#ifdef CONFIG_CGROUPS
static int at_filter_cgroup(struct at_filter *filter, const struct nlattr *attr,
			    struct netlink_ext_ack *extack)
{
	struct cgroup *cgrp = cgroup_get_from_id(nla_get_u64(attr));

	if (IS_ERR(cgrp)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "no cgroup of the unified hierarchy has this number; it is that of its directory's inode");
		return PTR_ERR(cgrp);
	}
	filter->cgroups[filter->nr_cgroups++] = cgrp;
	return 0;
}

static void at_filter_put_cgroups(struct at_filter *filter)
{
	u32 i;

	for (i = 0; i < filter->nr_cgroups; i++)
		cgroup_put(filter->cgroups[i]);
}

static u64 at_filter_cgroup_id(const struct at_filter *filter, u32 i)
{
	return cgroup_id(filter->cgroups[i]);
}

static bool at_filter_wants_cgroup(const struct at_filter *filter, struct task_struct *task)
{
	struct cgroup *cgrp = task_dfl_cgroup(task);
	u32 i;

	for (i = 0; i < filter->nr_cgroups; i++)
		if (cgroup_is_descendant(cgrp, filter->cgroups[i]))
			return true;
	return false;
}
#else
static int at_filter_cgroup(struct at_filter *filter, const struct nlattr *attr,
			    struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG_ATTR(extack, attr, "this kernel has no cgroups");
	return -EOPNOTSUPP;
}

static void at_filter_put_cgroups(struct at_filter *filter) { }

static u64 at_filter_cgroup_id(const struct at_filter *filter, u32 i)
{
	return 0;
}

static bool at_filter_wants_cgroup(const struct at_filter *filter, struct task_struct *task)
{
	return false;
}
#endif

static int at_filter_pid(struct at_filter *filter, const struct nlattr *attr,
			 struct netlink_ext_ack *extack)
{
	u32 nr = nla_get_u32(attr);
	struct pid *pid = nr <= PID_MAX_LIMIT ? find_get_pid(nr) : NULL;
	bool is;

	rcu_read_lock();
	is = pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	if (!is) {
		put_pid(pid);
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "no process has this number in your pid namespace");
		return -ESRCH;
	}
	filter->pids[filter->nr_pids++] = pid;
	return 0;
}

static int at_filter_user(struct at_filter *filter, const struct nlattr *attr,
			  struct netlink_ext_ack *extack)
{
	kuid_t uid = make_kuid(current_user_ns(), nla_get_u32(attr));

	if (!uid_valid(uid)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "your user namespace has no such user");
		return -EINVAL;
	}
	filter->users[filter->nr_users++] = uid;
	return 0;
}

static int at_filter_add(struct at_filter *filter, const struct nlattr *attr,
			 struct netlink_ext_ack *extack)
{
	u32 nr;

	switch (nla_type(attr)) {
	case ASYNCTRACE_A_SESSION_PID:
		nr = filter->nr_pids;
		break;
	case ASYNCTRACE_A_SESSION_USER:
		nr = filter->nr_users;
		break;
	case ASYNCTRACE_A_SESSION_CGROUP:
		nr = filter->nr_cgroups;
		break;
	default:
		return 0;
	}
	if (nr == ASYNCTRACE_CATEGORIES_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "at most " __stringify(ASYNCTRACE_CATEGORIES_MAX)
				    " of these, leave some out");
		return -ERANGE;
	}
	switch (nla_type(attr)) {
	case ASYNCTRACE_A_SESSION_PID:
		return at_filter_pid(filter, attr, extack);
	case ASYNCTRACE_A_SESSION_USER:
		return at_filter_user(filter, attr, extack);
	default:
		return at_filter_cgroup(filter, attr, extack);
	}
}

/**
 * at_filter_parse - parse a session's filters
 * @info: the request
 * @follow: descendants of processes match, too
 *
 * Return: the filters, for at_filter_free(); NULL if there are none; ERR_PTR() of -ESRCH,
 * -EINVAL, -ENOENT, -ERANGE, -EOPNOTSUPP or -ENOMEM.
 */
struct at_filter *at_filter_parse(struct genl_info *info, bool follow)
{
	struct nlattr **attrs = info->attrs, *attr;
	struct at_filter *filter;
	int rem, err;

	if (!attrs[ASYNCTRACE_A_SESSION_PID] && !attrs[ASYNCTRACE_A_SESSION_USER] &&
	    !attrs[ASYNCTRACE_A_SESSION_CGROUP])
		return NULL;
	filter = kzalloc(sizeof(*filter), GFP_KERNEL_ACCOUNT);
	if (!filter)
		return ERR_PTR(-ENOMEM);
	filter->follow = follow;
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		err = at_filter_add(filter, attr, info->extack);
		if (err) {
			at_filter_free(filter);
			return ERR_PTR(err);
		}
	}
	return filter;
}

void at_filter_free(struct at_filter *filter)
{
	u32 i;

	if (!filter)
		return;
	for (i = 0; i < filter->nr_pids; i++)
		put_pid(filter->pids[i]);
	at_filter_put_cgroups(filter);
	kfree(filter);
}

/*
 * Returns the number of a process in the caller's pid namespace, or 0 if it has ended or is not
 * in that namespace.
 */
static u32 at_filter_pid_nr(struct pid *pid)
{
	u32 nr = 0;

	rcu_read_lock();
	if (pid_task(pid, PIDTYPE_TGID))
		nr = pid_nr_ns(pid, task_active_pid_ns(current));
	rcu_read_unlock();
	return nr;
}

/**
 * at_filter_put - put the attributes of filters
 * @part: message to put them in
 * @filter: may be NULL
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int at_filter_put(struct at_part *part, const struct at_filter *filter)
{
	struct sk_buff *skb = part->skb;
	u32 i;

	if (!filter)
		return 0;
	for (i = 0; i < filter->nr_pids; i++)
		if (!at_part_has(part) &&
		    at_part_full(part, nla_put_u32(skb, ASYNCTRACE_A_SESSION_PID,
						   at_filter_pid_nr(filter->pids[i]))))
			return -EMSGSIZE;
	for (i = 0; i < filter->nr_users; i++)
		if (!at_part_has(part) &&
		    at_part_full(part, nla_put_u32(skb, ASYNCTRACE_A_SESSION_USER,
						   from_kuid_munged(current_user_ns(),
								    filter->users[i]))))
			return -EMSGSIZE;
	for (i = 0; i < filter->nr_cgroups; i++)
		if (!at_part_has(part) &&
		    at_part_full(part, nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_CGROUP,
							 at_filter_cgroup_id(filter, i),
							 ASYNCTRACE_A_SESSION_PAD)))
			return -EMSGSIZE;
	return 0;
}

static bool at_filter_has_pid(const struct at_filter *filter, const struct pid *pid)
{
	u32 i;

	for (i = 0; i < filter->nr_pids; i++)
		if (filter->pids[i] == pid)
			return true;
	return false;
}

/*
 * Is an ancestor of @task in the filter? Called under rcu_read_lock(). An orphan has its reaper
 * as parent. The walk is limited, because a user may make a chain of any number of processes.
 */
static bool at_filter_has_ancestor(const struct at_filter *filter, struct task_struct *task)
{
	u32 n;

	for (n = 0; task->pid && n < AT_ANCESTORS_MAX; n++) {
		task = rcu_dereference(task->real_parent);
		if (at_filter_has_pid(filter, task_tgid(task)))
			return true;
	}
	return false;
}

static bool at_filter_wants_user(const struct at_filter *filter, kuid_t uid)
{
	u32 i;

	for (i = 0; i < filter->nr_users; i++)
		if (uid_eq(filter->users[i], uid))
			return true;
	return !filter->nr_users;
}

/**
 * at_filter_wants - does a filter match the process of a provider?
 * @filter: may be NULL
 * @p: the provider
 *
 * Visits up to AT_ANCESTORS_MAX ancestors, so the caller holds no lock.
 *
 * Return: true if it does.
 */
bool at_filter_wants(const struct at_filter *filter, const struct at_provider *p)
{
	struct task_struct *task;
	bool wants;

	lockdep_assert_not_held(&at_lock);
	if (!filter)
		return true;
	if (!at_filter_wants_user(filter, p->uid))
		return false;
	rcu_read_lock();
	task = pid_task(p->pid, PIDTYPE_TGID);
	wants = !filter->nr_pids || at_filter_has_pid(filter, p->pid) ||
		(filter->follow && task && at_filter_has_ancestor(filter, task));
	if (wants && filter->nr_cgroups)
		wants = task && at_filter_wants_cgroup(filter, task);
	rcu_read_unlock();
	return wants;
}

static int at_buffer_parse(const struct nlattr *attr, struct at_buffers *buffers,
			   struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(asynctrace_buffer_nl_policy)];
	struct nlattr *provider, *size;
	const char *wrong;
	int err;

	err = nla_parse_nested(tb, ARRAY_SIZE(tb) - 1, attr, asynctrace_buffer_nl_policy, extack);
	if (err)
		return err;
	provider = tb[ASYNCTRACE_A_BUFFER_PROVIDER];
	size = tb[ASYNCTRACE_A_BUFFER_RING_SIZE];
	if (NL_REQ_ATTR_CHECK(extack, attr, tb, ASYNCTRACE_A_BUFFER_PROVIDER) ||
	    NL_REQ_ATTR_CHECK(extack, attr, tb, ASYNCTRACE_A_BUFFER_RING_SIZE)) {
		NL_SET_ERR_MSG(extack, "a buffer size needs a provider and a ring size");
		return -EINVAL;
	}
	/* The policy guarantees a NUL, but not that it is the last byte. */
	if (!*(const char *)nla_data(provider) ||
	    strlen(nla_data(provider)) + 1 != nla_len(provider)) {
		NL_SET_ERR_MSG_ATTR(extack, provider,
				    "a pattern must not be empty, nor hold a NUL");
		return -EINVAL;
	}
	wrong = at_pattern_wrong(nla_data(provider), nla_len(provider) - 1);
	if (wrong) {
		at_netlink_blame(extack, provider, wrong);
		return -EINVAL;
	}
	if (!is_power_of_2(nla_get_u64(size))) {
		NL_SET_ERR_MSG_ATTR(extack, size, "a size must be a power of two");
		return -EINVAL;
	}
	buffers->item[buffers->count - 1].ring_size = nla_get_u64(size);
	nla_strscpy(buffers->item[buffers->count - 1].provider, provider,
		    sizeof(buffers->item[0].provider));
	return 0;
}

/**
 * at_buffers_parse - parse ring sizes by provider
 * @info: the request
 *
 * Return: the sizes, for kvfree(); NULL if there are none; ERR_PTR() of -EINVAL, -ERANGE
 * or -ENOMEM.
 */
struct at_buffers *at_buffers_parse(struct genl_info *info)
{
	struct at_buffers *buffers;
	struct nlattr *attr;
	u32 count = 0;
	int rem, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != ASYNCTRACE_A_SESSION_BUFFER)
			continue;
		if (++count > ASYNCTRACE_CATEGORIES_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "at most " __stringify(ASYNCTRACE_CATEGORIES_MAX)
					    " of these, leave some out");
			return ERR_PTR(-ERANGE);
		}
	}
	if (!count)
		return NULL;
	buffers = kvzalloc(struct_size(buffers, item, count), GFP_KERNEL_ACCOUNT);
	if (!buffers)
		return ERR_PTR(-ENOMEM);
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != ASYNCTRACE_A_SESSION_BUFFER)
			continue;
		buffers->count++;
		err = at_buffer_parse(attr, buffers, info->extack);
		if (err) {
			kvfree(buffers);
			return ERR_PTR(err);
		}
	}
	return buffers;
}

static int at_buffer_put(struct sk_buff *skb, const struct at_buffers *buffers, u32 i)
{
	struct nlattr *nest = nla_nest_start(skb, ASYNCTRACE_A_SESSION_BUFFER);

	if (!nest ||
	    nla_put_string(skb, ASYNCTRACE_A_BUFFER_PROVIDER, buffers->item[i].provider) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_BUFFER_RING_SIZE, buffers->item[i].ring_size, 0))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Put the attributes of ring sizes, as at_filter_put() does. */
int at_buffers_put(struct at_part *part, const struct at_buffers *buffers)
{
	u32 i;

	for (i = 0; buffers && i < buffers->count; i++)
		if (!at_part_has(part) && at_part_full(part, at_buffer_put(part->skb, buffers, i)))
			return -EMSGSIZE;
	return 0;
}

/* Returns a provider's ring size: that of the first matching item, or @otherwise. */
u64 at_buffers_size(const struct at_buffers *buffers, const char *provider, u64 otherwise)
{
	u32 i;

	for (i = 0; buffers && i < buffers->count; i++)
		if (at_pattern_matches(buffers->item[i].provider,
				       strlen(buffers->item[i].provider), provider))
			return buffers->item[i].ring_size;
	return otherwise;
}
