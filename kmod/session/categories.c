// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns of categories: [-][PROVIDER/]CATEGORY. Sites know nothing of providers:
 * each provider is given those that are about it, and without their first part.
 */
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"
#include "session/categories.h"

/**
 * at_category_wrong - check that a text is a pattern of categories
 * @pattern: text, without a NUL
 * @len: bytes of it
 *
 * Return: NULL, or a text that says what is wrong.
 */
const char *at_category_wrong(const char *pattern, size_t len)
{
	const char *slash, *wrong;

	if (len && *pattern == '-') {
		pattern++;
		len--;
	}
	slash = memchr(pattern, '/', len);
	if (slash) {
		if (slash == pattern)
			return "no provider before the '/'";
		wrong = at_pattern_wrong(pattern, slash - pattern);
		if (wrong)
			return wrong;
		len -= slash + 1 - pattern;
		pattern = slash + 1;
	}
	if (!len)
		return "a pattern without a category";
	/* The sites would take it for an exclusion. */
	if (*pattern == '-')
		return "a category in a pattern must not begin with '-'";
	return at_pattern_wrong(pattern, len);
}

/* What sites are to read of a pattern, or NULL where it is about other providers. */
static const char *at_pattern_for(const char *pattern, const char *provider)
{
	const char *slash = strchr(pattern, '/');

	if (!slash)
		return pattern;
	return at_pattern_matches(pattern, slash - pattern, provider) ? slash + 1 : NULL;
}

static void at_pattern_add(struct asynctrace_categories *to, bool exclude, const char *text)
{
	size_t len = strlen(text) + 1;

	if (exclude)
		to->text[to->bytes++] = '-';
	memcpy(to->text + to->bytes, text, len);
	to->bytes += len;
	to->count++;
}

/* Returns whether there is any but exclusions, about whomever. */
static bool at_patterns_add(struct asynctrace_categories *to, const char *provider,
			    const struct at_strings *list, bool exclusions_only)
{
	const char *pattern, *text;
	bool positive = false;
	u32 i;

	if (!list)
		return false;
	for (i = 0, pattern = list->text; i < list->count; i++, pattern += strlen(pattern) + 1) {
		bool exclude = *pattern == '-';

		positive |= !exclude;
		if (!exclude && exclusions_only)
			continue;
		text = at_pattern_for(pattern + exclude, provider);
		if (text)
			at_pattern_add(to, exclude, text);
	}
	return positive;
}

static bool at_has_positive(const struct asynctrace_categories *c)
{
	const char *text;
	u32 i;

	for (i = 0, text = c->text; i < c->count; i++, text += strlen(text) + 1)
		if (*text != '-')
			return true;
	return false;
}

/**
 * at_categories_fill - what is wanted of a provider
 * @to: filled in; with room for AT_CATEGORIES_BYTES of text
 * @provider: its name
 * @own: the session's patterns; may be NULL
 * @additional: those of this run; may be NULL
 *
 * A session without any but exclusions wants everything else already: nothing can
 * be added to that.
 */
void at_categories_fill(struct asynctrace_categories *to, const char *provider,
			const struct at_strings *own, const struct at_strings *additional)
{
	bool all;

	to->count = 0;
	to->bytes = 0;
	all = !at_patterns_add(to, provider, own, false);
	at_patterns_add(to, provider, additional, all);
	if (all || at_has_positive(to))
		return;
	/* Some are wanted, but of others: to say nothing would mean everything. */
	to->count = 0;
	to->bytes = 0;
	at_pattern_add(to, true, "*");
}
