// SPDX-License-Identifier: GPL-2.0
/* A trace that is pushed in pieces reads like its file. */
#include <stdio.h>
#include <unistd.h>

#include "stream.h"

/* Returns the words of a random file; *@fd is the file. */
static struct words make_file(int *fd)
{
	struct words b, chunk = { 0 };
	struct stream s;

	stream_simple(&s);
	for (int i = 0; i < 20; i++) {
		for (uint64_t n = rnd_below(50); n; n--)
			put_event(&chunk, &(struct event){
				rnd_below(11), s.ticks++, 1, IDX(1), TXT("name"), s.ticks, 2,
				{ ARG_I32(IDX(3), rnd()), ARG_U64(TXT("longer name"), rnd()) } });
		give_events(&s, 1, 0, &chunk);
	}
	*fd = dup(s.fd);
	assert_true(*fd >= 0);
	b = stream_words(&s);
	words_free(&chunk);
	return b;
}

static void assert_same_record(const struct fxt_record *x, const struct fxt_record *y)
{
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->offset, y->offset);
	assert_int_equal(x->words, y->words);
	assert_int_equal(x->number, y->number);
	assert_int_equal(x->ns, y->ns);
	assert_int_equal(x->nargs, y->nargs);
	assert_int_equal(x->name.len, y->name.len);
	if (x->name.len)
		assert_memory_equal(x->name.s, y->name.s, x->name.len);
}

static void pushed_pieces_read_as_the_file(void **state)
{
	for (int i = 0; i < 20; i++) {
		struct fxt_reader *pushed = fxt_open_pushed(), *file;
		struct fxt_record x, y;
		size_t at = 0, records = 0;
		char path[32];
		int fd, err;
		struct words b = make_file(&fd);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		file = fxt_open(path, &err);
		assert_non_null(file);
		assert_non_null(pushed);
		assert_int_equal(fxt_push(pushed, b.w, 0), 0);
		assert_int_equal(fxt_next(pushed, &x), 0);
		while (at < b.nr) {
			size_t n = 1 + rnd_below(b.nr - at < 300 ? b.nr - at : 300);

			assert_int_equal(fxt_push(pushed, b.w + at, n), 0);
			at += n;
			/* A reader sets only the fields of the record's kind: clear the others. */
			for (;; records++) {
				memset(&x, 0, sizeof(x));
				memset(&y, 0, sizeof(y));
				if (fxt_next(pushed, &x) <= 0)
					break;
				assert_int_equal(fxt_next(file, &y), 1);
				assert_same_record(&x, &y);
			}
		}
		assert_int_equal(fxt_next(file, &y), 0);
		assert_true(records > 20);
		fxt_close(pushed);
		fxt_close(file);
		close(fd);
		words_free(&b);
	}
}

static void count_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	((unsigned int *)arg)[rule]++;
}

static void missing_end_of_pushed_words_is_reported(void **state)
{
	for (int cut = 0; cut < 2; cut++) {
		struct fxt_reader *r = fxt_open_pushed();
		unsigned int breaches[FXT_RULE_COUNT] = { 0 };
		struct fxt_record rec;
		int fd;
		struct words b = make_file(&fd);

		fxt_on_breach(r, count_breach, breaches);
		assert_int_equal(fxt_push(r, b.w, b.nr - cut), 0);
		while (fxt_next(r, &rec) > 0)
			;
		assert_int_equal(breaches[FXT_RULE_TRUNCATED], 0);
		fxt_push_end(r);
		assert_int_equal(fxt_next(r, &rec), 0);
		assert_int_equal(fxt_next(r, &rec), 0);
		assert_int_equal(breaches[FXT_RULE_TRUNCATED], cut);
		fxt_close(r);
		close(fd);
		words_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_pieces_read_as_the_file),
		cmocka_unit_test(missing_end_of_pushed_words_is_reported),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
