// SPDX-License-Identifier: GPL-2.0
/*
 * Writers killed at each instruction, in a process that traces itself
 */
#include <sys/rseq.h>

#include "step.h"
#include "writer/internal.h"

int main(void)
{
	step_tests(NULL, !__rseq_size || !at_membarrier_init(), amount("KT_FEW", 0));
	return ktap_exit();
}
