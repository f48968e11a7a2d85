/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directory of live providers: by user, then by name. A session finds the providers that
 * its patterns name without a look at all others, which may be other users' and many.
 */
#ifndef AT_DIRECTORY_H
#define AT_DIRECTORY_H

#include <linux/types.h>

struct at_caller;
struct at_provider;
struct at_strings;

/**
 * struct at_walk - a walk over the providers that one may see and whose name matches
 * @caller: whoever may see them
 * @patterns: patterns of names, see at_strings_match()
 * @pattern: the pattern that the walk is at; NULL: the first
 * @at: the provider that the walk stands on, with a reference; NULL: none of @pattern yet
 *
 * Set @caller and @patterns, and the rest to 0.
 */
struct at_walk {
	const struct at_caller *caller;
	const struct at_strings *patterns;
	const char *pattern;
	struct at_provider *at;
};

void at_directory_add(struct at_provider *p);
void at_directory_remove(struct at_provider *p);
struct at_provider *at_walk_next(struct at_walk *w);

#endif /* AT_DIRECTORY_H */
