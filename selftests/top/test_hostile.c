// SPDX-License-Identifier: GPL-2.0
/* Traces with random wrong bytes, read while they are written, under ASan and UBSan */
#include <stdio.h>

#include "../fxt/stream.h"
#include "top/live.h"

#define S	1000000000ull

/* Makes a trace of a few operations with scheduling, as words. */
static struct words make_trace(void)
{
	struct words b, events = { 0 }, sched = { 0 };
	struct stream s;

	stream_simple(&s);
	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t t = s.ticks + 1000 * i, id = rnd_below(20);

		put_switch(&sched, 0, t, 0, 101, 0);
		put_event(&events, &(struct event){ rnd_below(11), t + 100, 1, IDX(1), IDX(2),
						    rnd_chance(50) ? id : t + rnd_below(2000), 1,
						    { ARG_U64(IDX(3), i) } });
		put_wakeup(&sched, 0, t + 300, 101, 101);
		put_switch(&sched, 0, t + 900, 101, 0, 3);
		if (rnd_chance(90))
			continue;
		lose(&s, 1, 0, rnd_below(3), rnd_below(3));
		give_sched(&s, 0, &sched);
		give_events(&s, 1, 0, &events);
	}
	b = stream_words(&s);
	words_free(&events);
	words_free(&sched);
	return b;
}

static void explain_all(struct live *l)
{
	for (const struct open_operation *op = l->open.oldest; op; op = op->newer) {
		char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		assert_non_null(f);
		live_explain(l, op, f);
		fclose(f);
		free(text);
	}
}

/* The list of open operations must agree with its counts. */
static void check_open(const struct live *l)
{
	size_t listed = 0, of_types = 0;

	for (const struct open_operation *op = l->open.oldest; op; op = op->newer)
		listed++;
	for (size_t i = 0; i < l->tally.nr; i++)
		of_types += l->tally.of[i]->open;
	assert_int_equal(listed, l->open.nr);
	assert_int_equal(of_types, l->open.nr);
}

static void wrong_bytes_break_nothing(void **state)
{
	const char *text = getenv("ANALYSIS_ROUNDS");
	const int rounds = text ? atoi(text) : 1000;

	for (int i = 0; i < rounds; i++) {
		struct live l = { .memory = LIVE_MEMORY };
		struct words b = make_trace();
		uint64_t wall = 100 * S;
		int err = 0;

		for (uint64_t n = rnd_below(20); n; n--)
			words_spoil(&b, 0);
		assert_int_equal(live_open(&l), 0);
		for (size_t at = 0, words; at < b.nr && !err; at += words) {
			words = 1 + rnd_below(b.nr - at < 400 ? b.nr - at : 400);
			err = live_push(&l, b.w + at, words);
			live_read_until(&l, wall, l.newest);
			wall += rnd_below(2 * S);
			if (!err)
				assert_int_equal(live_settle(&l, wall), 0);
			explain_all(&l);
			check_open(&l);
		}
		if (err)
			assert_int_equal(err, -EBADMSG);
		assert_int_equal(live_end(&l), 0);
		explain_all(&l);
		check_open(&l);
		live_close(&l);
		words_free(&b);
	}
}

static ssize_t take_words(void *arg, const void *buf, size_t len)
{
	assert_int_equal(live_push(arg, buf, len / 8), 0);
	return len;
}

/* Puts the begin of an operation and thread 101's work on it. @end: also the end, after 500 ns */
static void work(struct stream *s, uint64_t id, bool end)
{
	struct words b = { 0 };
	const uint64_t t = s->ticks;

	put_event(&b, &(struct event){ ASYNCTRACE_FXT_ASYNC_BEGIN, t + 100, 1, IDX(1), IDX(2), id,
				       0, { { 0 } } });
	if (end)
		put_event(&b, &(struct event){ ASYNCTRACE_FXT_ASYNC_END, t + 600, 1, IDX(1), IDX(2),
					       id, 0, { { 0 } } });
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION, t + 100, 1, IDX(1), IDX(3), t + 700,
				       0, { { 0 } } });
	s->ticks += 1000;
	give_events(s, 1, 0, &b);
	words_free(&b);
}

/* After too many names, the analysis restarts, and the composer begins a new file for it. */
static void names_are_known_after_a_new_begin(void **state)
{
	struct live l = { .memory = 64 << 20 };
	struct at_compose_options o = { .size = sizeof(o), .write = take_words, .arg = &l };
	struct stream s = { .ticks = S };
	struct words b = { 0 };
	char name[101];
	char *text = NULL;
	size_t len;
	FILE *f;

	assert_int_equal(live_open(&l), 0);
	s.c = at_compose_new(&o);
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	give_provider(&s, 1, 100, 7, "shop");
	give_thread(&s, 1, 1, 100, 101, "clerk");
	put_string(&b, 1, "cat", 3);
	put_string(&b, 2, "order", 5);
	put_string(&b, 3, "work", 4);
	give_strings(&s, 1, &b);
	b.nr = 0;
	work(&s, 1, true);
	for (int i = 0; i < 500000; i++) {
		snprintf(name, sizeof(name), "%090d", i);
		put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION_BEGIN, s.ticks++, 1, IDX(1),
					       TXT(name), 0, 0, { { 0 } } });
		if (i % 1000 == 999)
			give_events(&s, 1, 0, &b);
	}
	assert_int_equal(at_compose_flush(s.c), 0);
	/* Skip this under ASan, whose allocator reports no sizes. */
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(live_bound(&l), 1);
#endif
	assert_int_equal(at_compose_next(s.c, &o), 0);
	assert_int_equal(live_new_reader(&l), 0);
	work(&s, 2, true);
	work(&s, 3, false);
	assert_int_equal(at_compose_finish(s.c), 0);
	assert_int_equal(live_end(&l), 0);

	/* Operations before and after the restart share a row: both files have the provider. */
	assert_int_equal(l.tally.nr, 1);
	assert_int_equal(l.tally.of[0]->all.latencies.nr, 2);
	assert_string_equal(l.tally.of[0]->provider, "shop");
	assert_int_equal(l.open.nr, 1);
	f = open_memstream(&text, &len);
	assert_true(live_explain(&l, l.open.oldest, f));
	fclose(f);
	assert_non_null(strstr(text, "order 0x"));
	free(text);
	at_compose_free(s.c);
	live_close(&l);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_bytes_break_nothing),
		cmocka_unit_test(names_are_known_after_a_new_begin),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
