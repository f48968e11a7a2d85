// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns for names of providers and categories. A pattern is an exact name, or a prefix and
 * a final '*', so that a match costs no more than a string comparison.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"

/**
 * at_pattern_wrong - check that a text is a pattern
 * @pattern: the text, without a NUL
 * @len: length of @pattern, bytes
 *
 * Return: NULL if the text is a pattern, or else an error message.
 */
const char *at_pattern_wrong(const char *pattern, size_t len)
{
	const char *star = memchr(pattern, '*', len);

	if (!len)
		return "a pattern must not be empty";
	if (star && star != pattern + len - 1)
		return "a '*' must be the last character of a pattern";
	return NULL;
}

/**
 * at_pattern_matches - does a name match a pattern?
 * @pattern: an exact name, or a prefix and a final '*'
 * @len: length of @pattern, bytes
 * @name: the name, NUL-terminated
 *
 * Return: true if the name matches.
 */
bool at_pattern_matches(const char *pattern, size_t len, const char *name)
{
	if (len && pattern[len - 1] == '*')
		return !strncmp(pattern, name, len - 1);
	return !strncmp(pattern, name, len) && !name[len];
}

/**
 * at_strings_new - allocate a list of names, charged to the caller's memory cgroup
 * @bytes: total length of the names with their NULs
 *
 * Return: an empty list with one reference, or NULL.
 */
struct at_strings *at_strings_new(size_t bytes)
{
	struct at_strings *list = kvmalloc(struct_size(list, text, bytes), GFP_KERNEL_ACCOUNT);

	if (!list)
		return NULL;
	refcount_set(&list->refs, 1);
	list->count = 0;
	list->bytes = 0;
	return list;
}

/**
 * at_strings_put - drop a reference to a list
 * @list: the list, may be NULL
 *
 * Must not be called under a spinlock, because freeing a large list may sleep.
 */
void at_strings_put(struct at_strings *list)
{
	if (list && refcount_dec_and_test(&list->refs))
		kvfree(list);
}

/**
 * at_strings_match - does a name match one of several patterns?
 * @patterns: the patterns; NULL or an empty list matches every name
 * @name: the name, NUL-terminated
 *
 * Return: true if the name matches.
 */
bool at_strings_match(const struct at_strings *patterns, const char *name)
{
	const char *pattern;
	u32 i;

	if (!patterns || !patterns->count)
		return true;
	for (i = 0, pattern = patterns->text; i < patterns->count; i++) {
		size_t len = strlen(pattern);

		if (at_pattern_matches(pattern, len, name))
			return true;
		pattern += len + 1;
	}
	return false;
}
