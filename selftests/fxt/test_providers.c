// SPDX-License-Identifier: GPL-2.0
/* A trace may have any number of providers, each with tables of its own. */
#include "fxt/fxt.h"
#include "stream.h"

#define MANY	100000

static uint64_t metadata(unsigned int type, uint64_t id)
{
	return ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) | type << 16 | id << 20;
}

static struct fxt_record next(struct fxt_reader *r)
{
	struct fxt_record rec;

	assert_int_equal(fxt_next(r, &rec), 1);
	return rec;
}

static void push(struct fxt_reader *r, const uint64_t *words, size_t nr)
{
	assert_int_equal(fxt_push(r, words, nr), 0);
}

static void count_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	++*(unsigned int *)arg;
}

/*
 * If the time of a lookup grew with the number of providers, the test would exceed its limit of CPU
 * time (selftests/limit).
 */
static void providers_many_are_found_again(void **state)
{
	struct fxt_reader *r = fxt_open_pushed();
	unsigned int breaches = 0;

	assert_non_null(r);
	fxt_on_breach(r, count_breach, &breaches);
	for (uint64_t i = 0; i < MANY; i++) {
		push(r, (uint64_t[]){ metadata(ASYNCTRACE_FXT_META_PROVIDER, 7 * i) }, 1);
		assert_int_equal(next(r).kind, FXT_PROVIDER_INFO);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		push(r, (uint64_t[]){ metadata(ASYNCTRACE_FXT_META_SECTION, 7 * i) }, 1);
		assert_int_equal(next(r).provider, 7 * i);
	}
	assert_int_equal(breaches, 0);
	fxt_close(r);
}

static void provider_again_loses_its_tables(void **state)
{
	const uint64_t words[] = {
		metadata(ASYNCTRACE_FXT_META_PROVIDER, 1),
		ASYNCTRACE_FXT_STRING_HEAD(0x7fff, 1), 'x',
		ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_THREAD, 3) | 255ULL << 16, 10, 11,
		metadata(ASYNCTRACE_FXT_META_PROVIDER, 1),
		ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 4, 0, 0, 0x7fff), 5, 10, 11,
		ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 2, 0, 0, 0) | 255ULL << 24, 5,
	};
	struct fxt_reader *r = fxt_open_pushed();

	assert_non_null(r);
	push(r, words, sizeof(words) / sizeof(words[0]));
	for (int i = 0; i < 4; i++)
		assert_false(next(r).damaged);
	assert_true(next(r).damaged);
	assert_true(next(r).damaged);
	fxt_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(providers_many_are_found_again),
		cmocka_unit_test(provider_again_loses_its_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
