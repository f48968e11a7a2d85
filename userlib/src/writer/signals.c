// SPDX-License-Identifier: LGPL-2.1-or-later
/* Blocking signals. */
#include <signal.h>

#include "internal.h"
#include "sys.h"

void at_signals_block(uint64_t *old)
{
	const int forced[] = { SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	uint64_t set = ~0ull;

	for (unsigned int i = 0; i < sizeof(forced) / sizeof(forced[0]); i++)
		set &= ~(1ull << (forced[i] - 1));
	at_sys_sigprocmask(SIG_SETMASK, &set, old);
}

void at_signals_restore(const uint64_t *old)
{
	at_sys_sigprocmask(SIG_SETMASK, old, NULL);
}
