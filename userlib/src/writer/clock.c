// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading the clock of a run. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rseq.h"
#include "sys.h"

/* 1 + the last answer of at_counter_learn() in this thread; 0: none yet */
static __thread unsigned char known __attribute__((tls_model("initial-exec")));

/* On arm64, kernels before 6.12 fail with EINVAL: they cannot forbid the counter. */
bool at_counter_forbidden(void)
{
	const int saved = errno;
	int mode = PR_TSC_ENABLE;

	if (at_sys_prctl(PR_GET_TSC, &mode))
		mode = PR_TSC_ENABLE;
	errno = saved;
	return mode == PR_TSC_SIGSEGV;
}

bool at_counter_learn(void)
{
	known = 1 + at_counter_forbidden();
	return known == 2;
}

bool at_counter_known_forbidden(void)
{
	return known ? known == 2 : at_counter_learn();
}

uint64_t at_clock(uint64_t boottime_offset, uint32_t clock)
{
	struct timespec ts;

	if (clock == ASYNCTRACE_CLOCK_COUNTER)
		return at_counter();
	if (at_thread.raw_clock)
		syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &ts);
	else
		clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - boottime_offset;
}
