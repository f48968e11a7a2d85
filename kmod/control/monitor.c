// SPDX-License-Identifier: GPL-2.0
/*
 * Events: who subscribed, and what they are told.
 *
 * Events are made and sent under at_lock, so that they arrive in the order in
 * which things happened; nothing here waits, not for memory and not for a socket.
 * What could not be sent to a socket counts, and it is told how much with the
 * next that arrives.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/sock.h>

#include "base/compat.h"
#include "base/quota.h"
#include "control/control.h"
#include "control/monitor.h"
#include "control/netlink.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "session/member.h"
#include "session/session.h"

/* Room for an event with everything that one can have. */
#define AT_EVENT_SIZE	(nla_total_size(ASYNCTRACE_NAME_MAX + 1) +		\
			 nla_total_size(ASYNCTRACE_ALERT_MAX + 1) +		\
			 nla_total_size_64bit(sizeof(u64)) +			\
			 ASYNCTRACE_A_EVENT_MAX * nla_total_size(sizeof(u32)))

/**
 * struct at_subscriber - a socket that is told
 * @node: in the list; under at_lock, like the rest
 * @sk: the socket, with a reference
 * @portid: its port in its namespace
 * @kinds: wanted, enum asynctrace_event_kinds
 * @session: id of the only session that is; 0: all
 * @caller: who subscribed: what that may see is told, user ids as it calls them;
 *	with a reference of its namespace
 * @pid_ns: of that, to tell process ids in
 * @charge: the accounts that it is charged to
 * @lost: events that could not be sent since the last that could
 */
struct at_subscriber {
	struct list_head node;
	struct sock *sk;
	u32 portid;
	u32 kinds;
	u32 session;
	struct at_caller caller;
	struct pid_namespace *pid_ns;
	struct at_charge *charge;
	u32 lost;
};

/**
 * struct at_event - what has happened
 * @kind: one of enum asynctrace_event_kinds
 * @session: to which session, may be NULL
 * @provider: to which provider, may be NULL
 * @status: of started: 0 or a positive errno
 * @alert: its name, or NULL
 * @ring: of save-buffer
 * @position: likewise
 * @durable: likewise
 * @refused: events of the same provider that came too fast to be told
 */
struct at_event {
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

/* What any of them wants; also looked at without at_lock. */
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
 * at_notify_wanted - does anybody want to be told?
 * @kind: of what
 *
 * Return: whether; without at_lock, whether that was so a moment ago.
 */
bool at_notify_wanted(u32 kind)
{
	return READ_ONCE(at_wanted_kinds) & kind;
}

/* --- who is told ------------------------------------------------------------- */

static bool at_subscriber_sees(const struct at_subscriber *sub, const struct at_session *s)
{
	return s && at_session_visible(s, &sub->caller);
}

/* All that an event is about must be for the subscriber to see. */
static bool at_subscriber_wants(const struct at_subscriber *sub, const struct at_event *ev)
{
	const u32 of_provider = ASYNCTRACE_EVENT_KINDS_PROVIDER_CAME |
				ASYNCTRACE_EVENT_KINDS_PROVIDER_WENT;
	bool sees = at_subscriber_sees(sub, ev->session);

	if (!(sub->kinds & ev->kind))
		return false;
	if (ev->provider && !at_provider_visible(ev->provider, &sub->caller))
		return false;
	/* A provider comes and goes for itself; all else happens to a session. */
	if (!sees && !(ev->kind & of_provider))
		return false;
	return !sub->session || (sees && ev->session->id == sub->session);
}

/* --- telling ----------------------------------------------------------------- */

static int at_event_fill(struct sk_buff *skb, const struct at_subscriber *sub,
			 const struct at_event *ev)
{
	const struct at_session *s = at_subscriber_sees(sub, ev->session) ? ev->session : NULL;
	const u32 of_run = ASYNCTRACE_EVENT_KINDS_STARTED | ASYNCTRACE_EVENT_KINDS_STOPPED;
	const struct at_provider *p = ev->provider;
	const char *name = p ? p->name : s->name;
	u32 lost = sub->lost + ev->refused;

	if (nla_put_u32(skb, ASYNCTRACE_A_EVENT_KINDS, ev->kind) ||
	    (s && nla_put_u32(skb, ASYNCTRACE_A_EVENT_SESSION, s->id)) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_EVENT_PROVIDER, p->id)) ||
	    nla_put_string(skb, ASYNCTRACE_A_EVENT_NAME, name) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_EVENT_PID, pid_nr_ns(p->pid, sub->pid_ns))) ||
	    (p && nla_put_u32(skb, ASYNCTRACE_A_EVENT_UID,
			      from_kuid_munged(sub->caller.user_ns, p->uid))) ||
	    (ev->kind == ASYNCTRACE_EVENT_KINDS_STARTED &&
	     nla_put_u32(skb, ASYNCTRACE_A_EVENT_STATUS, ev->status)) ||
	    (ev->kind & of_run &&
	     nla_put_u32(skb, ASYNCTRACE_A_EVENT_GENERATION, s->run)) ||
	    (ev->alert && nla_put_string(skb, ASYNCTRACE_A_EVENT_ALERT, ev->alert)) ||
	    (lost && nla_put_u32(skb, ASYNCTRACE_A_EVENT_LOST, lost)))
		return -EMSGSIZE;
	if (ev->kind != ASYNCTRACE_EVENT_KINDS_SAVE_BUFFER)
		return 0;
	if (nla_put_u32(skb, ASYNCTRACE_A_EVENT_RING, ev->ring) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_EVENT_POSITION, ev->position,
			      ASYNCTRACE_A_EVENT_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_EVENT_DURABLE, ev->durable))
		return -EMSGSIZE;
	return 0;
}

static int at_event_send(const struct at_subscriber *sub, const struct at_event *ev)
{
	struct sk_buff *skb;
	void *header;

	skb = genlmsg_new(AT_EVENT_SIZE, GFP_NOWAIT | __GFP_NOWARN);
	if (!skb)
		return -ENOMEM;
	header = genlmsg_put(skb, 0, 0, &at_genl_family, 0, ASYNCTRACE_CMD_EVENT);
	if (!header || WARN_ON_ONCE(at_event_fill(skb, sub, ev))) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_unicast(sock_net(sub->sk), skb, sub->portid);
}

/*
 * Keep a subscriber's socket from being closed, so that its port stays its own: messages
 * are sent to ports, and a port is free before SOCK_DEAD tells of it. Sockets have a file as
 * long as they are not being closed.
 *
 * Return: the file, with a reference; NULL: the socket is being closed.
 */
static struct file *at_subscriber_hold(const struct at_subscriber *sub)
{
	struct file *file = NULL;

	/* sock_orphan() takes the socket away under this lock. */
	read_lock_bh(&sub->sk->sk_callback_lock);
	if (sub->sk->sk_socket)
		file = at_get_file_active(&sub->sk->sk_socket->file);
	read_unlock_bh(&sub->sk->sk_callback_lock);
	return file;
}

static void at_notify(const struct at_event *ev)
{
	struct at_subscriber *sub;
	struct file *file;

	lockdep_assert_held(&at_lock);
	if (!at_notify_wanted(ev->kind))
		return;
	list_for_each_entry(sub, &at_subscribers, node) {
		if (!at_subscriber_wants(sub, ev))
			continue;
		file = at_subscriber_hold(sub);
		if (!file)
			continue;
		if (at_event_send(sub, ev))
			sub->lost += 1 + ev->refused;
		else
			sub->lost = 0;
		/* Closes the socket later, if its owner has closed it meanwhile. */
		fput(file);
	}
}

/**
 * at_notify_provider - a provider has come, or went
 * @kind: which of the two
 * @p: the provider
 * @s: the session that it was in, or NULL
 */
void at_notify_provider(u32 kind, const struct at_provider *p, const struct at_session *s)
{
	const struct at_event ev = { .kind = kind, .provider = p, .session = s };

	at_notify(&ev);
}

/**
 * at_notify_started - a session was started, or a provider that joined it late
 * @s: the session
 * @p: the provider, or NULL
 * @err: 0, or why the records of @p are not taken
 */
void at_notify_started(const struct at_session *s, const struct at_provider *p, int err)
{
	const struct at_event ev = {
		.kind = ASYNCTRACE_EVENT_KINDS_STARTED,
		.session = s,
		.provider = p,
		.status = -err,
	};

	at_notify(&ev);
}

/**
 * at_notify_session - a session was stopped, or terminated
 * @kind: which of the two
 * @s: the session
 */
void at_notify_session(u32 kind, const struct at_session *s)
{
	const struct at_event ev = { .kind = kind, .session = s };

	at_notify(&ev);
}

/**
 * at_notify_alert - a provider raised an alert
 * @p: a provider that is recorded
 * @name: of the alert
 * @refused: alerts before this one that came too fast
 */
void at_notify_alert(const struct at_provider *p, const char *name, u32 refused)
{
	const struct at_event ev = {
		.kind = ASYNCTRACE_EVENT_KINDS_ALERT,
		.session = p->member->session,
		.provider = p,
		.alert = name,
		.refused = refused,
	};

	at_notify(&ev);
}

/* --- full sub-buffers -------------------------------------------------------- */

/* Words of names, as the provider claims; the consumer clamps them likewise. */
static u32 at_durable_words(const struct at_provider *p)
{
	struct page *page = at_durable_page(p, 0);
	u64 pos = page ? READ_ONCE(*at_durable_position(page)) : 0;

	/* Those of an earlier generation are about to be interned anew. */
	if (pos >> ASYNCTRACE_DURABLE_GEN_SHIFT != p->control->durable_generation)
		return 0;
	return min_t(u32, pos, AT_DURABLE_WORDS);
}

static void at_notify_full_rings(const struct at_session *s, const struct at_member *m,
				 struct at_rings *r)
{
	struct at_event ev = {
		.kind = ASYNCTRACE_EVENT_KINDS_SAVE_BUFFER,
		.session = s,
		.provider = m->provider,
		.durable = at_durable_words(m->provider),
	};

	for (ev.ring = 0; ev.ring < r->nr; ev.ring++) {
		struct at_uring *ring = &r->ring[ev.ring];
		u64 taken, linear;

		if (!READ_ONCE(ring->touched))
			continue;
		taken = max(READ_ONCE(ring->reading.cursor.taken), READ_ONCE(ring->clear.taken));
		linear = at_pos_linear(at_rings_position(r, ev.ring), ev.ring == r->nr - 1);
		/* No writer that plays by the rules is beyond that. */
		linear = min(linear, at_ring_limit(&r->geometry, taken));
		ev.position = round_down(linear, r->geometry.sub_words);
		if (ev.position <= max(ring->saved, taken))
			continue;
		ring->saved = ev.position;
		at_notify(&ev);
	}
}

/**
 * at_notify_full - tell of sub-buffers that have become full
 * @s: a session that is started
 *
 * Each is told once, and not where it has been read meanwhile. at_lock is let go now and then,
 * and nothing is told any more when the session has another state then.
 */
void at_notify_full(struct at_session *s)
{
	const u32 state = s->state;
	struct at_member *m = NULL;
	u32 n = 0;

	lockdep_assert_held(&at_lock);
	if (s->mode != ASYNCTRACE_MODE_STREAMING ||
	    !at_notify_wanted(ASYNCTRACE_EVENT_KINDS_SAVE_BUFFER))
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

static void at_subscriber_free(struct at_subscriber *sub)
{
	if (!sub)
		return;
	at_caller_drop(&sub->caller);
	put_pid_ns(sub->pid_ns);
	at_charge_free(sub->charge);
	sock_put(sub->sk);
	kfree(sub);
}

/* @sub is told nothing any more; it is the caller's to free. */
static void at_subscriber_remove(struct at_subscriber *sub)
{
	lockdep_assert_held(&at_lock);
	list_del(&sub->node);
	at_wanted_update();
	at_netlink_disown(sub->sk, sub->portid);
}

static struct at_subscriber *at_subscriber_new(struct sock *sk, u32 portid,
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
	sub->charge = charge;
	sub->sk = sk;
	sock_hold(sk);
	sub->portid = portid;
	sub->pid_ns = get_pid_ns(task_active_pid_ns(current));
	at_caller_keep(&sub->caller, caller);
	return sub;
}

/**
 * at_netlink_subscribe - have events sent to the socket of a request
 * @skb: the request
 * @info: it, parsed
 * @caller: who asks
 *
 * Return: 0; -EINVAL where it does not say of what, -ENOENT for a session that is
 * not there for the caller, -EDQUOT, -ENOSPC, -ENOMEM.
 */
int at_netlink_subscribe(struct sk_buff *skb, struct genl_info *info,
			 const struct at_caller *caller)
{
	struct nlattr *session = info->attrs[ASYNCTRACE_A_EVENT_SESSION];
	struct sock *sk = NETLINK_CB(skb).sk;
	struct at_subscriber *new = NULL, *sub;
	u32 kinds, id = 0;
	int err = 0;

	if (GENL_REQ_ATTR_CHECK(info, ASYNCTRACE_A_EVENT_KINDS)) {
		GENL_SET_ERR_MSG(info, "say of what kinds; of none ends the subscription");
		return -EINVAL;
	}
	kinds = nla_get_u32(info->attrs[ASYNCTRACE_A_EVENT_KINDS]);
	spin_lock(&at_lock);
	if (kinds && !at_subscriber_of(sk)) {
		spin_unlock(&at_lock);
		new = at_subscriber_new(sk, info->snd_portid, caller, info->extack);
		if (IS_ERR(new))
			return PTR_ERR(new);
		spin_lock(&at_lock);
	}
	if (session) {
		id = nla_get_u32(session);
		if (!id || !at_session_next(&id, caller) || id != nla_get_u32(session)) {
			NL_SET_ERR_MSG_ATTR(info->extack, session,
					    "no session of this id that you may see");
			err = -ENOENT;
		}
	}
	/* Another thread may have subscribed with this socket meanwhile. */
	sub = at_subscriber_of(sk);
	if (!err && kinds && !sub) {
		sub = new;
		new = NULL;
		at_netlink_own(sk, sub->portid);
		list_add_tail(&sub->node, &at_subscribers);
	} else if (!err && !kinds && sub) {
		at_subscriber_remove(sub);
		new = sub;
	}
	if (!err && kinds) {
		sub->kinds = kinds;
		sub->session = id;
		at_caller_drop(&sub->caller);
		at_caller_keep(&sub->caller, caller);
		at_wanted_update();
	}
	spin_unlock(&at_lock);
	at_subscriber_free(new);
	return err;
}

/**
 * at_notify_socket_gone - a socket is closed
 * @net: its namespace
 * @portid: its port, which may already be another's
 */
void at_notify_socket_gone(const struct net *net, u32 portid)
{
	struct at_subscriber *sub, *next;

	lockdep_assert_held(&at_lock);
	list_for_each_entry_safe(sub, next, &at_subscribers, node)
		if (sub->portid == portid && sock_net(sub->sk) == net &&
		    sock_flag(sub->sk, SOCK_DEAD)) {
			at_subscriber_remove(sub);
			at_subscriber_free(sub);
		}
}

/* The module is going; no more requests come. */
void at_notify_exit(void)
{
	struct at_subscriber *sub, *next;

	spin_lock(&at_lock);
	list_for_each_entry_safe(sub, next, &at_subscribers, node) {
		at_subscriber_remove(sub);
		at_subscriber_free(sub);
	}
	spin_unlock(&at_lock);
}
