/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of a session's records, the same for the kernel and for providers: the CPU's
 * counter if the kernel trusts it, otherwise CLOCK_BOOTTIME.
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

/* May be called with interrupts off and with a runqueue lock held. */
static __always_inline u64 at_clock_ticks(u32 clock)
{
	return likely(clock == ASYNCTRACE_CLOCK_COUNTER) ? at_clock_counter() :
							   ktime_get_boot_fast_ns();
}

void at_clock_scale(u32 clock, u32 *mult, u32 *shift);

/* CLOCK_BOOTTIME in the current task's time namespace minus the kernel's, nanoseconds. */
s64 at_clock_namespace_offset(void);

struct at_clock_log *at_clock_log_new(u32 clock);
void at_clock_log_free(struct at_clock_log *log);
void at_clock_mark(struct at_clock_log *log, enum asynctrace_clock_moment what);
u32 at_clock_now(struct at_clock_log *log, u64 *ticks, u64 *boottime);
u32 at_clock_log_read(struct at_clock_log *log, u64 *cursor,
		      struct asynctrace_clock_pair *pairs, u32 max);

#endif /* AT_CLOCK_H */
