/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzzers without a framework: rounds with successive seeds, for a number of rounds or seconds. A
 * round that fails aborts and prints its seed to stderr; --seed repeats it alone.
 */
#ifndef FORMAT_FUZZ_H
#define FORMAT_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream.h"

static uint64_t fuzz_seed_now;

/* Called by sanitizers before they abort */
void __asan_on_error(void);
void __asan_on_error(void)
{
	fprintf(stderr, "repeat with: --seed %llu\n", (unsigned long long)fuzz_seed_now);
}

#define fuzz_assert(x) do { \
	if (!(x)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
		__asan_on_error(); \
		abort(); \
	} \
} while (0)

/* Changes random words of @b, except the magic. */
static inline void fuzz_spoil(struct words *b)
{
	for (uint64_t n = rnd_below(30); n; n--)
		words_spoil(b, 1);
}

static int fuzz_main(int argc, char **argv, void (*round)(void))
{
	uint64_t rounds = 300, seed = time(NULL), done = 0;
	time_t end = 0;
	int one = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed")) {
			seed = strtoull(argv[i + 1], NULL, 0);
			one = 1;
		} else if (!strcmp(argv[i], "--rounds")) {
			rounds = strtoull(argv[i + 1], NULL, 0);
		} else if (!strcmp(argv[i], "--seconds")) {
			end = time(NULL) + strtol(argv[i + 1], NULL, 0);
		} else {
			fprintf(stderr, "usage: %s [--seed N] [--rounds N] [--seconds N]\n", argv[0]);
			return 2;
		}
	}
	if (!one)
		seed *= 1000000;
	fprintf(stderr, "first seed: %llu\n", (unsigned long long)seed);
	do {
		fuzz_seed_now = seed + done;
		rnd_seed(fuzz_seed_now * 0x9e3779b97f4a7c15ULL + 1);
		round();
		done++;
	} while (!one && (end ? time(NULL) < end : done < rounds));
	fprintf(stderr, "%llu rounds\n", (unsigned long long)done);
	return 0;
}

#endif /* FORMAT_FUZZ_H */
