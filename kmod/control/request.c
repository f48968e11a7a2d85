// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: parsing of attributes
 *
 * The policies (generated from uapi/asynctrace.yaml) check types, lengths and ranges. This
 * file checks what they cannot express: required attributes, powers of two, and how often an
 * attribute may occur.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include "base/compat.h"
#include "base/pattern.h"
#include "control/netlink.h"
#include "control/policy.h"
#include "session/categories.h"
#include "session/filter.h"

/**
 * at_netlink_blame() - set the error message for an attribute
 * @extack: the extended ack; may be NULL
 * @attr: the attribute
 * @wrong: the message, a constant text
 */
void at_netlink_blame(struct netlink_ext_ack *extack, const struct nlattr *attr,
		      const char *wrong)
{
	NL_SET_BAD_ATTR(extack, attr);
	if (extack)
		extack->_msg = wrong;
}

static int at_check_name(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	const char *name = nla_data(attr);

	/* The policy (NLA_NUL_STRING) guarantees a NUL, maybe before the last byte. */
	if (*name && strlen(name) + 1 == nla_len(attr))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "a name must not be empty, nor hold a NUL");
	return -EINVAL;
}

static int at_check_power(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	if (is_power_of_2(nla_get_u64(attr)))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "a size must be a power of two");
	return -EINVAL;
}

/**
 * at_netlink_provider_args() - check the attributes of a registration
 * @attrs: parsed attributes, indexed by type
 * @args: out: the parameters; @args->name points into the attributes
 * @extack: for the error message
 *
 * Return: 0 or -EINVAL.
 */
int at_netlink_provider_args(struct nlattr **attrs, struct at_provider_args *args,
			     struct netlink_ext_ack *extack)
{
	struct nlattr *name = attrs[ASYNCTRACE_A_PROVIDER_NAME];
	struct nlattr *version = attrs[ASYNCTRACE_A_PROVIDER_VERSION];
	struct nlattr *stride = attrs[ASYNCTRACE_A_PROVIDER_RING_STRIDE];
	int err;

	if (NL_REQ_ATTR_CHECK(extack, NULL, attrs, ASYNCTRACE_A_PROVIDER_NAME) ||
	    NL_REQ_ATTR_CHECK(extack, NULL, attrs, ASYNCTRACE_A_PROVIDER_RING_STRIDE)) {
		NL_SET_ERR_MSG(extack, "a provider needs a name and a ring stride");
		return -EINVAL;
	}
	err = at_check_name(name, extack);
	if (!err)
		err = at_check_power(stride, extack);
	if (err)
		return err;

	args->name = nla_data(name);
	args->version = version ? nla_get_u32(version) : 0;
	args->ring_stride = nla_get_u64(stride);
	return 0;
}

/**
 * at_netlink_parse_provider_attrs() - parse a registration by ioctl
 * @attrs: attributes, copied from user space
 * @len: bytes at @attrs
 * @args: out: the parameters; @args->name points into @attrs
 * @extack: for the error message; may be NULL
 *
 * Uses the policy of PROVIDER_REGISTER, but rejects a cookie: the ioctl's descriptor already
 * identifies the process.
 *
 * Return: 0 or a negative errno.
 */
int at_netlink_parse_provider_attrs(const void *attrs, u32 len,
				    struct at_provider_args *args,
				    struct netlink_ext_ack *extack)
{
	struct nlattr *tb[ARRAY_SIZE(asynctrace_provider_register_nl_policy)];
	int err;

	err = nla_parse(tb, ARRAY_SIZE(tb) - 1, attrs, len,
			asynctrace_provider_register_nl_policy, extack);
	if (err)
		return err;
	if (tb[ASYNCTRACE_A_PROVIDER_COOKIE]) {
		NL_SET_ERR_MSG_ATTR(extack, tb[ASYNCTRACE_A_PROVIDER_COOKIE],
				    "the descriptor needs no cookie");
		return -EINVAL;
	}
	return at_netlink_provider_args(tb, args, extack);
}

/*
 * Returns the texts of all attributes of @type as one list, NULL if there are none, or
 * ERR_PTR(). The policy bounds the length of each text, but not their number.
 */
static struct at_strings *at_strings_parse(struct genl_info *info, int type)
{
	bool category = type != ASYNCTRACE_A_SESSION_PROVIDER;
	struct at_strings *list;
	size_t bytes = 0, count = 0;
	struct nlattr *attr;
	int rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		size_t len = strnlen(nla_data(attr), nla_len(attr));
		const char *wrong;

		if (nla_type(attr) != type)
			continue;
		if (++count > ASYNCTRACE_CATEGORIES_MAX) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "at most " __stringify(ASYNCTRACE_CATEGORIES_MAX)
					    " of these, leave some out");
			return ERR_PTR(-ERANGE);
		}
		/* A NUL is allowed only as the last byte of the attribute. */
		if (!len || len + 1 < nla_len(attr)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "a pattern must not be empty, nor hold a NUL");
			return ERR_PTR(-EINVAL);
		}
		wrong = category ? at_category_wrong(nla_data(attr), len) :
				   at_pattern_wrong(nla_data(attr), len);
		if (wrong) {
			at_netlink_blame(info->extack, attr, wrong);
			return ERR_PTR(-EINVAL);
		}
		bytes += len + 1;
	}
	if (!count)
		return NULL;

	list = at_strings_new(bytes);
	if (!list)
		return ERR_PTR(-ENOMEM);
	list->count = count;
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		size_t len = strnlen(nla_data(attr), nla_len(attr));

		if (nla_type(attr) != type)
			continue;
		memcpy(list->text + list->bytes, nla_data(attr), len);
		list->text[list->bytes + len] = '\0';
		list->bytes += len + 1;
	}
	return list;
}

static int at_session_sizes(struct nlattr **attrs, struct at_session_args *args,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *ring = attrs[ASYNCTRACE_A_SESSION_RING_SIZE];
	struct nlattr *sub = attrs[ASYNCTRACE_A_SESSION_SUB_SIZE];
	int err;

	err = at_check_power(ring, extack);
	if (err)
		return err;
	args->ring_size = nla_get_u64(ring);
	args->sub_size = sub ? nla_get_u64(sub) : 0;
	if (!args->sub_size)
		return 0;

	err = at_check_power(sub, extack);
	if (err)
		return err;
	if (args->sub_size < ASYNCTRACE_SUBBUF_MIN) {
		NL_SET_ERR_MSG_ATTR(extack, sub,
				    "a sub-buffer has at least "
				    __stringify(ASYNCTRACE_SUBBUF_MIN) " bytes");
		return -EINVAL;
	}
	if (args->sub_size > args->ring_size / ASYNCTRACE_SUBBUFS_MIN) {
		NL_SET_ERR_MSG_ATTR(extack, sub, "a sub-buffer has at most a quarter of its ring");
		return -EINVAL;
	}
	return 0;
}

static u32 at_get_u32(const struct nlattr *attr, u32 otherwise)
{
	return attr ? nla_get_u32(attr) : otherwise;
}

/**
 * at_netlink_session_args() - parse the attributes of a new session
 * @skb: the request
 * @info: the parsed request
 * @caller: the caller
 * @args: out: the parameters; @args->name points into the request. The caller must free the
 *	lists with at_netlink_session_args_free() unless the session takes them over
 *
 * Return: 0 or a negative errno. On an error there is nothing to free in @args.
 */
int at_netlink_session_args(struct sk_buff *skb, struct genl_info *info,
			    const struct at_caller *caller, struct at_session_args *args)
{
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr **attrs = info->attrs;
	struct nlattr *sched = attrs[ASYNCTRACE_A_SESSION_SCHED];
	struct at_strings *list;
	int err;

	memset(args, 0, sizeof(*args));
	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_SESSION_NAME) ||
	    GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_SESSION_MODE) ||
	    GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_SESSION_RING_SIZE)) {
		NL_SET_ERR_MSG(extack, "a session needs a name, a mode and a ring size");
		return -EINVAL;
	}
	err = at_check_name(attrs[ASYNCTRACE_A_SESSION_NAME], extack);
	if (err)
		return err;
	err = at_session_sizes(attrs, args, extack);
	if (err)
		return err;

	args->name = nla_data(attrs[ASYNCTRACE_A_SESSION_NAME]);
	args->mode = nla_get_u32(attrs[ASYNCTRACE_A_SESSION_MODE]);
	args->sched = at_get_u32(sched, ASYNCTRACE_SCHED_TARGETS);
	args->flags = at_get_u32(attrs[ASYNCTRACE_A_SESSION_FLAGS], 0);
	args->sk = NETLINK_CB(skb).sk;
	args->portid = info->snd_portid;
	args->caller = caller;
	if (args->sched == ASYNCTRACE_SCHED_ALL && !caller->privileged) {
		NL_SET_ERR_MSG_ATTR(extack, sched,
				    "scheduling of all tasks needs CAP_PERFMON or CAP_SYS_ADMIN; ask for that of targets");
		return -EPERM;
	}

	list = at_strings_parse(info, ASYNCTRACE_A_SESSION_CATEGORY);
	if (IS_ERR(list))
		return PTR_ERR(list);
	args->categories = list;
	list = at_strings_parse(info, ASYNCTRACE_A_SESSION_PROVIDER);
	if (IS_ERR(list)) {
		at_netlink_session_args_free(args);
		return PTR_ERR(list);
	}
	args->providers = list;
	args->filter = at_filter_parse(info, args->flags & ASYNCTRACE_SESSION_FLAGS_FOLLOW);
	if (IS_ERR(args->filter)) {
		err = PTR_ERR(args->filter);
		args->filter = NULL;
		goto err;
	}
	args->buffers = at_buffers_parse(info);
	if (IS_ERR(args->buffers)) {
		err = PTR_ERR(args->buffers);
		args->buffers = NULL;
		goto err;
	}
	return 0;
err:
	at_netlink_session_args_free(args);
	return err;
}

/**
 * at_netlink_start_args() - parse the attributes of a session's start
 * @info: the request
 * @args: out: the parameters. The caller must drop the list with at_strings_put()
 *
 * Return: 0 or a negative errno. On an error there is nothing to free in @args.
 */
int at_netlink_start_args(struct genl_info *info, struct at_start_args *args)
{
	struct at_strings *list = at_strings_parse(info, ASYNCTRACE_A_SESSION_ADDITIONAL);

	if (IS_ERR(list))
		return PTR_ERR(list);
	args->additional = list;
	args->disposition = at_get_u32(info->attrs[ASYNCTRACE_A_SESSION_DISPOSITION],
				       ASYNCTRACE_DISPOSITION_RETAIN);
	return 0;
}

/**
 * at_netlink_update_args() - parse the new categories of a session
 * @info: the request
 *
 * Return: the list, which the caller must drop with at_strings_put(); NULL for every
 * category; or ERR_PTR().
 */
struct at_strings *at_netlink_update_args(struct genl_info *info)
{
	return at_strings_parse(info, ASYNCTRACE_A_SESSION_CATEGORY);
}

/**
 * at_netlink_session_args_free() - free the lists that no session took over
 * @args: the parameters
 */
void at_netlink_session_args_free(struct at_session_args *args)
{
	at_strings_put(args->categories);
	at_strings_put(args->providers);
	at_filter_free(args->filter);
	kvfree(args->buffers);
	args->categories = NULL;
	args->providers = NULL;
	args->filter = NULL;
	args->buffers = NULL;
}
