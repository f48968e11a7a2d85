// SPDX-License-Identifier: GPL-2.0
/*
 * Names wanted, with '*' for any text and '?' for any byte.
 */
#include <linux/string.h>

#include "base/pattern.h"
#include "control/control.h"

/**
 * at_glob - does a name match a pattern?
 * @pattern: with '*' and '?'
 * @name: as a whole
 *
 * Steps back to the last star only, so that a hostile pattern costs no more than
 * the product of the two lengths.
 *
 * Return: whether it does.
 */
bool at_glob(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* An empty list wants everything. */
bool at_strings_match(const struct at_strings *globs, const char *name)
{
	const char *glob;
	u32 i;

	if (!globs || !globs->count)
		return true;
	for (i = 0, glob = globs->text; i < globs->count; i++, glob += strlen(glob) + 1)
		if (at_glob(glob, name))
			return true;
	return false;
}
