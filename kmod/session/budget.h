/* SPDX-License-Identifier: GPL-2.0 */
/* Memory limit of sessions */
#ifndef AT_BUDGET_H
#define AT_BUDGET_H

#include <linux/types.h>

#include "ring/geometry.h"

struct at_provider;
struct at_session;
struct netlink_ext_ack;

struct at_geometry at_memory_geometry(const struct at_session *s, const struct at_provider *p);
u64 at_memory_of(const struct at_session *s, const struct at_provider *p);
int at_memory_check(struct at_session *s, u32 providers, u64 bytes,
		    struct netlink_ext_ack *extack);
void at_memory_settle(struct at_session *s);
void at_memory_uncharge(struct at_session *s);
bool at_memory_make_room(struct at_session *s);

#endif /* AT_BUDGET_H */
