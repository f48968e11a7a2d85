/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reader's place in a ring, and the ledger that goes with it.
 *
 * For each ring, at any time: records committed = delivered + overwritten +
 * cleared + what is still there to be read. Delivered counts what the ring claims; what
 * of it is malformed only the consumer can tell.
 */
#ifndef AT_CURSOR_H
#define AT_CURSOR_H

#include "ring/geometry.h"

/**
 * struct at_source - a ring to read, with every word of it untrusted
 * @geometry: its size; the kernel's own copy
 * @fallback: its position is of the fallback ring's kind
 * @word: reads one word at a linear offset, once
 * @position: reads the position: what it says has been committed can be read then
 * @arg: for these
 */
struct at_source {
	const struct at_geometry *geometry;
	bool fallback;
	u64 (*word)(void *arg, u64 linear);
	u64 (*position)(void *arg);
	void *arg;
};

/**
 * struct at_cursor - what has been taken of a ring
 * @taken: linear offset up to which words were handed out or given up
 * @records: of the records committed, those accounted for
 * @delivered: records handed out
 * @overwritten: records lost to wrapping
 * @cleared: records that later starts have cleared
 */
struct at_cursor {
	u64 taken;
	u64 records;
	u64 delivered;
	u64 overwritten;
	u64 cleared;
};

/**
 * struct at_reading - what a session's reader knows of a ring
 * @snap: position up to which the names have been read
 * @told: ledger as last told to the consumer: dropped
 * @last: the run that the consumer knows this ring to be done with
 * @final: it was done when @snap was taken; of a provider's ring
 * @cursor: its place; taken over under the session's clear_lock
 */
struct at_reading {
	u64 snap;
	u64 told;
	u32 last;
	bool final;
	struct at_cursor cursor;
};

/**
 * struct at_clear - up to where a ring has been cleared
 * @taken: linear offset; only grows
 * @records: committed up to there
 * @pending: a start is still at it: all that is in the ring is to be cleared
 */
struct at_clear {
	u64 taken;
	u64 records;
	bool pending;
};

/**
 * struct at_span - the next words to hand out
 * @from: linear offset
 * @words: 0 where only @records is to be told
 * @records: that the ring claims for them
 * @broken: the framing cannot be trusted: hand out nothing, count all malformed
 * @next: cursor to take over once the words are safe
 */
struct at_span {
	u64 from;
	u32 words;
	u64 records;
	bool broken;
	struct at_cursor next;
};

/* Records that were accounted for, one way or another */
static inline u64 at_cursor_accounted(const struct at_cursor *c)
{
	return c->delivered + c->overwritten + c->cleared;
}

/*
 * Records committed, for a ledger: a provider that lies may claim fewer than were accounted for.
 */
static inline u64 at_cursor_committed(const struct at_cursor *c, u64 claimed)
{
	return max(claimed, at_cursor_accounted(c));
}

bool at_cursor_next(const struct at_cursor *c, const struct at_source *src,
		    u64 pos, struct at_span *span);
bool at_span_overrun(const struct at_span *span, const struct at_source *src, u64 pos);
void at_cursor_clear(struct at_cursor *c, const struct at_source *src,
		     const struct at_clear *clear);
u64 at_source_committed(const struct at_source *src, u64 pos);
u64 at_source_now(const struct at_source *src, u64 *pos);

#endif /* AT_CURSOR_H */
