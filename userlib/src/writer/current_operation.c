// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calling thread's operation, and the memory in which the kernel reads it */
#include <asynctrace/operation.h>

#include "internal.h"
#include "operation.h"

AT_PUBLIC __thread struct at_current_ at_current_ __attribute__((tls_model("initial-exec")));

void at_cell_set(uint64_t *cell)
{
	uint64_t *const old = at_current_.cell;

	/* The kernel may still read the old cell, which the thread does not update any more. */
	if (old && old != cell)
		__atomic_store_n(old, 0, __ATOMIC_RELAXED);
	at_current_.cell = cell;
	if (cell)
		__atomic_store_n(cell, at_operation_current(), __ATOMIC_RELAXED);
}
