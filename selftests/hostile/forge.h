/* SPDX-License-Identifier: GPL-2.0 */
/* Records that a provider must not write, each wrong in one way. */
#ifndef SELFTESTS_FORGE_H
#define SELFTESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>

/* Names and slots to which a forged record may refer */
struct forge {
	uint64_t now;		/* ticks */
	uint32_t slot;		/* one that is the provider's */
	uint32_t foreign;	/* one that is not */
};

/* How many kinds there are. */
extern const unsigned int forge_kinds;

/* Words of record of that kind at @w, at most FORGE_WORDS_MAX; framed as it should be. */
#define FORGE_WORDS_MAX	16
size_t forge(unsigned int kind, const struct forge *f, uint64_t *w);
const char *forge_name(unsigned int kind);

/* A good one: an instant of category "evil". */
size_t forge_good(const struct forge *f, uint64_t *w);

#endif /* SELFTESTS_FORGE_H */
