/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider's share of the kernel's rings.
 *
 * All providers of a session have their threads' scheduling in the same rings, and
 * one whose threads switch, fork or rename themselves fast enough could leave no
 * room to the others. So the last of a ring's room, its reserve, is shared out when
 * the ring comes to it: the ring is tight then. Each member may put as much of it as
 * is its quota, and one quota is left for tasks that are no member's and for members
 * that come later; so many that come and go get no more than one. A ring stays tight,
 * and what was used of a quota used, until the reader has freed more than the reserve.
 *
 * A circular ring is never tight: there the newest win, whosever they are.
 *
 * The short way of the probes knows nothing of this. While a ring is tight its end is
 * NULL for them, so that they find no room, and the long way is taken, which asks here.
 */
#ifndef AT_SHARE_H
#define AT_SHARE_H

#include <linux/percpu.h>
#include <linux/types.h>

struct at_geometry;
struct at_kring;

/* Words of the largest record; what a sub-buffer may lose at its end is one less. */
#define AT_SHARE_RECORD	7

/* A session's rings on a CPU, each with accounts of its own. */
enum at_kring_kind { AT_KRING_EVENTS, AT_KRING_NAMES, AT_KRINGS };

/**
 * struct at_sharing - among whom a session's kernel rings are shared
 * @members: that have not left; changes under at_lock
 * @joined: that ever were there; changes under at_lock
 */
struct at_sharing {
	u32 members;
	u32 joined;
};

/**
 * struct at_account - what was recorded on somebody's behalf in a ring
 * @period: in which @words were used
 * @words: of the reserve
 * @dropped: records that were dropped
 */
struct at_account {
	u32 period;
	u32 words;
	u64 dropped;
};

struct at_share {
	struct at_account of[AT_KRINGS];
};

/**
 * struct at_sharer - a member, as the rings know it
 * @share: its accounts
 * @number: how many members had joined when it had
 */
struct at_sharer {
	struct at_share __percpu *share;
	u32 number;
};

/**
 * struct at_tight - how a ring's reserve is shared out
 * @on: it is
 * @period: counts how often it became so
 * @quota: words for each
 * @joined: number of the last member that has a quota of its own
 */
struct at_tight {
	bool on;
	u32 period;
	u32 quota;
	u32 joined;
};

/**
 * struct at_bill - who pays for a record
 * @of: the first that can; NULL: tasks that are no member's
 * @nr: of them; 0: it has been paid for
 * @words: to pay
 */
struct at_bill {
	const struct at_sharer *of[2];
	u32 nr;
	u32 words;
};

int at_sharer_init(struct at_sharer *sharer);
void at_sharer_join(struct at_sharer *sharer, struct at_sharing *sharing);
void at_sharer_leave(struct at_sharing *sharing);
void at_sharer_destroy(struct at_sharer *sharer);
u64 at_sharer_dropped(const struct at_sharer *sharer, enum at_kring_kind kind);

u32 at_share_quota(const struct at_geometry *g, u64 room, u32 sharers);
void at_share_entered(struct at_kring *r, u64 room);
bool at_share_room(struct at_kring *r, u32 words, const struct at_bill *bill);

#endif /* AT_SHARE_H */
