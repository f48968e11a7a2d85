/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Costs in instructions: with selftests/vm/run --icount the machine's clock counts instructions
 */
#ifndef PROTOCOL_COUNT_H
#define PROTOCOL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns instructions, or nanoseconds without --icount. */
uint64_t now(void);
/* Returns the instructions of all CPUs since they came up, without the idle task. */
uint64_t busy(void);
bool instructions_are_counted(void);

#endif /* PROTOCOL_COUNT_H */
