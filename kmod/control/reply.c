// SPDX-License-Identifier: GPL-2.0
/*
 * Replies and dumps: messages made of views
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
#include "session/filter.h"
#include "session/session.h"

/**
 * at_netlink_caller() - determine the caller of a request
 * @skb: the request
 * @caller: out: the caller
 * @extack: for the error message
 *
 * A program with more rights than its user can be made to write to a socket that it did not
 * open (an inherited standard output, a passed descriptor). So a capability counts only if
 * the socket's opener and the sender both have it, and both must be the same user.
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

/**
 * at_netlink_fill_provider() - put a provider's attributes
 * @skb: message to put them in
 * @p: the provider
 * @caller: receiver of the message
 *
 * Return: 0, or -EMSGSIZE if the attributes do not fit.
 */
int at_netlink_fill_provider(struct sk_buff *skb, const struct at_provider *p,
			     const struct at_caller *caller)
{
	struct at_provider_view v = {};

	at_provider_view(p, &v, caller);
	if (nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_ID, v.id) ||
	    nla_put_string(skb, ASYNCTRACE_A_PROVIDER_NAME, v.name) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_VERSION, v.version) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_RING_STRIDE, v.ring_stride,
			      ASYNCTRACE_A_PROVIDER_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_PID,
			pid_nr_ns(v.pid, task_active_pid_ns(current))) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_UID,
			from_kuid_munged(current_user_ns(), v.uid)) ||
	    (v.session && nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_SESSION, v.session)) ||
	    (v.started && nla_put_flag(skb, ASYNCTRACE_A_PROVIDER_STARTED)) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_FLAGS, v.flags) ||
	    nla_put_u32(skb, ASYNCTRACE_A_PROVIDER_RINGS, v.rings) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_SCHED_DROPPED, v.sched_dropped,
			      ASYNCTRACE_A_PROVIDER_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_NAMES_DROPPED, v.names_dropped,
			      ASYNCTRACE_A_PROVIDER_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_PROVIDER_SERIAL, v.serial,
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

/* Put all attributes of a session except its lists. */
static int at_put_session(struct sk_buff *skb, const struct at_session_view *v)
{
	if (nla_put_u32(skb, ASYNCTRACE_A_SESSION_ID, v->id) ||
	    nla_put_string(skb, ASYNCTRACE_A_SESSION_NAME, v->name) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_MODE, v->mode) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_SCHED, v->sched) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_FLAGS, v->flags) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_RING_SIZE, v->ring_size,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_SUB_SIZE, v->sub_size,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_STATE, v->state) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_UID,
			from_kuid_munged(current_user_ns(), v->uid)) ||
	    (v->consumed && nla_put_flag(skb, ASYNCTRACE_A_SESSION_CONSUMED)) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_PROVIDERS, v->nr_providers) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_LATE, v->nr_late) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS, v->nr_refused) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PAGES, v->pages,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_REFUSED, v->refused,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PROBE_CALLS, v->probe_calls,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_PROBE_RECORDS, v->probe_records,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_GENERATION, v->generation) ||
	    nla_put_u64_64bit(skb, ASYNCTRACE_A_SESSION_THREADS_MISSED, v->threads_missed,
			      ASYNCTRACE_A_SESSION_PAD) ||
	    nla_put_u32(skb, ASYNCTRACE_A_SESSION_ENDED, v->nr_ended))
		return -EMSGSIZE;
	return 0;
}

static int at_put_lists(struct at_part *part, const struct at_session_view *v)
{
	if (at_put_strings(part, ASYNCTRACE_A_SESSION_CATEGORY, v->categories) ||
	    at_put_strings(part, ASYNCTRACE_A_SESSION_PROVIDER, v->providers) ||
	    at_filter_put(part, v->filter) || at_buffers_put(part, v->buffers))
		return -EMSGSIZE;
	return 0;
}

/* Set the flag that the session's lists continue, and note where the next message begins. */
static int at_split_session(struct at_part *part, struct at_session_view *v,
			    struct at_dump *dump)
{
	if (!at_part_ends(part) || nla_put_flag(part->skb, ASYNCTRACE_A_SESSION_MORE))
		return -EMSGSIZE;
	if (!dump)
		return 1;
	/* The next message needs the same categories, even if an update replaces them. */
	if (!dump->part && v->categories) {
		refcount_inc(&v->categories->refs);
		dump->list = v->categories;
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
	struct at_session_view v = {};
	int err;

	if (!part->first)
		at_session_sum(s, &v);
	spin_lock(&at_lock);
	at_session_view(s, &v);
	if (part->first) {
		v.categories = dump->list;
		err = nla_put_u32(part->skb, ASYNCTRACE_A_SESSION_ID, v.id);
	} else {
		err = at_put_session(part->skb, &v);
	}
	if (!err && at_put_lists(part, &v))
		err = at_split_session(part, &v, dump);
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
	/* No object has the id 0. */
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
	/* The session has ended: leave out the rest of its lists. */
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
 * Sequence number of a dump of rings. It changes when a provider is added to the sums: then
 * messages have NLM_F_DUMP_INTR, as its records may be in two messages or in none. Must not
 * be 0, see genl_dump_check_consistent().
 */
static u32 at_ring_dump_seq(struct at_session *s)
{
	return at_session_folds(s) | 1U << 31;
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
