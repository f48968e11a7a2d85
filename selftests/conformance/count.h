/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Costs in instructions: with selftests/vm/run --icount the machine's clock counts instructions
 */
#ifndef PROTOCOL_COUNT_H
#define PROTOCOL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Largest number of rounds of one measurement */
#define ROUNDS_MAX	9

/* The cost of a request in each round */
struct costs {
	unsigned int nr;
	uint64_t of[ROUNDS_MAX];
};

/* Returns instructions, or nanoseconds without --icount. */
uint64_t now(void);
/*
 * Returns the instructions of all CPUs since they came up, without the idle task. The instructions
 * of a task count when it leaves its CPU. So if the caller is preempted in this function, the
 * difference of two calls lacks, or has in addition, what the caller did before.
 */
uint64_t busy(void);
/* Compares two costs for qsort(3). */
int costs_compare(const void *a, const void *b);
void costs_add(struct costs *c, uint64_t instructions);
/*
 * Returns the lower quartile of the rounds, because other activity mostly adds instructions, but
 * see busy(). Sorts @c.
 */
uint64_t costs_typical(struct costs *c);
bool instructions_are_counted(void);

#endif /* PROTOCOL_COUNT_H */
