// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Taking records out of a ring, in whole runs of words, and counting them
 *
 * Each sub-buffer's head says how many records were committed before it, and
 * the position how many since. So what was lost follows by subtraction, whatever
 * was written over.
 */
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

static const struct asynctrace_subbuf *head_of(const struct at_reader *rd, uint64_t sub)
{
	return (const void *)word_at(rd, sub * rd->area->shape.sub_words);
}

static uint64_t linear(const struct at_reader *rd, uint64_t pos)
{
	return pos & (rd->ring == rd->area->shape.nr_rings ? ASYNCTRACE_FALLBACK_POS_MASK :
							     ASYNCTRACE_POS_MASK);
}

void at_reader_init(struct at_reader *rd, struct at_area *area, uint32_t ring)
{
	*rd = (struct at_reader){ .area = area, .ring = ring };
}

uint64_t at_reader_dropped(const struct at_reader *rd)
{
	uint64_t dropped = __atomic_load_n(&line_of(rd)->dropped, __ATOMIC_RELAXED);

	return rd->ring == rd->area->shape.nr_rings ? dropped & ASYNCTRACE_FALLBACK_DROPS_MASK :
						      dropped;
}

bool at_reader_next(struct at_reader *rd, struct at_extent *x)
{
	const uint32_t sub_words = rd->area->shape.sub_words, nsub = rd->area->shape.nsub;
	uint64_t pos = __atomic_load_n(&line_of(rd)->position, __ATOMIC_ACQUIRE);
	uint64_t end = linear(rd, pos), current, sub, through;
	const struct asynctrace_subbuf *head;

	/* The writer has entered nothing, or nothing more. */
	if (!end || end == rd->next)
		return false;
	current = (end - 1) / sub_words;
	/* The next-to-come may be the oldest one, and half a head may be in it. */
	sub = rd->next / sub_words;
	if (rd->area->shape.mode == ASYNCTRACE_MODE_CIRCULAR && current >= nsub - 1 &&
	    sub < current - (nsub - 2)) {
		sub = current - (nsub - 2);
		rd->overwritten = head_of(rd, sub)->records - rd->delivered;
		rd->next = sub * sub_words;
	}
	if (rd->next % sub_words == 0)
		rd->next += ASYNCTRACE_SUBBUF_WORDS;
	head = head_of(rd, sub);
	if (head->magic != ASYNCTRACE_SUBBUF_MAGIC || head->sequence != sub)
		rd->broken++;
	if (sub < current) {
		head = head_of(rd, sub + 1);
		through = head->records;
		x->end = head->end;
		x->next = (sub + 1) * sub_words;
	} else {
		through = head->records + (pos >> ASYNCTRACE_POS_BITS);
		x->end = end;
		x->next = end;
	}
	x->whole = sub < current;
	x->words = word_at(rd, rd->next);
	x->nwords = x->end - rd->next;
	x->records = through - rd->delivered - rd->overwritten;
	return true;
}

void at_reader_done(struct at_reader *rd, const struct at_extent *x)
{
	struct at_area *a = rd->area;
	uint64_t *limits = (uint64_t *)((char *)a->control + a->control->limits);
	const uint64_t ring_words = (uint64_t)a->shape.sub_words * a->shape.nsub;

	rd->delivered += x->records;
	rd->next = x->next;
	if (x->whole && a->shape.mode == ASYNCTRACE_MODE_STREAMING)
		/* Reads of what is given away are done before. */
		__atomic_store_n(&limits[rd->ring], rd->next + ring_words, __ATOMIC_RELEASE);
}
