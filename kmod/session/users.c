// SPDX-License-Identifier: GPL-2.0
/*
 * Sums over the providers of each user in a session, so that no user can take all memory
 */
#include <linux/hash.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "session/member.h"
#include "session/session.h"
#include "session/users.h"

static u32 at_user_bucket(kuid_t uid)
{
	return hash_32(__kuid_val(uid), ilog2(AT_USERS_HASH));
}

/* Returns the sums of a user, or NULL if the user has no member that is not done. */
struct at_user_sum *at_user_find(const struct at_session *s, kuid_t uid)
{
	struct at_user_sum *u;

	lockdep_assert_held(&s->members_lock);
	hlist_for_each_entry(u, &s->users[at_user_bucket(uid)], node)
		if (u->uid.val == uid.val)
			return u;
	return NULL;
}

/**
 * at_user_add - count a new member
 * @m: the member; @m->user is an unused structure from at_member_new()
 * @uid: the user who answers for the provider
 * @bytes: size of the member's rings
 */
void at_user_add(struct at_member *m, kuid_t uid, u64 bytes)
{
	struct at_session *s = m->session;
	struct at_user_sum *u = at_user_find(s, uid);

	if (u) {
		kfree(m->user);
		m->user = u;
	} else {
		u = m->user;
		u->uid = uid;
		INIT_LIST_HEAD(&u->gone);
		hlist_add_head(&u->node, &s->users[at_user_bucket(uid)]);
	}
	u->members++;
	u->bytes += bytes;
	s->nr_holding++;
	s->holding += bytes;
	m->bytes = bytes;
}

/* Note that the provider of a member is gone, but that its rings are not freed. */
void at_user_gone(struct at_member *m)
{
	lockdep_assert_held(&m->session->members_lock);
	list_add_tail(&m->user_node, &m->user->gone);
	m->user->gone_bytes += m->bytes;
	m->session->holding_gone += m->bytes;
}

/* Stop counting a member, which becomes done or is freed with its session. */
void at_user_remove(struct at_member *m)
{
	struct at_session *s = m->session;
	struct at_user_sum *u = m->user;

	lockdep_assert_held(&s->members_lock);
	if (!list_empty(&m->user_node)) {
		list_del_init(&m->user_node);
		u->gone_bytes -= m->bytes;
		s->holding_gone -= m->bytes;
	}
	s->nr_holding--;
	s->holding -= m->bytes;
	u->bytes -= m->bytes;
	m->bytes = 0;
	m->user = NULL;
	if (!--u->members) {
		hlist_del(&u->node);
		kfree(u);
	}
}
