// SPDX-License-Identifier: GPL-2.0
/*
 * Categories that providers announce: parsed, kept, listed.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/compat.h"
#include "control/announce.h"
#include "control/netlink.h"
#include "control/policy.h"
#include "provider/provider.h"

/* The two texts of an announced category; both policies have bounded the lengths. */
struct at_known_one {
	const char *name;
	size_t name_len;
	const char *description;
	size_t description_len;
};

static int at_known_text(const struct nlattr *attr, const char **text, size_t *len,
			 struct netlink_ext_ack *extack)
{
	*text = nla_data(attr);
	*len = strnlen(*text, nla_len(attr));
	/* A NUL ends the attribute, or is not there. */
	if (*len + 1 >= nla_len(attr))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "a text must not hold a NUL");
	return -EINVAL;
}

static int at_known_parse_one(const struct nlattr *nest, struct at_known_one *one,
			      struct netlink_ext_ack *extack)
{
	const struct nlattr *attr, *name = NULL;
	int rem, err;

	memset(one, 0, sizeof(*one));
	nla_for_each_nested(attr, nest, rem) {
		if (nla_type(attr) == ASYNCTRACE_A_KNOWN_NAME) {
			name = attr;
			err = at_known_text(attr, &one->name, &one->name_len, extack);
		} else {
			err = at_known_text(attr, &one->description, &one->description_len,
					    extack);
		}
		if (err)
			return err;
	}
	if (one->name_len)
		return 0;
	if (name)
		NL_SET_BAD_ATTR(extack, name);
	else
		NL_SET_ERR_ATTR_MISS(extack, nest, ASYNCTRACE_A_KNOWN_NAME);
	NL_SET_ERR_MSG(extack, "a category needs a name");
	return -EINVAL;
}

static bool at_known_has(const struct at_known *known, const struct at_known_one *one)
{
	const char *text = known->text;
	u32 i;

	for (i = 0; i < known->count; i++) {
		size_t len = strlen(text);

		if (len == one->name_len && !memcmp(text, one->name, len))
			return true;
		text += len + 1;
		text += strlen(text) + 1;
	}
	return false;
}

static void at_known_add(struct at_known *known, const struct at_known_one *one)
{
	char *text = known->text + known->bytes;

	memcpy(text, one->name, one->name_len);
	text[one->name_len] = '\0';
	text += one->name_len + 1;
	if (one->description)
		memcpy(text, one->description, one->description_len);
	text[one->description_len] = '\0';
	known->bytes += one->name_len + 1 + one->description_len + 1;
	known->count++;
}

/*
 * All announced categories among these attributes, which have been checked by the
 * policy; NULL where there are none.
 */
static struct at_known *at_known_parse(const struct nlattr *attrs, int len,
				       struct netlink_ext_ack *extack)
{
	struct at_known_one one;
	const struct nlattr *attr;
	struct at_known *known;
	size_t bytes = 0;
	u32 count = 0;
	int rem, err;

	nla_for_each_attr(attr, attrs, len, rem) {
		if (nla_type(attr) != ASYNCTRACE_A_PROVIDER_KNOWN)
			continue;
		if (++count > ASYNCTRACE_CATEGORIES_MAX) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "at most " __stringify(ASYNCTRACE_CATEGORIES_MAX)
					    " categories, leave some out");
			return ERR_PTR(-ERANGE);
		}
		err = at_known_parse_one(attr, &one, extack);
		if (err)
			return ERR_PTR(err);
		bytes += one.name_len + 1 + one.description_len + 1;
	}
	if (!count)
		return NULL;
	known = kvmalloc(struct_size(known, text, bytes), GFP_KERNEL_ACCOUNT);
	if (!known)
		return ERR_PTR(-ENOMEM);
	known->count = 0;
	known->bytes = 0;
	nla_for_each_attr(attr, attrs, len, rem) {
		if (nla_type(attr) != ASYNCTRACE_A_PROVIDER_KNOWN)
			continue;
		at_known_parse_one(attr, &one, extack);
		if (at_known_has(known, &one)) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "this category was announced already");
			kvfree(known);
			return ERR_PTR(-EINVAL);
		}
		at_known_add(known, &one);
	}
	return known;
}

/* Exchange *@known for what the provider of this process has announced before. */
static int at_known_set(struct at_file *file, struct at_known **known)
{
	struct at_provider *p = file ? file->provider : NULL;

	lockdep_assert_held(&at_mutex);
	if (!p || p->dead || p->mm != current->mm)
		return -ENOENT;
	swap(p->known, *known);
	return 0;
}

/**
 * at_known_ioctl - announce without a socket
 * @file: the provider's descriptor
 * @attrs: attributes, copied from user space
 * @len: bytes at @attrs
 *
 * Return: 0; -ENOENT where it is no provider of this process, -EINVAL or
 * -ERANGE for wrong attributes, -ENOMEM.
 */
long at_known_ioctl(struct at_file *file, const void *attrs, u32 len)
{
	struct nlattr *tb[ARRAY_SIZE(asynctrace_provider_announce_nl_policy)];
	struct at_known *known;
	int err;

	err = nla_parse(tb, ARRAY_SIZE(tb) - 1, attrs, len,
			asynctrace_provider_announce_nl_policy, NULL);
	if (err)
		return err;
	if (tb[ASYNCTRACE_A_PROVIDER_COOKIE])
		return -EINVAL;
	known = at_known_parse(attrs, len, NULL);
	if (IS_ERR(known))
		return PTR_ERR(known);
	mutex_lock(&at_mutex);
	err = at_known_set(file, &known);
	mutex_unlock(&at_mutex);
	kvfree(known);
	return err;
}

/**
 * at_netlink_announce - a provider says what categories it can record
 * @skb: the request
 * @info: it, parsed
 * @caller: who asks
 *
 * Return: as at_known_ioctl().
 */
int at_netlink_announce(struct sk_buff *skb, struct genl_info *info,
			const struct at_caller *caller)
{
	struct nlattr *cookie = info->attrs[ASYNCTRACE_A_PROVIDER_COOKIE];
	struct at_known *known;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_PROVIDER_COOKIE)) {
		GENL_SET_ERR_MSG(info, "say whose: the cookie is missing");
		return -EINVAL;
	}
	known = at_known_parse(genlmsg_data(info->genlhdr), genlmsg_len(info->genlhdr),
			       info->extack);
	if (IS_ERR(known))
		return PTR_ERR(known);
	mutex_lock(&at_mutex);
	err = at_known_set(at_file_by_cookie(nla_get_u64(cookie)), &known);
	mutex_unlock(&at_mutex);
	if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, cookie,
				    "no provider of this process has the cookie");
	kvfree(known);
	return err;
}

/* --- listing ----------------------------------------------------------------- */

static int at_known_fill(struct sk_buff *skb, const struct at_provider *p)
{
	const char *text = p->known->text;
	u32 i;

	if (nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_ID, p->id) ||
	    nla_put_string(skb, ASYNCTRACE_A_PROVIDER_NAME, p->name))
		return -EMSGSIZE;
	for (i = 0; i < p->known->count; i++) {
		const char *description = text + strlen(text) + 1;
		struct nlattr *nest = nla_nest_start(skb, ASYNCTRACE_A_PROVIDER_KNOWN);

		if (!nest || nla_put_string(skb, ASYNCTRACE_A_KNOWN_NAME, text) ||
		    (*description &&
		     nla_put_string(skb, ASYNCTRACE_A_KNOWN_DESCRIPTION, description)))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
		text = description + strlen(description) + 1;
	}
	return 0;
}

/**
 * at_netlink_known_start - begin a list of announced categories
 * @cb: the dump
 *
 * A provider's are told in one message. Until it is its turn it may announce more than
 * anybody has by now, so that there is room for the longest that there may be; all the
 * rest of the message takes far less than NLMSG_GOODSIZE.
 *
 * Return: 0 or a negative errno.
 */
int at_netlink_known_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = NLMSG_GOODSIZE + AT_KNOWN_ATTRS_MAX;
	return at_netlink_dump_start(cb);
}

/**
 * at_netlink_dump_known - put the categories of as many providers as fit
 * @skb: message buffer
 * @cb: the dump
 *
 * Several only where they take no more than any message: who reads needs room for the
 * longest announcement that there is, and not for all that could be put here.
 *
 * Return: bytes put, or 0 at the end.
 */
int at_netlink_dump_known(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct at_dump *dump = at_dump(cb);
	struct at_provider *p;
	int err = 0;

	mutex_lock(&at_mutex);
	for (; (p = at_provider_next(&dump->id, &dump->caller)); dump->id++) {
		bool first = !skb->len;
		void *header;

		if (!p->known)
			continue;
		header = at_dump_put(skb, cb, ASYNCTRACE_CMD_CATEGORY_GET);
		if (!header || at_known_fill(skb, p) ||
		    (!first && skb->len > NLMSG_GOODSIZE)) {
			genlmsg_cancel(skb, header);
			err = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, header);
	}
	mutex_unlock(&at_mutex);
	return skb->len ? skb->len : err;
}
