/* SPDX-License-Identifier: GPL-2.0 */
/* Sums over the providers of each user in a session */
#ifndef AT_USERS_H
#define AT_USERS_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct at_member;
struct at_session;

/* Buckets of a session's hash of users */
#define AT_USERS_HASH	64

/**
 * struct at_user_sum - sums over a session's members of one user; under the session's members_lock
 * @node: in the session's hash
 * @uid: the user, see at_charge_user()
 * @members: number of members that are not done; the structure is freed with the last one
 * @bytes: size of the rings of these members
 * @gone_bytes: size of the rings of the members in @gone
 * @gone: list of the members that are not done and whose provider is gone, see struct at_member
 */
struct at_user_sum {
	struct hlist_node node;
	kuid_t uid;
	u32 members;
	u64 bytes;
	u64 gone_bytes;
	struct list_head gone;
};

struct at_user_sum *at_user_find(const struct at_session *s, kuid_t uid);
void at_user_add(struct at_member *m, kuid_t uid, u64 bytes);
void at_user_gone(struct at_member *m);
void at_user_remove(struct at_member *m);

#endif /* AT_USERS_H */
