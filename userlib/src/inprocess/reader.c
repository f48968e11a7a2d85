// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads extents of a ring, and counts their records.
 *
 * Each sub-buffer's header has the number of records committed before it. The position has the
 * number committed since. So the number of lost records follows by subtraction, even if their
 * sub-buffers were overwritten.
 */
#include <string.h>

#include <linux/asynctrace_fxt.h>

#include "inproc.h"

static const struct asynctrace_ring_header *line_of(const struct at_reader *rd)
{
	const struct at_area *a = rd->area;

	return (const void *)(a->rw + a->control->headers + (uint64_t)rd->ring * ASYNCTRACE_LINE);
}

static const uint64_t *word_at(const struct at_reader *rd, uint64_t lin)
{
	const struct at_area *a = rd->area;
	const uint64_t *data = (const void *)(a->rw + a->control->rings +
					      rd->ring * a->control->ring_stride);

	return &data[lin & a->control->ring_mask];
}

static const struct asynctrace_subbuf *subbuf_head(const struct at_reader *rd, uint64_t sub)
{
	return (const void *)word_at(rd, sub * rd->area->shape.sub_words);
}

static uint64_t linear_offset(const struct at_reader *rd, uint64_t pos)
{
	return pos & (rd->ring == rd->area->shape.nr_rings ? ASYNCTRACE_FALLBACK_POS_MASK :
							     ASYNCTRACE_POS_MASK);
}

static uint64_t count_dropped(const struct at_reader *rd)
{
	uint64_t dropped = __atomic_load_n(&line_of(rd)->dropped, __ATOMIC_RELAXED);

	return rd->ring == rd->area->shape.nr_rings ? dropped & ASYNCTRACE_FALLBACK_DROPS_MASK :
						      dropped;
}

static uint64_t load_position(const struct at_reader *rd)
{
	return __atomic_load_n(&line_of(rd)->position, __ATOMIC_ACQUIRE);
}

/*
 * Returns the oldest complete sub-buffer of a circular ring whose position is @end. The
 * sub-buffer before the oldest may be damaged, because the writer may be writing the next header
 * there.
 */
static uint64_t oldest_subbuf(const struct at_reader *rd, uint64_t end)
{
	const uint64_t current = (end - 1) / rd->area->shape.sub_words;
	const uint32_t nsub = rd->area->shape.nsub;

	return current < nsub - 1 ? 0 : current - (nsub - 2);
}

/* Is sub-buffer @sub not overwritten yet? To be called after its words were read. */
static bool subbuf_intact(const struct at_reader *rd, uint64_t sub)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return sub >= oldest_subbuf(rd, linear_offset(rd, load_position(rd)));
}

void at_reader_init(struct at_reader *rd, struct at_area *area, uint32_t ring)
{
	*rd = (struct at_reader){ .area = area, .ring = ring };
}

uint64_t at_reader_dropped(const struct at_reader *rd)
{
	return (rd->ends ? rd->end.dropped : count_dropped(rd)) - rd->begin.dropped;
}

void at_reader_mark(const struct at_reader *rd, struct at_mark *m)
{
	uint64_t end, sub = 0;

	do {
		m->position = load_position(rd);
		m->records = 0;
		end = linear_offset(rd, m->position);
		if (!end)
			break;
		sub = (end - 1) / rd->area->shape.sub_words;
		m->records = __atomic_load_n(&subbuf_head(rd, sub)->records, __ATOMIC_RELAXED) +
			     (m->position >> ASYNCTRACE_POS_BITS);
	} while (!subbuf_intact(rd, sub));
	m->dropped = count_dropped(rd);
}

void at_reader_begin(struct at_reader *rd, const struct at_mark *m)
{
	rd->begin = *m;
	rd->next = linear_offset(rd, m->position);
}

void at_reader_end(struct at_reader *rd, const struct at_mark *m)
{
	rd->end = *m;
	rd->ends = true;
}

/*
 * Returns how many records up to number @through were neither delivered nor left out: those that
 * were overwritten or are still to be read.
 */
static uint64_t uncounted(const struct at_reader *rd, uint64_t through)
{
	return through - rd->begin.records - rd->older - rd->delivered;
}

/* Counts records that were overwritten. Returns false if all up to the end were. */
static bool skip_overwritten(struct at_reader *rd, uint64_t end)
{
	const uint64_t sub = oldest_subbuf(rd, linear_offset(rd, load_position(rd)));
	const uint64_t start = sub * rd->area->shape.sub_words;

	if (rd->next >= start)
		return true;
	if (rd->ends && end <= start) {
		rd->overwritten = uncounted(rd, rd->end.records);
		rd->next = end;
		return false;
	}
	rd->overwritten = uncounted(rd, subbuf_head(rd, sub)->records);
	rd->next = start;
	return true;
}

bool at_reader_next(struct at_reader *rd, struct at_extent *x)
{
	const uint32_t sub_words = rd->area->shape.sub_words;
	const uint64_t pos = rd->ends ? rd->end.position : load_position(rd);
	uint64_t end = linear_offset(rd, pos), current, sub, through;
	const struct asynctrace_subbuf *head;

	/* The writers have entered no sub-buffer, or written nothing since the last read. */
	if (!end || end == rd->next)
		return false;
	if (rd->area->shape.mode == ASYNCTRACE_MODE_CIRCULAR && !skip_overwritten(rd, end))
		return false;
	current = (end - 1) / sub_words;
	sub = rd->next / sub_words;
	if (rd->next % sub_words == 0)
		rd->next += ASYNCTRACE_SUBBUF_WORDS;
	head = subbuf_head(rd, sub);
	if (head->magic != ASYNCTRACE_SUBBUF_MAGIC || head->sequence != sub)
		rd->broken++;
	if (sub < current) {
		head = subbuf_head(rd, sub + 1);
		through = head->records;
		x->end = head->end;
		x->next = (sub + 1) * sub_words;
	} else {
		through = rd->ends ? rd->end.records : head->records + (pos >> ASYNCTRACE_POS_BITS);
		x->end = end;
		x->next = end;
	}
	x->whole = sub < current;
	x->words = word_at(rd, rd->next);
	x->nwords = x->end - rd->next;
	x->records = uncounted(rd, through) - rd->overwritten;
	return true;
}

bool at_reader_copy(struct at_reader *rd, struct at_extent *x, uint64_t *to)
{
	const uint32_t sub_words = rd->area->shape.sub_words;
	uint64_t sub, room, broken;

	do {
		broken = rd->broken;
		if (!at_reader_next(rd, x))
			return false;
		sub = rd->next / sub_words;
		room = sub_words - rd->next % sub_words;
		/* A header that was overwritten or damaged may have any value. */
		if (x->nwords > room)
			x->nwords = 0;
		memcpy(to, x->words, x->nwords * 8);
		x->words = to;
		if (subbuf_intact(rd, sub))
			return true;
		rd->broken = broken;
	} while (true);
}

/* Returns the time at which the first event of a sub-buffer was published; 0: no event. */
static uint64_t first_stamp(const struct at_reader *rd, uint64_t sub, uint64_t end)
{
	const uint32_t sub_words = rd->area->shape.sub_words;
	const uint64_t *w = word_at(rd, sub * sub_words + ASYNCTRACE_SUBBUF_WORDS);
	uint64_t room = sub_words - ASYNCTRACE_SUBBUF_WORDS, words;

	if (end < sub * sub_words + ASYNCTRACE_SUBBUF_WORDS)
		return 0;
	if (room > end - sub * sub_words - ASYNCTRACE_SUBBUF_WORDS)
		room = end - sub * sub_words - ASYNCTRACE_SUBBUF_WORDS;
	for (; room; w += words, room -= words) {
		words = ASYNCTRACE_FXT_WORDS(w[0]);
		if (words < 3 || words > room)
			break;
		if (ASYNCTRACE_FXT_TYPE(w[0]) != ASYNCTRACE_FXT_EVENT)
			continue;
		return (w[0] >> 16 & 0xf) == ASYNCTRACE_FXT_DURATION ? w[words - 1] : w[1];
	}
	return 0;
}

/* Reads the header of sub-buffer @sub. Returns false if it was overwritten. */
static bool read_oldest(const struct at_reader *rd, uint64_t sub, struct at_oldest *o)
{
	const uint64_t end = linear_offset(rd, rd->end.position);
	const uint64_t current = (end - 1) / rd->area->shape.sub_words;

	o->sub = sub;
	o->records = subbuf_head(rd, sub)->records;
	o->after = UINT64_MAX;
	o->records_after = o->records;
	if (sub < current) {
		o->records_after = subbuf_head(rd, sub + 1)->records;
		o->after = first_stamp(rd, sub + 1, end) ?: UINT64_MAX;
	}
	return subbuf_intact(rd, sub);
}

bool at_reader_oldest(struct at_reader *rd, struct at_oldest *o)
{
	const uint64_t end = linear_offset(rd, rd->end.position);

	do {
		if (!end || end == rd->next || !skip_overwritten(rd, end))
			return false;
	} while (!read_oldest(rd, rd->next / rd->area->shape.sub_words, o));
	o->words = end - rd->next;
	return true;
}

bool at_reader_leave_out(struct at_reader *rd, const struct at_oldest *o)
{
	const uint64_t next = (o->sub + 1) * rd->area->shape.sub_words;

	if (next >= linear_offset(rd, rd->end.position))
		return false;
	rd->older = o->records_after - rd->begin.records - rd->overwritten;
	rd->next = next;
	return true;
}

void at_reader_done(struct at_reader *rd, const struct at_extent *x)
{
	struct at_area *a = rd->area;
	uint64_t *limits = (uint64_t *)((char *)a->control + a->control->limits);

	rd->delivered += x->records;
	rd->next = x->next;
	if (x->whole && a->shape.mode == ASYNCTRACE_MODE_STREAMING)
		/* The release orders all reads of the sub-buffer before the new limit. */
		__atomic_store_n(&limits[rd->ring], at_area_limit(&a->shape, rd->ring, rd->next),
				 __ATOMIC_RELEASE);
}
