// SPDX-License-Identifier: GPL-2.0
/*
 * Members' shares of the kernel's rings: quotas in tight rings, and counts of dropped
 * records. at_sharer_init() and at_sharer_destroy() run in process context. Unless stated
 * otherwise, the other functions run on the ring's CPU with interrupts off, for each record
 * that does not take the fast path.
 */
#include <linux/percpu.h>

#include "ring/kernel_ring.h"
#include "ring/share.h"

/*
 * The smallest quota. If the reserve is too small to give each sharer this quota, the sharers
 * that write first can use it.
 */
#define AT_SHARE_LEAST		(2 * AT_SHARE_RECORD)

/**
 * at_sharer_init - allocate a member's accounts
 * @sharer: zeroed
 *
 * Return: 0 or -ENOMEM.
 */
int at_sharer_init(struct at_sharer *sharer)
{
	sharer->share = alloc_percpu_gfp(struct at_share, GFP_KERNEL_ACCOUNT |
							   __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	return sharer->share ? 0 : -ENOMEM;
}

/* A member with accounts joins the session. With at_lock held. */
void at_sharer_join(struct at_sharer *sharer, struct at_sharing *sharing)
{
	sharer->number = sharing->joined + 1;
	WRITE_ONCE(sharing->joined, sharer->number);
	WRITE_ONCE(sharing->members, sharing->members + 1);
}

/* A member has left, but probes may still record its tasks. With at_lock held. */
void at_sharer_leave(struct at_sharing *sharing)
{
	WRITE_ONCE(sharing->members, sharing->members - 1);
}

void at_sharer_destroy(struct at_sharer *sharer)
{
	free_percpu(sharer->share);
}

/**
 * at_sharer_dropped - count the records dropped on a member's behalf
 * @sharer: the member; may have no accounts
 * @kind: kind of rings
 *
 * May be called in any context.
 *
 * Return: the sum over all CPUs.
 */
u64 at_sharer_dropped(const struct at_sharer *sharer, enum at_kring_kind kind)
{
	u64 sum = 0;
	int cpu;

	if (!sharer->share)
		return 0;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(sharer->share, cpu)->of[kind].dropped);
	return sum;
}

/**
 * at_share_quota - compute each sharer's quota of a ring's room
 * @g: the ring's size
 * @room: words, whole sub-buffers
 * @sharers: number of sharers
 *
 * Excludes the heads of sub-buffers and the words that may stay unused at their ends. So
 * the quotas together fit, unless they are raised to AT_SHARE_LEAST. Also excludes one
 * record, see at_share_room().
 *
 * Return: the quota in words.
 */
u32 at_share_quota(const struct at_geometry *g, u64 room, u32 sharers)
{
	u32 lost = ASYNCTRACE_SUBBUF_WORDS + AT_SHARE_RECORD - 1;
	u32 words = room / g->sub_words * (g->sub_words - lost) - AT_SHARE_RECORD;

	return max_t(u32, words / sharers, AT_SHARE_LEAST);
}

/*
 * The number of sharers: the members, and one for foreign tasks and late members. 1: the
 * ring is not shared.
 */
static u32 at_share_sharers(const struct at_kring *r)
{
	u32 members = READ_ONCE(r->sharing->members);

	return members > 1 || r->foreign ? members + 1 : 1;
}

/**
 * at_share_entered - make a ring tight if it has reached its reserve
 * @r: the ring, which has entered a sub-buffer
 * @room: words up to the limit, from the beginning of that sub-buffer on
 */
void at_share_entered(struct at_kring *r, u64 room)
{
	struct at_tight *t = &r->tight;
	u32 sharers = at_share_sharers(r);
	bool on = room <= r->reserve && sharers > 1;

	if (on && !t->on) {
		t->period++;
		t->quota = at_share_quota(&r->geometry, room, sharers);
		t->joined = READ_ONCE(r->sharing->joined);
	}
	t->on = on;
	r->end = on ? NULL : r->brim;
}

/* End a tight period if the reader has freed enough, or if the ring is no longer shared. */
static void at_share_look(struct at_kring *r)
{
	u64 linear = at_pos_linear(r->position, false);
	u64 start = (linear - 1) / r->geometry.sub_words * r->geometry.sub_words;

	if (at_kring_limit(r) - start <= r->reserve && at_share_sharers(r) > 1)
		return;
	r->tight.on = false;
	r->end = r->brim;
}

static struct at_share_account *at_share_account(struct at_kring *r, const struct at_sharer *sharer)
{
	return sharer ? &this_cpu_ptr(sharer->share)->of[r->kind] : &r->others;
}

/* Did the member join after the ring became tight? Such members share one quota. */
static bool at_share_late(const struct at_kring *r, const struct at_sharer *sharer)
{
	return sharer && (s32)(sharer->number - r->tight.joined) > 0;
}

static bool at_share_pay(struct at_kring *r, const struct at_sharer *sharer, u32 words)
{
	const struct at_tight *t = &r->tight;
	struct at_share_account *a;

	a = at_share_account(r, at_share_late(r, sharer) ? NULL : sharer);
	if (a->period != t->period) {
		a->period = t->period;
		a->words = 0;
	}
	if (a->words + words > t->quota)
		return false;
	a->words += words;
	return true;
}

static bool at_share_pays(struct at_kring *r, const struct at_bill *bill)
{
	u32 i;

	for (i = 0; i < bill->nr; i++)
		if (at_share_pay(r, bill->of[i], bill->words))
			return true;
	return !bill->nr;
}

static void at_share_drop(struct at_kring *r, const struct at_bill *bill)
{
	const struct at_sharer *whose = NULL;
	struct at_share_account *a;
	u32 i;

	for (i = 0; i < bill->nr && !whose; i++)
		whose = bill->of[i];
	a = at_share_account(r, whose);
	WRITE_ONCE(a->dropped, a->dropped + 1);
	WRITE_ONCE(r->dropped, r->dropped + 1);
}

/**
 * at_share_room - find room for a record, on the slow path
 * @r: ring of this CPU; interrupts are off until at_kring_commit()
 * @words: size of the record
 * @bill: accounts that may pay for the record if the ring is tight
 *
 * A record with an empty bill was paid for with an earlier record. If that was before the
 * ring became tight, no quota was charged. This applies to at most one record: the switch
 * out of an untraced task, see struct at_attention. at_share_quota() leaves room for it.
 *
 * Return: true: the record goes to r->next; false: it was counted as dropped, by the ring
 * and by the first member in @bill.
 */
bool at_share_room(struct at_kring *r, u32 words, const struct at_bill *bill)
{
	if (r->tight.on)
		at_share_look(r);
	if ((r->next + words <= r->brim || at_kring_enter(r)) &&
	    (!r->tight.on || at_share_pays(r, bill)))
		return true;
	at_share_drop(r, bill);
	return false;
}
