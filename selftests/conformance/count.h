/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Costs in instructions: selftests/vm/run --icount makes the machine's clock count
 * instructions.
 */
#ifndef PROTOCOL_COUNT_H
#define PROTOCOL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Of the clock, which is in nanoseconds elsewhere. */
uint64_t now(void);
/* Instructions of all CPUs since they came up, without the idle task; and of the clock */
uint64_t busy(void);
bool instructions_are_counted(void);

#endif /* PROTOCOL_COUNT_H */
