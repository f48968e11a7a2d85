// SPDX-License-Identifier: GPL-2.0
/*
 * Cursor of the reader, on a ring that a correct writer fills and on rings with arbitrary
 * contents.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "ring/cursor.h"

#define AT_TEST_SUB	64
#define AT_TEST_NSUB	4
#define AT_TEST_WORDS	(AT_TEST_SUB * AT_TEST_NSUB)
#define AT_TEST_SEED	20261120

struct at_test_ring {
	struct at_geometry geometry;
	struct at_source source;
	u64 position;
	u64 written;
	u64 dropped;
	u64 limit;
	u64 words[AT_TEST_WORDS];
	u32 laps;	/* laps that the writer has still to make while the ring is read */
	u32 reads;	/* number of words that are read before the next lap */
};

static void at_test_write(struct at_test_ring *r, u32 n);

static u64 at_test_word(void *arg, u64 linear)
{
	struct at_test_ring *r = arg;
	u64 end;

	if (r->laps && !r->reads--) {
		r->laps--;
		r->reads = 3;
		for (end = r->written + AT_TEST_WORDS / 2; r->written < end;)
			at_test_write(r, 2);
	}
	return r->words[linear % AT_TEST_WORDS];
}

static u64 at_test_position(void *arg)
{
	struct at_test_ring *r = arg;

	return r->position;
}

static struct at_test_ring *at_test_ring(struct kunit *test, bool circular)
{
	struct at_test_ring *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->geometry = (struct at_geometry){
		.sub_words = AT_TEST_SUB, .nsub = AT_TEST_NSUB, .circular = circular,
	};
	r->source = (struct at_source){
		.geometry = &r->geometry, .word = at_test_word, .position = at_test_position,
		.arg = r,
	};
	r->limit = at_ring_limit(&r->geometry, 0, false);
	return r;
}

/* Writes a numbered record of @n words in the way that uapi/linux/asynctrace.h specifies. */
static void at_test_write(struct at_test_ring *r, u32 n)
{
	u64 linear = at_pos_linear(r->position, false), *to;

	r->written++;
	if (((linear - 1) & (AT_TEST_SUB - 1)) + n > AT_TEST_SUB - 1) {
		u64 sub = linear ? (linear - 1) / AT_TEST_SUB + 1 : 0;
		u64 *head = &r->words[sub * AT_TEST_SUB % AT_TEST_WORDS];
		u64 records = 0;

		if ((sub + 1) * AT_TEST_SUB > r->limit) {
			r->dropped++;
			return;
		}
		if (linear)
			records = r->words[(sub - 1) * AT_TEST_SUB % AT_TEST_WORDS + 2] +
				  at_pos_count(r->position);
		head[0] = ASYNCTRACE_SUBBUF_MAGIC;
		head[1] = sub;
		head[2] = records;
		head[3] = linear;
		linear = sub * AT_TEST_SUB + ASYNCTRACE_SUBBUF_WORDS;
		r->position = linear;
	}
	to = &r->words[linear % AT_TEST_WORDS];
	to[0] = n;
	to[1] = r->written;
	r->position += ASYNCTRACE_POS_RECORD | n;
}

/* Reads one span; checks that the records are whole and numbered upwards. */
static bool at_test_read(struct kunit *test, struct at_test_ring *r, struct at_cursor *c,
			 u64 *last)
{
	struct at_span span;
	u64 at, records = 0;

	if (!at_cursor_next(c, &r->source, r->position, &span))
		return false;
	KUNIT_EXPECT_FALSE(test, span.broken);
	for (at = span.from; at < span.from + span.words; records++) {
		u64 n = at_test_word(r, at);

		KUNIT_ASSERT_GT(test, n, 1);
		KUNIT_EXPECT_GT(test, at_test_word(r, at + 1), *last);
		*last = at_test_word(r, at + 1);
		at += n;
	}
	KUNIT_EXPECT_EQ(test, at, span.from + span.words);
	KUNIT_EXPECT_EQ(test, records, span.records);
	KUNIT_EXPECT_FALSE(test, at_span_overrun(&span, &r->source, r->position));
	*c = span.next;
	return true;
}

/* P49: in every mode, delivered + overwritten + dropped is the number of records written. */
static void at_test_law(struct kunit *test, bool circular, bool streaming)
{
	struct at_test_ring *r = at_test_ring(test, circular);
	struct at_cursor c = {};
	struct rnd_state rnd;
	u64 last = 0;
	u32 i;

	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (i = 0; i < 20000; i++) {
		at_test_write(r, 2 + prandom_u32_state(&rnd) % 30);
		while (prandom_u32_state(&rnd) % 23 == 0 && at_test_read(test, r, &c, &last))
			if (streaming)
				r->limit = at_ring_limit(&r->geometry, c.taken, false);
	}
	while (at_test_read(test, r, &c, &last))
		;
	KUNIT_EXPECT_EQ(test, c.delivered + c.overwritten + r->dropped, r->written);
	KUNIT_EXPECT_EQ(test, at_source_committed(&r->source, r->position),
			c.delivered + c.overwritten);
	KUNIT_EXPECT_GT(test, c.delivered, 0);
	KUNIT_EXPECT_EQ(test, circular, c.overwritten > 0);
	KUNIT_EXPECT_EQ(test, !circular, r->dropped > 0);
}

static void p40_oneshot_law(struct kunit *test)
{
	at_test_law(test, false, false);
}

static void p41_circular_law(struct kunit *test)
{
	at_test_law(test, true, false);
}

static void p42_streaming_law(struct kunit *test)
{
	at_test_law(test, false, true);
}

/*
 * P45: clears the ring at random moments, which the reader notices later. After a clear
 * the reader gets only later records, and all records are counted.
 */
static void at_test_clears(struct kunit *test, bool circular, bool streaming)
{
	struct at_test_ring *r = at_test_ring(test, circular);
	struct at_clear clear = {};
	u64 last = 0, oldest = 0;
	struct at_cursor c = {};
	struct rnd_state rnd;
	u32 i;

	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (i = 0; i < 20000; i++) {
		at_test_write(r, 2 + prandom_u32_state(&rnd) % 30);
		if (prandom_u32_state(&rnd) % 50 == 0) {
			clear.taken = at_pos_linear(r->position, false);
			clear.records = at_source_committed(&r->source, r->position);
			r->limit = at_ring_limit(&r->geometry, clear.taken, false);
			oldest = r->written;
		}
		while (prandom_u32_state(&rnd) % 23 == 0) {
			at_cursor_clear(&c, &r->source, &clear);
			last = max(last, oldest);
			if (!at_test_read(test, r, &c, &last))
				break;
			if (streaming)
				r->limit = at_ring_limit(&r->geometry, c.taken, false);
		}
	}
	at_cursor_clear(&c, &r->source, &clear);
	last = max(last, oldest);
	while (at_test_read(test, r, &c, &last))
		;
	KUNIT_EXPECT_EQ(test, c.delivered + c.overwritten + c.cleared + r->dropped, r->written);
	KUNIT_EXPECT_EQ(test, at_source_committed(&r->source, r->position),
			c.delivered + c.overwritten + c.cleared);
	KUNIT_EXPECT_GT(test, c.delivered, 0);
	KUNIT_EXPECT_GT(test, c.cleared, 0);
	KUNIT_EXPECT_TRUE(test, circular || !c.overwritten);
}

static void p45_oneshot_clears(struct kunit *test)
{
	at_test_clears(test, false, false);
}

static void p45_circular_clears(struct kunit *test)
{
	at_test_clears(test, true, false);
}

static void p45_streaming_clears(struct kunit *test)
{
	at_test_clears(test, false, true);
}

/* P40: after a clear, writers have room for the whole ring, except less than one sub-buffer. */
static void p40_clear_gives_room(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, false);
	u64 linear, room;
	u32 i;

	for (i = 0; i < 200; i++)
		at_test_write(r, 7);
	for (i = 0; i < 300; i++) {
		linear = at_pos_linear(r->position, false);
		r->limit = at_ring_limit(&r->geometry, linear, false);
		room = r->limit - linear;
		KUNIT_ASSERT_LE(test, room, AT_TEST_WORDS);
		KUNIT_ASSERT_GT(test, room, AT_TEST_WORDS - AT_TEST_SUB);
		at_test_write(r, 2 + i % 20);
	}
}

/*
 * I2: whatever counts the ring has, at_cursor_clear() counts no more records than the cleared
 * words can hold.
 */
static void i2_random_clears_stay_in_bounds(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	struct rnd_state rnd;
	u32 i;

	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (i = 0; i < 5000; i++) {
		struct at_cursor c = {
			.taken = prandom_u32_state(&rnd) % 1024,
			.records = prandom_u32_state(&rnd) % 1000,
		};
		struct at_clear clear = {
			.taken = prandom_u32_state(&rnd) % 2048,
			.records = (u64)prandom_u32_state(&rnd) <<
				   (prandom_u32_state(&rnd) % 2 * 32),
		};
		struct at_cursor before = c;

		at_cursor_clear(&c, &r->source, &clear);
		KUNIT_ASSERT_EQ(test, c.taken, max(before.taken, clear.taken));
		KUNIT_ASSERT_GE(test, c.records, before.records);
		KUNIT_ASSERT_LE(test, c.cleared, (c.taken / AT_TEST_SUB + 1) * AT_TEST_SUB / 2);
		KUNIT_ASSERT_LE(test, c.cleared, c.records - before.records);
	}
}

/*
 * I8: the reader of a circular ring must skip the oldest sub-buffer, because a writer may
 * already have stored a new head there.
 */
static void i8_circular_reads_one_less(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	struct at_cursor c = {};
	struct at_span span;
	u32 i;

	for (i = 0; i < 10 * AT_TEST_WORDS; i++)
		at_test_write(r, 5);
	KUNIT_ASSERT_TRUE(test, at_cursor_next(&c, &r->source, r->position, &span));
	KUNIT_EXPECT_EQ(test, span.from / AT_TEST_SUB,
			(at_pos_linear(r->position, false) - 1) / AT_TEST_SUB - 2);
}

/* The reader must notice if a writer may have overwritten words while they were read. */
static void i8_overrun_is_seen(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	struct at_cursor c = {};
	struct at_span span;
	u64 sub;

	at_test_write(r, 5);
	KUNIT_ASSERT_TRUE(test, at_cursor_next(&c, &r->source, r->position, &span));
	do {
		at_test_write(r, 5);
		sub = (at_pos_linear(r->position, false) - 1) / AT_TEST_SUB;
		KUNIT_EXPECT_EQ(test, at_span_overrun(&span, &r->source, r->position),
				sub >= AT_TEST_NSUB - 1);
	} while (sub < 2 * AT_TEST_NSUB);
}

/*
 * I2: with arbitrary ring contents, a span lies within one sub-buffer and claims no more
 * records than a sub-buffer can hold, and the cursor moves forward.
 */
static void i2_random_rings_stay_in_bounds(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	struct at_cursor c = {};
	struct at_span span;
	struct rnd_state rnd;
	u32 i, j;

	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (i = 0; i < 20000; i++) {
		u64 sub = prandom_u32_state(&rnd) % 16;
		u64 before = c.delivered + c.overwritten;

		for (j = 0; j < AT_TEST_NSUB; j++) {
			u64 *head = &r->words[j * AT_TEST_SUB];

			head[0] = ASYNCTRACE_SUBBUF_MAGIC;
			head[1] = prandom_u32_state(&rnd) % 4 ? sub + j :
				  prandom_u32_state(&rnd);
			head[2] = prandom_u32_state(&rnd) % 2 ? prandom_u32_state(&rnd) % 1000 :
				  (u64)prandom_u32_state(&rnd) << 32;
			head[3] = prandom_u32_state(&rnd) % 2 ?
				  sub * AT_TEST_SUB + prandom_u32_state(&rnd) % 300 :
				  (u64)prandom_u32_state(&rnd) << 33;
		}
		r->geometry.circular = prandom_u32_state(&rnd) % 2;
		r->source.fallback = prandom_u32_state(&rnd) % 2;
		r->position = (u64)prandom_u32_state(&rnd) << 32 | prandom_u32_state(&rnd) % 2048;
		c.taken = prandom_u32_state(&rnd) % 1024;
		if (!at_cursor_next(&c, &r->source, r->position, &span))
			continue;
		KUNIT_ASSERT_LE(test, span.words, AT_TEST_SUB);
		KUNIT_ASSERT_LE(test, span.records, AT_TEST_SUB / 2);
		if (span.words)
			KUNIT_ASSERT_EQ(test, span.from / AT_TEST_SUB,
					(span.from + span.words - 1) / AT_TEST_SUB);
		KUNIT_ASSERT_GT(test, span.next.taken, c.taken);
		KUNIT_ASSERT_GE(test, span.next.delivered + span.next.overwritten, before);
		c = span.next;
	}
}

/* Writers stay below the largest position, because readers could not follow a wraparound. */
static void i8_limits_stay_below_the_largest_position(struct kunit *test)
{
	u32 kind;

	for (kind = 0; kind < 4; kind++) {
		const struct at_geometry g = at_geometry_of(SZ_64K, 0, kind & 1);
		const bool fallback = kind & 2;
		const u64 positions = at_pos_linear(U64_MAX, fallback) + 1;
		u64 last = at_ring_limit(&g, positions - 1, fallback);

		KUNIT_EXPECT_EQ(test, last % g.sub_words, 0);
		/* The position behind the last record fits. */
		KUNIT_EXPECT_EQ(test, at_pos_linear(last, fallback), last);
		KUNIT_EXPECT_EQ(test, last, positions - g.sub_words);
		KUNIT_EXPECT_EQ(test, at_ring_limit(&g, 0, fallback),
				g.circular ? last : at_ring_words(&g));
	}
}

/* at_source_now() counts all committed records, even if writers wrap the ring meanwhile. */
static void i8_committed_while_written(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	u32 reads, laps;
	u64 pos;

	for (laps = 0; laps < 8; laps++) {
		for (reads = 0; reads < 4; reads++) {
			at_test_write(r, 7);
			r->laps = laps;
			r->reads = reads;
			KUNIT_EXPECT_EQ(test, at_source_now(&r->source, &pos), r->written);
			KUNIT_EXPECT_EQ(test, pos, r->position);
			KUNIT_EXPECT_EQ(test, r->laps, 0);
		}
	}
}

/* I11: no record is delivered twice if the position moves backwards. */
static void i11_position_backwards(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, true);
	struct at_cursor c = {};
	struct at_span span;
	u64 last = 0;
	u32 i;

	for (i = 0; i < 50; i++)
		at_test_write(r, 7);
	while (at_test_read(test, r, &c, &last))
		;
	r->position = ASYNCTRACE_POS_RECORD | 12;
	KUNIT_EXPECT_FALSE(test, at_cursor_next(&c, &r->source, r->position, &span));
}

/* I13: records of a sub-buffer with a corrupt head are still counted. */
static void i13_broken_sub_buffer_is_counted(struct kunit *test)
{
	struct at_test_ring *r = at_test_ring(test, false);
	struct at_cursor c = {};
	struct at_span span;
	u64 delivered = 0;
	u32 i, broken = 0;

	for (i = 0; i < 30; i++)
		at_test_write(r, 7);
	r->words[AT_TEST_SUB] = 0;
	while (at_cursor_next(&c, &r->source, r->position, &span)) {
		delivered += span.records;
		broken += span.broken;
		c = span.next;
	}
	KUNIT_EXPECT_EQ(test, broken, 2);
	KUNIT_EXPECT_EQ(test, delivered + r->dropped, r->written);
}

static struct kunit_case at_cursor_cases[] = {
	KUNIT_CASE(p40_oneshot_law),
	KUNIT_CASE(p41_circular_law),
	KUNIT_CASE(p42_streaming_law),
	KUNIT_CASE(p45_oneshot_clears),
	KUNIT_CASE(p45_circular_clears),
	KUNIT_CASE(p45_streaming_clears),
	KUNIT_CASE(p40_clear_gives_room),
	KUNIT_CASE(i2_random_clears_stay_in_bounds),
	KUNIT_CASE(i8_circular_reads_one_less),
	KUNIT_CASE(i8_overrun_is_seen),
	KUNIT_CASE(i8_limits_stay_below_the_largest_position),
	KUNIT_CASE(i8_committed_while_written),
	KUNIT_CASE(i2_random_rings_stay_in_bounds),
	KUNIT_CASE(i11_position_backwards),
	KUNIT_CASE(i13_broken_sub_buffer_is_counted),
	{}
};

static struct kunit_suite at_cursor_suite = {
	.name = "asynctrace_cursor",
	.test_cases = at_cursor_cases,
};

kunit_test_suite(at_cursor_suite);
