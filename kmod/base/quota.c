// SPDX-License-Identifier: GPL-2.0
/*
 * Quotas of users. Each object is charged to its user, and to the owner of each user
 * namespace that its user is in. Otherwise an unprivileged user with 65,536 subordinate uids
 * would have that many times the limit. Root as the owner of a namespace is not charged, because
 * all containers that a runtime starts as root would then share one account.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "base/quota.h"
#include "base/race.h"

/* Limits of one user without CAP_SYS_RESOURCE. */
static const u32 at_user_max[AT_THINGS] = {
	[AT_THING_PROVIDER] = 4096,
	[AT_THING_SESSION] = 64,
	[AT_THING_SUBSCRIBER] = 64,
};

/* Limits of all users together; only users with CAP_SYS_RESOURCE may exceed them. */
static const u32 at_total_max[AT_THINGS] = {
	[AT_THING_PROVIDER] = 16 * 4096,
	[AT_THING_SESSION] = 16 * 64,
	[AT_THING_SUBSCRIBER] = 16 * 64,
};

static unsigned int at_user_threads = 16384;
module_param_named(user_threads, at_user_threads, uint, 0644);
MODULE_PARM_DESC(user_threads, "Threads that are traced at a time of one user without CAP_SYS_RESOURCE");

/**
 * struct at_account - what one user is charged for
 * @node: in at_accounts
 * @uid: the user
 * @charges: number of charges that refer to this account, and of references to @backlog and
 *	@salts
 * @count: number of objects of each kind
 * @memory: bytes of ring memory that the user's sessions may take
 * @threads: number of traced threads
 * @backlog: work for objects of the user
 * @salts: salts that are kept for the user's processes
 */
struct at_account {
	struct hlist_node node;
	kuid_t uid;
	u32 charges;
	u32 count[AT_THINGS];
	u64 memory;
	atomic_t threads;
	struct at_backlog backlog;
	struct at_user_salts salts;
};

/**
 * struct at_charge - the accounts that one object is charged to
 * @thing: kind of the object
 * @unlimited: the object's creator has CAP_SYS_RESOURCE
 * @memory: bytes of ring memory that the object, a session, may take
 * @nr: number of accounts
 * @top: index of the account of the user who answers for the object. This is the owner of the
 *	outermost user namespace whose owner is not root, because this owner may act as any user
 *	inside. If there is no such namespace, it is the object's user
 * @account: the accounts
 */
struct at_charge {
	enum at_thing thing;
	bool unlimited;
	u64 memory;
	u32 nr;
	u32 top;
	struct at_account *account[];
};

static DEFINE_SPINLOCK(at_quota_lock);
static DEFINE_HASHTABLE(at_accounts, 8);
static u32 at_total[AT_THINGS];
/* Sum of at_charge.memory; only sessions of unprivileged users charge memory. */
static u64 at_total_memory;

static u32 at_user_limit(enum at_thing thing)
{
	return thing == AT_THING_PROVIDER ?
	       at_limit(AT_LIMIT_PROVIDERS, at_user_max[thing]) : at_user_max[thing];
}

static struct at_account *at_account_find(kuid_t uid)
{
	struct at_account *a;

	hash_for_each_possible(at_accounts, a, node, __kuid_val(uid))
		if (uid_eq(a->uid, uid))
			return a;
	return NULL;
}

/* Add an empty account of @uid, unless the charge already has one, and make it the top one. */
static int at_charge_add(struct at_charge *c, kuid_t uid)
{
	struct at_account *a;

	for (c->top = 0; c->top < c->nr; c->top++)
		if (uid_eq(c->account[c->top]->uid, uid))
			return 0;
	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	a->uid = uid;
	INIT_LIST_HEAD(&a->backlog.list);
	INIT_LIST_HEAD(&a->salts.list);
	c->account[c->nr++] = a;
	return 0;
}

static void at_accounts_free(struct hlist_head *unused)
{
	struct at_account *a;
	struct hlist_node *next;

	hlist_for_each_entry_safe(a, next, unused, node)
		kfree(a);
}

/* Replace each new account whose user already has one; move the new one to @unused. */
static void at_charge_link(struct at_charge *c, struct hlist_head *unused)
{
	u32 i;

	for (i = 0; i < c->nr; i++) {
		struct at_account *new = c->account[i], *a = at_account_find(new->uid);

		if (a) {
			c->account[i] = a;
			hlist_add_head(&new->node, unused);
		} else {
			hash_add(at_accounts, &new->node, __kuid_val(new->uid));
		}
		c->account[i]->charges++;
	}
}

static void at_account_unlink(struct at_account *a, struct hlist_head *unused)
{
	if (--a->charges)
		return;
	hash_del(&a->node);
	hlist_add_head(&a->node, unused);
}

static void at_charge_unlink(struct at_charge *c, struct hlist_head *unused)
{
	u32 i;

	for (i = 0; i < c->nr; i++)
		at_account_unlink(c->account[i], unused);
}

static int at_charge_check(const struct at_charge *c)
{
	u32 i;

	if (c->unlimited)
		return 0;
	for (i = 0; i < c->nr; i++)
		if (c->account[i]->count[c->thing] >= at_user_limit(c->thing))
			return -EDQUOT;
	return at_total[c->thing] >= at_total_max[c->thing] ? -ENOSPC : 0;
}

static void at_charge_count(struct at_charge *c, int n)
{
	u32 i;

	for (i = 0; i < c->nr; i++)
		c->account[i]->count[c->thing] += n;
	at_total[c->thing] += n;
}

/**
 * at_charge_new - charge an object before it is created
 * @uid: the object's user
 * @ns: user namespace of that user
 * @thing: kind of the object
 *
 * May sleep.
 *
 * Return: the charge, for at_charge_free(); ERR_PTR(-ENOMEM); or, unless the caller has
 * CAP_SYS_RESOURCE, ERR_PTR(-EDQUOT) if an account is full, and ERR_PTR(-ENOSPC) if all users
 * together have too many.
 */
struct at_charge *at_charge_new(kuid_t uid, const struct user_namespace *ns,
				enum at_thing thing)
{
	struct at_charge *c;
	HLIST_HEAD(unused);
	int err;

	c = kzalloc(struct_size(c, account, 1 + ns->level), GFP_KERNEL_ACCOUNT);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->thing = thing;
	c->unlimited = capable(CAP_SYS_RESOURCE);
	err = at_charge_add(c, uid);
	for (; !err && ns->parent; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			err = at_charge_add(c, ns->owner);
	if (err) {
		while (c->nr)
			kfree(c->account[--c->nr]);
		kfree(c);
		return ERR_PTR(err);
	}

	spin_lock(&at_quota_lock);
	at_charge_link(c, &unused);
	err = at_charge_check(c);
	if (err)
		at_charge_unlink(c, &unused);
	else
		at_charge_count(c, 1);
	spin_unlock(&at_quota_lock);

	at_accounts_free(&unused);
	if (!err)
		return c;
	kfree(c);
	return ERR_PTR(err);
}

/**
 * at_charge_explain - set the error message for an object that was not charged
 * @err: from at_charge_new()
 * @thing: kind of the object
 * @extack: the reply's extended ack, or NULL
 */
void at_charge_explain(int err, enum at_thing thing, struct netlink_ext_ack *extack)
{
	if (err == -ENOSPC)
		NL_SET_ERR_MSG(extack, "all users have too many: CAP_SYS_RESOURCE allows more");
	else if (err != -EDQUOT)
		return;
	else if (thing == AT_THING_PROVIDER)
		NL_SET_ERR_MSG(extack, "you have too many providers: end some");
	else if (thing == AT_THING_SESSION)
		NL_SET_ERR_MSG(extack, "you have too many sessions: end some");
	else
		NL_SET_ERR_MSG(extack, "you have too many subscriptions: end some");
}

/* Is an account of the charge above half of the limit for unprivileged users? */
bool at_charge_crowded(const struct at_charge *c)
{
	bool crowded = false;
	u32 i;

	spin_lock(&at_quota_lock);
	for (i = 0; i < c->nr; i++)
		crowded |= c->account[i]->count[c->thing] > at_user_limit(c->thing) / 2;
	spin_unlock(&at_quota_lock);
	return crowded;
}

/**
 * at_charge_free - release a charge
 * @c: the charge, or NULL; its threads have been uncharged
 */
void at_charge_free(struct at_charge *c)
{
	HLIST_HEAD(unused);
	u32 i;

	if (!c)
		return;
	spin_lock(&at_quota_lock);
	at_charge_count(c, -1);
	for (i = 0; i < c->nr; i++)
		c->account[i]->memory -= c->memory;
	at_total_memory -= c->memory;
	at_charge_unlink(c, &unused);
	spin_unlock(&at_quota_lock);
	at_accounts_free(&unused);
	kfree(c);
}

/**
 * at_charge_user - find the user who answers for an object
 * @c: charge of the object
 *
 * The user is the one whose backlog at_charge_backlog() returns.
 *
 * Return: the user; INVALID_UID if the object's creator has CAP_SYS_RESOURCE.
 */
kuid_t at_charge_user(const struct at_charge *c)
{
	return c->unlimited ? INVALID_UID : c->account[c->top]->uid;
}

/**
 * at_charge_backlog - find the backlog of the user who answers for an object
 * @c: charge of the object
 *
 * A user cannot get several backlogs by means of user namespaces.
 *
 * Return: the backlog, valid as long as @c or a reference.
 */
struct at_backlog *at_charge_backlog(const struct at_charge *c)
{
	return &c->account[c->top]->backlog;
}

static void at_account_get(struct at_account *a)
{
	spin_lock(&at_quota_lock);
	a->charges++;
	spin_unlock(&at_quota_lock);
}

static void at_account_put(struct at_account *a)
{
	HLIST_HEAD(unused);

	spin_lock(&at_quota_lock);
	at_account_unlink(a, &unused);
	spin_unlock(&at_quota_lock);
	at_accounts_free(&unused);
}

void at_backlog_get(struct at_backlog *b)
{
	at_account_get(container_of(b, struct at_account, backlog));
}

void at_backlog_put(struct at_backlog *b)
{
	at_account_put(container_of(b, struct at_account, backlog));
}

/**
 * at_charge_salts - find the salts that are kept for the user who answers for an object
 * @c: charge of the object
 *
 * Return: the salts, with a reference for at_user_salts_put(); NULL if the object's creator has
 * CAP_SYS_RESOURCE, and so no limit.
 */
struct at_user_salts *at_charge_salts(const struct at_charge *c)
{
	struct at_account *a = c->account[c->top];

	if (c->unlimited)
		return NULL;
	at_account_get(a);
	return &a->salts;
}

/* Drop a reference; @salts may be NULL. */
void at_user_salts_put(struct at_user_salts *salts)
{
	if (salts)
		at_account_put(container_of(salts, struct at_account, salts));
}

/**
 * at_charge_memory - change the ring memory that a session is charged for
 * @c: the session's charge
 * @bytes: memory that the session may take; replaces what was charged before
 * @limit: limit of each account
 * @limit_of_all: limit of all accounts together
 *
 * Return: the largest amount that the limits allow. If it is less than @bytes, the charge is
 * unchanged.
 */
u64 at_charge_memory(struct at_charge *c, u64 bytes, u64 limit, u64 limit_of_all)
{
	u64 others, left;
	u32 i;

	spin_lock(&at_quota_lock);
	others = at_total_memory - c->memory;
	left = limit_of_all > others ? limit_of_all - others : 0;
	for (i = 0; i < c->nr; i++) {
		others = c->account[i]->memory - c->memory;
		left = min(left, limit > others ? limit - others : 0);
	}
	if (bytes <= left) {
		for (i = 0; i < c->nr; i++)
			c->account[i]->memory += bytes - c->memory;
		at_total_memory += bytes - c->memory;
		c->memory = bytes;
	}
	spin_unlock(&at_quota_lock);
	return left;
}

/**
 * at_charge_thread - charge a thread that is about to be traced
 * @c: charge of the thread's provider
 *
 * Takes no lock, because the scheduler's probes call it.
 *
 * Return: true if the thread may be traced.
 */
bool at_charge_thread(struct at_charge *c)
{
	int limit = min_t(u32, READ_ONCE(at_user_threads), INT_MAX);
	u32 i;

	for (i = 0; i < c->nr; i++) {
		if (atomic_inc_return(&c->account[i]->threads) <= limit || c->unlimited)
			continue;
		do
			atomic_dec(&c->account[i]->threads);
		while (i--);
		return false;
	}
	return true;
}

/* Uncharge a thread that is no longer traced. The scheduler's probes call it, too. */
void at_uncharge_thread(struct at_charge *c)
{
	u32 i;

	for (i = 0; i < c->nr; i++)
		atomic_dec(&c->account[i]->threads);
}
