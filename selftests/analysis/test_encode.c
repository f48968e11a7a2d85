// SPDX-License-Identifier: GPL-2.0
/* Records that record --slower-than writes stay within the limits of the format. */
#include <linux/asynctrace_fxt.h>
#include <time.h>

#include "build.h"
#include "../fxt/random.h"
#include "tail/encode.h"

/* An async begin that leaves less than 8 words of a record free, if its names fit */
static void largest_event(struct fxt_record *rec, const char *letters)
{
	size_t left = ASYNCTRACE_FXT_WORDS_MAX - 5 - rnd_below(8);

	*rec = (struct fxt_record){
		.kind = FXT_EVENT, .number = ASYNCTRACE_FXT_ASYNC_BEGIN, .ns = 1, .id = rnd(),
		.thread = { .pid = 1, .tid = 1 }, .nargs = rnd_below(ASYNCTRACE_FXT_ARGS_MAX + 1),
	};
	left -= 2 * rec->nargs;
	rec->category = (struct fxt_text){ .s = letters, .len = 8 * rnd_below(200) };
	rec->name = (struct fxt_text){ .s = letters, .len = 8 * left - rec->category.len };
	if (rec->name.len > ASYNCTRACE_FXT_STRING_MAX)
		rec->name.len = ASYNCTRACE_FXT_STRING_MAX;
	for (unsigned int i = 0; i < rec->nargs; i++)
		rec->args[i] = encode_uint32(rnd_chance(50) ? "n" : "", i);
}

static void apart_event_fits_a_record(void **state)
{
	static uint64_t words[ASYNCTRACE_FXT_WORDS_MAX + 16];
	static char letters[ASYNCTRACE_FXT_STRING_MAX];
	const uint64_t seed = time(NULL);
	struct fxt_record rec, got;
	struct fxt_reader *r;

	print_message("seed: %llu\n", (unsigned long long)seed);
	rnd_seed(seed);
	memset(letters, 'a', sizeof(letters));
	for (int i = 0; i < 20000; i++) {
		uint64_t trimmed = 0;
		size_t n;

		largest_event(&rec, letters);
		n = encode_event(words, &rec, &trimmed);
		if (!n)
			continue;
		n = encode_apart(words, n, &trimmed);
		assert_in_range(n, 5, ASYNCTRACE_FXT_WORDS_MAX);
		assert_int_equal(ASYNCTRACE_FXT_WORDS(words[0]), n);
		r = fxt_open_pushed();
		assert_non_null(r);
		assert_int_equal(fxt_push(r, words, n), 0);
		assert_int_equal(fxt_next(r, &got), 1);
		assert_false(got.damaged);
		assert_int_equal(got.id, rec.id);
		assert_non_null(fxt_arg(&got, FILTERED));
		assert_int_equal(got.nargs + trimmed, rec.nargs + 1);
		fxt_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apart_event_fits_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
