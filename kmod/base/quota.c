// SPDX-License-Identifier: GPL-2.0
/*
 * Accounts of users. Few at a time, looked up when something is made or goes.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "base/quota.h"
#include "base/race.h"

/* How many of each an unprivileged user may have at a time. */
static const u32 at_user_max[AT_THINGS] = {
	[AT_THING_PROVIDER] = 4096,
	[AT_THING_SESSION] = 64,
	[AT_THING_SUBSCRIBER] = 64,
};

static u32 at_user_limit(enum at_thing thing)
{
	return thing == AT_THING_PROVIDER ?
	       at_limit(AT_LIMIT_PROVIDERS, at_user_max[thing]) : at_user_max[thing];
}

/**
 * struct at_user - a user's account
 * @node: in the list of those who have something
 * @uid: the user
 * @count: of each thing
 * @bytes: of ring memory that sessions stand for
 */
struct at_user {
	struct list_head node;
	kuid_t uid;
	u32 count[AT_THINGS];
	u64 bytes;
};

static DEFINE_SPINLOCK(at_users_lock);
static LIST_HEAD(at_users);

static struct at_user *at_user_find(kuid_t uid)
{
	struct at_user *user;

	list_for_each_entry(user, &at_users, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/**
 * at_user_get - put one thing more on a user's account
 * @uid: the user
 * @thing: what it is
 *
 * Return: the account; ERR_PTR(-EDQUOT) where it is full and the caller has not
 * CAP_SYS_RESOURCE, ERR_PTR(-ENOMEM).
 */
struct at_user *at_user_get(kuid_t uid, enum at_thing thing)
{
	struct at_user *user, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	bool unlimited = capable(CAP_SYS_RESOURCE);

	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;

	spin_lock(&at_users_lock);
	user = at_user_find(uid);
	if (!user) {
		user = new;
		new = NULL;
		list_add(&user->node, &at_users);
	}
	if (user->count[thing] >= at_user_limit(thing) && !unlimited)
		user = ERR_PTR(-EDQUOT);
	else
		user->count[thing]++;
	spin_unlock(&at_users_lock);

	kfree(new);
	return user;
}

void at_user_put(struct at_user *user, enum at_thing thing)
{
	u32 left = 0, i;

	if (!user)
		return;
	spin_lock(&at_users_lock);
	user->count[thing]--;
	for (i = 0; i < AT_THINGS; i++)
		left += user->count[i];
	if (left)
		user = NULL;
	else
		list_del(&user->node);
	spin_unlock(&at_users_lock);
	kfree(user);
}

/**
 * at_user_charge - have a session stand for so much memory
 * @user: whose
 * @charged: what the session stands for already; changed where there is room
 * @bytes: what it is to stand for
 * @limit: of all the user's sessions
 *
 * Return: what it may stand for at most; it does so if that is not less than
 * @bytes.
 */
u64 at_user_charge(struct at_user *user, u64 *charged, u64 bytes, u64 limit)
{
	u64 others, left;

	spin_lock(&at_users_lock);
	others = user->bytes - *charged;
	left = limit > others ? limit - others : 0;
	if (bytes <= left) {
		user->bytes = others + bytes;
		*charged = bytes;
	}
	spin_unlock(&at_users_lock);
	return left;
}

void at_user_uncharge(struct at_user *user, u64 charged)
{
	spin_lock(&at_users_lock);
	user->bytes -= charged;
	spin_unlock(&at_users_lock);
}
