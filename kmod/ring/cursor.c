// SPDX-License-Identifier: GPL-2.0
/*
 * Which words of a ring to hand out next, and what they count for.
 *
 * Everything read through the source may be a lie, and may change between two
 * reads: each value is read once and bounded before it is used, and a ring that
 * lies gets no more records counted than its words could hold.
 */
#include <asm/barrier.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "ring/cursor.h"

/* Tries to look at a ring that is written faster than it can be looked at. */
#define AT_NOW_TRIES		16

/* The smallest record is a header and a time. */
#define AT_RECORD_WORDS_MIN	2

/*
 * How many sub-buffers, the current one included, may be read. In circular mode
 * a writer may already have written the head of the next one when it died, and
 * that one is the oldest; elsewhere the limit keeps writers out of it.
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
 * Records from @from on to @to, both running counts that the ring claims, and
 * not more than @subs sub-buffers could hold.
 */
static u64 at_records_between(const struct at_source *src, u64 from, u64 to, u64 subs)
{
	return to <= from ? 0 : min(to - from, at_records_max(src, subs));
}

/**
 * at_cursor_next - find what to hand out next
 * @c: what was taken before
 * @src: the ring
 * @pos: its position, read once by the caller, or an earlier one
 * @span: filled in where there is something
 *
 * Words from one sub-buffer at a time.
 *
 * Return: whether there is something.
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
 * at_span_overrun - could the words have been overwritten while they were read?
 * @span: of at_cursor_next()
 * @src: the ring
 * @pos: its position, read after the words were (with a read barrier between)
 *
 * Return: whether they could.
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
 * at_cursor_clear - go on from where the ring has been cleared up to
 * @c: a place in the ring
 * @src: the ring
 * @clear: what was noted of it; the place may be beyond that already
 *
 * What nobody was told of until then counts as cleared, even where it had been
 * overwritten before.
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
 * Records committed up to @pos, as far as the ring can be believed. Of a ring whose
 * writers cannot come round to there.
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
	return min(head.records, at_records_max(src, sub)) + at_pos_count(pos);
}

/**
 * at_source_now - records committed, of a ring that may be written meanwhile
 * @src: the ring
 * @pos: out: its position, which that is up to
 *
 * Between a look at the position and one at the sub-buffer that it is in, writers may
 * have come round: then that is looked at once more. Of a ring that never holds
 * still, which can only be a liar's, it may be wrong.
 *
 * Return: how many.
 */
u64 at_source_now(const struct at_source *src, u64 *pos)
{
	const struct at_geometry *g = src->geometry;
	u64 committed, linear, sub;
	int i;

	for (i = 0; i < AT_NOW_TRIES; i++) {
		*pos = src->position(src->arg);
		committed = at_source_committed(src, *pos);
		/* As in the reader: pairs with the writer's barrier when it enters a sub-buffer. */
		smp_rmb();
		linear = at_pos_linear(*pos, src->fallback);
		sub = linear ? (linear - 1) / g->sub_words : 0;
		linear = at_pos_linear(src->position(src->arg), src->fallback);
		if (!linear || (linear - 1) / g->sub_words < sub + at_readable(src))
			break;
	}
	return committed;
}
