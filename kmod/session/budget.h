/* SPDX-License-Identifier: GPL-2.0 */
/* Memory limit of sessions */
#ifndef AT_BUDGET_H
#define AT_BUDGET_H

#include <linux/list.h>
#include <linux/types.h>

#include "ring/geometry.h"

struct at_provider;
struct at_session;
struct netlink_ext_ack;

/*
 * Groups of users without CAP_SYS_RESOURCE. There are few groups, so that a session has room for
 * all of them, and many compared with the users of a machine that trace at a time.
 */
#define AT_GROUPS	64

/**
 * struct at_group - what the providers of a group of users have of a session's memory; under the
 *	session's members_lock
 * @bytes: size of the rings of their members that are not done
 * @gone: these members, if their provider is gone
 */
struct at_group {
	u64 bytes;
	struct list_head gone;
};

/**
 * struct at_wanted - providers that a session can take
 * @all: number of providers
 * @sure: number of those that count for @bytes
 * @bytes: size of the rings that the session must have room for
 * @least: the smallest size of the rings of a provider that may have only a share of the memory; 0:
 *	no provider may have only a share
 */
struct at_wanted {
	u32 all;
	u32 sure;
	u64 bytes;
	u64 least;
};

struct at_geometry at_memory_geometry(const struct at_session *s, const struct at_provider *p);
u64 at_memory_of(const struct at_session *s, const struct at_provider *p);
void at_memory_want(const struct at_session *s, const struct at_provider *p,
		    struct at_wanted *wanted);
int at_memory_check(struct at_session *s, const struct at_wanted *wanted,
		    struct netlink_ext_ack *extack);
int at_memory_admit(struct at_session *s, const struct at_provider *p);
struct at_group *at_memory_group(struct at_session *s, const struct at_provider *p);
void at_memory_settle(struct at_session *s);
void at_memory_uncharge(struct at_session *s);
bool at_memory_make_room(struct at_session *s, const struct at_provider *p);

#endif /* AT_BUDGET_H */
