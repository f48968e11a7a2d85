// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Connects the calling thread to its cell: 64 bytes of memory that the thread shares with the
 * kernel. At each switch and wakeup of the thread, the kernel reads from the cell which operation
 * the thread works on.
 */
#include <asynctrace/operation.h>

#include "operation.h"

void at_cell_set(uint64_t *cell)
{
	uint64_t *const old = at_current_.cell;

	/* Complete the context before the cell changes: this call stores into the old cell. */
	if (at_current_.context & TRACE_LIGHT_)
		at_context_complete_();
	/* The kernel may still read the old cell, which the thread does not update any more. */
	if (old && old != cell)
		__atomic_store_n(old, 0, __ATOMIC_RELAXED);
	at_current_.cell = cell;
	if (!(at_current_.context & TRACE_BUSY_))
		__atomic_store_n(&at_current_.context, cell ? TRACE_CELL_ : 0, __ATOMIC_RELAXED);
	if (cell)
		__atomic_store_n(cell, at_operation_current(), __ATOMIC_RELAXED);
}
