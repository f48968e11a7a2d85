/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of a provider, and copies of cleared names for sessions that the provider has left
 */
#ifndef AT_OLD_NAMES_H
#define AT_OLD_NAMES_H

#include <linux/kref.h>
#include <linux/types.h>

struct at_provider;
struct page;

/**
 * struct at_names - copy of the part of a durable ring that holds names
 * @ref: one for each member that uses the copy
 * @generation: generation of the names
 * @words: words copied: FXT string records, or whatever the provider has written in their
 *	place
 * @nr: number of @pages
 * @pages: copies of the pages of the ring that hold @words
 */
struct at_names {
	struct kref ref;
	u32 generation;
	u32 words;
	u32 nr;
	struct page *pages[];
};

u32 at_names_end(const struct at_provider *p, u32 generation);
int at_names_read(struct page *const *pages, u32 from, u32 n, void __user *to);
void at_names_keep(struct at_provider *p);
void at_names_put(struct at_names *names);

#endif /* AT_OLD_NAMES_H */
