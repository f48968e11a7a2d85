/* SPDX-License-Identifier: GPL-2.0 */
/* Patterns for names of providers and categories, and lists of names */
#ifndef AT_PATTERN_H
#define AT_PATTERN_H

#include <linux/types.h>

struct at_strings;

const char *at_pattern_wrong(const char *pattern, size_t len);
bool at_pattern_matches(const char *pattern, size_t len, const char *name);
struct at_strings *at_strings_new(size_t bytes);
void at_strings_put(struct at_strings *list);
bool at_strings_match(const struct at_strings *patterns, const char *name);

#endif /* AT_PATTERN_H */
