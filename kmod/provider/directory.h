/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directory of live providers, ordered by user, then by name. A session finds the
 * providers that match its patterns without visiting all others, because other users may
 * have many providers.
 */
#ifndef AT_DIRECTORY_H
#define AT_DIRECTORY_H

#include <linux/types.h>

struct at_caller;
struct at_provider;
struct at_strings;

/**
 * struct at_walk - iterator over visible providers with a matching name
 * @caller: visit only providers that are visible to this caller
 * @patterns: patterns of names, see at_strings_match()
 * @pattern: current pattern; NULL: not begun
 * @at: current provider, with a reference; NULL: none of @pattern yet
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
