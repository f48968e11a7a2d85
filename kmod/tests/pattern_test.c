// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"

static void names_match_globs(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, at_glob("httpd", "httpd"));
	KUNIT_EXPECT_FALSE(test, at_glob("httpd", "httpd2"));
	KUNIT_EXPECT_FALSE(test, at_glob("httpd", "http"));
	KUNIT_EXPECT_TRUE(test, at_glob("*", ""));
	KUNIT_EXPECT_TRUE(test, at_glob("http*", "http"));
	KUNIT_EXPECT_TRUE(test, at_glob("*d", "httpd"));
	KUNIT_EXPECT_TRUE(test, at_glob("h*t*d", "httpd"));
	KUNIT_EXPECT_FALSE(test, at_glob("h*x*d", "httpd"));
	KUNIT_EXPECT_TRUE(test, at_glob("h??pd", "httpd"));
	KUNIT_EXPECT_FALSE(test, at_glob("?", ""));
	KUNIT_EXPECT_TRUE(test, at_glob("**a**", "bab"));
	KUNIT_EXPECT_TRUE(test, at_glob("*ab", "aab"));
}

static void empty_list_wants_all(struct kunit *test)
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

static struct kunit_case at_names_cases[] = {
	KUNIT_CASE(names_match_globs),
	KUNIT_CASE(empty_list_wants_all),
	{}
};

static struct kunit_suite at_names_suite = {
	.name = "asynctrace_names",
	.test_cases = at_names_cases,
};

kunit_test_suite(at_names_suite);
