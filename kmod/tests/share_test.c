// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of a kernel ring: a member that stays within its quota loses nothing, whatever
 * the others write. A dropped record counts for the member that wrote it.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/preempt.h>

#include "base/quiesce.h"
#include "ring/kernel_ring.h"
#include "ring/share.h"

#define AT_TEST_SUB	512
#define AT_TEST_SHARERS	6
#define AT_TEST_SEED	20261121

/**
 * struct at_test_shares - a ring and its writers
 * @ring: the ring
 * @sharing: state that all members share
 * @spares: memory of @ring
 * @sharer: the members; only the first @members entries are used
 * @members: number of members
 * @attempts: records that the test tried to write
 * @taken: words that the test has read
 * @period: tight period of the ring at the last write
 * @paid: words that each member paid for in that period; last entry: tasks of no member
 */
struct at_test_shares {
	struct at_kring ring;
	struct at_sharing sharing;
	struct at_spares spares;
	struct at_sharer sharer[AT_TEST_SHARERS];
	u32 members;
	u64 attempts;
	u64 taken;
	u32 period;
	u32 paid[AT_TEST_SHARERS + 1];
};

static void at_test_join(struct kunit *test, struct at_test_shares *s)
{
	KUNIT_ASSERT_EQ(test, at_sharer_init(&s->sharer[s->members]), 0);
	at_sharer_join(&s->sharer[s->members], &s->sharing);
	s->members++;
}

static void at_test_shares(struct kunit *test, struct at_test_shares *s, u32 nsub,
			   bool circular, u32 members, bool foreign)
{
	const struct at_geometry g = {
		.sub_words = AT_TEST_SUB, .nsub = nsub, .circular = circular,
	};

	memset(s, 0, sizeof(*s));
	at_spares_init(&s->spares, at_ring_words(&g), 0, at_wq, NULL);
	at_kring_init(&s->ring, AT_KRING_EVENTS, &g, &s->sharing, &s->spares, foreign);
	KUNIT_ASSERT_EQ(test, at_spares_prepare(&s->spares), 0);
	while (s->members < members)
		at_test_join(test, s);
	/* The ring uses the accounts of the current CPU. */
	migrate_disable();
}

static void at_test_shares_end(struct kunit *test, struct at_test_shares *s)
{
	u64 dropped = s->ring.others.dropped, committed;
	struct at_source src;

	at_kring_source(&s->ring, &src);
	committed = at_source_committed(&src, s->ring.position);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, committed + s->ring.dropped, s->attempts);
	while (s->members--) {
		struct at_sharer *sharer = &s->sharer[s->members];

		dropped += at_sharer_dropped(sharer, AT_KRING_EVENTS);
		KUNIT_EXPECT_EQ(test, at_sharer_dropped(sharer, AT_KRING_NAMES), 0);
		at_sharer_destroy(sharer);
	}
	KUNIT_EXPECT_EQ(test, s->ring.dropped, dropped);
	at_kring_destroy(&s->ring);
	at_spares_destroy(&s->spares);
}

/* Writes one record. @who: index of a sharer, or AT_TEST_SHARERS for other tasks. */
static bool at_test_put(struct at_test_shares *s, u32 who, u32 words)
{
	const struct at_bill bill = {
		.of = { who < AT_TEST_SHARERS ? &s->sharer[who] : NULL }, .nr = 1, .words = words,
	};
	bool room;

	s->attempts++;
	room = at_kring_has_room(&s->ring, words) || at_share_room(&s->ring, words, &bill);
	if (s->period != s->ring.tight.period) {
		s->period = s->ring.tight.period;
		memset(s->paid, 0, sizeof(s->paid));
	}
	if (!room)
		return false;
	at_kring_commit(&s->ring, words);
	if (s->ring.tight.on)
		s->paid[who] += words;
	return true;
}

static u32 at_test_flood(struct at_test_shares *s, u32 who, u32 words)
{
	u32 n = 0;

	while (at_test_put(s, who, words))
		n++;
	return n;
}

/* Lets the reader take up to @subs sub-buffers. */
static void at_test_read(struct at_test_shares *s, u32 subs)
{
	u64 linear = at_pos_linear(s->ring.position, false);

	s->taken = min(s->taken + subs * AT_TEST_SUB, linear);
	s->ring.limit = at_ring_limit(&s->ring.geometry, s->taken, false);
}

static void i6_who_keeps_within_his_share_loses_nothing(struct kunit *test)
{
	struct at_test_shares *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 round, periods = 0, i, n, who, words;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, s);
	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (round = 0; round < 60; round++) {
		u32 members = 2 + round % (AT_TEST_SHARERS - 1);

		at_test_shares(test, s, 4 << round % 3, false, members, round & 1);
		for (i = 0; i < 2000; i++) {
			for (n = prandom_u32_state(&rnd) % 20; n; n--)
				at_test_put(s, n % 5 ? 0 : AT_TEST_SHARERS,
					    4 + prandom_u32_state(&rnd) % 4);
			who = 1 + prandom_u32_state(&rnd) % (members - 1);
			words = 4 + prandom_u32_state(&rnd) % 4;
			if (!s->ring.tight.on || s->paid[who] + words <= s->ring.tight.quota)
				KUNIT_EXPECT_TRUE(test, at_test_put(s, who, words));
			if (prandom_u32_state(&rnd) % 16 == 0)
				at_test_read(s, 1 + prandom_u32_state(&rnd) % 3);
		}
		for (i = 1; i < members; i++)
			KUNIT_EXPECT_EQ(test, 0, at_sharer_dropped(&s->sharer[i],
								   AT_KRING_EVENTS));
		KUNIT_EXPECT_GT(test, at_sharer_dropped(&s->sharer[0], AT_KRING_EVENTS), 0);
		periods += s->ring.tight.period;
		at_test_shares_end(test, s);
	}
	/* The ring must have become tight many times. */
	KUNIT_EXPECT_GT(test, periods, 120);
}

static void i6_who_is_alone_has_all(struct kunit *test)
{
	struct at_test_shares *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 per_sub = (AT_TEST_SUB - ASYNCTRACE_SUBBUF_WORDS) / 7;

	KUNIT_ASSERT_NOT_NULL(test, s);
	at_test_shares(test, s, 8, false, 1, false);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 0, 7), 8 * per_sub);
	KUNIT_EXPECT_EQ(test, s->ring.tight.period, 0);
	at_test_shares_end(test, s);

	/* With two members, the first gets the ring without the reserve, plus one quota of it. */
	at_test_shares(test, s, 8, false, 2, false);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 0, 7), 6 * per_sub + s->ring.tight.quota / 7);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 1, 7), s->ring.tight.quota / 7);
	KUNIT_EXPECT_EQ(test, s->ring.tight.period, 1);
	/* After the second member has left, the first one can fill the rest of the ring. */
	at_sharer_leave(&s->sharing);
	at_test_flood(s, 0, 7);
	KUNIT_EXPECT_EQ(test, at_pos_linear(s->ring.position, false), 7 * AT_TEST_SUB +
			ASYNCTRACE_SUBBUF_WORDS + per_sub * 7);
	at_test_shares_end(test, s);
}

static void i6_latecomers_have_one_share_together(struct kunit *test)
{
	struct at_test_shares *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 i, n = 0, quota;

	KUNIT_ASSERT_NOT_NULL(test, s);
	at_test_shares(test, s, 16, false, 2, false);
	at_test_flood(s, 0, 7);
	quota = s->ring.tight.quota;
	for (i = 0; i < 50; i++) {
		at_test_join(test, s);
		n += at_test_flood(s, 2, 7);
		at_sharer_leave(&s->sharing);
		at_sharer_destroy(&s->sharer[--s->members]);
		/* The drop count is freed, too: correct the totals for at_test_shares_end(). */
		s->ring.dropped--;
		s->attempts--;
	}
	KUNIT_EXPECT_EQ(test, n, quota / 7);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 1, 7), quota / 7);
	/* In the next tight period each member has a quota of its own. */
	at_test_join(test, s);
	at_test_read(s, 16);
	at_test_flood(s, 0, 7);
	KUNIT_EXPECT_EQ(test, s->ring.tight.period, 2);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 2, 7), s->ring.tight.quota / 7);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, AT_TEST_SHARERS, 7), s->ring.tight.quota / 7);
	KUNIT_EXPECT_EQ(test, at_test_flood(s, 1, 7), s->ring.tight.quota / 7);
	at_test_shares_end(test, s);
}

/* The second member pays if the first cannot. A dropped record counts for the first. */
static void i6_either_of_two_pays(struct kunit *test)
{
	struct at_test_shares *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct at_bill bill = { .nr = 2, .words = 7 };
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, s);
	at_test_shares(test, s, 16, false, 3, true);
	at_test_flood(s, 0, 7);
	bill.of[0] = &s->sharer[0];
	bill.of[1] = &s->sharer[1];
	for (n = 0; at_share_room(&s->ring, 7, &bill); n++)
		at_kring_commit(&s->ring, 7);
	KUNIT_EXPECT_EQ(test, n, s->ring.tight.quota / 7);
	KUNIT_EXPECT_EQ(test, at_sharer_dropped(&s->sharer[0], AT_KRING_EVENTS), 2);
	bill.of[0] = NULL;
	for (; at_share_room(&s->ring, 7, &bill); n++)
		at_kring_commit(&s->ring, 7);
	KUNIT_EXPECT_EQ(test, n, s->ring.tight.quota / 7 * 2);
	KUNIT_EXPECT_EQ(test, at_sharer_dropped(&s->sharer[1], AT_KRING_EVENTS), 1);
	KUNIT_EXPECT_EQ(test, s->ring.others.dropped, 0);
	/* A record that has been paid for still finds room when all quotas are used up. */
	bill.nr = 0;
	KUNIT_EXPECT_TRUE(test, at_share_room(&s->ring, 7, &bill));
	at_kring_commit(&s->ring, 7);
	s->attempts += n + 3;
	at_test_shares_end(test, s);
}

static void i6_circular_rings_are_never_tight(struct kunit *test)
{
	struct at_test_shares *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	at_test_shares(test, s, 4, true, 3, true);
	for (i = 0; i < 5000; i++)
		KUNIT_EXPECT_TRUE(test, at_test_put(s, i % 3, 7));
	KUNIT_EXPECT_EQ(test, s->ring.tight.period, 0);
	at_test_shares_end(test, s);
}

/* The sum of all quotas must fit into the reserve, with any size of sub-buffers and rings. */
static void i6_quotas_fit_the_reserve(struct kunit *test)
{
	u32 sub, nsub, sharers;

	for (sub = ASYNCTRACE_SUBBUF_MIN / 8; sub <= ASYNCTRACE_SUBBUF_MAX / 8; sub *= 2)
		for (nsub = 1; nsub <= 1024; nsub *= 2)
			for (sharers = 2; sharers < 5000; sharers = sharers * 3 / 2) {
				const struct at_geometry g = { .sub_words = sub };
				u64 room = (u64)sub * nsub;
				u64 all = (u64)at_share_quota(&g, room, sharers) * sharers;
				u64 lost = (u64)nsub * (ASYNCTRACE_SUBBUF_WORDS +
							AT_SHARE_RECORD - 1);

				/* Skip: quotas that are raised to the minimum need not fit. */
				if (at_share_quota(&g, room, sharers) == 2 * AT_SHARE_RECORD)
					continue;
				KUNIT_ASSERT_LE(test, all + lost + AT_SHARE_RECORD, room);
				KUNIT_ASSERT_GT(test, all + lost + AT_SHARE_RECORD + sharers, room);
			}
}

static struct kunit_case at_share_cases[] = {
	KUNIT_CASE(i6_who_keeps_within_his_share_loses_nothing),
	KUNIT_CASE(i6_who_is_alone_has_all),
	KUNIT_CASE(i6_latecomers_have_one_share_together),
	KUNIT_CASE(i6_either_of_two_pays),
	KUNIT_CASE(i6_circular_rings_are_never_tight),
	KUNIT_CASE(i6_quotas_fit_the_reserve),
	{}
};

static struct kunit_suite at_share_suite = {
	.name = "asynctrace_share",
	.test_cases = at_share_cases,
};

kunit_test_suite(at_share_suite);
