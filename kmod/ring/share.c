// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of the kernel's rings: who may put how much of a tight ring, and on whose
 * behalf records were dropped. What is not said otherwise runs on the ring's CPU with
 * interrupts off, for each record that does not go the short way.
 */
#include <linux/percpu.h>

#include "ring/kernel_ring.h"
#include "ring/share.h"

/* A quota is no less, lest a reserve that is too small for all is of use to nobody. */
#define AT_SHARE_LEAST		(2 * AT_SHARE_RECORD)

/**
 * at_sharer_init - give a member its accounts
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

/* A member, which has accounts, joins. at_lock is held. */
void at_sharer_join(struct at_sharer *sharer, struct at_sharing *sharing)
{
	sharer->number = sharing->joined + 1;
	WRITE_ONCE(sharing->joined, sharer->number);
	WRITE_ONCE(sharing->members, sharing->members + 1);
}

/* A member has left; its last records may still come. at_lock is held. */
void at_sharer_leave(struct at_sharing *sharing)
{
	WRITE_ONCE(sharing->members, sharing->members - 1);
}

void at_sharer_destroy(struct at_sharer *sharer)
{
	free_percpu(sharer->share);
}

/**
 * at_sharer_dropped - how many records were dropped on a member's behalf
 * @sharer: the member; it may have no accounts
 * @kind: in which rings
 *
 * From everywhere.
 *
 * Return: that number, on all CPUs together.
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
 * at_share_quota - what each may have of a ring's room
 * @g: the ring's size
 * @room: words, whole sub-buffers
 * @sharers: among how many
 *
 * Less the heads of sub-buffers and what may stay unused at their ends, so that who
 * has paid finds room; and less one record, see at_share_room().
 *
 * Return: words.
 */
u32 at_share_quota(const struct at_geometry *g, u64 room, u32 sharers)
{
	u32 lost = ASYNCTRACE_SUBBUF_WORDS + AT_SHARE_RECORD - 1;
	u32 words = room / g->sub_words * (g->sub_words - lost) - AT_SHARE_RECORD;

	return max_t(u32, words / sharers, AT_SHARE_LEAST);
}

/* Among how many a ring is shared out, with one more for who is no member; or 1. */
static u32 at_share_sharers(const struct at_kring *r)
{
	u32 members = READ_ONCE(r->sharing->members);

	return members > 1 || r->foreign ? members + 1 : 1;
}

/**
 * at_share_entered - a ring has come to its next sub-buffer
 * @r: the ring
 * @room: words that may be written from the beginning of that sub-buffer on
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

/* Has the reader freed enough, or nobody left to share with? */
static void at_share_look(struct at_kring *r)
{
	u64 linear = at_pos_linear(r->position, false);
	u64 start = (linear - 1) / r->geometry.sub_words * r->geometry.sub_words;

	if (at_kring_limit(r) - start <= r->reserve && at_share_sharers(r) > 1)
		return;
	r->tight.on = false;
	r->end = r->brim;
}

static struct at_account *at_share_account(struct at_kring *r, const struct at_sharer *sharer)
{
	return sharer ? &this_cpu_ptr(sharer->share)->of[r->kind] : &r->others;
}

/* Who came when the ring was tight already has a quota together with others. */
static bool at_share_late(const struct at_kring *r, const struct at_sharer *sharer)
{
	return sharer && (s32)(sharer->number - r->tight.joined) > 0;
}

static bool at_share_pay(struct at_kring *r, const struct at_sharer *sharer, u32 words)
{
	const struct at_tight *t = &r->tight;
	struct at_account *a;

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
	struct at_account *a;
	u32 i;

	for (i = 0; i < bill->nr && !whose; i++)
		whose = bill->of[i];
	a = at_share_account(r, whose);
	WRITE_ONCE(a->dropped, a->dropped + 1);
	WRITE_ONCE(r->dropped, r->dropped + 1);
}

/**
 * at_share_room - room for a record, the long way
 * @r: ring of this CPU; interrupts are off until at_kring_commit()
 * @words: of the record
 * @bill: who pays for it where the ring is tight. What was paid for before it was
 *	tight is one record at most: the end of what is open on this CPU
 *
 * Return: whether there is: the record goes to r->next. Else it has been counted as
 * dropped, of the ring and of the first member that was to pay.
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
