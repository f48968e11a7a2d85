/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Categories that providers announce
 */
#ifndef AT_ANNOUNCED_CATEGORIES_H
#define AT_ANNOUNCED_CATEGORIES_H

#include <linux/types.h>

struct at_caller;
struct at_file;
struct genl_info;
struct netlink_callback;
struct netlink_ext_ack;
struct sk_buff;

/* Size of the attributes of the longest announcement, without a cookie. */
#define AT_KNOWN_ATTRS_MAX						\
	(ASYNCTRACE_CATEGORIES_MAX *					\
	 nla_total_size(nla_total_size(ASYNCTRACE_CATEGORY_MAX + 1) +	\
			nla_total_size(ASYNCTRACE_DESCRIPTION_MAX + 1)))

long at_known_ioctl(struct at_file *file, const void *attrs, u32 len);
int at_netlink_announce(struct sk_buff *skb, struct genl_info *info,
			const struct at_caller *caller);
int at_netlink_dump_known(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* AT_ANNOUNCED_CATEGORIES_H */
