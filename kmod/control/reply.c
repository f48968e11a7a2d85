// SPDX-License-Identifier: GPL-2.0
/*
 * Replies and dumps
 *
 * A dump has no lock between two messages and continues by id. So it may leave out an object
 * that is created or freed meanwhile, but lists no object twice. A dump has the rights of the
 * caller that began it. Ids of processes and users are translated to the namespaces of the
 * process that reads the dump.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <net/sock.h>
#include "base/compat.h"
#include "base/pattern.h"
#include "control/netlink.h"
#include "provider/provider.h"
#include "ring/user_rings.h"
#include "sched/sched.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/session.h"

/**
 * at_netlink_caller() - determine the caller of a request
 * @skb: the request
 * @caller: out: the caller
 * @extack: for the error message
 *
 * A user can make a program with more rights, such as a setuid program, call write(2) on a socket
 * that this user has opened: as the program's standard output, for example. write(2) gives no
 * destination address. So if a request has none, a capability counts only if the socket's opener
 * and the sender both have it. If the request has one, only the sender's capabilities count: see
 * __netlink_ns_capable(). If CAP_SYS_ADMIN does not count, both must be the same user.
 *
 * Return: 0 or -EPERM.
 */
int at_netlink_caller(struct sk_buff *skb, struct at_caller *caller,
		      struct netlink_ext_ack *extack)
{
	const struct cred *opener = NETLINK_CB(skb).sk->sk_socket->file->f_cred;
	const struct cred *sender = current_cred();

	*caller = at_caller_of(sender);
	caller->admin = netlink_capable(skb, CAP_SYS_ADMIN);
	caller->privileged = caller->admin || netlink_capable(skb, CAP_PERFMON);
	if (opener->user_ns == sender->user_ns)
		caller->caps = cap_intersect(opener->cap_permitted, sender->cap_permitted);
	else
		caller->caps = CAP_EMPTY_SET;
	if (uid_eq(opener->uid, caller->uid) || caller->admin)
		return 0;
	NL_SET_ERR_MSG(extack, "the socket was opened by another user; open one as this user");
	return -EPERM;
}

/**
 * at_netlink_reply() - begin a reply
 * @info: the request
 * @header: out: the message's header, for at_netlink_send()
 *
 * Return: the reply, or NULL if there is no memory.
 */
struct sk_buff *at_netlink_reply(struct genl_info *info, void **header)
{
	u8 cmd = info->genlhdr->cmd;
	struct sk_buff *skb;

	/* NLMSG_GOODSIZE bytes with the headers. */
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return NULL;
	*header = genlmsg_put_reply(skb, info, &at_genl_family, 0, cmd);
	if (*header)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/**
 * at_netlink_send() - end a reply and send it
 * @skb: the reply
 * @header: the message's header
 * @info: the request
 *
 * Return: 0 or a negative errno.
 */
int at_netlink_send(struct sk_buff *skb, void *header, struct genl_info *info)
{
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* Put the attributes of the session that has the provider, if any. */
static int at_put_membership(struct sk_buff *skb, const struct at_member *m,
			     const struct at_caller *caller)
{
	u64 sched_dropped = 0, names_dropped = 0;
	u32 flags = 0, rings = 0, i;

	if (m && m->late)
		flags |= ASYNCTRACE_PROVIDER_F_LATE;
	for (i = 0; m && m->rings && i < m->rings->nr; i++)
		rings += !!atomic_read(&m->rings->ring[i].nr_pages);
	if (m && at_session_visible(m->session, caller)) {
		if (nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_SESSION, m->session->id))
			return -EMSGSIZE;
		sched_dropped = at_sharer_dropped(&m->sharer, AT_KRING_EVENTS);
		names_dropped = at_sharer_dropped(&m->sharer, AT_KRING_NAMES);
	} else if (m) {
		flags |= ASYNCTRACE_PROVIDER_F_HELD;
	}
	if ((m && m->rings && m->session->state == ASYNCTRACE_SESSION_STATE_STARTED &&
	     nla_put_flag(skb, ASYNCTRACE_A_PROVIDER_STARTED)) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_FLAGS, flags) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_RINGS, rings) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_SCHED_DROPPED, sched_dropped,
			      ASYNCTRACE_A_PROVIDER_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_NAMES_DROPPED, names_dropped,
			      ASYNCTRACE_A_PROVIDER_PAD))
		return -EMSGSIZE;
	return 0;
}

/**
 * at_netlink_fill_provider() - put a provider's attributes
 * @skb: message to put them in
 * @p: the provider
 * @caller: receiver of the message
 *
 * The caller holds at_lock.
 *
 * Return: 0, or -EMSGSIZE if the attributes do not fit.
 */
int at_netlink_fill_provider(struct sk_buff *skb, const struct at_provider *p,
			     const struct at_caller *caller)
{
	lockdep_assert_held(&at_lock);
	if (nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_ID, p->id) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_CELLS_MISSING, READ_ONCE(p->uncelled)) ||
	    nla_put_string(skb, ASYNCTRACE_A_PROVIDER_NAME, p->name) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_VERSION, p->version) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_RING_STRIDE,
			      (u64)p->layout.ring_pages * PAGE_SIZE, ASYNCTRACE_A_PROVIDER_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_PID,
			pid_nr_ns(p->pid, task_active_pid_ns(current))) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_UID,
			from_kuid_munged(current_user_ns(), p->uid)) ||
	    at_put_membership(skb, p->member, caller) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_SERIAL, p->serial,
			      ASYNCTRACE_A_PROVIDER_PAD))
		return -EMSGSIZE;
	return 0;
}

static int at_put_strings(struct at_part *part, int type, const struct at_strings *list)
{
	const char *text;
	u32 i;

	if (!list)
		return 0;
	for (i = 0, text = list->text; i < list->count; i++, text += strlen(text) + 1)
		if (!at_part_has(part) && at_part_full(part, nla_put_string(part->skb, type, text)))
			return -EMSGSIZE;
	return 0;
}

/*
 * Put the costs of the probes. They are sums over all sessions and show the activity of other
 * users, so they are 0 in a session whose owner is not privileged.
 */
static int at_put_costs(struct sk_buff *skb, const struct at_session *s)
{
	struct at_sched_cost cost = {};

	if (s->ks && s->owner.privileged)
		at_sched_cost(&cost);
	if (nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PROBE_CALLS, cost.calls,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PROBE_RECORDS,
			      cost.switches + cost.wakings, ASYNCTRACE_A_SESSION_PAD))
		return -EMSGSIZE;
	return 0;
}

/* Put all attributes of a session except its lists. */
static int at_put_session(struct sk_buff *skb, const struct at_session *s,
			  const struct at_session_sums *sums)
{
	if (nla_put_u32(skb, ASYNCTRACE_A_SESSION_ID, s->id) ||
	    nla_put_string(skb, ASYNCTRACE_A_SESSION_NAME, s->name) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_MODE, s->mode) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_SCHED, s->sched) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_FLAGS, s->flags) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_RING_SIZE,
			      (u64)at_ring_words(&s->geometry) * sizeof(u64),
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_SUB_SIZE,
			      (u64)s->geometry.sub_words * sizeof(u64),
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_STATE, s->state) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_UID,
			from_kuid_munged(current_user_ns(), s->owner.uid)) ||
	    (s->consumer && !s->closed && nla_put_flag(skb, ASYNCTRACE_A_SESSION_CONSUMED)) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_PROVIDERS, s->nr_members) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_LATE, sums->nr_late) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS, s->nr_refused) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PAGES, sums->pages,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_REFUSED, sums->refused,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    at_put_costs(skb, s) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_GENERATION, s->generation) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_THREADS_MISSED,
			      s->ks ? READ_ONCE(s->ks->missed) : 0, ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_ENDED, sums->nr_ended))
		return -EMSGSIZE;
	return 0;
}

static int at_put_lists(struct at_part *part, const struct at_session *s,
			const struct at_strings *categories)
{
	if (at_put_strings(part, ASYNCTRACE_A_SESSION_CATEGORY, categories) ||
	    at_put_strings(part, ASYNCTRACE_A_SESSION_PROVIDER, s->providers) ||
	    at_filter_put(part, s->filter) || at_buffers_put(part, s->buffers))
		return -EMSGSIZE;
	return 0;
}

/*
 * Set the flag that the session's lists continue, and note where the next message begins.
 * Returns 1, or -EMSGSIZE if the message must not be split.
 */
static int at_split_session(struct at_part *part, struct at_strings *categories,
			    struct at_dump *dump)
{
	if (!at_part_ends(part) || nla_put_flag(part->skb, ASYNCTRACE_A_SESSION_MORE))
		return -EMSGSIZE;
	if (!dump)
		return 1;
	/* The next message needs the same categories, even if an update replaces them. */
	if (!dump->part && categories) {
		refcount_inc(&categories->refs);
		dump->list = categories;
	}
	dump->part = part->n;
	return 1;
}

/**
 * at_netlink_fill_session() - put a session's attributes
 * @part: message to put them in
 * @s: the session, with a reference; at_lock is not held
 * @dump: the dump; NULL for a reply of one message
 *
 * Return: 0; 1 if its lists continue in the next message of the dump; -EMSGSIZE if the
 * session does not fit.
 */
int at_netlink_fill_session(struct at_part *part, struct at_session *s, struct at_dump *dump)
{
	struct at_session_sums sums = {};
	struct at_strings *categories;
	int err;

	if (!part->first)
		sums = at_session_sum(s);
	spin_lock(&at_lock);
	categories = part->first ? dump->list : s->categories;
	if (part->first)
		err = nla_put_u32(part->skb, ASYNCTRACE_A_SESSION_ID, s->id);
	else
		err = at_put_session(part->skb, s, &sums);
	if (!err && at_put_lists(part, s, categories))
		err = at_split_session(part, categories, dump);
	spin_unlock(&at_lock);
	return err;
}

/* Begin a message of a dump. Returns its header, or NULL if there is no room. */
void *at_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &at_genl_family, NLM_F_MULTI, cmd);
}

/* Parse the attributes of a dump. The caller has set dump->caller. */
static int at_dump_begin(struct netlink_callback *cb)
{
	struct genlmsghdr *genl = nlmsg_data(cb->nlh);
	struct nlattr **attrs = at_dump_attrs(cb);
	struct at_dump *dump = at_dump(cb);
	struct nlattr *attr = NULL;
	struct at_session *s;

	dump->id = 0;
	dump->part = 0;
	dump->one = false;
	dump->ring = 0;
	dump->member = 0;
	dump->list = NULL;
	switch (genl->cmd) {
	case ASYNCTRACE_CMD_SESSION_GET:
		attr = attrs ? attrs[ASYNCTRACE_A_SESSION_ID] : NULL;
		dump->one = attr;
		break;
	case ASYNCTRACE_CMD_RING_GET:
		attr = attrs ? attrs[ASYNCTRACE_A_RING_SESSION] : NULL;
		if (attr)
			break;
		NL_SET_ERR_ATTR_MISS(cb->extack, NULL, ASYNCTRACE_A_RING_SESSION);
		NL_SET_ERR_MSG(cb->extack, "say whose rings: the session's id is missing");
		return -EINVAL;
	case ASYNCTRACE_CMD_PROVIDER_GET:
		if (!attrs || !attrs[ASYNCTRACE_A_PROVIDER_ID])
			break;
		NL_SET_ERR_MSG_ATTR(cb->extack, attrs[ASYNCTRACE_A_PROVIDER_ID],
				    "a dump takes no id; ask without NLM_F_DUMP for one");
		return -EINVAL;
	}
	if (!attr)
		return 0;
	dump->id = nla_get_u32(attr);
	s = at_session_find(dump->id, &dump->caller, cb->extack);
	if (IS_ERR(s)) {
		NL_SET_BAD_ATTR(cb->extack, attr);
		return PTR_ERR(s);
	}
	at_session_put(s);
	return 0;
}

/**
 * at_netlink_dump_start() - begin a dump
 * @cb: the dump
 *
 * A dump of rings needs the id of a session, and a dump of sessions may have one. A dump of
 * providers must not have an id, because a request for one provider is no dump.
 *
 * Return: 0 or a negative errno.
 */
int at_netlink_dump_start(struct netlink_callback *cb)
{
	struct at_caller caller;
	int err;

	err = at_netlink_caller(cb->skb, &caller, cb->extack);
	if (err)
		return err;
	at_caller_keep(&at_dump(cb)->caller, &caller);
	err = at_dump_begin(cb);
	if (err)
		at_netlink_dump_done(cb);
	return err;
}

/**
 * at_netlink_dump_done() - end a dump, even if it was not read to its end
 * @cb: the dump
 *
 * Return: 0.
 */
int at_netlink_dump_done(struct netlink_callback *cb)
{
	at_caller_drop(&at_dump(cb)->caller);
	return 0;
}

/**
 * at_netlink_lists_done() - end a dump of objects with lists, even if not read to its end
 * @cb: the dump
 *
 * Return: 0.
 */
int at_netlink_lists_done(struct netlink_callback *cb)
{
	at_strings_put(at_dump(cb)->list);
	return at_netlink_dump_done(cb);
}

/* Go on to the next object: the current one has been put completely. */
void at_dump_next(struct at_dump *dump)
{
	at_strings_put(dump->list);
	dump->list = NULL;
	dump->part = 0;
	/* A request for one session ends here: no session has the id 0. */
	dump->id = dump->one ? 0 : dump->id + 1;
}

/**
 * at_netlink_dump_providers() - put as many providers as fit
 * @skb: message buffer
 * @cb: the dump
 *
 * Return: bytes put, 0 at the end, or -EMSGSIZE if not even one fits.
 */
int at_netlink_dump_providers(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct at_dump *dump = at_dump(cb);
	struct at_provider *p;
	int err = 0;
	u32 n = 0;

	spin_lock(&at_lock);
	while ((p = at_provider_next(&dump->id, &dump->caller))) {
		void *header = at_dump_put(skb, cb, ASYNCTRACE_CMD_PROVIDER_GET);

		if (!header || at_netlink_fill_provider(skb, p, &dump->caller)) {
			genlmsg_cancel(skb, header);
			err = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, header);
		dump->id++;
		at_turn(&n);
	}
	spin_unlock(&at_lock);
	return skb->len ? skb->len : err;
}

/* Returns the session to continue with, with a reference, or NULL at the end of the dump. */
static struct at_session *at_dump_session(struct at_dump *dump)
{
	struct at_session *s;
	u32 id = dump->id;

	if (dump->one) {
		s = at_session_find(id, &dump->caller, NULL);
		if (IS_ERR(s))
			s = NULL;
	} else {
		s = at_session_next(&dump->id, &dump->caller);
	}
	/* No session has this id any more: leave out the rest of its lists. */
	if (!s || s->id != id) {
		at_strings_put(dump->list);
		dump->list = NULL;
		dump->part = 0;
	}
	return s;
}

/**
 * at_netlink_dump_sessions() - put as many sessions as fit
 * @skb: message buffer
 * @cb: the dump
 *
 * Return: bytes put, 0 at the end, or -EMSGSIZE if nothing fits.
 */
int at_netlink_dump_sessions(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct at_dump *dump = at_dump(cb);
	struct at_session *s;
	int err = 0;

	for (; err >= 0 && (s = at_dump_session(dump)); at_session_put(s)) {
		struct at_part part = at_part_of(skb, skb->len, dump->part);
		void *header = at_dump_put(skb, cb, ASYNCTRACE_CMD_SESSION_GET);

		err = header ? at_netlink_fill_session(&part, s, dump) : -EMSGSIZE;
		if (err < 0)
			genlmsg_cancel(skb, header);
		else
			genlmsg_end(skb, header);
		if (!err)
			at_dump_next(dump);
	}
	return skb->len ? skb->len : err;
}

/**
 * struct at_ring_dump - argument of at_put_ring()
 * @skb: message buffer
 * @cb: the dump
 * @s: the session
 */
struct at_ring_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct at_session *s;
};

/*
 * Sequence number of a dump of rings. It changes when the counts of a provider are added to
 * the sums. Then messages have NLM_F_DUMP_INTR, because the dump may have these counts twice
 * or not at all. Must not be 0, see genl_dump_check_consistent().
 */
static u32 at_ring_dump_seq(struct at_session *s)
{
	return at_session_nr_ended(s) | 1U << 31;
}

static int at_put_ring(const struct at_ring_stats *st, void *arg)
{
	struct at_ring_dump *d = arg;
	struct sk_buff *skb = d->skb;
	void *header = at_dump_put(skb, d->cb, ASYNCTRACE_CMD_RING_GET);

	if (!header)
		return -EMSGSIZE;
	d->cb->seq = at_ring_dump_seq(d->s);
	genl_dump_check_consistent(d->cb, header);
	if (nla_put_u32(skb, ASYNCTRACE_A_RING_SESSION, at_dump(d->cb)->id) ||
	    nla_put_u32(skb, ASYNCTRACE_A_RING_PROVIDER, st->provider) ||
	    nla_put_u32(skb, ASYNCTRACE_A_RING_RING, st->ring) ||
	    nla_put_u32(skb, ASYNCTRACE_A_RING_KIND, st->kind) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_COMMITTED, st->committed,
			      ASYNCTRACE_A_RING_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_DELIVERED, st->delivered,
			      ASYNCTRACE_A_RING_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_OVERWRITTEN, st->overwritten,
			      ASYNCTRACE_A_RING_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_DROPPED, st->dropped,
			      ASYNCTRACE_A_RING_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_CLEARED, st->cleared,
			      ASYNCTRACE_A_RING_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_RING_PAGES, st->pages,
			      ASYNCTRACE_A_RING_PAD)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/**
 * at_netlink_dump_rings() - put as many rings of the session as fit
 * @skb: message buffer
 * @cb: the dump
 *
 * If the session has ended meanwhile, the dump ends.
 *
 * Return: bytes put, 0 at the end, or -EINTR if the caller was killed.
 */
int at_netlink_dump_rings(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct at_ring_dump d = { .skb = skb, .cb = cb };
	struct at_dump *dump = at_dump(cb);
	struct at_ring_walk at;
	struct at_session *s;
	int err;

	s = at_session_find(dump->id, &dump->caller, NULL);
	if (IS_ERR(s))
		return skb->len;
	d.s = s;
	at = (struct at_ring_walk){ .member = dump->member, .ring = dump->ring };
	/* Set the sequence number before the first ring is read. */
	if (!cb->prev_seq)
		cb->prev_seq = at_ring_dump_seq(s);
	err = at_session_rings(s, &at, at_put_ring, &d);
	dump->member = at.member;
	dump->ring = at.ring;
	at_session_put(s);
	return err ?: skb->len;
}
