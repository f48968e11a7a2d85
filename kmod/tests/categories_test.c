// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns that a session passes to a provider: compared with a table, and with a plain
 * implementation of the rules on random lists.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"
#include "session/categories.h"

#define AT_TEST_SEED	20261127
#define AT_TEST_LIST	(sizeof(struct at_strings) + AT_CATEGORIES_BYTES)

/* Converts "a,b" to a list of two patterns, and "" to NULL. */
static struct at_strings *at_test_list(struct kunit *test, const char *text)
{
	struct at_strings *s;
	u32 i;

	if (!*text)
		return NULL;
	s = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	s->bytes = strlen(text) + 1;
	memcpy(s->text, text, s->bytes);
	for (i = 0, s->count = 1; text[i]; i++) {
		if (text[i] != ',')
			continue;
		s->text[i] = '\0';
		s->count++;
	}
	return s;
}

/* Converts a list of patterns to text, separated by commas. */
static void at_test_text(const struct asynctrace_categories *c, char *text)
{
	u32 i;

	memcpy(text, c->text, c->bytes);
	text[c->bytes ? c->bytes - 1 : 0] = '\0';
	for (i = 0; i + 1 < c->bytes; i++)
		if (!text[i])
			text[i] = ',';
}

static void p32_patterns_of_a_provider(struct kunit *test)
{
	static const struct {
		const char *own;
		const char *additional;
		const char *want;
	} cases[] = {
		{ "", "", "" },
		{ "net,fs*", "", "net,fs*" },
		{ "net", "fs", "net,fs" },
		{ "httpd/net,db/fs", "", "net" },
		{ "ht*/net,db/fs", "", "net" },
		{ "db/fs", "", "-*" },
		{ "db/fs,-net", "", "-*" },
		{ "db/fs", "net", "net" },
		{ "db/fs", "httpd/*", "*" },
		{ "db/fs", "db/net", "-*" },
		{ "-net", "", "-net" },
		{ "-httpd/net,-db/fs", "", "-net" },
		{ "-db/fs", "", "" },
		{ "", "fs", "" },
		{ "-net", "fs", "-net" },
		{ "", "-fs", "-fs" },
		{ "net", "-httpd/fs*", "net,-fs*" },
		{ "net,-net", "", "net,-net" },
		{ "httpd/a/b", "", "a/b" },
		{ "*/a", "", "a" },
		{ "http/a", "", "-*" },
	};
	struct asynctrace_categories *c;
	char *text;
	u32 i;

	c = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
	text = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_NOT_NULL(test, text);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		at_categories_fill(c, "httpd", at_test_list(test, cases[i].own),
				   at_test_list(test, cases[i].additional));
		at_test_text(c, text);
		KUNIT_EXPECT_STREQ_MSG(test, text, cases[i].want, "%s + %s", cases[i].own,
				       cases[i].additional);
	}
}

/* P30: the longest lists of a session and of a run fit AT_CATEGORIES_BYTES. */
static void p30_all_that_there_can_be_fits(struct kunit *test)
{
	struct at_strings *s = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
	struct asynctrace_categories *c;
	u32 i;

	c = kunit_kzalloc(test, sizeof(*c) + AT_CATEGORIES_BYTES + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, c);
	c->text[AT_CATEGORIES_BYTES] = 'x';
	s->count = ASYNCTRACE_CATEGORIES_MAX;
	for (i = 0; i < s->count; i++) {
		memset(s->text + s->bytes, 'a', ASYNCTRACE_CATEGORY_MAX);
		s->bytes += ASYNCTRACE_CATEGORY_MAX + 1;
	}
	at_categories_fill(c, "p", s, s);
	KUNIT_EXPECT_EQ(test, c->count, 2 * ASYNCTRACE_CATEGORIES_MAX);
	KUNIT_EXPECT_EQ(test, c->bytes, AT_CATEGORIES_BYTES);
	KUNIT_EXPECT_EQ(test, c->text[AT_CATEGORIES_BYTES], 'x');
}

static void p30_what_is_no_pattern(struct kunit *test)
{
	static const char * const wrong[] = {
		"", "-", "a/", "/a", "-/a", "-a/", "--a", "a/-b", "a*b", "*a/b", "a/*b",
	};
	static const char * const right[] = { "a", "*", "-a", "-*", "a/b", "-a/b", "a/b/c", "a-b" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_NOT_NULL_MSG(test, at_category_wrong(wrong[i], strlen(wrong[i])),
					  "%s", wrong[i]);
	for (i = 0; i < ARRAY_SIZE(right); i++)
		KUNIT_EXPECT_NULL_MSG(test, at_category_wrong(right[i], strlen(right[i])),
				      "%s", right[i]);
}

static bool at_test_matches(const char *pattern, const char *category)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(pattern, category, n - 1);
	return !strcmp(pattern, category);
}

/* Applies the patterns as a site does: see userlib/src/writer/patterns.c. */
static bool at_test_site(const struct asynctrace_categories *c, const char *category)
{
	bool wanted = true, any = false, hit = false;
	const char *text;
	u32 i;

	for (i = 0, text = c->text; i < c->count; i++, text += strlen(text) + 1) {
		if (*text == '-') {
			wanted &= !at_test_matches(text + 1, category);
		} else {
			any = true;
			hit |= at_test_matches(text, category);
		}
	}
	return wanted && (hit || !any);
}

/* Applies the rules of uapi/asynctrace.yaml directly to the lists of a session and a run. */
static bool at_test_wanted(struct at_strings * const *lists, const char *provider,
			   const char *category)
{
	bool positive[2] = {}, hit[2] = {}, not = false;
	u32 l, i;

	for (l = 0; l < 2; l++) {
		const char *p = lists[l] ? lists[l]->text : NULL;

		for (i = 0; lists[l] && i < lists[l]->count; i++, p += strlen(p) + 1) {
			bool exclude = *p == '-';
			const char *text = p + exclude, *slash = strchr(text, '/');
			bool match;

			if (!exclude)
				positive[l] = true;
			if (slash) {
				if (!at_pattern_matches(text, slash - text, provider))
					continue;
				text = slash + 1;
			}
			match = at_test_matches(text, category);
			if (exclude)
				not |= match;
			else
				hit[l] |= match;
		}
	}
	return !not && (!positive[0] || hit[0] || hit[1]);
}

static void p32_random_lists(struct kunit *test)
{
	static const char * const parts[] = {
		"a", "b", "ab", "a*", "*", "p/a", "q/a", "p/b*", "*/b", "-a", "-p/b", "-q/*",
		"-ab*", "-*/a",
	};
	static const char * const categories[] = { "a", "b", "ab", "abc", "c" };
	static const char * const providers[] = { "p", "q", "pq" };
	struct asynctrace_categories *c = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
	struct at_strings *lists[2];
	struct rnd_state rnd;
	u32 i, j, k, l, n;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (l = 0; l < 2; l++) {
		lists[l] = kunit_kzalloc(test, AT_TEST_LIST, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, lists[l]);
	}
	prandom_seed_state(&rnd, AT_TEST_SEED);
	for (i = 0; i < 3000; i++) {
		for (l = 0; l < 2; l++) {
			lists[l]->count = 0;
			lists[l]->bytes = 0;
			for (n = prandom_u32_state(&rnd) % 4; n; n--) {
				const char *part = parts[prandom_u32_state(&rnd) %
							 ARRAY_SIZE(parts)];

				strscpy(lists[l]->text + lists[l]->bytes, part, 16);
				lists[l]->bytes += strlen(part) + 1;
				lists[l]->count++;
			}
		}
		for (j = 0; j < ARRAY_SIZE(providers); j++) {
			at_categories_fill(c, providers[j], lists[0], lists[1]);
			for (k = 0; k < ARRAY_SIZE(categories); k++)
				KUNIT_ASSERT_EQ_MSG(test, at_test_site(c, categories[k]),
						    at_test_wanted(lists, providers[j],
								   categories[k]),
						    "round %u: %s of %s", i, categories[k],
						    providers[j]);
		}
	}
}

static struct kunit_case at_categories_cases[] = {
	KUNIT_CASE(p32_patterns_of_a_provider),
	KUNIT_CASE(p30_all_that_there_can_be_fits),
	KUNIT_CASE(p30_what_is_no_pattern),
	KUNIT_CASE(p32_random_lists),
	{}
};

static struct kunit_suite at_categories_suite = {
	.name = "asynctrace_categories",
	.test_cases = at_categories_cases,
};

kunit_test_suite(at_categories_suite);
