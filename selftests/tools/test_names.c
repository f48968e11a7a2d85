// SPDX-License-Identifier: GPL-2.0
/*
 * Names come from programs, possibly other users', and may have any bytes. Only harmless ones reach
 * the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "tool.h"

static void control_characters_are_not_printed(void **state)
{
	(void)state;
	assert_string_equal(tool_text("a\x1b[31m\x07\x7f\n\tb"), "a?[31m????b");
	/* C1: U+009B means ESC [ to a terminal. */
	assert_string_equal(tool_text("a\xc2\x9b" "31m\xc2\x9d" "0;t\xc2\x80\xc2\x9f"),
			    "a?31m?0;t??");
}

static void invalid_text_is_not_printed(void **state)
{
	(void)state;
	assert_string_equal(tool_text("a\x9b" "31m\xff\xe2\x82"), "a?31m???");
	assert_string_equal(tool_text("\xc1\xa1\xed\xa0\x80\xf4\x90\x80\x80"), "?????????");
}

static void other_text_is_printed_as_it_is(void **state)
{
	static const char text[] =
		"na\xc3\xafve \xc2\xa0 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbd";

	(void)state;
	assert_string_equal(tool_text(text), text);
	assert_string_equal(tool_text(""), "");
}

static void long_names_are_whole(void **state)
{
	static char text[1 << 20];

	(void)state;
	for (size_t len = 1; len < sizeof(text); len = len * 3 / 2 + 1) {
		memset(text, 'a', len);
		memcpy(text + len, "\x1b", 2);
		for (int i = 0; i < 20; i++) {
			const char *got = tool_text(text);

			assert_int_equal(strlen(got), len + 1);
			assert_memory_equal(got, text, len);
			assert_int_equal(got[len], '?');
		}
	}
}

/* A name that memory does not suffice for is cut after a whole character, with a mark. */
static void long_names_without_memory_are_marked(void **state)
{
	static char text[64 << 20];
	struct rlimit all, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &all), 0);
	none = (struct rlimit){ 0, all.rlim_max };
	for (size_t ascii = 0; ascii < 3; ascii++) {
		const char *got;
		size_t len;

		memset(text, 'a', ascii);
		for (size_t i = ascii; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xe2\x82\xac", 4);
		assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
		got = tool_text(text);
		assert_int_equal(setrlimit(RLIMIT_AS, &all), 0);
		len = strlen(got);
		assert_true(len > 300 && len < 1000);
		assert_int_equal((len - 3 - ascii) % 3, 0);
		assert_memory_equal(got, text, len - 3);
		assert_string_equal(got + len - 3, "...");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_are_not_printed),
		cmocka_unit_test(invalid_text_is_not_printed),
		cmocka_unit_test(other_text_is_printed_as_it_is),
		cmocka_unit_test(long_names_are_whole),
		cmocka_unit_test(long_names_without_memory_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
