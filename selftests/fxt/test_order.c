// SPDX-License-Identifier: GPL-2.0
/*
 * Durations come before what they enclose: with a coarse clock, parents and children begin in one
 * tick, and viewers must drop none. The check implements Perfetto's rules.
 */
#include <stdio.h>

#include "stream.h"

#define T	1000000

static void put_complete(struct words *b, uint64_t slot, uint64_t begin, uint64_t end)
{
	put_event(b, &(struct event){ ASYNCTRACE_FXT_DURATION, begin, slot, IDX(1), IDX(2), end,
				      0, { } });
}

static void put_plain(struct words *b, unsigned int type, uint64_t at, uint64_t id)
{
	put_event(b, &(struct event){ type, at, 1, IDX(1), IDX(2), id, 0, { } });
}

/*
 * Children come first, as in rings. All durations except the outermost one began in one tick, and
 * the innermost one also ended in it.
 */
static void test_one_chunk(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;
	uint64_t last = ~0ULL;

	stream_simple(&s);
	put_plain(&b, ASYNCTRACE_FXT_FLOW_BEGIN, T + 41, 1);	/* in the innermost duration */
	put_complete(&b, 1, T + 41, T + 41);
	put_complete(&b, 1, T + 41, T + 82);
	put_complete(&b, 1, T + 41, T + 123);
	put_complete(&b, 1, T + 41, T + 164);
	put_plain(&b, ASYNCTRACE_FXT_FLOW_END, T + 164, 1);
	put_complete(&b, 1, T, T + 205);
	s.ticks = T + 205;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	while (file_event(&f, 2)) {
		if (f.rec.number != ASYNCTRACE_FXT_DURATION)
			continue;
		assert_true(f.rec.end_ns <= last);	/* parents first */
		last = f.rec.end_ns;
		assert_true(f.rec.ns == T || f.rec.ns == T + 41);	/* unchanged */
	}
	file_close(&f);
	assert_int_equal(at_compose_stats(s.c)->overlaps, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* A parent ends in a later chunk, possibly of another CPU: its begin is moved 1 ns earlier. */
static void test_later_chunks(void **unused)
{
	static const uint64_t begins[] = { T + 41, T + 40, T + 39, T };
	struct words b = { 0 };
	struct stream s;
	struct file f;
	size_t n = 0;

	stream_simple(&s);
	for (int i = 0; i < 3; i++) {
		put_complete(&b, 1, T + 41, T + 50 + 10 * i);
		s.ticks = T + 50 + 10 * i;
		give_events(&s, 1, i, &b);
	}
	put_complete(&b, 1, T, T + 100);
	s.ticks = T + 100;
	give_events(&s, 1, 1, &b);
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 2); n++)
		assert_int_equal(f.rec.ns, begins[n]);
	file_close(&f);
	assert_int_equal(at_compose_stats(s.c)->overlaps, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* The analysis looks for the duration around an async event, so the duration must begin before. */
static void test_async_event_of_an_earlier_chunk(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;

	stream_simple(&s);
	put_plain(&b, ASYNCTRACE_FXT_ASYNC_BEGIN, T + 41, 1);
	s.ticks = T + 50;
	give_events(&s, 1, 0, &b);
	put_complete(&b, 1, T + 41, T + 100);
	put_plain(&b, ASYNCTRACE_FXT_ASYNC_END, T + 100, 1);
	s.ticks = T + 100;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	while (file_event(&f, 2))
		if (f.rec.number == ASYNCTRACE_FXT_DURATION)
			assert_int_equal(f.rec.ns, T + 40);
	file_close(&f);
	assert_int_equal(at_compose_stats(s.c)->overlaps, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/*
 * If a sibling ended in the tick in which a duration begins, the begin cannot move 1 ns earlier.
 * The composer counts this, and the check finds it.
 */
static void test_no_room_to_move(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	put_complete(&b, 1, T, T + 41);
	put_complete(&b, 1, T + 41, T + 50);
	s.ticks = T + 50;
	give_events(&s, 1, 0, &b);
	put_complete(&b, 1, T + 41, T + 60);
	s.ticks = T + 60;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(at_compose_stats(s.c)->overlaps, 1);
	assert_int_equal(findings(s.path, FXT_RULE_ORDER), 1);
	stream_close(&s);
	words_free(&b);
}

/* Complete durations around and within separate begin and end events, in the same ticks */
static void test_with_begin_and_end(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	put_plain(&b, ASYNCTRACE_FXT_DURATION_BEGIN, T + 41, 0);
	put_complete(&b, 1, T + 41, T + 82);
	put_plain(&b, ASYNCTRACE_FXT_DURATION_BEGIN, T + 82, 0);
	put_plain(&b, ASYNCTRACE_FXT_DURATION_END, T + 82, 0);
	put_complete(&b, 1, T + 82, T + 123);
	put_plain(&b, ASYNCTRACE_FXT_DURATION_END, T + 123, 0);
	put_complete(&b, 1, T + 41, T + 164);
	put_plain(&b, ASYNCTRACE_FXT_DURATION_BEGIN, T + 164, 0);
	s.ticks = T + 170;
	give_events(&s, 1, 0, &b);
	put_complete(&b, 1, T + 164, T + 200);	/* in the open duration */
	put_plain(&b, ASYNCTRACE_FXT_DURATION_END, T + 205, 0);
	s.ticks = T + 205;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(at_compose_stats(s.c)->overlaps, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* --- random nesting, with a clock of 24 MHz -------------------------------------------- */

struct run {
	struct words b[4];	/* one for each thread, in its own ring */
	uint64_t now, flow;
	unsigned int per_chunk;
	unsigned int coarse;	/* percent of readings that equal the previous one */
	struct stream *s;
	uint64_t written;
};

static uint64_t tick(struct run *r)
{
	if (!rnd_chance(r->coarse))
		r->now += 41 * (1 + rnd_below(4));
	return r->now;
}

static void maybe_chunk(struct run *r, unsigned int t)
{
	if (r->b[t].records < r->per_chunk)
		return;
	r->s->ticks = r->now;
	give_events(r->s, 1, t, &r->b[t]);
}

/* Puts a duration on thread @t with durations in it: complete, or with begin and end events. */
static void nest(struct run *r, unsigned int t, int depth)
{
	bool scoped = rnd_chance(80);
	uint64_t begin = tick(r);

	if (!scoped)
		put_event(&r->b[t], &(struct event){ ASYNCTRACE_FXT_DURATION_BEGIN, begin, t + 1,
						     IDX(1), IDX(2), 0, 0, { } });
	for (uint64_t n = depth ? rnd_below(4) : 0; n; n--)
		nest(r, t, depth - 1);
	if (scoped)
		put_complete(&r->b[t], t + 1, begin, tick(r));
	else
		put_event(&r->b[t], &(struct event){ ASYNCTRACE_FXT_DURATION_END, tick(r), t + 1,
						     IDX(1), IDX(2), 0, 0, { } });
	r->written += scoped ? 1 : 2;
	maybe_chunk(r, t);
}

static void random_nesting(unsigned int per_chunk, unsigned int coarse, uint64_t *overlaps,
			   uint64_t *found)
{
	struct run r = { .per_chunk = per_chunk, .coarse = coarse, .now = T };
	struct stream s;

	stream_simple(&s);
	for (int i = 2; i <= 4; i++)
		give_thread(&s, 1, i, 100, 100 + i, "t");
	r.s = &s;
	for (int i = 0; i < 60; i++)
		nest(&r, rnd_below(4), 6);
	s.ticks = r.now;
	for (unsigned int t = 0; t < 4; t++)
		give_events(&s, 1, t, &r.b[t]);
	stream_finish(&s);
	assert_int_equal(at_compose_stats(s.c)->total.delivered, r.written);
	*overlaps += at_compose_stats(s.c)->overlaps;
	*found += findings(s.path, FXT_RULE_ORDER) + findings(s.path, FXT_RULE_OVERLAP);
	if (!at_compose_stats(s.c)->overlaps)
		assert_clean(s.path, -1);
	stream_close(&s);
	for (unsigned int t = 0; t < 4; t++)
		words_free(&r.b[t]);
}

static void test_random_nesting_in_one_chunk(void **unused)
{
	uint64_t overlaps = 0, found = 0;

	for (int i = 0; i < 100; i++)
		random_nesting(1 << 30, 80, &overlaps, &found);
	assert_int_equal(overlaps, 0);
	assert_int_equal(found, 0);
}

/*
 * Chunks end at random places, so the composer may have no room to move a begin. If it counts no
 * such overlap, the check must find no fault. More than 20 of 200 rounds must have no overlap.
 */
static void test_random_nesting_in_many_chunks(void **unused)
{
	uint64_t all = 0, found = 0;
	int clean = 0;

	for (int i = 0; i < 200; i++) {
		uint64_t overlaps = 0;

		random_nesting(20 + rnd_below(200), rnd_below(40), &overlaps, &found);
		clean += !overlaps;
		all += overlaps;
	}
	fprintf(stderr, "%d of 200 clean, %llu durations without room, %llu then in danger\n",
		clean, (unsigned long long)all, (unsigned long long)found);
	assert_true(clean > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_chunk),
		cmocka_unit_test(test_later_chunks),
		cmocka_unit_test(test_async_event_of_an_earlier_chunk),
		cmocka_unit_test(test_no_room_to_move),
		cmocka_unit_test(test_with_begin_and_end),
		cmocka_unit_test(test_random_nesting_in_one_chunk),
		cmocka_unit_test(test_random_nesting_in_many_chunks),
	};

	test_random_init();
	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
