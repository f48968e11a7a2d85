/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names that a provider has cleared, for sessions that it has left.
 */
#ifndef AT_DURABLE_COPY_H
#define AT_DURABLE_COPY_H

#include <linux/kref.h>
#include <linux/types.h>

struct at_provider;
struct page;

/**
 * struct at_names - a copy of a durable ring, as far as there are names in it
 * @ref: one for each member that has it
 * @generation: of it
 * @words: of it: FXT string records, or what the provider has written in their place
 * @nr: of @pages
 * @pages: as they were in the ring; all that @words need
 */
struct at_names {
	struct kref ref;
	u32 generation;
	u32 words;
	u32 nr;
	struct page *pages[];
};

u32 at_names_end(const struct at_provider *p, u32 generation);
void at_names_keep(struct at_provider *p);
void at_names_put(struct at_names *names);

#endif /* AT_DURABLE_COPY_H */
