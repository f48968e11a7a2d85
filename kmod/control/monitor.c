// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications: what they tell, and which subscribers get them
 *
 * Notifications are created under at_lock, so that they have the order in which things happened.
 * subscriber.c sends them.
 */
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/skbuff.h>
#include <linux/user_namespace.h>
#include <net/sock.h>

#include "control/control.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "control/subscriber.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "session/member.h"
#include "session/session.h"

/* Size of a notification with all attributes. */
#define AT_NOTIFICATION_SIZE					\
	(nla_total_size(ASYNCTRACE_NAME_MAX + 1) +		\
	 nla_total_size(ASYNCTRACE_ALERT_MAX + 1) +		\
	 nla_total_size_64bit(sizeof(u64)) +			\
	 ASYNCTRACE_A_NOTIFICATION_MAX * nla_total_size(sizeof(u32)))

/**
 * struct at_notification - what subscribers are notified of
 * @kind: one of enum asynctrace_notification_kinds
 * @session: the session concerned, may be NULL
 * @provider: the provider concerned, may be NULL
 * @status: for STARTED: 0 or a positive errno
 * @alert: for ALERT: its name; NULL for other kinds
 * @ring: for SAVE_BUFFER: index of the ring
 * @position: for SAVE_BUFFER: end of the full sub-buffers, words
 * @durable: for SAVE_BUFFER: words of the provider's names
 * @refused: for ALERT: earlier alerts of the provider that its rate limit refused
 */
struct at_notification {
	u32 kind;
	const struct at_session *session;
	const struct at_provider *provider;
	u32 status;
	const char *alert;
	u32 ring;
	u64 position;
	u32 durable;
	u32 refused;
};

static LIST_HEAD(at_subscribers);

/* Union of all subscribers' @kinds; also read without at_lock. */
static u32 at_wanted_kinds;

static void at_wanted_update(void)
{
	const struct at_subscriber *sub;
	u32 kinds = 0;

	list_for_each_entry(sub, &at_subscribers, node)
		kinds |= sub->kinds;
	WRITE_ONCE(at_wanted_kinds, kinds);
}

/**
 * at_notify_wanted - does any subscriber want a kind of notifications?
 * @kind: one of enum asynctrace_notification_kinds
 *
 * Return: true if one does. Without at_lock the answer may be stale.
 */
bool at_notify_wanted(u32 kind)
{
	return READ_ONCE(at_wanted_kinds) & kind;
}

/* --- selecting subscribers --------------------------------------------------- */

static bool at_subscriber_sees(const struct at_subscriber *sub, const struct at_session *s)
{
	return s && at_session_visible(s, &sub->caller);
}

/* Does @sub want the notification, and may it see the provider and the session concerned? */
static bool at_subscriber_wants(const struct at_subscriber *sub, const struct at_notification *ev)
{
	const u32 of_provider = ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME |
				ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_WENT;
	bool sees = at_subscriber_sees(sub, ev->session);

	if (!(sub->kinds & ev->kind))
		return false;
	if (ev->provider && !at_provider_visible(ev->provider, &sub->caller))
		return false;
	/*
	 * All kinds but PROVIDER_CAME and PROVIDER_WENT concern a session. The subscriber must
	 * be able to see the session.
	 */
	if (!sees && !(ev->kind & of_provider))
		return false;
	return !sub->session || (sees && ev->session->id == sub->session);
}

/* --- creating notifications -------------------------------------------------- */

static int at_notification_fill(struct sk_buff *skb, const struct at_subscriber *sub,
				const struct at_notification *ev)
{
	const struct at_session *s = at_subscriber_sees(sub, ev->session) ? ev->session : NULL;
	const u32 of_run = ASYNCTRACE_NOTIFICATION_KINDS_STARTED |
			   ASYNCTRACE_NOTIFICATION_KINDS_STOPPED;
	const struct at_provider *p = ev->provider;
	const char *name = p ? p->name : s->name;

	if (nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_KINDS, ev->kind) ||
	    (s && nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_SESSION, s->id)) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_PROVIDER, p->id)) ||
	    nla_put_string(skb, ASYNCTRACE_A_NOTIFICATION_NAME, name) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_PID,
			      pid_nr_ns(p->pid, sub->pid_ns))) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_UID,
			      from_kuid_munged(sub->caller.user_ns, p->uid))) ||
	    (ev->kind == ASYNCTRACE_NOTIFICATION_KINDS_STARTED &&
	     nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_STATUS, ev->status)) ||
	    (ev->kind & of_run &&
	     nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_GENERATION, s->run)) ||
	    (ev->alert && nla_put_string(skb, ASYNCTRACE_A_NOTIFICATION_ALERT, ev->alert)))
		return -EMSGSIZE;
	if (ev->kind != ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER)
		return 0;
	if (nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_RING, ev->ring) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_NOTIFICATION_POSITION, ev->position,
			      ASYNCTRACE_A_NOTIFICATION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_NOTIFICATION_DURABLE, ev->durable))
		return -EMSGSIZE;
	return 0;
}

/*
 * Create a message without the number of lost notifications, which is known when it is sent.
 *
 * Return: the message; NULL if there is no memory for it.
 */
static struct sk_buff *at_notification_new(const struct at_subscriber *sub,
					   const struct at_notification *ev)
{
	struct sk_buff *skb;
	void *header;

	skb = genlmsg_new(AT_NOTIFICATION_SIZE, GFP_NOWAIT | __GFP_NOWARN);
	if (!skb)
		return NULL;
	header = genlmsg_put(skb, 0, 0, &at_genl_family, 0, ASYNCTRACE_CMD_NOTIFICATION);
	if (!header || WARN_ON_ONCE(at_notification_fill(skb, sub, ev))) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

static void at_notify(const struct at_notification *ev)
{
	struct at_subscriber *sub;

	lockdep_assert_held(&at_lock);
	if (!at_notify_wanted(ev->kind))
		return;
	list_for_each_entry(sub, &at_subscribers, node)
		if (at_subscriber_wants(sub, ev))
			at_subscriber_notify(sub, at_notification_new(sub, ev), ev->refused);
}

/**
 * at_notify_provider - notify that a provider has registered or ended
 * @kind: ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME or _WENT
 * @p: the provider
 * @s: the session that the provider was in, or NULL
 */
void at_notify_provider(u32 kind, const struct at_provider *p, const struct at_session *s)
{
	const struct at_notification ev = { .kind = kind, .provider = p, .session = s };

	at_notify(&ev);
}

/**
 * at_notify_started - notify that a session records, or why it does not record a provider
 * @s: the session
 * @p: a provider that is started late, or is not recorded; NULL: the session itself
 * @err: 0, or the reason why @p is not recorded
 */
void at_notify_started(const struct at_session *s, const struct at_provider *p, int err)
{
	const struct at_notification ev = {
		.kind = ASYNCTRACE_NOTIFICATION_KINDS_STARTED,
		.session = s,
		.provider = p,
		.status = -err,
	};

	at_notify(&ev);
}

/**
 * at_notify_session - notify that a session was stopped or terminated
 * @kind: ASYNCTRACE_NOTIFICATION_KINDS_STOPPED or _TERMINATED
 * @s: the session
 */
void at_notify_session(u32 kind, const struct at_session *s)
{
	const struct at_notification ev = { .kind = kind, .session = s };

	at_notify(&ev);
}

/**
 * at_notify_alert - notify that a provider raised an alert
 * @p: a provider that a session records
 * @name: name of the alert
 * @refused: earlier alerts of @p that its rate limit refused
 */
void at_notify_alert(const struct at_provider *p, const char *name, u32 refused)
{
	const struct at_notification ev = {
		.kind = ASYNCTRACE_NOTIFICATION_KINDS_ALERT,
		.session = p->member->session,
		.provider = p,
		.alert = name,
		.refused = refused,
	};

	at_notify(&ev);
}

/* --- full sub-buffers -------------------------------------------------------- */

/* Words of names in the durable ring: the provider's claim, clamped as the reader does. */
static u32 at_durable_words(const struct at_provider *p)
{
	struct page *page = at_durable_page(p, 0);
	u64 pos = page ? READ_ONCE(*at_durable_position(page)) : 0;

	/* Names of an earlier generation are invalid; the provider will intern them again. */
	if (pos >> ASYNCTRACE_DURABLE_GEN_SHIFT != p->control->durable_generation)
		return 0;
	return min_t(u32, pos, AT_DURABLE_WORDS);
}

/*
 * Notify of the full sub-buffers in a member's rings. Releases at_lock after each notification,
 * because each goes to many subscribers.
 */
static void at_notify_full_rings(const struct at_session *s, const struct at_member *m,
				 struct at_rings *r)
{
	const u32 state = s->state;
	struct at_notification ev = {
		.kind = ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER,
		.session = s,
		.provider = m->provider,
		.durable = at_durable_words(m->provider),
	};

	for (ev.ring = 0; ev.ring < r->nr && s->state == state; ev.ring++) {
		struct at_uring *ring = &r->ring[ev.ring];
		const bool fallback = ev.ring == r->nr - 1;
		u64 taken, linear;

		if (!READ_ONCE(ring->touched))
			continue;
		taken = max(READ_ONCE(ring->reading.cursor.taken), READ_ONCE(ring->clear.taken));
		linear = at_pos_linear(at_rings_position(r, ev.ring), fallback);
		/* Clamp the user-writable position: a correct writer stays within the limit. */
		linear = min(linear, at_ring_limit(&r->geometry, taken, fallback));
		ev.position = round_down(linear, r->geometry.sub_words);
		if (ev.position <= max(ring->saved, taken))
			continue;
		ring->saved = ev.position;
		at_notify(&ev);
		at_pause();
	}
}

/**
 * at_notify_full - notify of sub-buffers that have become full
 * @s: a session that is started, or that has just been stopped
 *
 * A full sub-buffer is reported once, unless it has already been read. at_lock is released
 * now and then; if the state of the session changes meanwhile, the rest is not reported.
 */
void at_notify_full(struct at_session *s)
{
	const u32 state = s->state;
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	if (s->mode != ASYNCTRACE_MODE_STREAMING ||
	    !at_notify_wanted(ASYNCTRACE_NOTIFICATION_KINDS_SAVE_BUFFER))
		return;
	while (s->state == state && (m = at_session_next_member(s, m))) {
		struct at_rings *r = at_member_hold(m);

		if (r) {
			at_notify_full_rings(s, m, r);
			at_member_unhold(m, r);
		}
		at_turn(&n);
	}
	at_member_put(m);
}

/* --- subscribing ------------------------------------------------------------- */

static struct at_subscriber *at_subscriber_of(const struct sock *sk)
{
	struct at_subscriber *sub;

	list_for_each_entry(sub, &at_subscribers, node)
		if (sub->sk == sk)
			return sub;
	return NULL;
}

static void at_subscriber_remove(struct at_subscriber *sub)
{
	lockdep_assert_held(&at_lock);
	list_del(&sub->node);
	at_wanted_update();
	at_netlink_disown(sub->sk, sub->portid);
	at_subscriber_end(sub);
}

/**
 * at_netlink_subscribe - handle SUBSCRIBE: send notifications to the request's socket
 * @skb: the request
 * @info: the parsed request
 * @caller: the caller
 *
 * Return: 0; -EINVAL if the request has no attribute with the kinds (kinds of 0 end the
 * subscription); -ENOENT if there is no such session that the caller may see; -EDQUOT,
 * -ENOSPC or -ENOMEM.
 */
int at_netlink_subscribe(struct sk_buff *skb, struct genl_info *info,
			 const struct at_caller *caller)
{
	struct nlattr *session = info->attrs[ASYNCTRACE_A_NOTIFICATION_SESSION];
	struct sock *sk = NETLINK_CB(skb).sk;
	struct at_subscriber *new = NULL, *sub;
	struct pid_namespace *pid_ns;
	struct at_session *s;
	u32 kinds, id = 0;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_NOTIFICATION_KINDS)) {
		GENL_SET_ERR_MSG(info, "say which kinds of notifications; 0 ends the subscription");
		return -EINVAL;
	}
	kinds = nla_get_u32(info->attrs[ASYNCTRACE_A_NOTIFICATION_KINDS]);
	if (session) {
		id = nla_get_u32(session);
		s = at_session_find(id, caller, NULL);
		if (IS_ERR(s)) {
			NL_SET_ERR_MSG_ATTR(info->extack, session,
					    "no session of this id that you may see");
			return PTR_ERR(s);
		}
		at_session_put(s);
	}
	pid_ns = get_pid_ns(task_active_pid_ns(current));
	spin_lock(&at_lock);
	if (kinds && !at_subscriber_of(sk)) {
		spin_unlock(&at_lock);
		new = at_subscriber_new(sk, info->snd_portid, caller, info->extack);
		if (IS_ERR(new)) {
			put_pid_ns(pid_ns);
			return PTR_ERR(new);
		}
		spin_lock(&at_lock);
	}
	/* While at_lock was released, another thread may have subscribed this socket. */
	sub = at_subscriber_of(sk);
	if (kinds && !sub) {
		sub = new;
		new = NULL;
		at_netlink_own(sk, sub->portid);
		list_add_tail(&sub->node, &at_subscribers);
	} else if (!kinds && sub) {
		at_subscriber_remove(sub);
	}
	if (kinds) {
		sub->kinds = kinds;
		sub->session = id;
		at_caller_drop(&sub->caller);
		at_caller_keep(&sub->caller, caller);
		swap(sub->pid_ns, pid_ns);
		at_wanted_update();
	}
	spin_unlock(&at_lock);
	put_pid_ns(pid_ns);
	at_subscriber_free(new);
	return 0;
}

/**
 * at_notify_socket_gone - end the subscription of a socket that is closed
 * @net: the socket's network namespace
 * @portid: the socket's port; another socket may already have it
 */
void at_notify_socket_gone(const struct net *net, u32 portid)
{
	struct at_subscriber *sub, *next;

	lockdep_assert_held(&at_lock);
	list_for_each_entry_safe(sub, next, &at_subscribers, node)
		if (sub->portid == portid && sock_net(sub->sk) == net &&
		    sock_flag(sub->sk, SOCK_DEAD))
			at_subscriber_remove(sub);
}

/*
 * End all subscriptions. The family is unregistered, so that no requests come any more. Work of the
 * subscribers may still run: at_quiesce_flush() waits for it.
 */
void at_notify_exit(void)
{
	struct at_subscriber *sub, *next;

	spin_lock(&at_lock);
	list_for_each_entry_safe(sub, next, &at_subscribers, node)
		at_subscriber_remove(sub);
	spin_unlock(&at_lock);
}
