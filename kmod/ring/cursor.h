/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reader's cursor in a ring, and the ring's ledger.
 *
 * For each ring, at any time: committed = delivered + overwritten + cleared + unread records.
 * Delivered counts the records that the ring claims. Only the consumer, which parses them,
 * knows how many of these are malformed.
 */
#ifndef AT_CURSOR_H
#define AT_CURSOR_H

#include "ring/geometry.h"

/**
 * struct at_source - a ring to read; all its words are untrusted
 * @geometry: the ring's size, from kernel memory
 * @fallback: the position has the fallback ring's format
 * @word: reads the word at a linear offset, once
 * @position: reads the position with load-acquire, so that words committed up to there can
 *	be read
 * @arg: argument of @word and @position
 */
struct at_source {
	const struct at_geometry *geometry;
	bool fallback;
	u64 (*word)(void *arg, u64 linear);
	u64 (*position)(void *arg);
	void *arg;
};

/**
 * struct at_cursor - a place in a ring, and the ledger up to there
 * @taken: linear offset up to which words were handed out or given up
 * @records: the ring's running count of committed records at @taken
 * @delivered: records handed out
 * @overwritten: records lost to wraparound
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
 * struct at_reading - progress of a session's reader in a ring
 * @snap: position up to which the reader may read: names used there have been reported
 * @told: dropped records, as last reported
 * @last: last run for which the consumer got the ring's final counts
 * @final: the ring was final when @snap was read; only for rings of providers
 * @cursor: the reader's cursor; changed under the session's clear_lock
 */
struct at_reading {
	u64 snap;
	u64 told;
	u32 last;
	bool final;
	struct at_cursor cursor;
};

/**
 * struct at_clear - clear mark: a start has cleared the ring up to here
 * @taken: linear offset; only grows
 * @records: number of records committed up to @taken
 * @pending: a start is still clearing the ring: the reader must skip all its records
 */
struct at_clear {
	u64 taken;
	u64 records;
	bool pending;
};

/**
 * struct at_span - the next words to hand out
 * @from: linear offset
 * @words: number of words; 0: only the counts are reported
 * @records: number of records that the ring claims for these words
 * @broken: the framing is invalid: the words are not handed out, and all records count as
 *	malformed
 * @next: the cursor behind the words, for use once they have been copied intact
 */
struct at_span {
	u64 from;
	u32 words;
	u64 records;
	bool broken;
	struct at_cursor next;
};

/* Records that were delivered or lost */
static inline u64 at_cursor_accounted(const struct at_cursor *c)
{
	return c->delivered + c->overwritten + c->cleared;
}

/*
 * Returns the number of committed records to report. A provider may claim fewer records than the
 * cursor has already accounted for: then returns the number of accounted records.
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
