// SPDX-License-Identifier: GPL-2.0
/* Patterns for names of providers and categories: which names match, and which are valid */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"

static bool at_test_match(const char *pattern, const char *name)
{
	return at_pattern_matches(pattern, strlen(pattern), name);
}

static void pattern_is_a_name_or_a_prefix(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, at_test_match("httpd", "httpd"));
	KUNIT_EXPECT_FALSE(test, at_test_match("httpd", "httpd2"));
	KUNIT_EXPECT_FALSE(test, at_test_match("httpd", "http"));
	KUNIT_EXPECT_TRUE(test, at_test_match("*", ""));
	KUNIT_EXPECT_TRUE(test, at_test_match("*", "httpd"));
	KUNIT_EXPECT_TRUE(test, at_test_match("http*", "http"));
	KUNIT_EXPECT_TRUE(test, at_test_match("http*", "httpd"));
	KUNIT_EXPECT_FALSE(test, at_test_match("http*", "htt"));
	KUNIT_EXPECT_FALSE(test, at_test_match("h?tpd", "httpd"));
}

static void pattern_ends_where_its_length_says(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, at_pattern_matches("db/fs", 2, "db"));
	KUNIT_EXPECT_FALSE(test, at_pattern_matches("db/fs", 2, "db/fs"));
	KUNIT_EXPECT_TRUE(test, at_pattern_matches("d*/fs", 2, "db"));
}

static void star_ends_a_pattern(struct kunit *test)
{
	static const char * const wrong[] = { "", "*a", "a*b", "**", "a**" };
	static const char * const right[] = { "a", "*", "a*", "a?" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_NOT_NULL_MSG(test, at_pattern_wrong(wrong[i], strlen(wrong[i])),
					  "%s", wrong[i]);
	for (i = 0; i < ARRAY_SIZE(right); i++)
		KUNIT_EXPECT_NULL_MSG(test, at_pattern_wrong(right[i], strlen(right[i])),
				      "%s", right[i]);
}

static void empty_list_matches_every_name(struct kunit *test)
{
	struct at_strings *s = kunit_kzalloc(test, sizeof(*s) + 16, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_EXPECT_TRUE(test, at_strings_match(NULL, "x"));
	KUNIT_EXPECT_TRUE(test, at_strings_match(s, "x"));
	s->count = 2;
	s->bytes = 6;
	memcpy(s->text, "a*\0bc\0", 6);
	KUNIT_EXPECT_TRUE(test, at_strings_match(s, "ax"));
	KUNIT_EXPECT_TRUE(test, at_strings_match(s, "bc"));
	KUNIT_EXPECT_FALSE(test, at_strings_match(s, "b"));
}

static struct kunit_case at_pattern_cases[] = {
	KUNIT_CASE(pattern_is_a_name_or_a_prefix),
	KUNIT_CASE(pattern_ends_where_its_length_says),
	KUNIT_CASE(star_ends_a_pattern),
	KUNIT_CASE(empty_list_matches_every_name),
	{}
};

static struct kunit_suite at_pattern_suite = {
	.name = "asynctrace_pattern",
	.test_cases = at_pattern_cases,
};

kunit_test_suite(at_pattern_suite);
