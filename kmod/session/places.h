/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a session needs, got before it is needed.
 *
 * At the limit of a memory cgroup that is its user's, memory may take as long as he
 * likes. So at_lock, which all others wait for, is not held meanwhile; with it held,
 * what is there is used, and who finds nothing left is refused.
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
 * struct at_prepared - see above
 * @ks: the scheduling side of a session, which is not there before the session is
 *	initialized: a consumer reads without at_lock, and is to find nothing that is
 *	taken away again
 * @names: likewise
 * @members: places for providers, through their @node
 * @nr: of these
 * @failed: there was no memory for more
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
