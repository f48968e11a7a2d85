/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The netlink family: requests become calls of control.h, views become replies
 */
#ifndef AT_NETLINK_H
#define AT_NETLINK_H

#include <net/genetlink.h>
#include "control/control.h"

extern struct genl_family at_genl_family;

int at_netlink_init(void);
void at_netlink_exit(void);
void at_netlink_own(const struct sock *sk, u32 portid);
void at_netlink_disown(const struct sock *sk, u32 portid);

/* request.c: attributes become arguments */

void at_netlink_blame(struct netlink_ext_ack *extack, const struct nlattr *attr,
		      const char *wrong);
int at_netlink_provider_args(struct nlattr **attrs, struct at_provider_args *args,
			     struct netlink_ext_ack *extack);
int at_netlink_parse_provider_attrs(const void *attrs, u32 len,
				    struct at_provider_args *args,
				    struct netlink_ext_ack *extack);
int at_netlink_session_args(struct sk_buff *skb, struct genl_info *info,
			    const struct at_caller *caller, struct at_session_args *args);
struct at_strings *at_netlink_update_args(struct genl_info *info);
int at_netlink_start_args(struct genl_info *info, struct at_start_args *args);
void at_netlink_session_args_free(struct at_session_args *args);

/* reply.c: views become messages */

/* Where a dump stands. */
struct at_dump {
	struct at_caller caller;
	u32 id;			/* of the provider or session to go on with */
	unsigned long ring;	/* of the session's rings */
};

static inline struct at_dump *at_dump(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct at_dump) > sizeof(cb->ctx));
	return (struct at_dump *)cb->ctx;
}

void *at_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);

struct sk_buff *at_netlink_reply(struct genl_info *info, void **header);
int at_netlink_send(struct sk_buff *skb, void *header, struct genl_info *info);
int at_netlink_caller(struct sk_buff *skb, struct at_caller *caller,
		      struct netlink_ext_ack *extack);
int at_netlink_fill_provider(struct sk_buff *skb, const struct at_provider *p,
			     const struct at_caller *caller);
int at_netlink_fill_session(struct sk_buff *skb, struct at_session *s);
int at_netlink_dump_start(struct netlink_callback *cb);
int at_netlink_dump_done(struct netlink_callback *cb);
int at_netlink_dump_providers(struct sk_buff *skb, struct netlink_callback *cb);
int at_netlink_dump_sessions(struct sk_buff *skb, struct netlink_callback *cb);
int at_netlink_dump_rings(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* AT_NETLINK_H */
