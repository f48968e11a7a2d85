/* SPDX-License-Identifier: GPL-2.0 */
/* Memory limit of sessions */
#ifndef AT_BUDGET_H
#define AT_BUDGET_H

#include <linux/types.h>

#include "ring/geometry.h"

struct at_provider;
struct at_session;
struct netlink_ext_ack;

/**
 * struct at_wanted - providers that a session can take
 * @all: number of providers
 * @sure: number of those for which the session must have memory. In a privileged session, these
 *	are the providers of users with CAP_SYS_RESOURCE; in others, all
 * @bytes: size of the rings of these providers
 */
struct at_wanted {
	u32 all;
	u32 sure;
	u64 bytes;
};

struct at_geometry at_memory_geometry(const struct at_session *s, const struct at_provider *p);
u64 at_memory_of(const struct at_session *s, const struct at_provider *p);
void at_memory_want(const struct at_session *s, const struct at_provider *p,
		    struct at_wanted *wanted);
int at_memory_check(struct at_session *s, const struct at_wanted *wanted,
		    struct netlink_ext_ack *extack);
int at_memory_admit(struct at_session *s, const struct at_provider *p);
bool at_memory_shared(const struct at_session *s, const struct at_provider *p);
void at_memory_settle(struct at_session *s);
void at_memory_joined(struct at_session *s);
void at_memory_uncharge(struct at_session *s);
bool at_memory_make_room(struct at_session *s, const struct at_provider *p);

#endif /* AT_BUDGET_H */
