/* SPDX-License-Identifier: GPL-2.0 */
/* Records that a provider must not write, each wrong in one way */
#ifndef SELFTESTS_FORGE_H
#define SELFTESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>

/* Time of a forged record, and slots to which it may refer */
struct forge {
	uint64_t now;		/* ticks */
	uint32_t slot;		/* a slot of the provider */
	uint32_t foreign;	/* a slot of another provider */
};

/* number of kinds of forged records */
extern const unsigned int forge_kinds;

/*
 * Puts a record of the kind @kind at @w, correctly framed. Returns its words, at most
 * FORGE_WORDS_MAX.
 */
#define FORGE_WORDS_MAX	16
size_t forge(unsigned int kind, const struct forge *f, uint64_t *w);
const char *forge_name(unsigned int kind);

/* Puts a valid record: an instant of category "evil". */
size_t forge_good(const struct forge *f, uint64_t *w);
/* Puts a valid duration of that category. */
size_t forge_good_duration(const struct forge *f, uint64_t *w);

#endif /* SELFTESTS_FORGE_H */
