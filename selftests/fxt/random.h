/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that a printed seed repeats */
#ifndef FORMAT_RANDOM_H
#define FORMAT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t test_seed;	/* by FORMAT_SEED or the time; printed once */
void test_random_init(void);
void rnd_seed(uint64_t seed);
uint64_t rnd(void);
uint64_t rnd_below(uint64_t n);
bool rnd_chance(unsigned int percent);

#endif /* FORMAT_RANDOM_H */
