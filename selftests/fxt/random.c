// SPDX-License-Identifier: GPL-2.0
/* Random numbers that a printed seed repeats */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

uint64_t test_seed;
static uint64_t state;

void test_random_init(void)
{
	const char *seed = getenv("FORMAT_SEED");

	test_seed = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 1000003 + getpid();
	state = test_seed;
	fprintf(stderr, "FORMAT_SEED=%llu\n", (unsigned long long)test_seed);
}

void rnd_seed(uint64_t seed)
{
	state = seed;
}

/* Marsaglia's xorshift64*; the state is never 0. */
uint64_t rnd(void)
{
	if (!state)
		state = 88172645463325252ULL;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL;
}

uint64_t rnd_below(uint64_t n)
{
	return (rnd() >> 16) % n;
}

bool rnd_chance(unsigned int percent)
{
	return rnd_below(100) < percent;
}
