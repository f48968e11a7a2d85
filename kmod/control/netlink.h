/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The netlink family: turns requests into calls of control.h, and views into replies
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

/* request.c: parses attributes */

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

/* reply.c: fills messages */

/**
 * struct at_dump - state of a dump between two messages
 * @caller: the caller, with a reference to its user namespace
 * @id: id of the provider or session to continue with
 * @part: number of items of that object's lists in earlier messages
 * @one: the dump is about one session; @id is 0 after that session
 * @ring: in a dump of rings: where to continue, see struct at_ring_walk
 * @member: in a dump of rings: where to continue, see struct at_ring_walk
 * @list: in a dump of sessions or categories: the list of which earlier messages have a part,
 *	with a reference. An update may replace it in the session or provider meanwhile
 */
struct at_dump {
	struct at_caller caller;
	u32 id;
	union {
		struct {
			u16 part;
			bool one;
		};
		u32 ring;
	};
	union {
		struct at_strings *list;
		u64 member;
	};
};

static inline struct at_dump *at_dump(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct at_dump) > sizeof(cb->ctx));
	/* .part must be able to count the items of all six lists of a session. */
	BUILD_BUG_ON(6 * ASYNCTRACE_CATEGORIES_MAX > U16_MAX);
	return (struct at_dump *)cb->ctx;
}

/*
 * A message has at most NLMSG_GOODSIZE bytes, so that it needs no more than one page. Long
 * lists are split: each message has some of the items, and the dump counts those already put.
 */

/**
 * struct at_part - the part of an object's lists that one message has
 * @skb: message buffer
 * @end: maximum length of @skb after the last item
 * @whole: the message may have NLMSG_GOODSIZE bytes; a list that does not fit is split. If
 *	false, an object that does not fit goes into the next buffer
 * @first: number of items in earlier messages
 * @n: number of items in all messages so far
 * @item: start of the current item
 */
struct at_part {
	struct sk_buff *skb;
	unsigned int end;
	bool whole;
	u32 first;
	u32 n;
	void *item;
};

/* Begin a message at offset @start of @skb. Reserve room for a flag after the items. */
static inline struct at_part at_part_of(struct sk_buff *skb, unsigned int start, u32 first)
{
	unsigned int end = start + NLMSG_GOODSIZE;

	return (struct at_part){
		.skb = skb,
		.end = end - nla_total_size(0),
		.whole = end <= skb->len + skb_tailroom(skb),
		.first = first,
	};
}

/* Begin an item. Returns true if an earlier message has the item, so the caller must skip it. */
static inline bool at_part_has(struct at_part *part)
{
	part->item = skb_tail_pointer(part->skb);
	return part->n++ < part->first;
}

/*
 * End an item. @err: nonzero if the buffer had no room for it. Removes the item and returns true
 * if it did not fit into the buffer or goes beyond part->end.
 */
static inline bool at_part_full(struct at_part *part, int err)
{
	if (!err && part->skb->len <= part->end)
		return false;
	nlmsg_trim(part->skb, part->item);
	part->n--;
	return true;
}

/*
 * After an item did not fit: returns true if the message must be sent with the items before.
 * Returns false if it has none, or if the buffer had less room than a message may need. Then the
 * caller must cancel the message, and its items go into the next buffer.
 */
static inline bool at_part_ends(const struct at_part *part)
{
	return part->whole && part->n > part->first;
}

void *at_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);

struct sk_buff *at_netlink_reply(struct genl_info *info, void **header);
int at_netlink_send(struct sk_buff *skb, void *header, struct genl_info *info);
int at_netlink_caller(struct sk_buff *skb, struct at_caller *caller,
		      struct netlink_ext_ack *extack);
int at_netlink_fill_provider(struct sk_buff *skb, const struct at_provider *p,
			     const struct at_caller *caller);
int at_netlink_fill_session(struct at_part *part, struct at_session *s, struct at_dump *dump);
void at_dump_next(struct at_dump *dump);
int at_netlink_dump_start(struct netlink_callback *cb);
int at_netlink_dump_done(struct netlink_callback *cb);
int at_netlink_lists_done(struct netlink_callback *cb);
int at_netlink_dump_providers(struct sk_buff *skb, struct netlink_callback *cb);
int at_netlink_dump_sessions(struct sk_buff *skb, struct netlink_callback *cb);
int at_netlink_dump_rings(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* AT_NETLINK_H */
