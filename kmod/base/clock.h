/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one clock that a session's records are stamped with, by the kernel and by
 * its providers alike: the CPU's counter where the kernel trusts it, else
 * CLOCK_BOOTTIME.
 */
#ifndef AT_CLOCK_H
#define AT_CLOCK_H

#include <linux/asynctrace.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#include <asm/msr.h>
#else
#include <asm/arch_timer.h>
#endif

struct at_clock_log;

enum asynctrace_clock at_clock_best(void);

static inline u64 at_clock_counter(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return __arch_counter_get_cntvct();
#endif
}

/* Callable with interrupts off and under the run queue's lock. */
static __always_inline u64 at_clock_ticks(u32 clock)
{
	return likely(clock == ASYNCTRACE_CLOCK_COUNTER) ? at_clock_counter() :
							   ktime_get_boot_fast_ns();
}

/* Nanoseconds from the kernel's CLOCK_BOOTTIME to that of the caller's time namespace. */
s64 at_clock_namespace_offset(void);

struct at_clock_log *at_clock_log_new(u32 clock);
void at_clock_log_free(struct at_clock_log *log);
void at_clock_mark(struct at_clock_log *log, enum asynctrace_clock_moment what);
u32 at_clock_now(struct at_clock_log *log, u64 *ticks, u64 *boottime);
u32 at_clock_log_read(struct at_clock_log *log, u64 *cursor,
		      struct asynctrace_clock_pair *pairs, u32 max);

#endif /* AT_CLOCK_H */
