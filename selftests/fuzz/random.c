// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers that a seed repeats (splitmix64)
 */
#include "fuzz.h"

uint64_t rnd(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t below(struct rng *r, uint64_t n)
{
	return rnd(r) % n;
}

bool one_in(struct rng *r, uint64_t n)
{
	return !below(r, n);
}
