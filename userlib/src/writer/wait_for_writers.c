// SPDX-License-Identifier: LGPL-2.1-or-later
/* Waiting until no thread is about to publish a record. */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

static bool membarrier_works;

bool at_membarrier_init(void)
{
	membarrier_works = !syscall(SYS_membarrier,
				    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	return membarrier_works;
}

bool at_writers_quiesce(void)
{
	if (membarrier_works &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0))
		return false;
	return at_fallback_quiesce();
}
