// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Settling missed records: they count as dropped when the back end's lock is free
 *
 * This file is separate from missed.c, because the lock itself clears the counters of missed
 * records in a forked child.
 */
#include "internal.h"

void at_missed_add(const char *category, uint32_t n)
{
	at_missed_count(category, n);
	/* The lock's holder may have unlocked before the count above, and so have missed it. */
	at_missed_settle();
}

void at_missed_settle(void)
{
	/*
	 * Orders the additions of at_missed_add() before the trylock, and an unlock before
	 * at_missed_pending().
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (at_missed_pending() && !at_missed_must_wait() && at_backend_trylock()) {
		at_missed_drop();
		at_backend_release();
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
}

void at_backend_unlock(void)
{
	at_backend_release();
	at_missed_settle();
}
