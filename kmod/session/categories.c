// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns of categories: [-][PROVIDER/]CATEGORY. Sites do not know provider names, so
 * each provider gets only the patterns that apply to it, without the PROVIDER/ part.
 */
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"
#include "session/categories.h"

/**
 * at_category_wrong - check that a text is a pattern of categories
 * @pattern: the text, without a NUL
 * @len: its length in bytes
 *
 * Return: NULL if it is a pattern, otherwise an error message.
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
	/* Sites would read this '-' as an exclusion. */
	if (*pattern == '-')
		return "a category in a pattern must not begin with '-'";
	return at_pattern_wrong(pattern, len);
}

/* Returns the part of a pattern for sites, or NULL if the pattern is for other providers. */
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

/*
 * Add the patterns of @list that apply to the provider. @exclusions_only: skip other patterns.
 * Returns true if @list has a pattern that is not an exclusion, even if for other providers only.
 */
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
 * at_categories_fill - fill in the categories that are wanted of a provider
 * @to: output; with room for AT_CATEGORIES_BYTES of text
 * @provider: name of the provider
 * @own: patterns of the session; may be NULL
 * @additional: patterns of this run; may be NULL
 *
 * A session whose own patterns are all exclusions wants every other category already. So
 * only the exclusions of @additional apply to it.
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
	/*
	 * All wanted categories are of other providers. Exclude everything, because an
	 * empty list means every category.
	 */
	to->count = 0;
	to->bytes = 0;
	at_pattern_add(to, true, "*");
}
