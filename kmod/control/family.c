// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "asynctrace", specified in uapi/asynctrace.yaml
 *
 * A handler parses and allocates before it takes a lock, and sends and frees after it has
 * released the lock. So no user waits for memory that is charged to another user's cgroup.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <net/netns/hash.h>
#include <net/sock.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/pattern.h"
#include "base/race.h"
#include "control/announced_categories.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "control/policy.h"
#include "session/session.h"

static int at_nl_info_get(struct sk_buff *skb, struct genl_info *info,
			  const struct at_caller *caller)
{
	void *header;
	struct sk_buff *reply = at_netlink_reply(info, &header);

	if (!reply)
		return -ENOMEM;
	if (nla_put_u32(reply, ASYNCTRACE_A_INFO_ABI, ASYNCTRACE_ABI_VERSION) ||
	    nla_put_u32(reply, ASYNCTRACE_A_INFO_CLOCK, at_clock_best()) ||
	    nla_put_u32(reply, ASYNCTRACE_A_INFO_NR_CPUS, nr_cpu_ids) ||
	    nla_put_u32(reply, ASYNCTRACE_A_INFO_ONLINE_CPUS, num_online_cpus()) ||
	    nla_put_u64_64bit(reply, ASYNCTRACE_A_INFO_MEMORY_LIMIT,
			      at_memory_limit(caller->privileged),
			      ASYNCTRACE_A_INFO_PAD) ||
	    (caller->privileged && nla_put_flag(reply, ASYNCTRACE_A_INFO_PRIVILEGED))) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	return at_netlink_send(reply, header, info);
}

static int at_nl_provider_register(struct sk_buff *skb, struct genl_info *info,
				   const struct at_caller *caller)
{
	struct nlattr *cookie = info->attrs[ASYNCTRACE_A_PROVIDER_COOKIE];
	struct at_provider_args args;
	struct sk_buff *reply;
	bool started = false;
	void *header;
	u32 id = 0;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_PROVIDER_COOKIE)) {
		GENL_SET_ERR_MSG(info, "say which descriptor: the cookie is missing");
		return -EINVAL;
	}
	err = at_netlink_provider_args(info->attrs, &args, info->extack);
	if (err)
		return err;
	/* Allocate the reply first: without it the caller would not learn the provider's id. */
	reply = at_netlink_reply(info, &header);
	if (!reply)
		return -ENOMEM;
	err = at_provider_register(nla_get_u64(cookie), &args, &id, &started, info->extack);
	if (err == -ENOENT)
		NL_SET_BAD_ATTR(info->extack, cookie);
	if (!err && (nla_put_u32(reply, ASYNCTRACE_A_PROVIDER_ID, id) ||
		     (started && nla_put_flag(reply, ASYNCTRACE_A_PROVIDER_STARTED))))
		err = -EMSGSIZE;
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	return at_netlink_send(reply, header, info);
}

static int at_nl_provider_get(struct sk_buff *skb, struct genl_info *info,
			      const struct at_caller *caller)
{
	struct nlattr *attr = info->attrs[ASYNCTRACE_A_PROVIDER_ID];
	struct at_provider *p;
	struct sk_buff *reply;
	void *header;
	int err;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_PROVIDER_ID)) {
		GENL_SET_ERR_MSG(info, "say which provider, or ask for a dump of all");
		return -EINVAL;
	}
	reply = at_netlink_reply(info, &header);
	if (!reply)
		return -ENOMEM;
	id = nla_get_u32(attr);
	spin_lock(&at_lock);
	p = at_provider_next(&id, caller);
	if (!p || id != nla_get_u32(attr))
		err = -ENOENT;
	else
		err = at_netlink_fill_provider(reply, p, caller);
	spin_unlock(&at_lock);
	if (!err)
		return at_netlink_send(reply, header, info);
	nlmsg_free(reply);
	if (err != -ENOENT)
		return err;
	NL_SET_BAD_ATTR(info->extack, attr);
	if (caller->privileged)
		NL_SET_ERR_MSG(info->extack, "no such provider");
	else
		NL_SET_ERR_MSG(info->extack,
			       "no such provider is yours; others' take CAP_PERFMON");
	return err;
}

static int at_nl_session_create(struct sk_buff *skb, struct genl_info *info,
				const struct at_caller *caller)
{
	struct at_session_args args;
	struct sk_buff *reply;
	struct at_session *s;
	void *header;
	int err;

	err = at_netlink_session_args(skb, info, caller, &args);
	if (err)
		return err;
	reply = at_netlink_reply(info, &header);
	s = reply ? at_session_create(&args, info->extack) : ERR_PTR(-ENOMEM);
	at_netlink_session_args_free(&args);
	if (IS_ERR(s)) {
		nlmsg_free(reply);
		return PTR_ERR(s);
	}
	err = nla_put_u32(reply, ASYNCTRACE_A_SESSION_ID, s->id);
	if (err)
		nlmsg_free(reply);
	else
		err = at_netlink_send(reply, header, info);
	/* Without the reply, the caller does not know that there is a session, nor its id. */
	if (err)
		at_session_terminate_anyway(s);
	else
		at_session_put(s);
	return err;
}

typedef struct at_session *at_session_fn(u32 id, const struct at_caller *caller,
					 struct netlink_ext_ack *extack);

/*
 * Returns the session that a request names, with a reference, or ERR_PTR(). @get is
 * at_session_control() or at_session_find().
 */
static struct at_session *at_nl_session_by(struct genl_info *info,
					   const struct at_caller *caller, at_session_fn *get)
{
	struct at_session *s;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_SESSION_ID)) {
		GENL_SET_ERR_MSG(info, "say which session: its id is missing");
		return ERR_PTR(-EINVAL);
	}
	s = get(nla_get_u32(info->attrs[ASYNCTRACE_A_SESSION_ID]), caller, info->extack);
	if (IS_ERR(s))
		NL_SET_BAD_ATTR(info->extack, info->attrs[ASYNCTRACE_A_SESSION_ID]);
	return s;
}

static struct at_session *at_nl_session(struct genl_info *info,
					const struct at_caller *caller)
{
	return at_nl_session_by(info, caller, at_session_control);
}

/* Handle a request that has no attribute but the session's id. */
static int at_nl_session_plain(struct sk_buff *skb, struct genl_info *info,
			       const struct at_caller *caller)
{
	struct at_session *s = at_nl_session(info, caller);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	switch (info->genlhdr->cmd) {
	case ASYNCTRACE_CMD_SESSION_INIT:
		err = at_session_init(s, info->extack);
		break;
	case ASYNCTRACE_CMD_SESSION_STOP:
		err = at_session_stop(s, info->extack);
		break;
	default:
		err = at_session_terminate(s, info->extack);
	}
	at_session_put(s);
	return err;
}

static int at_nl_session_start(struct sk_buff *skb, struct genl_info *info,
			       const struct at_caller *caller)
{
	struct at_start_args args;
	struct at_session *s;
	int err;

	err = at_netlink_start_args(info, &args);
	if (err)
		return err;
	s = at_nl_session(info, caller);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
	} else {
		err = at_session_start(s, &args, info->extack);
		at_session_put(s);
	}
	at_strings_put(args.additional);
	return err;
}

static int at_nl_session_update(struct sk_buff *skb, struct genl_info *info,
				const struct at_caller *caller)
{
	struct at_strings *categories = at_netlink_update_args(info), *additional = NULL;
	struct at_session *s;
	int err;

	if (IS_ERR(categories))
		return PTR_ERR(categories);
	s = at_nl_session(info, caller);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
	} else {
		err = at_session_update(s, &categories, &additional, info->extack);
		at_session_put(s);
	}
	at_strings_put(categories);
	at_strings_put(additional);
	return err;
}

static int at_nl_session_get(struct sk_buff *skb, struct genl_info *info,
			     const struct at_caller *caller)
{
	struct at_session *s;
	struct sk_buff *reply;
	struct at_part part;
	void *header;
	int err;

	reply = at_netlink_reply(info, &header);
	if (!reply)
		return -ENOMEM;
	s = at_nl_session_by(info, caller, at_session_find);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
	} else {
		part = at_part_of(reply, 0, 0);
		err = at_netlink_fill_session(&part, s, NULL);
		at_session_put(s);
	}
	if (err < 0) {
		nlmsg_free(reply);
		return err;
	}
	return at_netlink_send(reply, header, info);
}

typedef int (*at_handler)(struct sk_buff *skb, struct genl_info *info,
			  const struct at_caller *caller);

static const at_handler at_handlers[] = {
	[ASYNCTRACE_CMD_INFO_GET] = at_nl_info_get,
	[ASYNCTRACE_CMD_PROVIDER_REGISTER] = at_nl_provider_register,
	[ASYNCTRACE_CMD_PROVIDER_GET] = at_nl_provider_get,
	[ASYNCTRACE_CMD_SESSION_CREATE] = at_nl_session_create,
	[ASYNCTRACE_CMD_SESSION_INIT] = at_nl_session_plain,
	[ASYNCTRACE_CMD_SESSION_START] = at_nl_session_start,
	[ASYNCTRACE_CMD_SESSION_STOP] = at_nl_session_plain,
	[ASYNCTRACE_CMD_SESSION_TERMINATE] = at_nl_session_plain,
	[ASYNCTRACE_CMD_SESSION_GET] = at_nl_session_get,
	[ASYNCTRACE_CMD_PROVIDER_ANNOUNCE] = at_netlink_announce,
	[ASYNCTRACE_CMD_SESSION_UPDATE] = at_nl_session_update,
	[ASYNCTRACE_CMD_SUBSCRIBE] = at_netlink_subscribe,
};

/* Determine the caller of a request, and call the handler. */
static int at_nl_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct at_caller caller;
	int err;

	err = at_netlink_caller(skb, &caller, info->extack);
	if (err)
		return err;
	return at_handlers[info->genlhdr->cmd](skb, info, &caller);
}

#define AT_POLICY(name)						\
	.policy = asynctrace_##name##_nl_policy,		\
	.maxattr = ARRAY_SIZE(asynctrace_##name##_nl_policy) - 1

/* For commands without attributes: without a policy, netlink would accept any attribute. */
static const struct nla_policy asynctrace_none_nl_policy[2];

static const struct genl_ops at_genl_ops[] = {
	{
		.cmd = ASYNCTRACE_CMD_INFO_GET,
		.doit = at_nl_doit,
		AT_POLICY(none),
	}, {
		.cmd = ASYNCTRACE_CMD_PROVIDER_REGISTER,
		.doit = at_nl_doit,
		AT_POLICY(provider_register),
	}, {
		.cmd = ASYNCTRACE_CMD_PROVIDER_GET,
		.doit = at_nl_doit,
		.start = at_netlink_dump_start,
		.dumpit = at_netlink_dump_providers,
		.done = at_netlink_dump_done,
		AT_POLICY(provider_get),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_CREATE,
		.doit = at_nl_doit,
		AT_POLICY(session_create),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_INIT,
		.doit = at_nl_doit,
		AT_POLICY(session_init),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_START,
		.doit = at_nl_doit,
		AT_POLICY(session_start),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_STOP,
		.doit = at_nl_doit,
		AT_POLICY(session_stop),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_TERMINATE,
		.doit = at_nl_doit,
		AT_POLICY(session_terminate),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_GET,
		.doit = at_nl_doit,
		.start = at_netlink_dump_start,
		.dumpit = at_netlink_dump_sessions,
		.done = at_netlink_lists_done,
		AT_POLICY(session_get),
	}, {
		.cmd = ASYNCTRACE_CMD_RING_GET,
		.start = at_netlink_dump_start,
		.dumpit = at_netlink_dump_rings,
		.done = at_netlink_dump_done,
		AT_POLICY(ring_get),
	}, {
		.cmd = ASYNCTRACE_CMD_PROVIDER_ANNOUNCE,
		.doit = at_nl_doit,
		AT_POLICY(provider_announce),
	}, {
		.cmd = ASYNCTRACE_CMD_CATEGORY_GET,
		.start = at_netlink_dump_start,
		.dumpit = at_netlink_dump_known,
		.done = at_netlink_lists_done,
		AT_POLICY(none),
	}, {
		.cmd = ASYNCTRACE_CMD_SESSION_UPDATE,
		.doit = at_nl_doit,
		AT_POLICY(session_update),
	}, {
		.cmd = ASYNCTRACE_CMD_SUBSCRIBE,
		.doit = at_nl_doit,
		AT_POLICY(subscribe),
	},
};

struct genl_family at_genl_family __ro_after_init = {
	.name = ASYNCTRACE_FAMILY_NAME,
	.version = ASYNCTRACE_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,	/* The handlers do their own locking. */
	.module = THIS_MODULE,
	.ops = at_genl_ops,
	.n_ops = ARRAY_SIZE(at_genl_ops),
};

/* Load the module when a program looks up the family. */
MODULE_ALIAS_GENL_FAMILY(ASYNCTRACE_FAMILY_NAME);

#define AT_OWNERS_BITS	8

/*
 * Number of objects that sockets own, by a hash of the port. Written under at_lock, but read
 * without: closing a socket that owns nothing must not wait for at_lock.
 */
static u32 at_owned[1 << AT_OWNERS_BITS];

static u32 *at_owned_by(const struct net *net, u32 portid)
{
	return &at_owned[hash_32(portid ^ net_hash_mix(net), AT_OWNERS_BITS)];
}

/**
 * at_netlink_own - count an object that must be released when a socket is closed
 * @sk: the socket of the current request
 * @portid: port of @sk
 */
void at_netlink_own(const struct sock *sk, u32 portid)
{
	u32 *owned = at_owned_by(sock_net(sk), portid);

	lockdep_assert_held(&at_lock);
	WRITE_ONCE(*owned, *owned + 1);
}

/**
 * at_netlink_disown - undo at_netlink_own(): the object was released, or must outlive the socket
 * @sk: the socket, closed or not
 * @portid: port of @sk
 */
void at_netlink_disown(const struct sock *sk, u32 portid)
{
	u32 *owned = at_owned_by(sock_net(sk), portid);

	lockdep_assert_held(&at_lock);
	WRITE_ONCE(*owned, *owned - 1);
}

/* A socket is being released: release the objects that it owns. */
static int at_netlink_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct netlink_notify *n = arg;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC)
		return NOTIFY_DONE;
	/*
	 * No request of the socket is running or can follow: a request is handled within the
	 * system call that sends it, with a reference to the socket's file. Dropping that
	 * reference is fully ordered, so this reads without at_lock what at_netlink_own() has
	 * counted for the socket. A count for another socket with the same port or hash is
	 * harmless: the calls below release only what SOCK_DEAD sockets own.
	 */
	if (!READ_ONCE(*at_owned_by(n->net, n->portid)))
		return NOTIFY_DONE;
	at_session_owner_gone(n->net, n->portid);
	spin_lock(&at_lock);
	at_notify_socket_gone(n->net, n->portid);
	spin_unlock(&at_lock);
	return NOTIFY_OK;
}

static struct notifier_block at_netlink_notifier = {
	.notifier_call = at_netlink_event,
};

/**
 * at_netlink_init() - register the family
 *
 * Requests may arrive before this returns, so everything that they need must be ready.
 *
 * Return: 0 or a negative errno.
 */
int __init at_netlink_init(void)
{
	int err;

	BUILD_BUG_ON(ARRAY_SIZE(at_handlers) != ASYNCTRACE_CMD_NOTIFICATION);
	err = netlink_register_notifier(&at_netlink_notifier);
	if (err)
		return err;
	err = genl_register_family(&at_genl_family);
	if (err)
		netlink_unregister_notifier(&at_netlink_notifier);
	return err;
}

/**
 * at_netlink_exit() - unregister the family
 *
 * Waits for requests, so at_lock must not be held, and what requests need must still be there.
 */
void at_netlink_exit(void)
{
	genl_unregister_family(&at_genl_family);
	netlink_unregister_notifier(&at_netlink_notifier);
	at_notify_exit();
}
