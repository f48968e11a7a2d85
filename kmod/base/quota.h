/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one user has: so that nobody can fill the kernel with providers,
 * sessions, or rings.
 */
#ifndef AT_QUOTA_H
#define AT_QUOTA_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>

/* What is counted. */
enum at_thing { AT_THING_PROVIDER, AT_THING_SESSION, AT_THING_SUBSCRIBER, AT_THINGS };

struct at_user;

struct at_user *at_user_get(kuid_t uid, enum at_thing thing);
void at_user_put(struct at_user *user, enum at_thing thing);
u64 at_user_charge(struct at_user *user, u64 *charged, u64 bytes, u64 limit);
void at_user_uncharge(struct at_user *user, u64 charged);

#endif /* AT_QUOTA_H */
