/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Notifications and their subscribers
 */
#ifndef AT_MONITOR_H
#define AT_MONITOR_H

#include <linux/types.h>

struct at_caller;
struct at_provider;
struct at_session;
struct genl_info;
struct net;
struct sk_buff;

int at_netlink_subscribe(struct sk_buff *skb, struct genl_info *info,
			 const struct at_caller *caller);
void at_notify_socket_gone(const struct net *net, u32 portid);
void at_notify_exit(void);

bool at_notify_wanted(u32 kind);
void at_notify_provider(u32 kind, const struct at_provider *p, const struct at_session *s);
void at_notify_started(const struct at_session *s, const struct at_provider *p, int err);
void at_notify_session(u32 kind, const struct at_session *s);
void at_notify_full(struct at_session *s);
void at_notify_alert(const struct at_provider *p, const char *name, u32 refused);

#endif /* AT_MONITOR_H */
