// SPDX-License-Identifier: GPL-2.0
/*
 * The notifications of one subscriber: their queue, and sending them to the subscriber's socket
 *
 * Notifications are queued under at_lock, so that they arrive in the order in which things
 * happened. If sending takes a short time, they are sent at once, so that they can be read when the
 * request that caused them returns. Otherwise a work item of the subscriber sends them, because a
 * user must not choose for how long at_lock is held: sending wakes all threads and epoll instances
 * that wait for the socket, and runs its filter.
 *
 * Sending does not wait for memory or for the socket. A notification that could not be sent is
 * counted, and the next one that reaches the socket carries the count. The queue has at most as
 * many bytes as the socket may receive, or one message. If there is no room, the newest
 * notification replaces the last one in the queue, so that the subscriber learns of each loss.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/net.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "base/compat.h"
#include "base/lock.h"
#include "base/quiesce.h"
#include "base/quota.h"
#include "control/netlink.h"
#include "control/subscriber.h"

/* Number of notifications that were lost before a message of a queue */
static u32 *at_message_lost(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(u32) > sizeof(skb->cb));
	return (u32 *)skb->cb;
}

/*
 * Keep a subscriber's socket from being closed while a notification is sent. Messages are
 * sent to ports, and a closing socket frees its port before SOCK_DEAD is set, so that another
 * user's socket could get the notification.
 *
 * Return: the socket's file, with a reference; NULL if the socket is being closed.
 */
static struct file *at_subscriber_hold(const struct at_subscriber *sub)
{
	struct file *file = NULL;

	/* sock_orphan() clears sk_socket under this lock. */
	read_lock_bh(&sub->sk->sk_callback_lock);
	if (sub->sk->sk_socket)
		file = at_get_file_active(&sub->sk->sk_socket->file);
	read_unlock_bh(&sub->sk->sk_callback_lock);
	return file;
}

/*
 * Send a message, which this frees. To keep messages in order, only the subscriber's work may call
 * this while it is queued or running, and only the holder of at_lock at other times.
 *
 * Return: the number of notifications that are lost now: the message and those before it, or 0.
 */
static u32 at_subscriber_send(struct at_subscriber *sub, struct sk_buff *skb)
{
	const u32 lost = *at_message_lost(skb);
	struct file *file = at_subscriber_hold(sub);
	int err;

	if (!file) {
		nlmsg_free(skb);
		return 0;
	}
	/* Netlink uses the control buffer, too. */
	*at_message_lost(skb) = 0;
	if (lost && WARN_ON_ONCE(nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_LOST, lost))) {
		nlmsg_free(skb);
		err = -EMSGSIZE;
	} else {
		nlmsg_end(skb, nlmsg_hdr(skb));
		err = genlmsg_unicast(sock_net(sub->sk), skb, sub->portid);
	}
	/* Does not sleep: the last fput() of a file defers closing it. */
	fput(file);
	return err ? lost + 1 : 0;
}

/* Count lost notifications in the next message that will be sent. */
static void at_subscriber_lose(struct at_subscriber *sub, u32 lost)
{
	struct sk_buff *next = skb_peek(&sub->queue);

	if (next)
		*at_message_lost(next) += lost;
	else
		sub->lost += lost;
}

static struct sk_buff *at_subscriber_next(struct at_subscriber *sub)
{
	struct sk_buff *skb = __skb_dequeue(&sub->queue);

	lockdep_assert_held(&at_lock);
	if (skb)
		sub->queued -= skb->truesize;
	return skb;
}

/* Queue a message. Drop the last one in the queue if there is no room for both. */
static void at_subscriber_queue(struct at_subscriber *sub, struct sk_buff *skb)
{
	struct sk_buff *last = skb_peek_tail(&sub->queue);

	if (last && sub->queued + skb->truesize > READ_ONCE(sub->sk->sk_rcvbuf)) {
		*at_message_lost(skb) += 1 + *at_message_lost(last);
		__skb_unlink(last, &sub->queue);
		sub->queued -= last->truesize;
		nlmsg_free(last);
	}
	__skb_queue_tail(&sub->queue, skb);
	sub->queued += skb->truesize;
}

/**
 * at_subscriber_free - free a subscriber
 * @sub: the subscriber, or NULL. Its subscription has not begun, or its work is ending
 */
void at_subscriber_free(struct at_subscriber *sub)
{
	if (!sub)
		return;
	__skb_queue_purge(&sub->queue);
	at_caller_drop(&sub->caller);
	put_pid_ns(sub->pid_ns);
	at_charge_free(sub->charge);
	sock_put(sub->sk);
	kfree(sub);
}

/* Send what is queued. If the subscription has ended, free the subscriber instead. */
static void at_subscriber_work(struct work_struct *work)
{
	struct at_subscriber *sub = container_of(work, struct at_subscriber, work);
	struct sk_buff *skb;
	bool ended;
	u32 lost;

	spin_lock(&at_lock);
	while (!sub->ended && (skb = at_subscriber_next(sub))) {
		spin_unlock(&at_lock);
		lost = at_subscriber_send(sub, skb);
		cond_resched();
		spin_lock(&at_lock);
		at_subscriber_lose(sub, lost);
	}
	ended = sub->ended;
	sub->working = false;
	spin_unlock(&at_lock);
	if (ended)
		at_subscriber_free(sub);
}

static void at_subscriber_queue_work(struct at_subscriber *sub)
{
	lockdep_assert_held(&at_lock);
	if (sub->working)
		return;
	sub->working = true;
	queue_work(at_wake_wq, &sub->work);
}

/**
 * at_subscriber_new - create a subscriber that does not receive notifications yet
 * @sk: its socket
 * @portid: the socket's port
 * @caller: the subscriber
 * @extack: receives the reason if the caller has too many subscriptions
 *
 * Return: the subscriber, which at_subscriber_free() frees; ERR_PTR of -EDQUOT, -ENOSPC or -ENOMEM.
 */
struct at_subscriber *at_subscriber_new(struct sock *sk, u32 portid,
					const struct at_caller *caller,
					struct netlink_ext_ack *extack)
{
	struct at_subscriber *sub = kzalloc(sizeof(*sub), GFP_KERNEL_ACCOUNT);
	struct at_charge *charge;

	if (!sub)
		return ERR_PTR(-ENOMEM);
	charge = at_charge_new(caller->uid, caller->user_ns, AT_THING_SUBSCRIBER);
	if (IS_ERR(charge)) {
		at_charge_explain(PTR_ERR(charge), AT_THING_SUBSCRIBER, extack);
		kfree(sub);
		return ERR_CAST(charge);
	}
	INIT_LIST_HEAD(&sub->node);
	__skb_queue_head_init(&sub->queue);
	INIT_WORK(&sub->work, at_subscriber_work);
	sub->charge = charge;
	sub->sk = sk;
	sock_hold(sk);
	sub->portid = portid;
	sub->pid_ns = get_pid_ns(task_active_pid_ns(current));
	at_caller_keep(&sub->caller, caller);
	return sub;
}

/*
 * May a user have chosen for how long sending to the socket takes? Sending wakes what waits for the
 * socket or wants signals from it, and runs its filter. It also copies each message to the nlmon
 * devices of the network namespace. Only CAP_NET_ADMIN creates them in the initial namespace.
 *
 * Something may begin to wait after this check. A user cannot make that many waiters.
 */
static bool at_subscriber_takes_long(const struct at_subscriber *sub)
{
	const struct sock *sk = sub->sk;
	struct socket_wq *wq;
	bool waited_for;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	waited_for = skwq_has_sleeper(wq) || (wq && READ_ONCE(wq->fasync_list));
	rcu_read_unlock();
	return waited_for || rcu_access_pointer(sk->sk_filter) ||
	       !net_eq(sock_net(sk), &init_net);
}

/**
 * at_subscriber_notify - send a notification to a subscriber, or queue it
 * @sub: the subscriber
 * @skb: the notification; NULL if there is no memory for it, so that it is lost
 * @lost: number of earlier notifications that were lost before there was a message for them
 */
void at_subscriber_notify(struct at_subscriber *sub, struct sk_buff *skb, u32 lost)
{
	lockdep_assert_held(&at_lock);
	sub->lost += lost;
	if (!skb) {
		sub->lost++;
		return;
	}
	*at_message_lost(skb) = sub->lost;
	sub->lost = 0;
	at_subscriber_queue(sub, skb);
	if (sub->working)
		return;
	if (at_subscriber_takes_long(sub))
		at_subscriber_queue_work(sub);
	else
		at_subscriber_lose(sub, at_subscriber_send(sub, at_subscriber_next(sub)));
}

/**
 * at_subscriber_end - end a subscription
 * @sub: the subscriber, which is not in the list of subscribers any more
 *
 * The subscriber's work may be sending a notification, which then still arrives. The work frees
 * @sub: that may sleep, and at_lock is held here. The user may subscribe again at once, unless the
 * work is already queued or running. Then it counts as a subscription until it ends, so that the
 * number of a user's work items has a limit, too.
 */
void at_subscriber_end(struct at_subscriber *sub)
{
	lockdep_assert_held(&at_lock);
	sub->ended = true;
	if (!sub->working) {
		at_charge_free(sub->charge);
		sub->charge = NULL;
	}
	at_subscriber_queue_work(sub);
}
