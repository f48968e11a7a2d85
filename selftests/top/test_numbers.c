// SPDX-License-Identifier: GPL-2.0
/* Buckets, types, open operations and delay of asynctrace top */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fxt/random.h"
#include "report/samples.h"
#include "top/hold.h"
#include "top/tally.h"
#include "top/open.h"

/* --- buckets ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void percentile_is_at_most_a_32nd_above(void **state)
{
	static const double percents[] = { 0.1, 50, 90, 99, 99.9, 100 };
	static uint64_t ns[1000];

	for (int round = 0; round < 200; round++) {
		struct buckets h = { 0 };
		const size_t nr = 1 + rnd_below(1000);

		for (size_t i = 0; i < nr; i++) {
			ns[i] = rnd() >> rnd_below(64);
			buckets_add(&h, ns[i]);
		}
		qsort(ns, nr, sizeof(ns[0]), by_number);
		for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
			const uint64_t want = ns[percentile_index(nr, percents[i])];
			const uint64_t got = buckets_percentile(&h, percents[i]);

			assert_true(got >= want);
			assert_true(got - want <= want / 32);
		}
		assert_int_equal(h.max, ns[nr - 1]);
		assert_int_equal(buckets_percentile(&h, 100), h.max);
	}
}

static void small_latencies_are_exact(void **state)
{
	for (uint64_t ns = 0; ns < 64; ns++) {
		struct buckets h = { 0 };

		buckets_add(&h, ns);
		buckets_add(&h, 1000);
		assert_int_equal(buckets_percentile(&h, 50), ns);
	}
}

static void merged_buckets_have_all(void **state)
{
	struct buckets a = { 0 }, b = { 0 }, all = { 0 };

	for (int i = 0; i < 1000; i++) {
		const uint64_t ns = rnd() >> rnd_below(64);

		buckets_add(rnd_chance(50) ? &a : &b, ns);
		buckets_add(&all, ns);
	}
	buckets_merge(&a, &b);
	assert_memory_equal(&a, &all, sizeof(a));
}

/* --- types ------------------------------------------------------------------------ */

static void add(struct tally *m, const char *name, uint64_t end, uint64_t latency)
{
	struct analysis_operation op = { .begin = end - latency, .end = end, .complete = true };
	struct top_type *t = tally_type(m, "prov", "cat", name);

	op.ns[ANALYSIS_RUNNING] = latency;
	tally_add(t, &op);
	tally_settled(m, end);
}

static void recent_has_the_last_ten_seconds(void **state)
{
	struct tally m = { 0 };
	struct sums *sum = calloc(1, sizeof(*sum));
	uint64_t want = 0;

	for (uint64_t s = 1; s <= 35; s++)
		add(&m, "op", s * SLICE_NS + 5, s);
	tally_recent(&m, m.of[0], sum);
	for (uint64_t s = 26; s <= 35; s++)
		want += s;
	assert_int_equal(sum->latencies.nr, 10);
	assert_int_equal(sum->sum_ns, want);
	assert_int_equal(sum->ns[ANALYSIS_RUNNING], want);
	assert_int_equal(sum->latencies.max, 35);

	/* Time passes without operations. */
	tally_settled(&m, 43 * SLICE_NS);
	memset(sum, 0, sizeof(*sum));
	tally_recent(&m, m.of[0], sum);
	assert_int_equal(sum->latencies.nr, 2);
	assert_int_equal(m.of[0]->all.latencies.nr, 35);
	free(sum);
	tally_free(&m);
}

static void sums_of_huge_times_do_not_wrap(void **state)
{
	struct sums *sum = calloc(1, sizeof(*sum));
	const uint64_t huge = UINT64_MAX / 2;
	struct tally m = { 0 };

	for (int i = 0; i < 3; i++)
		add(&m, "op", UINT64_MAX - 5, huge);
	tally_recent(&m, m.of[0], sum);
	for (int i = 0; i < 2; i++) {
		const struct sums *s = i ? sum : &m.of[0]->all;

		assert_true(s->sum_ns == 3.0 * huge);
		assert_true(s->ns[ANALYSIS_RUNNING] == s->sum_ns);
	}
	free(sum);
	tally_free(&m);
}

static void operation_of_long_ago_is_not_recent(void **state)
{
	struct tally m = { 0 };
	struct sums *sum = calloc(1, sizeof(*sum));

	add(&m, "op", 25 * SLICE_NS, 1);
	add(&m, "op", 15 * SLICE_NS, 2);
	add(&m, "op", 24 * SLICE_NS, 3);
	tally_recent(&m, m.of[0], sum);
	assert_int_equal(sum->latencies.nr, 2);
	assert_int_equal(sum->sum_ns, 4);
	free(sum);
	tally_free(&m);
}

static void types_beyond_the_limit_share_a_row(void **state)
{
	struct tally m = { 0 };
	char name[32];

	for (int i = 0; i < TYPES_MAX + 100; i++) {
		snprintf(name, sizeof(name), "op %d", i);
		add(&m, name, 100, 10);
	}
	assert_int_equal(m.nr, TYPES_MAX + 1);
	assert_string_equal(m.of[TYPES_MAX]->name, "(other types)");
	assert_int_equal(m.of[TYPES_MAX]->all.latencies.nr, 100);
	/* A type that has a row keeps it although the table is full. */
	add(&m, "op 7", 100, 10);
	assert_int_equal(m.of[7]->all.latencies.nr, 2);
	assert_int_equal(m.of[TYPES_MAX]->all.latencies.nr, 100);
	tally_free(&m);
}

static bool no_memory;

char *__real_strndup(const char *s, size_t n);

char *__wrap_strndup(const char *s, size_t n)
{
	return no_memory ? NULL : __real_strndup(s, n);
}

static void type_without_memory_can_be_made_later(void **state)
{
	struct tally m = { 0 };

	no_memory = true;
	assert_null(tally_type(&m, "prov", "cat", "op"));
	no_memory = false;
	assert_int_equal(m.nr, 0);
	assert_int_equal(m.index.used, 0);
	assert_non_null(tally_type(&m, "prov", "cat", "op"));
	assert_int_equal(m.nr, 1);
	tally_free(&m);
}

static void long_name_is_cut_between_characters(void **state)
{
	struct tally m = { 0 };
	const struct top_type *t;
	char name[3 * 100 + 1] = "", want[3 * 85 + 1] = "";

	for (int i = 0; i < 100; i++)
		strcat(name, "☃");
	memcpy(want, name, sizeof(want) - 1);
	t = tally_type(&m, "prov", "cat", name);
	assert_non_null(t);
	assert_string_equal(t->name, want);
	assert_int_equal(tally_name_len(name, 9), 9);
	tally_free(&m);
}

static void rate_is_of_the_time_since_the_last(void **state)
{
	struct tally m = { 0 };

	for (int i = 0; i < 30; i++)
		add(&m, "op", SLICE_NS + i, 1);
	tally_settled(&m, 4 * SLICE_NS);
	tally_rates(&m, SLICE_NS);
	assert_true(m.of[0]->rate == 10);
	add(&m, "op", 4 * SLICE_NS, 1);
	tally_settled(&m, 6 * SLICE_NS);
	tally_rates(&m, SLICE_NS);
	assert_true(m.of[0]->rate == 0.5);
	/* No time has passed: the rates stay the same. */
	tally_rates(&m, SLICE_NS);
	assert_true(m.of[0]->rate == 0.5);
	tally_free(&m);
}

/* --- open operations ------------------------------------------------------------------ */

static struct top_type some_type;

static int begin(struct open_table *t, uint64_t key, uint64_t ns)
{
	return open_begin(t, &(struct open_operation){
		.key = key, .begin = ns, .id = key, .type = &some_type,
	});
}

static void open_are_in_order_of_their_begins(void **state)
{
	struct open_table t = { 0 };
	size_t nr = 0;
	uint64_t last = 0;

	for (int i = 0; i < 3000; i++) {
		const uint64_t key = 1 + rnd_below(200);

		if (rnd_chance(60))
			assert_int_equal(begin(&t, key, 1 + rnd_below(1000)), 0);
		else
			assert_int_equal(open_end(&t, key, 2000), 0);
	}
	for (struct open_operation *op = t.oldest; op; op = op->newer, nr++) {
		assert_true(op->begin >= last);
		assert_ptr_equal(op->newer ? op->newer->older : t.newest, op);
		last = op->begin;
	}
	assert_int_equal(nr, t.nr);
	assert_int_equal(nr, some_type.open);
	open_free(&t);
	assert_int_equal(some_type.open, 0);
}

static void end_read_before_its_begin_counts(void **state)
{
	struct open_table t = { 0 };

	assert_int_equal(open_end(&t, 5, 100), 0);
	assert_int_equal(begin(&t, 5, 90), 0);
	assert_int_equal(t.nr, 0);
	/* An end belongs to one begin, not to a later one. */
	assert_int_equal(begin(&t, 5, 95), 0);
	assert_int_equal(t.nr, 1);
	assert_int_equal(open_end(&t, 6, 100), 0);
	assert_int_equal(begin(&t, 6, 101), 0);
	assert_int_equal(t.nr, 2);
	open_free(&t);
}

static void many_early_ends_are_forgotten_in_order(void **state)
{
	struct open_table t = { 0 };

	for (uint64_t key = 1; key <= EARLY_MAX + 10; key++)
		assert_int_equal(open_end(&t, key, 100), 0);
	assert_int_equal(t.early_index.used, EARLY_MAX);
	assert_int_equal(begin(&t, 10, 50), 0);
	assert_int_equal(t.nr, 1);
	assert_int_equal(begin(&t, 11, 50), 0);
	assert_int_equal(t.nr, 1);
	open_free(&t);
}

static void full_table_counts_the_rest(void **state)
{
	struct open_table t = { 0 };

	for (uint64_t key = 1; key <= OPEN_MAX + 5; key++)
		assert_int_equal(begin(&t, key, key), 0);
	assert_int_equal(t.nr, OPEN_MAX);
	assert_int_equal(t.more, 5);
	assert_int_equal(open_end(&t, OPEN_MAX + 1, OPEN_MAX + 1), 0);
	assert_int_equal(t.more, 4);
	assert_int_equal(open_end(&t, 1, 1), 0);
	assert_int_equal(t.nr, OPEN_MAX - 1);
	assert_int_equal(t.oldest->id, 2);
	open_clear(&t);
	assert_int_equal(t.nr, 0);
	assert_int_equal(some_type.open, 0);
	open_free(&t);
}

/* --- the delay ------------------------------------------------------------------------- */

#define S	1000000000ull

static void records_are_held_for_a_second(void **state)
{
	struct hold *h = calloc(1, sizeof(*h));

	assert_int_equal(hold_until(h, 100 * S), 0);
	for (uint64_t i = 0; i < 50; i++)
		hold_sample(h, 100 * S + i * S / 10, 1000 + i);
	assert_int_equal(hold_until(h, 101 * S - 1), 0);
	assert_int_equal(hold_until(h, 101 * S), 1001);
	assert_int_equal(hold_until(h, 103 * S), 1021);
	free(h);
}

static void long_durations_lengthen_the_delay(void **state)
{
	struct hold *h = calloc(1, sizeof(*h));

	hold_sample(h, 100 * S, 1);
	assert_int_equal(hold_ns(h), HOLD_MIN);
	hold_duration(h, 4 * S);
	assert_int_equal(hold_ns(h), 5 * S);
	hold_duration(h, UINT64_MAX);
	assert_int_equal(hold_ns(h), HOLD_MAX);
	/* A duration lengthens the delay until one to two periods of HOLD_MEMORY have passed. */
	hold_sample(h, 100 * S + HOLD_MEMORY, 2);
	assert_int_equal(hold_ns(h), HOLD_MAX);
	hold_sample(h, 100 * S + 2 * HOLD_MEMORY, 3);
	assert_int_equal(hold_ns(h), HOLD_MIN);
	free(h);
}

static void samples_reach_back_for_the_longest_delay(void **state)
{
	struct hold *h = calloc(1, sizeof(*h));
	uint64_t wall = 100 * S;

	hold_duration(h, HOLD_MAX);
	for (uint64_t i = 0; i < 2000; i++, wall += HOLD_SPACING / 3)
		hold_sample(h, wall, i + 1);
	wall -= HOLD_SPACING / 3;
	assert_true(hold_until(h, wall) > 0);
	assert_true(hold_until(h, wall) <= 2000 - HOLD_MAX / (HOLD_SPACING / 3) + 1);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentile_is_at_most_a_32nd_above),
		cmocka_unit_test(small_latencies_are_exact),
		cmocka_unit_test(merged_buckets_have_all),
		cmocka_unit_test(recent_has_the_last_ten_seconds),
		cmocka_unit_test(sums_of_huge_times_do_not_wrap),
		cmocka_unit_test(operation_of_long_ago_is_not_recent),
		cmocka_unit_test(types_beyond_the_limit_share_a_row),
		cmocka_unit_test(type_without_memory_can_be_made_later),
		cmocka_unit_test(long_name_is_cut_between_characters),
		cmocka_unit_test(rate_is_of_the_time_since_the_last),
		cmocka_unit_test(open_are_in_order_of_their_begins),
		cmocka_unit_test(end_read_before_its_begin_counts),
		cmocka_unit_test(many_early_ends_are_forgotten_in_order),
		cmocka_unit_test(full_table_counts_the_rest),
		cmocka_unit_test(records_are_held_for_a_second),
		cmocka_unit_test(long_durations_lengthen_the_delay),
		cmocka_unit_test(samples_reach_back_for_the_longest_delay),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
