// SPDX-License-Identifier: GPL-2.0
/* UTF-8: valid text stays, invalid text is replaced as the Unicode standard says. */
#include "stream.h"
#include "compose/composer.h"
#include "../../tools/fxt/print.h"

#define FFFD "\xef\xbf\xbd"

static void repaired(const char *text, size_t len, const char *want)
{
	char got[256];
	size_t n = atc_text_repair(got, sizeof(got), text, len);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(got, want, n);
	assert_int_equal(atc_text_repaired(text, len), n);
}

#define REPAIRED(text, want) repaired(text, sizeof(text) - 1, want)

/* The Unicode standard, tables 3-8 to 3-11 */
static void test_examples_of_the_standard(void **unused)
{
	REPAIRED("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82" "A",
		 FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
	REPAIRED("\xed\xa0\x80\xed\xbf\xbf\xed\xaf" "A",
		 FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
	REPAIRED("\xf4\x91\x92\x93\xff" "A\x80\xbf" "B", FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
	REPAIRED("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf" "A", FFFD FFFD FFFD FFFD "A");
	REPAIRED("", "");
	REPAIRED("\xe2\x82", FFFD);
	REPAIRED("plain", "plain");
	REPAIRED("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
}

/* Every code point stays the same, except surrogates, which are invalid. */
static void test_every_character_stays(void **unused)
{
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		unsigned char s[4];
		char got[8];
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

		for (size_t i = n; i-- > 1;)
			s[i] = 0x80 | (c >> 6 * (n - 1 - i) & 0x3f);
		s[0] = lead[n] | c >> 6 * (n - 1);
		if (c >= 0xd800 && c <= 0xdfff) {
			assert_false(atc_text_valid(s, n));
			assert_false(fxt_utf8((char *)s, n));
			continue;
		}
		assert_true(atc_text_valid(s, n));
		assert_true(fxt_utf8((char *)s, n));
		assert_int_equal(atc_text_repair(got, sizeof(got), s, n), n);
		assert_memory_equal(got, s, n);
	}
}

/* Random bytes: two implementations agree, and a repair is valid and final. */
static void test_repair_is_valid_and_final(void **unused)
{
	static const unsigned char often[] = {
		0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 'a', 0,
	};
	for (int i = 0; i < 200000; i++) {
		unsigned char s[24];
		char once[72], twice[72];
		size_t len = rnd_below(sizeof(s) + 1), n, max;
		bool valid;

		for (size_t k = 0; k < len; k++)
			s[k] = rnd_chance(70) ? often[rnd_below(sizeof(often))] : rnd();
		valid = atc_text_valid(s, len);
		assert_int_equal(valid, fxt_utf8((char *)s, len));
		n = atc_text_repair(once, sizeof(once), s, len);
		assert_int_equal(n, atc_text_repaired(s, len));
		assert_true(fxt_utf8(once, n));
		if (valid) {
			assert_int_equal(n, len);
			assert_memory_equal(once, s, len);
		}
		assert_int_equal(atc_text_repair(twice, sizeof(twice), once, n), n);
		assert_memory_equal(once, twice, n);
		/* With a limit, the result is a prefix of whole characters of the repaired text. */
		max = rnd_below(n + 1);
		len = atc_text_repair(twice, max, s, len);
		assert_true(len <= max && len + 4 > max);
		assert_true(fxt_utf8(twice, len));
		assert_memory_equal(once, twice, len);
	}
}

/* The composer repairs names, strings, categories and arguments. */
static void test_all_text_of_a_file_is_repaired(void **unused)
{
	struct words b = { 0 };
	struct stream s;
	struct file f;
	bool seen = false;

	stream_simple(&s);
	give_provider(&s, 2, 200, 3, "bad \xff name");
	give_thread(&s, 2, 1, 200, 201, "\x80\x81omm");
	give_name(&s, 300, 300, "0123456789abcd\xc3");
	put_string(&b, 1, "\xf0\x9f", 2);
	give_strings(&s, 2, &b);
	b.nr = 0;
	put_event(&b, &(struct event){
		ASYNCTRACE_FXT_ASYNC_BEGIN, s.ticks, 1, IDX(1), TXT("na\xffme"), 5, 3, {
			ARG_STR(TXT("\xfe"), TXT("\xe2\x82.")),
			ARG_U64(TXT("eight\x80\x80\x80"), 9),
			ARG_STR(IDX(1), IDX(1)),
		}
	});
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_ASYNC_END, s.ticks, 1, IDX(1),
				       TXT("na\xffme"), 5, 0, { } });
	give_events(&s, 2, 0, &b);
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 3);) {
		if (f.rec.number != ASYNCTRACE_FXT_ASYNC_BEGIN)
			continue;
		seen = true;
		assert_true(fxt_text_is(&f.rec.category, FFFD));
		assert_true(fxt_text_is(&f.rec.name, "na" FFFD "me"));
		assert_true(fxt_text_is(&f.rec.args[0].name, FFFD));
		assert_true(fxt_text_is(&f.rec.args[0].text, FFFD "."));
		assert_true(fxt_text_is(&f.rec.args[1].name, "eight" FFFD FFFD FFFD));
		assert_int_equal(f.rec.args[1].u, 9);
		assert_true(fxt_text_is(&f.rec.args[2].text, FFFD));
		assert_int_equal(f.rec.id, 3ULL << 44 | 5);
	}
	file_close(&f);
	assert_true(seen);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

static void printed(void (*print)(FILE *, const struct fxt_text *), const char *text,
		    const char *want)
{
	struct fxt_text t = { .s = text, .len = strlen(text) };
	char *got = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&got, &size);

	assert_non_null(f);
	print(f, &t);
	fclose(f);
	assert_string_equal(got, want);
	free(got);
}

/* Characters that terminals obey are printed as escapes: C0, DEL, C1, and invalid bytes. */
static void test_control_characters_are_shown_as_escapes(void **unused)
{
	printed(fxt_print_text, "a\x1b]0;t\x07\x7f\n\"", "\"a\\x1b]0;t\\x07\\x7f\\n\\\"\"");
	printed(fxt_print_text, "\xc2\x80\xc2\x9b" "31m\xc2\x9f\xc2\xa0",
		"\"\\xc2\\x80\\xc2\\x9b31m\\xc2\\x9f\xc2\xa0\"");
	printed(fxt_print_text, "\x9b" "31m\xe2\x82\xac\xe2\x82",
		"\"\\x9b31m\xe2\x82\xac\\xe2\\x82\"");
	printed(fxt_print_json, "a\x1b\x7f\n\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0",
		"\"a\\u001b\\u007f\\n\\u0080\\u009b\\u009f\xc2\xa0\"");
	printed(fxt_print_json, "\x9b\xe2\x82\xac", "\"\\ufffd\xe2\x82\xac\"");
}

/* Names that differ only in bytes that are repaired become one key, with an array of all values. */
static void test_names_that_become_one_key_share_it(void **unused)
{
	static const char *const names[] = { "a\xff", "a\xef\xbf\xbd", "a", "a\xfe" };
	struct fxt_record rec = { .kind = FXT_WAKEUP, .nargs = 4 };
	char *got = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&got, &size);

	assert_non_null(f);
	for (unsigned int i = 0; i < rec.nargs; i++)
		rec.args[i] = (struct fxt_arg){
			.type = ASYNCTRACE_FXT_ARG_UINT32, .u = i,
			.name = { .s = names[i], .len = strlen(names[i]) },
		};
	fxt_print_record_json(f, &rec, false);
	fclose(f);
	assert_non_null(strstr(got, "\"args\":{\"a\\ufffd\":[0,1,3],\"a\":2}"));
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples_of_the_standard),
		cmocka_unit_test(test_every_character_stays),
		cmocka_unit_test(test_repair_is_valid_and_final),
		cmocka_unit_test(test_all_text_of_a_file_is_repaired),
		cmocka_unit_test(test_control_characters_are_shown_as_escapes),
		cmocka_unit_test(test_names_that_become_one_key_share_it),
	};

	test_random_init();
	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
