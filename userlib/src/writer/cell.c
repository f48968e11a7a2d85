// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Connects the calling thread to its cell: the 64 bytes shared with the kernel from which a switch
 * or wakeup of the thread takes the operation that the thread works on
 */
#include <asynctrace/operation.h>

#include "operation.h"

void at_cell_set(uint64_t *cell)
{
	uint64_t *const old = at_current_.cell;

	/* Stores into the old cell, so this comes first. */
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
