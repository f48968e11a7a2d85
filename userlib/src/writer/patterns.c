// SPDX-License-Identifier: LGPL-2.1-or-later
/* Comparing a category with the patterns on the control page. */
#include <string.h>

#include "internal.h"

/*
 * Does a category match a pattern? A pattern is a category, or the beginning of categories and a
 * '*'.
 */
static bool matches(const char *pattern, size_t bytes, const char *category)
{
	if (bytes && pattern[bytes - 1] == '*')
		return !strncmp(pattern, category, bytes - 1);
	return strlen(category) == bytes && !memcmp(pattern, category, bytes);
}

/*
 * A pattern after '-' excludes categories, even if another pattern matches. If there are only
 * exclusions or no patterns, all other categories are wanted. NULL stands for a category that is
 * wanted.
 */
bool at_category_wanted_by(const volatile struct asynctrace_control *c, const char *area,
			   const char *category)
{
	const uint32_t offset = c->categories;
	const struct asynctrace_categories *list =
		(const struct asynctrace_categories *)(area + offset);
	bool any = false, found = false;
	const char *text;
	uint32_t count, bytes;

	if (!category)
		return true;
	/*
	 * The kernel may change the list while it is read, so check its bounds. The caller checks
	 * the gate.
	 */
	if (!*category || offset + sizeof(*list) > c->control_size)
		return false;
	count = list->count;
	bytes = list->bytes;
	if (offset + sizeof(*list) + bytes > c->control_size)
		return false;
	for (text = list->text; count-- && bytes; ) {
		size_t n = strnlen(text, bytes);
		const bool exclude = n && *text == '-';

		if (matches(text + exclude, n - exclude, category)) {
			if (exclude)
				return false;
			found = true;
		}
		any |= !exclude;
		n = n < bytes ? n + 1 : n;
		text += n;
		bytes -= n;
	}
	return found || !any;
}

bool at_category_wanted(const char *category)
{
	return at_category_wanted_by(at_control(), at_control_area(), category);
}
