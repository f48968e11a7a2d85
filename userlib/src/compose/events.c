// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Records of a provider's ring.
 *
 * A provider may have written anything there. Each record is checked to its last bit and written
 * anew. A provider cannot choose its identity: the slot's thread comes from the kernel. The time of
 * a record is always within the session. The times at which records were written never go backwards
 * within a ring; the begin of a complete duration, or an event of a virtual thread, may be earlier.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "times.h"

/* Has an event of this type another word behind its arguments? @type: 0 to 15. */
static bool has_extra(unsigned int type)
{
	return (1u << ASYNCTRACE_FXT_COUNTER | ~0u << ASYNCTRACE_FXT_DURATION) >> type & 1;
}

static bool check_event(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
			size_t words, struct atc_item *it)
{
	struct atc_provider *p = x->ring->provider;
	unsigned int type = w[0] >> 16 & 0xf, nargs = w[0] >> 20 & 0xf;
	struct atc_check k = { .words = ATC_HEAD_WORDS };
	size_t extra = has_extra(type);
	uint64_t stamp;

	if (type >= ASYNCTRACE_FXT_EVENT_TYPES || words < ATC_HEAD_WORDS + extra)
		return false;
	if (!atc_ref_check(p, w[0] >> 32 & 0xffff, w + k.words, words - k.words, &k) ||
	    !atc_ref_check(p, w[0] >> 48, w + k.words, words - k.words, &k) ||
	    (nargs && !atc_args_check(p, nargs, w + k.words, words - k.words, &k)) ||
	    words != k.words + extra)
		return false;
	if (type == ASYNCTRACE_FXT_COUNTER && (!nargs || !k.numeric))
		return false;
	/* The file's record has one word less with a thread table entry, one more without. */
	if (!atc_fits(&k, words - 1))
		return false;

	stamp = type == ASYNCTRACE_FXT_DURATION ? w[words - 1] : w[1];
	it->end = 0;
	if (type == ASYNCTRACE_FXT_DURATION) {
		if (w[1] > stamp && !x->segment)
			return false;
		if (!atc_time_published(c, x, stamp, &it->end) ||
		    !atc_time_given(c, x, w[1], stamp, it->end, &it->ns))
			return false;
	} else if (!atc_time_published(c, x, stamp, &it->ns)) {
		return false;
	}
	it->form = ATC_EVENT;
	it->type = type;
	it->names = 0;
	it->table = words + k.growth + 1 > ASYNCTRACE_FXT_WORDS_MAX;
	it->repair = k.repair;
	it->cut = k.cut;
	return true;
}

/*
 * Is the record of @words words at @w well formed? If so, fills in @it. *@err: -ENOMEM if there
 * is no memory.
 */
static bool check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		  size_t words, struct atc_item *it, int *err)
{
	struct atc_provider *p = x->ring->provider;

	if (words < ATC_HEAD_WORDS || w[2] >> 32)
		return false;
	it->at = w;
	it->slot = p->last_slot;
	if (!it->slot || it->slot->slot != w[2]) {
		it->slot = atc_map_get(&p->slots, w[2]);
		if (!it->slot)
			return false;
		p->last_slot = it->slot;
	}
	switch (ASYNCTRACE_FXT_TYPE(w[0])) {
	case ASYNCTRACE_FXT_EVENT:
		switch (w[0] >> 24 & 0xff) {
		case 0:
			return check_event(c, x, w, words, it);
		case ASYNCTRACE_FXT_RING_VIRTUAL:
			c->items.others = true;
			return atc_virtual_check(c, x, w, words, it, err);
		default:
			return false;
		}
	case ASYNCTRACE_FXT_BLOB:
	case ASYNCTRACE_FXT_LARGE:
	case ASYNCTRACE_FXT_KERNELOBJ:
		c->items.others = true;
		return atc_special_check(c, x, w, words, it);
	default:
		return false;
	}
}

/*
 * Returns the id for the file: the salt in bits 44..63, and the program's id below. If the id does
 * not fit into bits 0..43, it is hashed, and bit 43 is set. The library's ids never have bit 43, so
 * the hash equals none of them.
 */
uint64_t atc_global_id(uint32_t salt, uint64_t id)
{
	if (id >> 44 == salt)
		return id;
	if (id >> 44)
		id = (atc_mix(id ^ atc_mix(salt)) & ((1ULL << 43) - 1)) | 1ULL << 43;
	return (uint64_t)salt << 44 | id;
}

/*
 * Fast path of atc_thread_ref(): the thread table does not change if the record is of the same
 * thread as the record before.
 */
static inline unsigned int thread_ref(struct at_compose *c, struct atc_provider *p,
				      const struct atc_item *it)
{
	struct atc_threads *h = &p->threads;
	struct atc_slot *s = it->slot;

	if (!s->index || h->older[0] != s->index || s->moved)
		return atc_thread_ref(c, p, s, it->table);
	s->used = ++h->uses;
	return s->index;
}

/*
 * Copies and repairs the text and arguments of an event to @to, and moves *@from behind them. Sets
 * the references in *@head to those of the copy. Returns the number of words written.
 */
static size_t copy_repaired(uint64_t *to, uint64_t *head, const uint64_t **from, bool cut)
{
	unsigned int category = *head >> 32 & 0xffff, name = *head >> 48;
	size_t n;

	n = atc_ref_copy(to, &category, from, cut);
	n += atc_ref_copy(to + n, &name, from, cut);
	n += atc_args_copy(to + n, *head >> 20 & 0xf, from, cut);
	*head = (uint32_t)*head | (uint64_t)category << 32 | (uint64_t)name << 48;
	return n;
}

static void emit_event(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	/* The number of words and the thread reference, which the file's record has anew */
	const uint64_t anew = 0xfffull << 4 | 0xffull << 24;
	struct atc_provider *p = r->provider;
	const uint64_t *from = it->at + ATC_HEAD_WORDS;
	uint64_t head = it->at[0];
	unsigned int thread = thread_ref(c, p, it);
	uint64_t *w = atc_out_record(&c->out);
	size_t n = 1;

	w[n++] = it->ns;
	if (!thread) {
		w[n++] = it->slot->pid;
		w[n++] = it->slot->task->tid;
	}
	if (it->repair) {
		n += copy_repaired(w + n, &head, &from, it->cut);
	} else {
		size_t rest = ASYNCTRACE_FXT_WORDS(head) - ATC_HEAD_WORDS - has_extra(it->type);

		/* For a few words, memcpy() costs more than this loop. */
		while (rest--)
			w[n++] = *from++;
	}
	if (it->names)
		head = (uint32_t)head | (uint64_t)it->names << 32;
	if (it->type == ASYNCTRACE_FXT_DURATION)
		w[n++] = it->end;
	else if (it->type >= ASYNCTRACE_FXT_ASYNC_BEGIN && it->type <= ASYNCTRACE_FXT_ASYNC_END)
		w[n++] = atc_global_id(p->salt, *from);
	else if (has_extra(it->type))
		w[n++] = *from;
	w[0] = (head & ~anew) | n << 4 | (uint64_t)thread << 24;
	atc_out_deliver(&c->out, r, n);
}

static void emit(struct at_compose *c, struct atc_ring *r, const struct atc_item *it)
{
	switch (it->form) {
	case ATC_EVENT:
		emit_event(c, r, it);
		break;
	case ATC_VIRTUAL:
		atc_virtual_emit(c, r, it);
		break;
	default:
		atc_special_emit(c, r, it);
	}
}

int atc_events(struct at_compose *c, const struct atc_context *x,
	       const uint64_t *w, size_t nr, uint64_t *good)
{
	struct atc_items *items = &c->items;
	size_t words;
	int err = 0;

	/* The smallest record has ATC_HEAD_WORDS words. */
	if (items->room < nr / ATC_HEAD_WORDS + 1) {
		size_t room = nr / ATC_HEAD_WORDS + 1;
		struct atc_item *of = atc_realloc(items->of, room * sizeof(*of));

		if (!of)
			return -ENOMEM;
		items->of = of;
		items->room = room;
	}
	items->nr = 0;
	items->others = false;
	items->provider = x->ring->provider;
	for (uint64_t n = 0; nr && n < x->limit; n++, w += words, nr -= words) {
		words = ASYNCTRACE_FXT_WORDS(w[0]);
		/* The size is wrong, so the place of the next record is unknown. */
		if (!words || words > nr)
			break;
		if (check(c, x, w, words, &items->of[items->nr], &err))
			items->nr++;
		if (err)
			return err;
	}
	if (!items->nr)
		return 0;
	err = atc_order(c, items);
	if (err)
		return err;
	for (size_t i = 0; i < items->nr_tasks; i++)
		atc_task_introduce(c, items->tasks[i]);
	/* items->tasks lists only tasks of ordinary events: introduce those of other records. */
	for (uint32_t i = items->head; items->others && i != ATC_NONE; i = items->of[i].next) {
		if (items->of[i].form == ATC_EVENT)
			continue;
		atc_task_introduce(c, items->of[i].slot->task);
		if (items->of[i].form == ATC_OBJECT)
			atc_object_introduce(c, x->ring->provider, &items->of[i]);
	}
	atc_section(c, x->ring->provider);
	for (uint32_t i = items->head; i != ATC_NONE; i = items->of[i].next)
		emit(c, x->ring, &items->of[i]);
	*good = items->nr;
	return 0;
}
