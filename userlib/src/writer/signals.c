// SPDX-License-Identifier: LGPL-2.1-or-later
/* Blocking signals */
#include <signal.h>

#include "internal.h"
#include "sys.h"

/* The first real-time signal. Those before SIGRTMIN belong to the C library. */
#define AT_LIBC_FIRST	32

void at_signals_block(uint64_t *old)
{
	const int forced[] = { SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	uint64_t set = ~0ull;

	for (unsigned int i = 0; i < sizeof(forced) / sizeof(forced[0]); i++)
		set &= ~(1ull << (forced[i] - 1));
	/*
	 * The caller may call pthread_create(3). setuid(2) holds a lock of that function and sends
	 * such a signal to each thread, and then waits for the thread.
	 */
	for (int sig = AT_LIBC_FIRST; sig < SIGRTMIN; sig++)
		set &= ~(1ull << (sig - 1));
	at_sys_sigprocmask(SIG_SETMASK, &set, old);
}

void at_signals_restore(const uint64_t *old)
{
	at_sys_sigprocmask(SIG_SETMASK, old, NULL);
}
