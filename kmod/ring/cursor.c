// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the words of a ring to hand out next, and counts their records.
 *
 * A provider may write false values into its rings, and change them between two reads. So
 * each value is read once and bounded before use. The ledger counts no more records than
 * the ring's words could hold.
 */
#include <asm/barrier.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "ring/cursor.h"

/* Maximum number of attempts of at_source_now(); an attempt fails if writers wrap around */
#define AT_NOW_TRIES		16

/* The smallest record consists of a header and a timestamp. */
#define AT_RECORD_WORDS_MIN	2

/*
 * The number of sub-buffers that may be read, including the current one. In circular mode
 * a writer may have died after it wrote the head of the next sub-buffer, over the oldest
 * one. In other modes the limit keeps writers out of unread sub-buffers.
 */
static u64 at_readable(const struct at_source *src)
{
	return src->geometry->nsub - (src->geometry->circular ? 1 : 0);
}

struct at_head {
	bool valid;
	u64 records;
	u64 end;
};

static struct at_head at_read_head(const struct at_source *src, u64 sub)
{
	u64 at = sub * src->geometry->sub_words;
	struct at_head head;

	head.valid = (u32)src->word(src->arg, at) == ASYNCTRACE_SUBBUF_MAGIC &&
		     src->word(src->arg, at + 1) == sub;
	head.records = src->word(src->arg, at + 2);
	head.end = src->word(src->arg, at + 3);
	return head;
}

static u64 at_records_max(const struct at_source *src, u64 subs)
{
	return subs * (src->geometry->sub_words / AT_RECORD_WORDS_MIN);
}

/*
 * The number of records between two running counts that the ring claims, at most what
 * @subs sub-buffers could hold.
 */
static u64 at_records_between(const struct at_source *src, u64 from, u64 to, u64 subs)
{
	return to <= from ? 0 : min(to - from, at_records_max(src, subs));
}

/**
 * at_cursor_next - find the next words to hand out
 * @c: the reader's cursor
 * @src: the ring
 * @pos: the ring's position, read once by the caller, or an earlier one
 * @span: filled in on success; all words are from one sub-buffer
 *
 * Return: true on success; false: nothing was committed behind the cursor.
 */
bool at_cursor_next(const struct at_cursor *c, const struct at_source *src,
		    u64 pos, struct at_span *span)
{
	const struct at_geometry *g = src->geometry;
	u64 linear = at_pos_linear(pos, src->fallback);
	u64 cur, sub, oldest, end, committed;
	struct at_head head;

	if (!linear || linear <= c->taken)
		return false;

	span->next = *c;
	span->broken = false;
	cur = (linear - 1) / g->sub_words;
	sub = c->taken / g->sub_words;
	oldest = cur >= at_readable(src) ? cur + 1 - at_readable(src) : 0;

	if (sub < oldest) {
		head = at_read_head(src, oldest);
		if (head.valid) {
			u64 lost = at_records_between(src, c->records, head.records,
						      oldest - sub);

			span->next.overwritten += lost;
			span->next.records = head.records;
		}
		sub = oldest;
		span->next.taken = sub * g->sub_words;
	}

	head = at_read_head(src, sub);
	span->from = max(span->next.taken, sub * g->sub_words + ASYNCTRACE_SUBBUF_WORDS);
	if (sub < cur) {
		struct at_head after = at_read_head(src, sub + 1);

		end = after.end;
		committed = after.records;
		if (!after.valid) {
			span->broken = true;
			committed = span->next.records;
		}
		span->next.taken = (sub + 1) * g->sub_words;
	} else {
		end = linear;
		committed = (head.valid ? head.records : span->next.records) +
			    at_pos_count(pos);
		span->next.taken = linear;
	}
	if (!head.valid || end < span->from || end > (sub + 1) * g->sub_words)
		span->broken = true;

	span->words = span->broken ? 0 : end - span->from;
	span->records = at_records_between(src, span->next.records, committed, 1);
	span->next.delivered += span->records;
	span->next.records = committed;
	return true;
}

/**
 * at_span_overrun - check whether writers may have overwritten words during a read
 * @span: from at_cursor_next()
 * @src: the ring
 * @pos: the ring's position, read after the words, with a read barrier in between
 *
 * Return: true if the words may have been overwritten.
 */
bool at_span_overrun(const struct at_span *span, const struct at_source *src, u64 pos)
{
	const struct at_geometry *g = src->geometry;
	u64 linear = at_pos_linear(pos, src->fallback);

	if (!linear)
		return false;
	return (linear - 1) / g->sub_words >= span->from / g->sub_words + at_readable(src);
}

/**
 * at_cursor_clear - move a cursor behind the cleared part of a ring
 * @c: a cursor; unchanged if it is behind that part already
 * @src: the ring
 * @clear: the ring's clear mark
 *
 * Records that were not yet accounted for count as cleared, even if they had been
 * overwritten.
 */
void at_cursor_clear(struct at_cursor *c, const struct at_source *src,
		     const struct at_clear *clear)
{
	u32 sub_words = src->geometry->sub_words;

	if (clear->taken <= c->taken)
		return;
	c->cleared += at_records_between(src, c->records, clear->records,
					 clear->taken / sub_words - c->taken / sub_words + 1);
	c->records = max(c->records, clear->records);
	c->taken = clear->taken;
}

/*
 * The number of records that the ring claims up to @pos, at most what its words could
 * hold. Only valid if writers have not overwritten the sub-buffer of @pos.
 */
u64 at_source_committed(const struct at_source *src, u64 pos)
{
	u64 linear = at_pos_linear(pos, src->fallback);
	struct at_head head;
	u64 sub;

	if (!linear)
		return 0;
	sub = (linear - 1) / src->geometry->sub_words;
	head = at_read_head(src, sub);
	if (!head.valid)
		return 0;
	return min(head.records, at_records_max(src, sub)) +
	       min_t(u64, at_pos_count(pos), at_records_max(src, 1));
}

/**
 * at_source_now - count the committed records of a ring that may be written meanwhile
 * @src: the ring
 * @pos: out: the position up to which records are counted
 *
 * Writers may overwrite the sub-buffer of @pos before its head is read: then position and head are
 * read again. The count may be wrong if this happens AT_NOW_TRIES times, which only a provider
 * that writes false positions can cause.
 *
 * Return: the number of records.
 */
u64 at_source_now(const struct at_source *src, u64 *pos)
{
	const struct at_geometry *g = src->geometry;
	u64 committed, linear, sub;
	int i;

	for (i = 0; i < AT_NOW_TRIES; i++) {
		*pos = src->position(src->arg);
		committed = at_source_committed(src, *pos);
		/* Pairs with the writer's barrier before its first store into a sub-buffer. */
		smp_rmb();
		linear = at_pos_linear(*pos, src->fallback);
		sub = linear ? (linear - 1) / g->sub_words : 0;
		linear = at_pos_linear(src->position(src->arg), src->fallback);
		if (!linear || (linear - 1) / g->sub_words < sub + at_readable(src))
			break;
	}
	return committed;
}
