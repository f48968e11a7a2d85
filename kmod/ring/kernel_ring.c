// SPDX-License-Identifier: GPL-2.0
/*
 * The slow path of a kernel ring, and its memory.
 */
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "ring/kernel_ring.h"

/**
 * at_kring_init - initialize a ring, without memory
 * @r: zeroed
 * @kind: kind of records in the ring
 * @g: size of the ring
 * @sharing: counts of the members that share the ring
 * @spares: spares to take the ring's memory from, when its CPU writes the first record
 * @foreign: the ring also records tasks that belong to no member
 */
void at_kring_init(struct at_kring *r, enum at_kring_kind kind, const struct at_geometry *g,
		   const struct at_sharing *sharing, struct at_spares *spares, bool foreign)
{
	/* Reserve more of a ring of names: names come in bursts, and switches need them. */
	u32 part = kind == AT_KRING_NAMES ? 2 : 4;

	BUILD_BUG_ON(ASYNCTRACE_SUBBUFS_MIN < 4);
	r->kind = kind;
	r->sharing = sharing;
	r->spares = spares;
	r->foreign = foreign;
	r->reserve = g->nsub / part * g->sub_words;
	r->geometry = *g;
	r->ring_mask = at_ring_words(g) - 1;
	r->limit = at_ring_limit(g, 0, false);
}

void at_kring_destroy(struct at_kring *r)
{
	vfree(r->data);
	r->data = NULL;
}

/* The ring's memory; takes a spare for the first record. Returns NULL if there is none. */
static u64 *at_kring_data(struct at_kring *r)
{
	if (!r->data)
		/* Readers access the memory only after the position has moved. */
		WRITE_ONCE(r->data, at_spares_take(r->spares));
	return r->data;
}

/**
 * at_kring_enter - enter the next sub-buffer
 * @r: the ring
 *
 * Return: true on success; false: the ring has no memory, or has reached its limit.
 */
bool at_kring_enter(struct at_kring *r)
{
	u64 linear = at_pos_linear(r->position, false);
	u64 sub = linear ? (linear - 1) / r->geometry.sub_words + 1 : 0;
	u64 start = sub * r->geometry.sub_words, records = 0;
	u64 limit = at_kring_limit(r);
	u64 *data = at_kring_data(r), *head;

	if (!data || start + r->geometry.sub_words > limit)
		return false;
	if (linear)
		records = data[((start - r->geometry.sub_words) & r->ring_mask) + 2] +
			  at_pos_count(r->position);
	/*
	 * Pairs with the reader's smp_rmb(): a reader that has seen any store below reads
	 * at least the present position afterwards, and detects the overrun.
	 */
	smp_wmb();
	head = data + (start & r->ring_mask);
	WRITE_ONCE(head[0], ASYNCTRACE_SUBBUF_MAGIC);
	WRITE_ONCE(head[1], sub);
	WRITE_ONCE(head[2], records);
	WRITE_ONCE(head[3], linear);
	/* Pairs with the reader's load-acquire of the position. */
	smp_store_release(&r->position, start + ASYNCTRACE_SUBBUF_WORDS);
	r->next = head + ASYNCTRACE_SUBBUF_WORDS;
	r->brim = head + r->geometry.sub_words;
	at_share_entered(r, limit - start);
	return true;
}

static u64 at_kring_word(void *arg, u64 linear)
{
	const struct at_kring *r = arg;

	return READ_ONCE(r->data[linear & r->ring_mask]);
}

static u64 at_kring_source_position(void *arg)
{
	return at_kring_position(arg);
}

void at_kring_source(struct at_kring *r, struct at_source *src)
{
	src->geometry = &r->geometry;
	src->fallback = false;
	src->word = at_kring_word;
	src->position = at_kring_source_position;
	src->arg = r;
}

/* Copy words of one sub-buffer to user memory. */
int at_kring_copy(const struct at_kring *r, u64 from, u32 words, void __user *to)
{
	if (copy_to_user(to, r->data + (from & r->ring_mask), words * sizeof(u64)))
		return -EFAULT;
	return 0;
}
