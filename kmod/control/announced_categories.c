// SPDX-License-Identifier: GPL-2.0
/*
 * Categories that providers announce: parsing, storing and listing them.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "base/compat.h"
#include "base/pattern.h"
#include "control/announced_categories.h"
#include "control/netlink.h"
#include "control/policy.h"
#include "provider/provider.h"

/* An announced category; the netlink policy bounds the lengths. */
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
	/* A NUL is allowed only as the last byte of the attribute. */
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

static bool at_known_has(const struct at_strings *known, const struct at_known_one *one)
{
	const char *text = known->text;
	u32 i;

	for (i = 0; i < known->count; i += 2) {
		size_t len = strlen(text);

		if (len == one->name_len && !memcmp(text, one->name, len))
			return true;
		text += len + 1;
		text += strlen(text) + 1;
	}
	return false;
}

static void at_known_add(struct at_strings *known, const struct at_known_one *one)
{
	char *text = known->text + known->bytes;

	memcpy(text, one->name, one->name_len);
	text[one->name_len] = '\0';
	text += one->name_len + 1;
	if (one->description)
		memcpy(text, one->description, one->description_len);
	text[one->description_len] = '\0';
	known->bytes += one->name_len + 1 + one->description_len + 1;
	known->count += 2;
}

/*
 * Parse the announced categories in @attrs, which the policy has checked. Returns a list with
 * a name and a description for each category, NULL if there are none, or ERR_PTR().
 */
static struct at_strings *at_known_parse(const struct nlattr *attrs, int len,
					 struct netlink_ext_ack *extack)
{
	struct at_known_one one;
	const struct nlattr *attr;
	struct at_strings *known;
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
	known = at_strings_new(bytes);
	if (!known)
		return ERR_PTR(-ENOMEM);
	nla_for_each_attr(attr, attrs, len, rem) {
		if (nla_type(attr) != ASYNCTRACE_A_PROVIDER_KNOWN)
			continue;
		at_known_parse_one(attr, &one, extack);
		if (at_known_has(known, &one)) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "this category was announced already");
			at_strings_put(known);
			return ERR_PTR(-EINVAL);
		}
		at_known_add(known, &one);
	}
	return known;
}

/*
 * Swap *@known with the earlier announcement of @file's provider. On success and on failure, the
 * caller must drop its reference to *@known.
 */
static int at_known_set(struct at_file *file, struct at_strings **known)
{
	struct at_provider *p = file ? file->provider : NULL;

	lockdep_assert_held(&at_lock);
	if (!p || p->dead || p->mm != current->mm)
		return -ENOENT;
	swap(p->known, *known);
	return 0;
}

/**
 * at_known_ioctl - announce categories by ioctl
 * @file: the provider's descriptor
 * @attrs: attributes, copied from user space
 * @len: bytes at @attrs
 *
 * Return: 0; -ENOENT if the descriptor has no provider of this process; -EINVAL or -ERANGE
 * for wrong attributes; -ENOMEM.
 */
long at_known_ioctl(struct at_file *file, const void *attrs, u32 len)
{
	struct nlattr *tb[ARRAY_SIZE(asynctrace_provider_announce_nl_policy)];
	struct at_strings *known;
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
	spin_lock(&at_lock);
	err = at_known_set(file, &known);
	spin_unlock(&at_lock);
	at_strings_put(known);
	return err;
}

/**
 * at_netlink_announce - handle PROVIDER_ANNOUNCE
 * @skb: the request
 * @info: the parsed request
 * @caller: not used: the provider must be of the current process
 *
 * Return: see at_known_ioctl().
 */
int at_netlink_announce(struct sk_buff *skb, struct genl_info *info,
			const struct at_caller *caller)
{
	struct nlattr *cookie = info->attrs[ASYNCTRACE_A_PROVIDER_COOKIE];
	struct at_strings *known;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_PROVIDER_COOKIE)) {
		GENL_SET_ERR_MSG(info, "say whose: the cookie is missing");
		return -EINVAL;
	}
	known = at_known_parse(genlmsg_data(info->genlhdr), genlmsg_len(info->genlhdr),
			       info->extack);
	if (IS_ERR(known))
		return PTR_ERR(known);
	spin_lock(&at_lock);
	err = at_known_set(at_file_by_cookie(nla_get_u64(cookie)), &known);
	spin_unlock(&at_lock);
	if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, cookie,
				    "no provider of this process has the cookie");
	at_strings_put(known);
	return err;
}

/* --- listing ----------------------------------------------------------------- */

/* Put the announced categories that earlier messages of the dump do not have. */
static int at_known_fill(struct at_part *part, const struct at_strings *known)
{
	const char *name, *description;
	struct nlattr *nest;
	int err;
	u32 i;

	for (i = 0, name = known->text; i < known->count; i += 2) {
		description = name + strlen(name) + 1;
		if (!at_part_has(part)) {
			nest = nla_nest_start(part->skb, ASYNCTRACE_A_PROVIDER_KNOWN);
			err = !nest ||
			      nla_put_string(part->skb, ASYNCTRACE_A_KNOWN_NAME, name) ||
			      (*description &&
			       nla_put_string(part->skb, ASYNCTRACE_A_KNOWN_DESCRIPTION,
					      description));
			if (!err)
				nla_nest_end(part->skb, nest);
			if (at_part_full(part, err))
				return -EMSGSIZE;
		}
		name = description + strlen(description) + 1;
	}
	return 0;
}

/*
 * Find the provider to continue with: the one whose announcement was not listed to its end, or
 * the next one with an announcement. Returns false at the end of the dump.
 *
 * The dump has a reference to the announcement. So all messages of a provider are of one
 * announcement, and a provider that announces all the time cannot make the dump endless.
 */
static bool at_dump_known(struct at_dump *dump, char *name)
{
	struct at_strings *old = NULL;
	struct at_provider *p;
	u32 id = dump->id, n = 0;

	spin_lock(&at_lock);
	for (; (p = at_provider_next(&dump->id, &dump->caller)); dump->id++) {
		if (p->known || (dump->list && dump->id == id))
			break;
		at_turn(&n);
	}
	if (p)
		strscpy(name, p->name, ASYNCTRACE_NAME_MAX + 1);
	/* The provider has ended: leave out the rest of its list. */
	if (dump->id != id || !p) {
		old = dump->list;
		dump->list = NULL;
		dump->part = 0;
	}
	if (p && !dump->list) {
		dump->list = p->known;
		refcount_inc(&dump->list->refs);
	}
	spin_unlock(&at_lock);
	at_strings_put(old);
	return p;
}

/**
 * at_netlink_dump_known - put the categories of as many providers as fit
 * @skb: message buffer
 * @cb: the dump
 *
 * Return: bytes put, 0 at the end, or -EMSGSIZE if nothing fits.
 */
int at_netlink_dump_known(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct at_dump *dump = at_dump(cb);
	char name[ASYNCTRACE_NAME_MAX + 1];

	while (at_dump_known(dump, name)) {
		struct at_part part = at_part_of(skb, skb->len, dump->part);
		void *header = at_dump_put(skb, cb, ASYNCTRACE_CMD_CATEGORY_GET);
		int err = -EMSGSIZE;

		if (header && !nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_ID, dump->id) &&
		    !nla_put_string(skb, ASYNCTRACE_A_PROVIDER_NAME, name))
			err = at_known_fill(&part, dump->list);
		if (err && !at_part_ends(&part)) {
			genlmsg_cancel(skb, header);
			return skb->len ? skb->len : -EMSGSIZE;
		}
		genlmsg_end(skb, header);
		if (err)
			dump->part = part.n;
		else
			at_dump_next(dump);
	}
	return skb->len;
}
