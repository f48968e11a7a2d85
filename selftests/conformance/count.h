/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What something costs, in instructions: where the test machine counts them, they are
 * its clock (selftests/vm/run --icount).
 */
#ifndef PROTOCOL_COUNT_H
#define PROTOCOL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Of the clock, which is in nanoseconds elsewhere. */
uint64_t now(void);
/* What ran on all CPUs since they came up, but for the idle task; of the clock, too. */
uint64_t busy(void);
bool instructions_are_counted(void);

#endif /* PROTOCOL_COUNT_H */
