/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for requests on sessions, allocated in advance. A place is what one more provider needs: a
 * member and its rings.
 *
 * At the limit of a memory cgroup an allocation may block for as long as the user wants,
 * so at_lock must not be held meanwhile. With at_lock held, requests use only what was
 * allocated.
 */
#ifndef AT_PLACES_H
#define AT_PLACES_H

#include <linux/list.h>
#include <linux/types.h>

struct at_ksched;
struct at_member;
struct at_session;
struct at_task_names;
struct netlink_ext_ack;

/**
 * struct at_prepared - memory allocated for a request
 * @ks: scheduling side of the session. Not set in the session before it is initialized,
 *	because a consumer reads without at_lock and must not find a pointer that is
 *	withdrawn again
 * @names: table of task names, set together with @ks
 * @members: places for providers, linked through their @node
 * @nr: number of @members
 * @failed: an allocation of a place failed
 */
struct at_prepared {
	struct at_ksched *ks;
	struct at_task_names *names;
	struct list_head members;
	u32 nr;
	bool failed;
};

static inline void at_prepared_init(struct at_prepared *prep)
{
	*prep = (struct at_prepared){ .members = LIST_HEAD_INIT(prep->members) };
}

int at_prepare(struct at_session *s, struct at_prepared *prep, struct netlink_ext_ack *extack);
void at_prepare_members(struct at_session *s, struct at_prepared *prep, bool start);
struct at_member *at_prepared_take(struct at_prepared *prep);
void at_prepared_put(struct at_prepared *prep, struct at_member *m);
void at_prepared_free(struct at_prepared *prep);

#endif /* AT_PLACES_H */
