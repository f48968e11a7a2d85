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
 * of a task count when it leaves its CPU. So if the caller is preempted in one of two calls, their
 * difference may lack what it did before the first one, or have what it did before the second one.
 */
uint64_t busy(void);
/* Compares two costs for qsort(3). */
int costs_compare(const void *a, const void *b);
/* Adds the cost of a round. There are at most ROUNDS_MAX. */
void costs_add(struct costs *c, uint64_t instructions);
/*
 * Returns the lower quartile of the rounds: other activity adds instructions to some rounds, and a
 * preemption in busy() may take some away. Sorts @c.
 */
uint64_t costs_typical(struct costs *c);
bool instructions_are_counted(void);

#endif /* PROTOCOL_COUNT_H */
