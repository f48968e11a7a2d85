/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider's share of the kernel's rings.
 *
 * The threads of all providers of a session are recorded in the same rings. Threads that
 * switch, fork or rename themselves fast could take all the room. So the last part of a
 * ring's room, its reserve, is shared by quota. A ring that has reached its reserve is
 * tight. Each member has a quota in words. One more quota is for tasks of no member and
 * for members that join late, so that many such members get no more than one quota. A ring
 * stays tight, and used quota stays used, until the reader has freed enough for the room to exceed
 * the reserve, or until the ring is no longer shared.
 *
 * A circular ring is never tight: new records overwrite the oldest, of any member.
 *
 * The fast path of the probes does not check quotas. While a ring is tight, its end is
 * NULL for the fast path. The fast path then finds no room, and the slow path checks.
 */
#ifndef AT_SHARE_H
#define AT_SHARE_H

#include <linux/percpu.h>
#include <linux/types.h>

struct at_geometry;
struct at_kring;

/* Words of the largest record. Up to AT_SHARE_RECORD - 1 words stay unused in a sub-buffer. */
#define AT_SHARE_RECORD	15

/* A session's rings on a CPU; each has its own accounts */
enum at_kring_kind { AT_KRING_EVENTS, AT_KRING_NAMES, AT_KRINGS };

/**
 * struct at_sharing - counts of the members that share a session's kernel rings
 * @members: members that have not left; changed under at_lock
 * @joined: members that have ever joined; changed under at_lock
 */
struct at_sharing {
	u32 members;
	u32 joined;
};

/**
 * struct at_share_account - a sharer's use of a ring
 * @period: the ring's tight period to which @words belongs
 * @words: words of quota used in that period
 * @dropped: records that were dropped
 */
struct at_share_account {
	u32 period;
	u32 words;
	u64 dropped;
};

struct at_share {
	struct at_share_account of[AT_KRINGS];
};

/**
 * struct at_sharer - a member's accounts in the kernel's rings
 * @share: the accounts, for each CPU
 * @number: the member's number in the order of joining, from 1 on
 */
struct at_sharer {
	struct at_share __percpu *share;
	u32 number;
};

/**
 * struct at_tight - state of sharing a ring's reserve
 * @on: the ring is tight
 * @period: number of times that the ring became tight
 * @quota: each sharer's quota in words
 * @joined: number of the last member that has a quota of its own
 */
struct at_tight {
	bool on;
	u32 period;
	u32 quota;
	u32 joined;
};

/**
 * struct at_bill - accounts that may pay for a record in a tight ring
 * @of: candidates: the first with enough quota left pays; NULL: the account of tasks of no
 *	member
 * @nr: number of candidates; 0: an earlier bill paid for the record
 * @words: words to pay
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
