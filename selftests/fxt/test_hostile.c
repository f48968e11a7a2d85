// SPDX-License-Identifier: GPL-2.0
/*
 * A provider may write anything: each record that is not well formed is counted, well-formed ones
 * keep their place, and records of other providers do not change
 */
#include <stdio.h>

#include "stream.h"

#define NOW	1000100

static const struct event good = {
	ASYNCTRACE_FXT_INSTANT, NOW, 1, { .index = 1 }, { .index = 2 }, 0, 1,
	{ { ASYNCTRACE_FXT_ARG_UINT64, { .index = 3 }, 42, { 0 } } },
};

/* A record that is wrong in one way. @w: its first word; @b: the buffer. */
struct crime {
	const char *name;
	void (*commit)(struct words *b);
};

static struct event with(unsigned int type)
{
	struct event e = good;

	e.type = type;
	return e;
}

static uint64_t *put_good(struct words *b)
{
	size_t at = put_event(b, &good);

	return b->w + at;
}

#define CRIME(id, ...) static void id(struct words *b) { __VA_ARGS__ }

static void put_type(struct words *b, unsigned int type)
{
	uint64_t *w = put_good(b);

	w[0] = (w[0] & ~0xfULL) | type;
}

CRIME(metadata, put_type(b, 0);)
CRIME(init_record, put_type(b, 1);)
CRIME(string_record, put_type(b, 2);)
CRIME(thread_record, put_type(b, 3);)
CRIME(blob, put_type(b, 5);)
CRIME(kernel_object, put_type(b, 7);)
CRIME(sched_record, put_type(b, 8);)
CRIME(log_record, put_type(b, 9);)
CRIME(large_record, put_type(b, 15);)
CRIME(thread_table, put_good(b)[0] |= 1ULL << 24;)
CRIME(event_type_11, put_good(b)[0] |= 11ULL << 16;)
CRIME(event_type_15, put_good(b)[0] |= 15ULL << 16;)
CRIME(slot_zero, put_good(b)[2] = 0;)
CRIME(slot_unknown, put_good(b)[2] = 77;)
CRIME(slot_of_another_provider, put_good(b)[2] = 2;)
CRIME(slot_high_bits, put_good(b)[2] |= 1ULL << 32;)
CRIME(category_unknown, put_good(b)[0] ^= (1ULL ^ 999) << 32;)
CRIME(name_unknown, put_good(b)[0] ^= (2ULL ^ 0x7fff) << 48;)
CRIME(name_text_missing, put_good(b)[0] |= 0x8000ULL << 48;)
CRIME(argument_missing, put_good(b)[0] += 1ULL << 20;)
CRIME(argument_left_over, put_good(b)[0] -= 1ULL << 20;)
CRIME(argument_size_0, put_good(b)[3] &= ~0xfff0ULL;)
CRIME(argument_size_1, put_good(b)[3] ^= (2ULL ^ 1) << 4;)
CRIME(argument_size_huge, put_good(b)[3] |= 0xfff0ULL;)
CRIME(argument_type_10, put_good(b)[3] ^= 4 ^ 10;)
CRIME(argument_type_15, put_good(b)[3] |= 15;)
CRIME(argument_reserved, put_good(b)[3] |= 1ULL << 32;)
CRIME(argument_name_unknown, put_good(b)[3] ^= (3ULL ^ 0x1234) << 16;)
CRIME(argument_name_too_long, put_good(b)[3] |= 0xffffULL << 16;)
CRIME(before_the_session, put_good(b)[1] = 999999;)
CRIME(at_time_0, put_good(b)[1] = 0;)
CRIME(after_the_chunk, put_good(b)[1] = 1000000000;)
CRIME(at_the_end_of_time, put_good(b)[1] = ~0ULL;)
CRIME(backwards, put_good(b)[1] = NOW - 1;)

CRIME(too_short,
	words_push(b, 4 | 2 << 4);
	words_push(b, NOW);
	b->records++;)
CRIME(one_word,
	words_push(b, 4 | 1 << 4);
	b->records++;)
CRIME(id_missing,
	put_good(b)[0] |= ASYNCTRACE_FXT_ASYNC_BEGIN << 16;)
CRIME(word_left_over,
	struct event e = good;
	size_t at = put_event(b, &e);
	words_push(b, 0);
	b->w[at] += 1 << 4;)
CRIME(ends_before_it_begins,
	struct event e = with(ASYNCTRACE_FXT_DURATION);
	e.ticks = NOW + 1;
	e.extra = NOW;
	put_event(b, &e);)
CRIME(ends_after_the_chunk,
	struct event e = with(ASYNCTRACE_FXT_DURATION);
	e.extra = ~0ULL;
	put_event(b, &e);)
CRIME(counts_nothing,
	struct event e = with(ASYNCTRACE_FXT_COUNTER);
	e.nargs = 0;
	put_event(b, &e);)
CRIME(counts_text,
	struct event e = with(ASYNCTRACE_FXT_COUNTER);
	e.args[0] = ARG_STR(IDX(3), TXT("many"));
	put_event(b, &e);)
CRIME(text_not_padded,
	struct event e = good;
	e.name = TXT("hello");
	size_t at = put_event(b, &e);
	b->w[at + 3] |= 1ULL << 63;)
CRIME(bool_of_many_bits,
	struct event e = good;
	e.args[0] = (struct arg){ ASYNCTRACE_FXT_ARG_BOOL, IDX(3), 1, { 0 } };
	size_t at = put_event(b, &e);
	b->w[at + 3] |= 1ULL << 40;)
CRIME(null_with_a_value,
	struct event e = good;
	e.args[0] = (struct arg){ ASYNCTRACE_FXT_ARG_NULL, IDX(3), 0, { 0 } };
	size_t at = put_event(b, &e);
	b->w[at + 3] |= 1ULL << 40;)
CRIME(string_reserved,
	struct event e = good;
	e.args[0] = ARG_STR(IDX(3), IDX(2));
	size_t at = put_event(b, &e);
	b->w[at + 3] |= 1ULL << 50;)
CRIME(text_too_long,
	char *text = calloc(1, 32001);
	struct event e = good;
	memset(text, 'x', 32001);
	e.nargs = 0;
	e.name = (struct ref){ .text = text, .len = 32001 };
	put_event(b, &e);
	free(text);)

#define C(id) { #id, id }
static const struct crime crimes[] = {
	C(metadata), C(init_record), C(string_record), C(thread_record), C(blob),
	C(kernel_object), C(sched_record), C(log_record), C(large_record), C(thread_table),
	C(event_type_11), C(event_type_15), C(slot_zero), C(slot_unknown),
	C(slot_of_another_provider), C(slot_high_bits), C(category_unknown), C(name_unknown),
	C(name_text_missing), C(argument_missing), C(argument_left_over), C(argument_size_0),
	C(argument_size_1), C(argument_size_huge), C(argument_type_10), C(argument_type_15),
	C(argument_reserved), C(argument_name_unknown), C(argument_name_too_long),
	C(before_the_session), C(at_time_0), C(after_the_chunk), C(at_the_end_of_time),
	C(backwards), C(too_short), C(one_word), C(id_missing), C(word_left_over),
	C(ends_before_it_begins), C(ends_after_the_chunk), C(counts_nothing), C(counts_text),
	C(text_not_padded), C(bool_of_many_bits), C(null_with_a_value), C(string_reserved),
	C(text_too_long),
};

static void open_two(struct stream *s)
{
	stream_simple(s);
	give_provider(s, 2, 200, 8, "other");
	give_thread(s, 2, 2, 200, 202, "second");
	s->ticks = NOW + 1000;
}

/* A good, a wrong and a good record: the good ones are in the file, the wrong one is counted. */
static void test_each_wrong_record_is_one_malformed(void **unused)
{
	for (size_t i = 0; i < sizeof(crimes) / sizeof(crimes[0]); i++) {
		const struct at_compose_counts *n;
		struct words b = { 0 };
		struct stream s;
		struct file f;
		int found = 0;

		open_two(&s);
		put_event(&b, &good);
		crimes[i].commit(&b);
		put_event(&b, &good);
		give_events(&s, 1, 0, &b);
		stream_finish(&s);
		n = ring_counts(s.c, 1, 0);
		if (n->delivered != 2 || n->malformed != 1)
			fail_msg("%s: %llu delivered, %llu malformed", crimes[i].name,
				 (unsigned long long)n->delivered,
				 (unsigned long long)n->malformed);
		for (file_open(&f, s.path); file_event(&f, 2); found++)
			assert_true(f.rec.args[0].u == 42 && f.rec.thread.tid == 101);
		file_close(&f);
		assert_int_equal(found, 2);
		assert_clean(s.path, -1);
		stream_close(&s);
		words_free(&b);
	}
}

/* After a size of 0 or beyond the payload, the rest of the chunk is malformed. */
static void test_lost_framing_ends_the_chunk(void **unused)
{
	static const uint64_t heads[] = { 4, 0, 4 | 0xfffULL << 4 };

	for (size_t i = 0; i < 3; i++) {
		const struct at_compose_counts *n;
		struct words b = { 0 };
		struct stream s;

		open_two(&s);
		for (int k = 0; k < 3; k++)
			put_event(&b, &good);
		words_push(&b, heads[i]);
		b.records++;
		for (int k = 0; k < 4; k++)
			put_event(&b, &good);
		give_events(&s, 1, 0, &b);
		put_event(&b, &good);		/* the next chunk is read */
		give_events(&s, 1, 0, &b);
		stream_finish(&s);
		n = ring_counts(s.c, 1, 0);
		assert_int_equal(n->delivered, 4);
		assert_int_equal(n->malformed, 5);
		assert_clean(s.path, -1);
		stream_close(&s);
		words_free(&b);
	}
}

/* Each byte becomes three. */
static void test_a_text_that_repairing_lengthens_is_cut(void **unused)
{
	char *text = malloc(12000);
	struct event e = good;
	struct words b = { 0 };
	struct stream s;
	struct file f;

	assert_non_null(text);
	memset(text, 0xff, 12000);
	e.name = (struct ref){ .text = text, .len = 12000 };
	open_two(&s);
	put_event(&b, &e);
	put_event(&b, &good);
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(ring_counts(s.c, 1, 0)->delivered, 2);
	file_open(&f, s.path);
	assert_true(file_event(&f, 2));
	assert_int_equal(f.rec.name.len, 12000);
	for (size_t i = 0; i < 12000; i += 3)
		assert_memory_equal(f.rec.name.s + i, "\xef\xbf\xbd", 3);
	assert_true(file_event(&f, 2));
	file_close(&f);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
	free(text);
}

static void test_a_broken_chunk_counts_what_it_claims(void **unused)
{
	struct asynctrace_chunk h = {
		.kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 1, .records = 12345,
		.flags = ASYNCTRACE_CHUNK_F_BROKEN, .delivered = 12345,
	};
	struct stream s;

	open_two(&s);
	assert_int_equal(give(&s, &h, ""), 0);
	stream_finish(&s);
	assert_int_equal(ring_counts(s.c, 1, 0)->malformed, 12345);
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* The header's number of records counts: more records are ignored, missing ones are malformed. */
static void test_only_the_claimed_number_counts(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	open_two(&s);
	for (int i = 0; i < 10; i++)
		put_event(&b, &good);
	b.records = 4;
	give_events(&s, 1, 0, &b);
	for (int i = 0; i < 3; i++)
		put_event(&b, &good);
	b.records = 50;
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(ring_counts(s.c, 1, 0)->delivered, 7);
	assert_int_equal(ring_counts(s.c, 1, 0)->malformed, 47);
	stream_close(&s);
	words_free(&b);
}

/* A wrong string record defines nothing, and the records after it are still read. */
static void test_wrong_strings_define_nothing(void **unused)
{
	struct words b = { 0 };
	struct event e = good;
	struct stream s;

	open_two(&s);
	put_string(&b, 10, "ten", 3);
	put_string(&b, 11, "reserved", 8);
	b.w[2] |= 1ULL << 31;
	put_string(&b, 12, "padding", 7);
	b.w[5] |= 1ULL << 56;
	put_string(&b, 0, "zero", 4);
	put_string(&b, 13, "too much", 8);
	b.w[8] -= 1ULL << 32 << 4;
	put_string(&b, 14, "fourteen", 8);
	give_strings(&s, 1, &b);
	b.nr = 0;
	for (unsigned int i = 10; i <= 14; i++) {
		e.name = IDX(i);
		put_event(&b, &e);
	}
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	assert_int_equal(at_compose_stats(s.c)->providers[1].bad_strings, 4);
	assert_int_equal(ring_counts(s.c, 1, 0)->delivered, 2);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

static void spoil(struct words *b)
{
	for (uint64_t n = 1 + rnd_below(1 + b->nr / 4); n && b->nr; n--)
		words_spoil(b, 0);
}

static void some_events(struct words *b, uint64_t *ticks, uint64_t slot, uint64_t *number)
{
	for (uint64_t n = rnd_below(40); n; n--) {
		struct event e = good;

		e.type = rnd_below(ASYNCTRACE_FXT_EVENT_TYPES);
		e.slot = slot;
		e.category = rnd_chance(50) ? IDX(1) : TXT("inline category");
		e.ticks = *ticks += rnd_below(5);
		e.extra = e.type == ASYNCTRACE_FXT_DURATION ? *ticks : rnd();
		e.args[0].value = (*number)++;
		e.args[1] = e.type == 1 ? ARG_I32(IDX(2), 5) : ARG_STR(TXT("s"), TXT("some text"));
		e.nargs = 2;
		put_event(b, &e);
	}
}

/* An honest provider beside one whose payload is damaged at random */
static void test_honest_beside_hostile(void **unused)
{
	for (int round = 0; round < 150; round++) {
		uint64_t honest = 0, claimed[2] = { 0 }, number = 0, next = 0;
		struct words b = { 0 };
		struct stream s;
		struct file f;

		open_two(&s);
		put_string(&b, 1, "c", 1);
		put_string(&b, 2, "n", 1);
		put_string(&b, 3, "v", 1);
		give_strings(&s, 2, &b);
		b.nr = 0;
		for (int i = 0; i < 30; i++) {
			uint64_t ticks = s.ticks;

			if (rnd_chance(50)) {
				some_events(&b, &ticks, 1, &honest);
				s.ticks = ticks;
				give_events(&s, 1, 0, &b);
			} else {
				uint32_t ring = rnd_below(2);

				some_events(&b, &ticks, 2, &number);
				spoil(&b);
				s.ticks = ticks;
				claimed[ring] += b.records;
				give_events(&s, 2, ring, &b);
			}
		}
		stream_finish(&s);
		assert_int_equal(ring_counts(s.c, 1, 0)->delivered, honest);
		assert_int_equal(ring_counts(s.c, 1, 0)->malformed, 0);
		for (int ring = 0; ring < 2; ring++)
			if (claimed[ring])
				assert_int_equal(ring_counts(s.c, 2, ring)->delivered +
						 ring_counts(s.c, 2, ring)->malformed,
						 claimed[ring]);
		file_open(&f, s.path);
		while (file_next(&f)) {
			if (f.rec.kind != FXT_EVENT)
				continue;
			if (f.rec.provider == 2)
				next++;
			/* No record appears under another thread or provider. */
			if (f.rec.provider == 2)
				assert_true(f.rec.thread.tid == 101 && f.rec.thread.pid == 100);
			if (f.rec.provider == 3)
				assert_true(f.rec.thread.tid == 202 && f.rec.thread.pid == 200);
		}
		assert_int_equal(next, honest);
		file_close(&f);
		assert_clean(s.path, FXT_RULE_DURATION_OPEN, FXT_RULE_DURATION_ORPHAN,
			     FXT_RULE_DURATION_NAME, FXT_RULE_ASYNC_OPEN, FXT_RULE_ASYNC_ORPHAN,
			     FXT_RULE_ASYNC_TWICE, FXT_RULE_FLOW_OPEN, FXT_RULE_FLOW_ORPHAN,
			     FXT_RULE_FLOW_TWICE, FXT_RULE_FLOW_OUTSIDE, FXT_RULE_OVERLAP,
			     FXT_RULE_ORDER, -1);
		stream_close(&s);
		words_free(&b);
	}
}

/* Chunks come from the kernel, but impossible ones are refused without other effect. */
static void test_impossible_chunks_are_refused(void **unused)
{
	static const struct asynctrace_chunk bad[] = {
		{ .kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 9 },
		{ .kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 0 },
		{ .kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 1, .bytes = 12 },
		{ .kind = ASYNCTRACE_CHUNK_SCHED, .provider = 1 },
		{ .kind = ASYNCTRACE_CHUNK_SCHED, .ring = 65536 },
		{ .kind = ASYNCTRACE_CHUNK_STRINGS, .provider = 9 },
		{ .kind = ASYNCTRACE_CHUNK_THREADS, .provider = 9, .bytes = 32 },
		{ .kind = ASYNCTRACE_CHUNK_THREADS, .provider = 1, .bytes = 31 },
		{ .kind = ASYNCTRACE_CHUNK_PROVIDER, .bytes = 8 },
		{ .kind = ASYNCTRACE_CHUNK_PROVIDER,
		  .bytes = sizeof(struct asynctrace_provider_info) },
		{ .kind = ASYNCTRACE_CHUNK_CLOCK, .bytes = 8 },
		{ .kind = ASYNCTRACE_CHUNK_NAMES, .bytes = 1 },
		{ .kind = ASYNCTRACE_CHUNK_ENDED, .bytes = 8 },
		{ .kind = ASYNCTRACE_CHUNK_ENDED, .provider = 1,
		  .bytes = sizeof(struct asynctrace_ended) },
	};
	static const char zeros[256];
	struct asynctrace_chunk h;
	struct stream s;

	open_two(&s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		h = bad[i];
		assert_int_equal(give(&s, &h, zeros), -EPROTO);
		assert_int_equal(at_compose_stats(s.c)->protocol, i + 1);
	}
	/* A header that is too short, and a kind of a later version */
	h = (struct asynctrace_chunk){ .size = 8, .kind = ASYNCTRACE_CHUNK_CLOCK };
	assert_int_equal(at_compose_chunk(s.c, &h, zeros), -EPROTO);
	h = (struct asynctrace_chunk){ .kind = 4711, .bytes = 16 };
	assert_int_equal(give(&s, &h, zeros), 0);
	stream_finish(&s);
	/* A chunk after the end is no error: see test_unwritten.c. */
	assert_int_equal(give(&s, &h, zeros), 0);
	assert_clean(s.path, -1);
	stream_close(&s);

	/* Without a clock, the time of events is unknown. */
	stream_open(&s);
	give_provider(&s, 1, 1, 1, "p");
	h = (struct asynctrace_chunk){ .kind = ASYNCTRACE_CHUNK_EVENTS, .provider = 1 };
	assert_int_equal(give(&s, &h, zeros), -EPROTO);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_wrong_record_is_one_malformed),
		cmocka_unit_test(test_lost_framing_ends_the_chunk),
		cmocka_unit_test(test_a_text_that_repairing_lengthens_is_cut),
		cmocka_unit_test(test_a_broken_chunk_counts_what_it_claims),
		cmocka_unit_test(test_only_the_claimed_number_counts),
		cmocka_unit_test(test_wrong_strings_define_nothing),
		cmocka_unit_test(test_honest_beside_hostile),
		cmocka_unit_test(test_impossible_chunks_are_refused),
	};

	test_random_init();
	return cmocka_run_group_tests_name("hostile providers", tests, NULL, NULL);
}
