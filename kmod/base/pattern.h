/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AT_PATTERN_H
#define AT_PATTERN_H

#include <linux/types.h>

struct at_strings;

bool at_glob(const char *pattern, const char *name);
bool at_strings_match(const struct at_strings *globs, const char *name);

#endif /* AT_PATTERN_H */
