// SPDX-License-Identifier: GPL-2.0
/* fxt_without_args() */
#include <stdio.h>

#include "stream.h"

struct log {
	char text[65536];
	size_t len;
};

static void note(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct log *l = arg;

	l->len += snprintf(l->text + l->len, sizeof(l->text) - l->len, "%u %llu %s\n", rule,
			   (unsigned long long)offset, detail);
	assert_true(l->len < sizeof(l->text));
}

static struct fxt_reader *reader_of(const struct words *b, struct log *l)
{
	struct fxt_reader *r = fxt_open_pushed();

	assert_non_null(r);
	assert_int_equal(fxt_push(r, b->w, b->nr), 0);
	l->len = 0;
	fxt_on_breach(r, note, l);
	return r;
}

/* A file with events that have arguments of all types */
static struct words random_file(void)
{
	struct words b, chunk = { 0 };
	struct stream s;

	stream_simple(&s);
	for (int i = 0; i < 100; i++) {
		struct event e = { rnd_below(11), s.ticks++, 1, IDX(1), IDX(2), s.ticks,
				   rnd_below(5), { { 0 } } };

		for (unsigned int k = 0; k < e.nargs; k++)
			e.args[k] = (struct arg){ rnd_below(10), rnd_chance(80) ? IDX(3) : TXT("x"),
						  rnd(), rnd_chance(50) ? IDX(1) : TXT("text") };
		put_event(&chunk, &e);
	}
	give_events(&s, 1, 0, &chunk);
	b = stream_words(&s);
	words_free(&chunk);
	return b;
}

static void assert_same_text(const struct fxt_text *x, const struct fxt_text *y)
{
	assert_int_equal(x->index, y->index);
	assert_int_equal(x->len, y->len);
	if (x->len)
		assert_memory_equal(x->s, y->s, x->len);
}

static void assert_same(const struct fxt_record *x, const struct fxt_record *y)
{
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->offset, y->offset);
	assert_int_equal(x->words, y->words);
	assert_int_equal(x->damaged, y->damaged);
	assert_int_equal(x->number, y->number);
	assert_int_equal(x->id, y->id);
	assert_int_equal(x->ns, y->ns);
	assert_int_equal(x->end_ns, y->end_ns);
	assert_int_equal(x->thread.tid, y->thread.tid);
	assert_int_equal(x->cpu, y->cpu);
	assert_int_equal(x->out, y->out);
	assert_int_equal(x->in, y->in);
	assert_same_text(&x->category, &y->category);
	assert_same_text(&x->name, &y->name);
}

/* Both readers must return the same records, except for arguments. */
static void compare(const struct words *b)
{
	static struct log all, some;
	struct fxt_reader *with = reader_of(b, &all), *without = reader_of(b, &some);
	struct fxt_record x, y;

	fxt_without_args(without);
	for (;;) {
		int nx, ny;

		memset(&x, 0, sizeof(x));
		memset(&y, 0, sizeof(y));
		nx = fxt_next(with, &x);
		ny = fxt_next(without, &y);
		assert_int_equal(nx, ny);
		if (nx <= 0)
			break;
		if (x.kind == FXT_EVENT && !fxt_has_args(x.number) &&
		    x.thread.tid <= FXT_TID_REAL_MAX && !x.damaged)
			assert_int_equal(y.nargs, 0);
		else if (!x.damaged)
			assert_int_equal(x.nargs, y.nargs);
		assert_same(&x, &y);
	}
	assert_int_equal(all.len, some.len);
	assert_memory_equal(all.text, some.text, all.len);
	fxt_close(with);
	fxt_close(without);
}

static void reader_without_args_finds_all_breaches(void **state)
{
	for (int round = 0; round < 300; round++) {
		struct words b = random_file();

		for (uint64_t n = rnd_below(30); n; n--)
			words_spoil(&b, 1);
		compare(&b);
		words_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_without_args_finds_all_breaches),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
