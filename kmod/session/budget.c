// SPDX-License-Identifier: GPL-2.0
/*
 * Memory limit of sessions. It limits the size of the rings, even though their pages are
 * allocated only when they are touched.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>

#include "base/compat.h"
#include "base/quota.h"
#include "provider/provider.h"
#include "session/budget.h"
#include "session/filter.h"
#include "session/member.h"
#include "session/session.h"
#include "session/users.h"

/* Error message on kernels that do not support formatted messages */
#define AT_MEMORY_REFUSED \
	"(CPUs + 1) * ring size * providers is above the memory limit: use smaller rings"

u64 at_memory_limit(bool privileged)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;

	return privileged ? ram / 2 : ram / 8;
}

/* Bytes of a ring for each online CPU and of the fallback ring; each ring has whole pages */
static u64 at_ring_set(u64 ring)
{
	return PAGE_ALIGN(ring) * (num_online_cpus() + 1);
}

/* Geometry of a provider's rings in a session; they fit the addresses that the provider reserved */
struct at_geometry at_memory_geometry(const struct at_session *s, const struct at_provider *p)
{
	u64 ring = (u64)at_ring_words(&s->geometry) * sizeof(u64);

	ring = at_buffers_size(s->buffers, p->name, ring);
	ring = min_t(u64, ring, (u64)p->layout.ring_pages * PAGE_SIZE);
	return at_geometry_of(ring, s->sub_size, s->geometry.circular);
}

/* Bytes that a provider's rings count for in a session */
u64 at_memory_of(const struct at_session *s, const struct at_provider *p)
{
	struct at_geometry g = at_memory_geometry(s, p);

	return at_ring_set((u64)at_ring_words(&g) * sizeof(u64));
}

/* Bytes of the kernel's own rings in a session */
static u64 at_memory_of_kernel(const struct at_session *s)
{
	return s->sched ? at_ring_set((u64)at_ring_words(&s->geometry) * sizeof(u64)) : 0;
}

/* Check the size of a session's rings, and charge an unprivileged owner for them. */
static int at_memory_take(struct at_session *s, u32 providers, u64 bytes,
			  struct netlink_ext_ack *extack)
{
	u64 ring = (u64)at_ring_words(&s->geometry) * sizeof(u64);
	u64 limit = at_memory_limit(s->owner.privileged);
	u32 sets = providers + !!s->sched;

	bytes += at_memory_of_kernel(s);
	if (!s->owner.privileged)
		limit = at_charge_memory(s->charge, max(bytes, s->promised), limit,
					 at_memory_limit(true));
	if (bytes <= limit)
		return 0;
	if (bytes == at_ring_set(ring) * sets)
		AT_ERR_MSG_FMT(extack, AT_MEMORY_REFUSED,
			       "(%u CPUs + 1) * %llu KiB * %u rings = %llu MiB, limit %llu MiB",
			       num_online_cpus(), PAGE_ALIGN(ring) >> 10, sets, bytes >> 20,
			       limit >> 20);
	else
		AT_ERR_MSG_FMT(extack, AT_MEMORY_REFUSED,
			       "(%u CPUs + 1) * %u rings of several sizes = %llu MiB, limit %llu MiB",
			       num_online_cpus(), sets, bytes >> 20, limit >> 20);
	return -ENOSPC;
}

/* Returns the bytes that the providers of a user may have in a privileged session. */
static u64 at_memory_share(const struct at_session *s, u64 others)
{
	u64 limit = at_memory_limit(true);

	others += at_memory_of_kernel(s);
	return limit > others ? (limit - others) / 2 : 0;
}

/* Must a provider share the session's memory with providers of other users? */
bool at_memory_shared(const struct at_session *s, const struct at_provider *p)
{
	return s->owner.privileged && at_charge_user(p->charge).val != INVALID_UID.val;
}

/**
 * at_memory_want - count a provider that a session can take
 * @s: the session
 * @p: the provider
 * @wanted: where it is counted
 */
void at_memory_want(const struct at_session *s, const struct at_provider *p,
		    struct at_wanted *wanted)
{
	wanted->all++;
	if (at_memory_shared(s, p))
		return;
	wanted->sure++;
	wanted->bytes += at_memory_of(s, p);
}

/**
 * at_memory_check - check the rings of a session that is about to be initialized against the
 *	memory limit, and charge for them
 * @s: the session
 * @wanted: its providers
 * @extack: for the reason of a failure
 *
 * Each unprivileged user has one limit for all their sessions, and all unprivileged users
 * together have another one. On success, an unprivileged owner is charged for these rings. The
 * charge replaces the session's previous charge. It is not lowered before at_memory_joined(), so
 * that no other session takes the memory before these providers join.
 *
 * In a privileged session, only providers of users with CAP_SYS_RESOURCE count. Otherwise a user
 * could prevent the session by registering many providers.
 *
 * Return: 0 or -ENOSPC.
 */
int at_memory_check(struct at_session *s, const struct at_wanted *wanted,
		    struct netlink_ext_ack *extack)
{
	int err;

	lockdep_assert_held(&at_lock);
	s->promised = 0;
	err = at_memory_take(s, wanted->sure, wanted->bytes, extack);
	if (!err)
		s->promised = wanted->bytes + at_memory_of_kernel(s);
	return err;
}

/**
 * at_memory_admit - may another provider join a session by the memory limit?
 * @s: the session
 * @p: the provider
 *
 * In a privileged session, a user without CAP_SYS_RESOURCE may have half of the memory that others
 * leave, so that no user can leave nothing to the others. An unprivileged owner is charged for the
 * provider.
 *
 * Return: 0 or -ENOSPC.
 */
int at_memory_admit(struct at_session *s, const struct at_provider *p)
{
	u64 bytes = at_memory_of(s, p), own, all;
	const struct at_user_sum *user;
	u32 providers;

	lockdep_assert_held(&at_lock);
	/* The reader takes only this lock to note that a member is done. */
	spin_lock(&s->members_lock);
	user = at_user_find(s, at_charge_user(p->charge));
	own = user ? user->bytes : 0;
	all = s->holding;
	providers = s->nr_holding;
	spin_unlock(&s->members_lock);
	if (at_memory_shared(s, p) && own + bytes > at_memory_share(s, all - own))
		return -ENOSPC;
	return at_memory_take(s, providers + 1, all + bytes, NULL);
}

/**
 * at_memory_settle - charge the owner of a session for no more than its members may use
 * @s: the session
 *
 * Called when members are gone, or did not join. A session that is not initialized has no members,
 * but at_memory_check() may have charged for it.
 */
void at_memory_settle(struct at_session *s)
{
	lockdep_assert_held(&at_lock);
	if (s->owner.privileged || s->state == ASYNCTRACE_SESSION_STATE_READY)
		return;
	at_memory_take(s, s->nr_holding, s->holding, NULL);
}

/* Called when the providers that at_memory_check() has charged for have joined, or did not. */
void at_memory_joined(struct at_session *s)
{
	lockdep_assert_held(&at_lock);
	s->promised = 0;
	at_memory_settle(s);
}

/* Take back what at_memory_check() has charged for a session that was not initialized after all. */
void at_memory_uncharge(struct at_session *s)
{
	lockdep_assert_held(&at_lock);
	s->promised = 0;
	if (!s->owner.privileged)
		at_charge_memory(s->charge, 0, U64_MAX, U64_MAX);
}

/*
 * Returns the member whose rings are to be freed for a provider whose rings have @bytes; NULL if
 * there is none, or if all gone members together have too little. @limit: bytes that all rings of
 * the session may have.
 */
static struct at_member *at_memory_victim(struct at_session *s, const struct at_provider *p,
					  u64 bytes, u64 limit)
{
	struct at_user_sum *user = at_user_find(s, at_charge_user(p->charge));
	const u64 own = user ? user->bytes : 0;
	struct at_member *m = NULL;

	if (user)
		m = list_first_entry_or_null(&user->gone, struct at_member, user_node);
	if (at_memory_shared(s, p))
		return m && own - user->gone_bytes + bytes <= at_memory_share(s, s->holding - own) ?
		       m : NULL;
	if (s->holding - s->holding_gone + bytes + at_memory_of_kernel(s) > limit)
		return NULL;
	return m ?: list_first_entry_or_null(&s->gone, struct at_member, ended_node);
}

/**
 * at_memory_make_room - free the rings of one ended provider, unread
 * @s: a session
 * @p: the provider that needs room
 *
 * Works only in a circular session without a consumer. Takes a provider of the same user if there
 * is one; usually it has been gone longest. In a privileged session, only a user with
 * CAP_SYS_RESOURCE also takes the room of others. The member's unread records count as overwritten.
 *
 * Return: true if there was such a member.
 */
bool at_memory_make_room(struct at_session *s, const struct at_provider *p)
{
	const u64 bytes = at_memory_of(s, p);
	u64 limit = at_memory_limit(s->owner.privileged);
	struct at_member *m;

	lockdep_assert_held(&at_lock);
	if (s->mode != ASYNCTRACE_MODE_CIRCULAR || s->consumer)
		return false;
	/* U64_MAX is too much to be charged: only get what other sessions leave of the limits. */
	if (!s->owner.privileged)
		limit = at_charge_memory(s->charge, U64_MAX, limit, at_memory_limit(true));
	spin_lock(&s->members_lock);
	m = at_memory_victim(s, p, bytes, limit);
	spin_unlock(&s->members_lock);
	if (!m)
		return false;
	at_member_lose(m);
	return true;
}
