/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A subscriber: a netlink socket that receives notifications
 */
#ifndef AT_SUBSCRIBER_H
#define AT_SUBSCRIBER_H

#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "control/control.h"

struct at_charge;
struct netlink_ext_ack;
struct pid_namespace;
struct sock;

/**
 * struct at_subscriber - a socket that receives notifications
 * @node: in the list of subscribers; protected by at_lock, like all other fields that change
 * @kinds: wanted kinds, enum asynctrace_notification_kinds
 * @session: id of the only session wanted; 0: all sessions
 * @caller: the subscriber, with a reference to its user namespace. Its rights decide which
 *	notifications are sent; user ids are translated to its namespace
 * @pid_ns: the subscriber's pid namespace; process ids are translated to it
 * @sk: the socket, with a reference
 * @portid: the socket's port in its network namespace
 * @charge: the accounts that the subscription is charged to; may be NULL after its end
 * @queue: messages to send, in order
 * @queued: bytes of memory of @queue
 * @lost: number of notifications that were lost after the last message of @queue; if @queue is
 *	empty, after the last one that was sent
 * @ended: the subscription has ended
 * @working: @work is queued or running
 * @work: sends @queue; frees the subscriber after the end of the subscription
 */
struct at_subscriber {
	struct list_head node;
	u32 kinds;
	u32 session;
	struct at_caller caller;
	struct pid_namespace *pid_ns;
	struct sock *sk;
	u32 portid;
	struct at_charge *charge;
	struct sk_buff_head queue;
	unsigned int queued;
	u32 lost;
	bool ended;
	bool working;
	struct work_struct work;
};

struct at_subscriber *at_subscriber_new(struct sock *sk, u32 portid,
					const struct at_caller *caller,
					struct netlink_ext_ack *extack);
void at_subscriber_notify(struct at_subscriber *sub, struct sk_buff *skb, u32 lost);
void at_subscriber_end(struct at_subscriber *sub);
void at_subscriber_free(struct at_subscriber *sub);

#endif /* AT_SUBSCRIBER_H */
