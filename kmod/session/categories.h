/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wanted categories of a session, in the form that one provider's sites read
 */
#ifndef AT_CATEGORIES_H
#define AT_CATEGORIES_H

#include <linux/asynctrace.h>
#include <linux/types.h>

struct at_strings;

/* Most bytes of text: the patterns of a session and of one run of it. */
#define AT_CATEGORIES_BYTES \
	(2 * ASYNCTRACE_CATEGORIES_MAX * (ASYNCTRACE_CATEGORY_MAX + 1))

const char *at_category_wrong(const char *pattern, size_t len);
void at_categories_fill(struct asynctrace_categories *to, const char *provider,
			const struct at_strings *own, const struct at_strings *additional);

#endif /* AT_CATEGORIES_H */
