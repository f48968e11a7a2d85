// SPDX-License-Identifier: GPL-2.0
/* A trace that is pushed in pieces reads like its file. */
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "../../tools/fxt/table.h"
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

/* Providers of a hostile trace: each defines a string and a thread with the largest index. */
#define PROVIDERS	2000
#define INDEX_STRING	ASYNCTRACE_FXT_INDEX_MAX
#define INDEX_THREAD	ASYNCTRACE_FXT_THREADS_MAX

static void many_providers_take_little_memory(void **state)
{
	for (int high = 0; high < 2; high++) {
		struct fxt_reader *r = fxt_open_pushed();
		struct fxt_record rec;
		const size_t before = mallinfo2().uordblks;
		size_t bytes = 0;

		assert_non_null(r);
		for (uint32_t id = 1; id <= PROVIDERS; id++) {
			const uint64_t words[] = {
				0 | 2 << 4 | 1 << 16 | (uint64_t)id << 20 | 1ULL << 52, 'p',
				2 | 2 << 4 | (high ? INDEX_STRING : 1) << 16 | 1ULL << 32, 's',
				3 | 3 << 4 | (high ? INDEX_THREAD : 1) << 16, 100, 101,
			};

			assert_int_equal(fxt_push(r, words, sizeof(words) / 8), 0);
			for (int i = 0; i < 3; i++) {
				assert_int_equal(fxt_next(r, &rec), 1);
				assert_false(rec.damaged);
			}
			bytes += sizeof(words);
		}
		/* Each provider has a few small nodes. */
		assert_true(mallinfo2().uordblks - before < 40 * bytes);
		fxt_close(r);
	}
}

/* Returns the length of the longest run of entries that are used. */
static size_t longest_run(const struct fxt_table *t)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i <= t->mask; i++) {
		run = t->entries[i].key ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

#define KEYS	10000

/* Each key probes all entries of the run that it belongs to. */
static void colliding_keys_make_no_long_runs(void **state)
{
	/* The second factor is the inverse of the one that a table without a secret uses. */
	static const uint64_t factors[] = { 1, 0xf1de83e19937733dULL };

	for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++) {
		struct fxt_table t = { 0 };

		for (uint64_t i = 0; i < KEYS; i++) {
			struct fxt_entry *e = fxt_make(&t, (1 + (i << 40)) * factors[f]);

			assert_non_null(e);
			e->a = i;
		}
		assert_int_equal(t.used, KEYS);
		assert_true(longest_run(&t) < KEYS / 8);
		for (uint64_t i = 0; i < KEYS; i += 2)
			fxt_remove(&t, fxt_find(&t, (1 + (i << 40)) * factors[f]));
		for (uint64_t i = 0; i < KEYS; i++) {
			struct fxt_entry *e = fxt_find(&t, (1 + (i << 40)) * factors[f]);

			assert_int_equal(!!e, i % 2);
			assert_true(!e || e->a == i);
		}
		fxt_table_free(&t);
	}
}

/* The order of fxt_each() decides the order of rows, so it must be the same in each run. */
static void ordinary_keys_have_no_secret(void **state)
{
	struct fxt_table t = { 0 };

	for (uint64_t i = 1; i <= 300000; i++) {
		assert_non_null(fxt_make(&t, i));
		assert_non_null(fxt_make(&t, fxt_hash(i, 0)));
		assert_non_null(fxt_make(&t, 0x7f0000000000 + i * 48));
	}
	assert_null(t.secret);
	fxt_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_pieces_read_as_the_file),
		cmocka_unit_test(missing_end_of_pushed_words_is_reported),
		cmocka_unit_test(many_providers_take_little_memory),
		cmocka_unit_test(colliding_keys_make_no_long_runs),
		cmocka_unit_test(ordinary_keys_have_no_secret),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
