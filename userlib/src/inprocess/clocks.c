// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads the counter and the clocks of the kernel at one moment
 *
 * If the thread is interrupted between two readings, they belong to different moments. So each
 * function reads several times, and takes the readings that are closest together.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "writer/internal.h"
#include "inproc.h"

uint64_t at_now_ns(clockid_t clock)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void at_clock_stamp(const struct at_area *area, struct asynctrace_chunk *c)
{
	uint64_t gap = UINT64_MAX;

	if (area->shape.clock != ASYNCTRACE_CLOCK_COUNTER) {
		c->boottime = at_now_ns(CLOCK_BOOTTIME);
		c->ticks = c->boottime;
		return;
	}
	for (int i = 0; i < 3; i++) {
		uint64_t before = at_clock(0, ASYNCTRACE_CLOCK_COUNTER);
		uint64_t ns = at_now_ns(CLOCK_BOOTTIME);
		uint64_t after = at_clock(0, ASYNCTRACE_CLOCK_COUNTER);

		if (after - before >= gap)
			continue;
		gap = after - before;
		c->boottime = ns;
		c->ticks = before + gap / 2;
	}
}

void at_clock_pair_now(const struct at_area *area, struct asynctrace_clock_pair *best)
{
	const bool counter = area->shape.clock == ASYNCTRACE_CLOCK_COUNTER;
	uint64_t gap = UINT64_MAX;

	*best = (struct asynctrace_clock_pair){ 0 };
	for (int i = 0; i < 5; i++) {
		uint64_t before = at_now_ns(CLOCK_BOOTTIME);
		uint64_t ticks = counter ? at_clock(0, ASYNCTRACE_CLOCK_COUNTER) : before;
		uint64_t real = at_now_ns(CLOCK_REALTIME);
		uint64_t after = at_now_ns(CLOCK_BOOTTIME);

		if (after - before >= gap)
			continue;
		gap = after - before;
		best->ticks = ticks;
		best->boottime = counter ? before + gap / 3 : before;
		best->realtime = real;
	}
}
