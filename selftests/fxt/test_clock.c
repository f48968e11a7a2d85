// SPDX-License-Identifier: GPL-2.0
/* Ticks to nanoseconds: exact, never backwards, never across a segment */
#include "stream.h"
#include "compose/composer.h"

static uint64_t ns_at(struct atc_clock *k, size_t s, uint64_t ticks)
{
	uint64_t ns;

	if (atc_clock_ns(k, s, ticks, &ns))
		fail_msg("tick %llu has no time", (unsigned long long)ticks);
	return ns;
}

static void test_boottime_is_the_identity(void **unused)
{
	struct atc_clock k = { 0 };
	uint64_t t = rnd() >> 2;

	for (int i = 0; i < 100; i++, t += rnd_below(1 << 30))
		assert_int_equal(atc_clock_pair(&k, 0, t, t), 0);
	for (int i = 0; i < 10000; i++) {
		uint64_t first = k.segments[0].pairs[0].ticks;
		uint64_t at = first + rnd_below(k.segments[0].pairs[99].ticks - first + 1);

		assert_true(ns_at(&k, 0, at) == at);
	}
	atc_clock_free(&k);
}

/* On a line through two pairs the time is the floor of the exact quotient. */
static void test_a_line_is_exact(void **unused)
{
	for (int i = 0; i < 2000; i++) {
		struct atc_clock k = { 0 };
		uint64_t t0 = rnd() >> (1 + rnd_below(40));
		uint64_t dt = 1 + rnd_below(1ULL << rnd_below(43));
		uint64_t b0 = rnd() >> (2 + rnd_below(40));
		uint64_t db = rnd_below(1ULL << rnd_below(43));

		atc_clock_pair(&k, 0, t0, b0);
		atc_clock_pair(&k, 0, t0 + dt, b0 + db);
		/* The first time is computed another way than the later ones. */
		for (int n = 0; n < 20; n++) {
			uint64_t d = rnd_below(dt + 1);

			assert_true(ns_at(&k, 0, t0 + d) ==
				    b0 + (uint64_t)((unsigned __int128)d * db / dt));
		}
		assert_true(ns_at(&k, 0, t0) == b0);
		assert_true(ns_at(&k, 0, t0 + dt) == b0 + db);
		atc_clock_free(&k);
	}
}

/* With noisy pairs in any order, more ticks never mean less time. */
static void test_never_backwards(void **unused)
{
	for (int i = 0; i < 200; i++) {
		struct atc_clock k = { 0 };
		uint64_t ticks[50] = { 0 }, t = 1000, last = 0;

		for (int n = 0; n < 50; n++) {
			const uint64_t other = rnd_below(n + 1);

			t += 1 + rnd_below(3000);
			ticks[n] = ticks[other];
			ticks[other] = t;
		}
		for (int n = 0; n < 50; n++)
			atc_clock_pair(&k, 0, ticks[n], ticks[n] / 3 + rnd_below(100));
		assert_int_equal(k.segments[0].nr, 50);
		for (uint64_t at = k.segments[0].pairs[0].ticks; at <= t; at += 1 + rnd_below(7)) {
			uint64_t ns = ns_at(&k, 0, at);

			assert_true(ns >= last);
			last = ns;
		}
		atc_clock_free(&k);
	}
}

/* A time that was returned once stays the same, whatever pairs come later. */
static void test_a_time_is_never_taken_back(void **unused)
{
	struct atc_clock k = { 0 };
	uint64_t t = 1000000, told[2000], at[2000];
	size_t nr = 0;

	atc_clock_pair(&k, 0, t, t);
	for (int i = 0; i < 200; i++) {
		uint64_t from = t;

		t += 1000 + rnd_below(100000);
		atc_clock_pair(&k, 0, t, t + rnd_below(50));
		for (int n = 0; n < 10; n++, nr++) {
			at[nr] = from + rnd_below(t - from + 1);
			told[nr] = ns_at(&k, 0, at[nr]);
		}
		/* Add late pairs that would change returned times: they must be ignored. */
		for (int n = 0; n < 5; n++)
			atc_clock_pair(&k, 0, from - rnd_below(900000) + rnd_below(t - from), t);
	}
	for (size_t i = 0; i < nr; i++)
		assert_true(ns_at(&k, 0, at[i]) == told[i]);
	atc_clock_free(&k);
}

/* A late pair is used if no returned time changes. */
static void test_late_pairs_that_bend_nothing_are_used(void **unused)
{
	struct atc_clock k = { 0 };

	atc_clock_pair(&k, 0, 0, 0);
	atc_clock_pair(&k, 0, 100, 100);
	atc_clock_pair(&k, 0, 50, 80);
	assert_int_equal(ns_at(&k, 0, 25), 40);
	assert_int_equal(ns_at(&k, 0, 75), 90);
	atc_clock_free(&k);
}

#define MANY_PAIRS	3000000u
#define PAIR_GAP	1000000u

/* A clock that becomes faster with time, so that a line over a long time is wrong. */
static uint64_t fast_clock(uint64_t ticks)
{
	return ticks + ticks / 1000 * (ticks / 1000) / 10000000;
}

/*
 * A segment that has too many pairs loses some of them. The times of new ticks stay the same, those
 * of old ticks change by little.
 */
static void test_many_pairs_are_thinned_out(void **unused)
{
	size_t most = 0, removals = 0, before = 0;
	uint64_t told[1000], last = 0;
	struct atc_clock k = { 0 };
	const struct atc_segment *g;

	for (uint64_t i = 0; i <= MANY_PAIRS; i++) {
		atc_clock_pair(&k, 0, i * PAIR_GAP, fast_clock(i * PAIR_GAP));
		g = &k.segments[0];
		most = g->nr > most ? g->nr : most;
		if (g->nr <= before) {
			removals++;
			for (size_t n = 0; n < 1000; n++)
				assert_true(told[(i - 1 - n) % 1000] ==
					    ns_at(&k, 0, (i - 1 - n) * PAIR_GAP - PAIR_GAP / 3));
		}
		before = g->nr;
		if (i)
			told[i % 1000] = ns_at(&k, 0, i * PAIR_GAP - PAIR_GAP / 3);
	}
	assert_in_range(removals, 2, 6);
	assert_in_range(most, 1 << 19, 1 << 20);
	for (uint64_t at = 0; at < MANY_PAIRS * (uint64_t)PAIR_GAP; at += PAIR_GAP * 30) {
		uint64_t ns = ns_at(&k, 0, at);

		assert_true(ns >= last);
		assert_in_range(ns, fast_clock(at), fast_clock(at) + 4000);
		last = ns;
	}
	atc_clock_free(&k);
}

/* Before the first pair there was no session; after the last one the time is unknown. */
static void test_outside(void **unused)
{
	struct atc_clock k = { 0 };
	uint64_t ns;

	atc_clock_pair(&k, 0, 1000, 5000);
	atc_clock_pair(&k, 0, 2000, 6000);
	assert_int_equal(atc_clock_ns(&k, 0, 999, &ns), -1);
	assert_int_equal(atc_clock_ns(&k, 0, 2001, &ns), 1);
	assert_int_equal(atc_clock_start(&k), 5000);
	assert_int_equal(atc_clock_end(&k), 6000);
	atc_clock_free(&k);
}

/* The machine slept, and counter and clock diverged: no time falls into the sleep. */
static void test_segments_do_not_mix(void **unused)
{
	struct atc_clock k = { 0 };
	uint64_t ns;

	/* The segments 3 and 5 have the indexes 0 and 1. */
	assert_int_equal(atc_clock_pair(&k, 3, 1000, 1000), 0);
	atc_clock_pair(&k, 3, 2000, 2000);
	assert_int_equal(atc_clock_pair(&k, 5, 2100, 902100), 1);
	atc_clock_pair(&k, 5, 3100, 903100);
	assert_int_equal(ns_at(&k, 0, 2050), 2050);	/* continues the old line */
	assert_int_equal(ns_at(&k, 1, 2600), 902600);
	assert_int_equal(ns_at(&k, 1, 2090), 902090);	/* goes back by the new line */
	assert_int_equal(atc_clock_ns(&k, 0, 2100, &ns), 1);
	assert_int_equal(atc_clock_ns(&k, 0, 2600, &ns), 1);
	/* A segment older than the last one cannot be inserted. */
	assert_int_equal(atc_clock_pair(&k, 2, 500, 500), -EPROTO);
	assert_int_equal(atc_clock_pair(&k, 4, 2060, 2060), -EPROTO);
	/* A late pair of an existing segment is no error, but changes no time that was returned. */
	assert_int_equal(atc_clock_pair(&k, 3, 2001, 900000), 0);
	assert_int_equal(ns_at(&k, 0, 2050), 2050);
	atc_clock_free(&k);
}

static void test_a_ring_crosses_a_break(void **unused)
{
	static const uint64_t ticks[] = { 1000100, 1000200, 500, 700, 900 };
	static const uint64_t want[] = { 1000100, 1000200, 9000500, 9000700, 9000900 };
	struct asynctrace_clock_pair pairs[2] = {
		{ 1000300, 1000300, 0, 0, ASYNCTRACE_MOMENT_RUNNING },
		{ 400, 9000400, 0, 1, ASYNCTRACE_MOMENT_RESUME },
	};
	struct asynctrace_chunk h = {
		.size = sizeof(h), .kind = ASYNCTRACE_CHUNK_CLOCK, .bytes = sizeof(pairs),
		.ticks = 1000, .boottime = 9001000, .segment = 1,
	};
	struct words b = { 0 };
	struct stream s;
	struct file f;
	size_t n = 0;

	stream_simple(&s);
	assert_int_equal(at_compose_chunk(s.c, &h, pairs), 0);
	for (size_t i = 0; i < 5; i++)
		put_event(&b, &(struct event){ 0, ticks[i], 1, IDX(1), IDX(2), 0, 0, { } });
	/* Put a record in the old segment, although the ring is in the new one. */
	put_event(&b, &(struct event){ 0, 1000250, 1, IDX(1), IDX(2), 0, 0, { } });
	h.kind = ASYNCTRACE_CHUNK_EVENTS;
	h.provider = 1;
	h.bytes = b.nr * 8;
	h.records = b.records;
	assert_int_equal(at_compose_chunk(s.c, &h, b.w), 0);
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 2); n++)
		assert_true(f.rec.ns == want[n]);
	file_close(&f);
	assert_int_equal(n, 5);
	assert_int_equal(ring_counts(s.c, 1, 0)->malformed, 1);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* The program chooses the begin of a duration. A begin before the session becomes its start. */
static void test_begin_before_the_session(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;

	stream_simple(&s);
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION, 5, 1, IDX(1), IDX(2), 1000010,
				       0, { } });
	s.ticks += 100;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	assert_true(file_event(&f, 2));
	assert_int_equal(f.rec.ns, 1000000);
	assert_int_equal(f.rec.end_ns, 1000010);
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* A record cannot be younger than the reading that found it. */
static void test_after_the_reading(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	s.ticks = 1005000;
	give_clock(&s, ASYNCTRACE_MOMENT_RUNNING);
	s.ticks = 1001000;
	put_event(&b, &(struct event){ 0, 1001000, 1, IDX(1), IDX(2), 0, 0, { } });
	put_event(&b, &(struct event){ 0, 1001001, 1, IDX(1), IDX(2), 0, 0, { } });
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(ring_counts(s.c, 1, 0)->delivered, 1);
	assert_int_equal(ring_counts(s.c, 1, 0)->malformed, 1);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boottime_is_the_identity),
		cmocka_unit_test(test_a_line_is_exact),
		cmocka_unit_test(test_never_backwards),
		cmocka_unit_test(test_a_time_is_never_taken_back),
		cmocka_unit_test(test_late_pairs_that_bend_nothing_are_used),
		cmocka_unit_test(test_many_pairs_are_thinned_out),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_segments_do_not_mix),
		cmocka_unit_test(test_a_ring_crosses_a_break),
		cmocka_unit_test(test_begin_before_the_session),
		cmocka_unit_test(test_after_the_reading),
	};

	test_random_init();
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
