// SPDX-License-Identifier: GPL-2.0
/*
 * The command's JSON, read with jansson, or digit by digit if jansson cannot represent the number
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tool.h"

/* Replaces the function of common.c, which would need files that this test does not link. */
void tool_error(const char *fmt, ...)
{
	(void)fmt;
	fail();
}

int tool_flush(void)
{
	return fflush(stdout);
}

/* Returns what doc_write() writes; the caller frees it. */
static char *written(struct json_doc *d)
{
	FILE *out = stdout;
	char *text = NULL;
	size_t size = 0;
	bool done;

	stdout = open_memstream(&text, &size);
	assert_non_null(stdout);
	done = doc_write(d);
	fclose(stdout);
	stdout = out;
	assert_true(done);
	return text;
}

static void assert_written(struct json_doc *d, const char *want)
{
	char *text = written(d);

	assert_string_equal(text, want);
	free(text);
}

static void numbers_are_exact(void **state)
{
	struct json_doc d = {};

	(void)state;
	doc_array(&d, NULL);
	doc_number(&d, NULL, 0);
	doc_number(&d, NULL, INT64_MAX);
	doc_number(&d, NULL, INT64_MAX + 1ULL);
	doc_number(&d, NULL, INT64_MAX + 2ULL);
	doc_number(&d, NULL, UINT64_MAX);
	doc_number(&d, NULL, 1);
	doc_close(&d);
	assert_written(&d, "[\n  0,\n  9223372036854775807,\n  9223372036854775808,\n"
		       "  9223372036854775809,\n  18446744073709551615,\n  1\n]\n");
}

static void numbers_of_an_object_are_exact(void **state)
{
	struct json_doc d = {};

	(void)state;
	doc_object(&d, NULL);
	doc_string(&d, "a", "-1");
	doc_number(&d, "n", UINT64_MAX - 1);
	doc_close(&d);
	assert_written(&d, "{\n  \"a\": \"-1\",\n  \"n\": 18446744073709551614\n}\n");
}

/* Texts that look like a number, or like the end of JSON */
static void texts_are_left_alone(void **state)
{
	static const char *const texts[] = {
		"-1", "\"-1", "\\", "\\\"-1\\", "a \"-2\" b", "-", "\xff-3", "\x01-4", "",
	};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	struct json_doc d = {};
	json_t *read, *list;
	char *text;

	(void)state;
	doc_object(&d, NULL);
	doc_number(&d, "-5\\\"", 7);
	doc_array(&d, "\"-6");
	for (size_t i = 0; i < count; i++)
		doc_string(&d, NULL, texts[i]);
	doc_number(&d, NULL, 8);
	doc_close(&d);
	doc_close(&d);
	text = written(&d);
	read = json_loads(text, 0, NULL);
	assert_non_null(read);
	assert_int_equal(json_object_size(read), 2);
	assert_int_equal(json_integer_value(json_object_get(read, "-5\\\"")), 7);
	list = json_object_get(read, "\"-6");
	assert_int_equal(json_array_size(list), count + 1);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(json_string_value(json_array_get(list, i)),
				    *texts[i] == '\xff' ? "\xef\xbf\xbd-3" : texts[i]);
	assert_int_equal(json_integer_value(json_array_get(list, count)), 8);
	json_decref(read);
	free(text);
}

/* U+009B means ESC [ to a terminal: it is written as an escape and read back the same. */
static void terminal_controls_are_not_written(void **state)
{
	static const char evil[] = "a\x1b[31m\xc2\x9b" "31m\xc2\x9d" "0;t\x07\xe2\x82\xac\x9b";
	struct json_doc d = {};
	json_t *read;
	char *text;

	(void)state;
	doc_object(&d, NULL);
	doc_string(&d, "name", evil);
	doc_close(&d);
	text = written(&d);
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
	read = json_loads(text, 0, NULL);
	assert_non_null(read);
	assert_string_equal(json_string_value(json_object_get(read, "name")),
			    "a\x1b[31m\xc2\x9b" "31m\xc2\x9d" "0;t\x07\xe2\x82\xac\xef\xbf\xbd");
	json_decref(read);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(numbers_of_an_object_are_exact),
		cmocka_unit_test(texts_are_left_alone),
		cmocka_unit_test(terminal_controls_are_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
