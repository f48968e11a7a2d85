/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits on the objects of each user, and of all users together.
 */
#ifndef AT_QUOTA_H
#define AT_QUOTA_H

#include <linux/cred.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* Kinds of objects with a limit. */
enum at_thing { AT_THING_PROVIDER, AT_THING_SESSION, AT_THING_SUBSCRIBER, AT_THINGS };

struct at_charge;
struct netlink_ext_ack;

/**
 * struct at_backlog - what one worker does for all objects of a user, in turn
 * @list: objects that the worker has not handled; under at_lock
 * @busy: @work is queued or running, and holds a reference; under at_lock
 * @work: handles @list
 */
struct at_backlog {
	struct list_head list;
	bool busy;
	struct work_struct work;
};

/**
 * struct at_user_salts - salts that are kept for the processes of a user, see id_salt.c
 * @list: the salts; the one that has been kept longest is first
 * @nr: number of salts in @list
 */
struct at_user_salts {
	struct list_head list;
	u32 nr;
};

struct at_charge *at_charge_new(kuid_t uid, const struct user_namespace *ns,
				enum at_thing thing);
bool at_charge_crowded(const struct at_charge *c);
void at_charge_free(struct at_charge *c);
kuid_t at_charge_user(const struct at_charge *c);
struct at_backlog *at_charge_backlog(const struct at_charge *c);
void at_backlog_get(struct at_backlog *b);
void at_backlog_put(struct at_backlog *b);
struct at_user_salts *at_charge_salts(const struct at_charge *c);
void at_user_salts_put(struct at_user_salts *salts);
u64 at_charge_memory(struct at_charge *c, u64 bytes, u64 limit, u64 limit_of_all);
bool at_charge_thread(struct at_charge *c);
void at_uncharge_thread(struct at_charge *c);
void at_charge_explain(int err, enum at_thing thing, struct netlink_ext_ack *extack);

#endif /* AT_QUOTA_H */
