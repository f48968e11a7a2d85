// SPDX-License-Identifier: GPL-2.0
/* Traces with wrong bytes in them, while they are written: ASan and UBSan watch. */
#include <stdio.h>
#include <unistd.h>

#include "../format/stream.h"
#include "top/live.h"

#define S	1000000000ull

/* A trace of a few operations, and what the scheduler did, as words */
static struct words make_trace(void)
{
	struct words b = { 0 }, events = { 0 }, sched = { 0 };
	struct stream s;
	off_t bytes;

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
	stream_finish(&s);
	bytes = lseek(s.fd, 0, SEEK_END);
	words_add(&b, bytes / 8);
	assert_int_equal(pread(s.fd, b.w, bytes, 0), bytes);
	stream_close(&s);
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

/* The list of open operations agrees with its counts. */
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
			((unsigned char *)b.w)[rnd_below(b.nr * 8)] ^= 1 << rnd_below(8);
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
		if (!err)
			assert_int_equal(live_end(&l), 0);
		else
			assert_int_equal(err, -EBADMSG);
		explain_all(&l);
		check_open(&l);
		live_close(&l);
		words_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_bytes_break_nothing),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
