// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of a session's records, and a log that pairs its readings with CLOCK_BOOTTIME and
 * CLOCK_REALTIME.
 */
#include <linux/clocksource.h>
#include <linux/math64.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/time_namespace.h>
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#else
#include <asm/arch_timer.h>
#endif

#include "base/clock.h"

/* A new segment begins when counter and CLOCK_BOOTTIME drift apart by more than this. */
#define AT_CLOCK_TOLERANCE_NS	(100 * NSEC_PER_USEC)

/* Capacity of a log. A full log drops every second pair that neither begins nor ends a segment. */
#define AT_CLOCK_PAIRS		2048

/* Seconds for which the factors of at_clock_scale() must not overflow */
#define AT_CLOCK_SPAN		60

/* Attempts to read the clocks; an NMI or a VM exit may separate two readings. */
#define AT_CLOCK_TRIES		4

/**
 * struct at_clock_log - a session's clock pairs
 * @pairs_lock: protects all fields but @clock; taken in process context only
 * @clock: enum asynctrace_clock
 * @segment: number of the current segment
 * @base: index in @pairs of the current segment's first pair
 * @nr: number of pairs in @pairs
 * @made: number of pairs ever logged; readers' cursors are in the same unit
 * @number: for each of @pairs, the number of pairs logged before it
 * @pairs: the pairs, in order of time
 */
struct at_clock_log {
	spinlock_t pairs_lock;	/* all but @clock */
	u32 clock;
	u32 segment;
	u32 base;
	u32 nr;
	u64 made;
	u64 number[AT_CLOCK_PAIRS];
	struct asynctrace_clock_pair pairs[AT_CLOCK_PAIRS];
};

#ifdef CONFIG_X86
/*
 * The kernel marks a TSC unstable if it is not constant, differs between CPUs or fails the
 * watchdog's check.
 */
static bool at_clock_counter_trusted(void)
{
	return boot_cpu_has(X86_FEATURE_TSC) && !check_tsc_unstable();
}
#else
/*
 * If a CPU has a CNTVCT erratum, the kernel reads the counter through a workaround, disables
 * it in the vDSO and traps it in user space. The probes and the library's critical sections
 * cannot use that workaround.
 */
static bool at_clock_counter_trusted(void)
{
#if IS_ENABLED(CONFIG_ARM_ARCH_TIMER_OOL_WORKAROUND)
	const struct arch_timer_erratum_workaround *wa;
	int cpu;

	for_each_possible_cpu(cpu) {
		wa = READ_ONCE(per_cpu(timer_unstable_counter_workaround, cpu));
		if (wa && wa->read_cntvct_el0)
			return false;
	}
#endif
	return true;
}
#endif

/* The best clock that both kernel and user space can read. */
enum asynctrace_clock at_clock_best(void)
{
	return at_clock_counter_trusted() ? ASYNCTRACE_CLOCK_COUNTER : ASYNCTRACE_CLOCK_BOOTTIME;
}

#ifdef CONFIG_X86
static u32 at_clock_khz(void)
{
	return tsc_khz;
}
#else
static u32 at_clock_khz(void)
{
	return arch_timer_get_cntfrq() / MSEC_PER_SEC;
}
#endif

/**
 * at_clock_scale - find factors that convert ticks to nanoseconds
 * @clock: enum asynctrace_clock
 * @mult: out: a difference of ticks times @mult >> @shift is nanoseconds; 0: unknown
 * @shift: out: at most 32
 */
void at_clock_scale(u32 clock, u32 *mult, u32 *shift)
{
	u32 khz = at_clock_khz();

	*mult = clock == ASYNCTRACE_CLOCK_BOOTTIME;
	*shift = 0;
	if (clock == ASYNCTRACE_CLOCK_COUNTER && khz)
		clocks_calc_mult_shift(mult, shift, khz, NSEC_PER_MSEC, AT_CLOCK_SPAN);
}

s64 at_clock_namespace_offset(void)
{
#ifdef CONFIG_TIME_NS
	return timespec64_to_ns(&current->nsproxy->time_ns->offsets.boottime);
#else
	return 0;
#endif
}

static void at_clock_pair(u32 clock, struct asynctrace_clock_pair *pair)
{
	u64 best = U64_MAX, before, after, boottime, realtime;
	unsigned long flags;
	int i;

	for (i = 0; i < AT_CLOCK_TRIES; i++) {
		local_irq_save(flags);
		before = at_clock_ticks(clock);
		boottime = ktime_get_boot_fast_ns();
		after = at_clock_ticks(clock);
		realtime = ktime_get_real_fast_ns();
		local_irq_restore(flags);
		if (after - before >= best)
			continue;
		best = after - before;
		pair->boottime = boottime;
		pair->realtime = realtime;
		pair->ticks = clock == ASYNCTRACE_CLOCK_BOOTTIME ? boottime :
								   before + best / 2;
	}
}

/* Does @now deviate from the line through the segment's first and last pair? */
static bool at_clock_left(const struct at_clock_log *log,
			  const struct asynctrace_clock_pair *now)
{
	const struct asynctrace_clock_pair *first = &log->pairs[log->base], *last;
	u64 expected, ticks;

	if (log->clock == ASYNCTRACE_CLOCK_BOOTTIME || log->nr - log->base < 1)
		return false;
	last = &log->pairs[log->nr - 1];
	if (now->ticks < last->ticks || now->boottime < last->boottime)
		return true;
	ticks = last->ticks - first->ticks;
	/* Two pairs less than half a second apart give no reliable slope. */
	if (!ticks || last->boottime - first->boottime < NSEC_PER_SEC / 2)
		return false;
	expected = last->boottime + mul_u64_u64_div_u64(now->ticks - last->ticks,
							last->boottime - first->boottime,
							ticks);
	return abs((s64)(expected - now->boottime)) > AT_CLOCK_TOLERANCE_NS;
}

static void at_clock_thin(struct at_clock_log *log)
{
	u32 i, n = 0;

	for (i = 0; i < log->nr; i++) {
		bool edge = i == 0 || i == log->nr - 1 ||
			    log->pairs[i].segment != log->pairs[i - 1].segment ||
			    log->pairs[i].segment != log->pairs[i + 1].segment;

		if (i == log->base)
			log->base = n;
		if (i & 1 && !edge)
			continue;
		log->number[n] = log->number[i];
		log->pairs[n++] = log->pairs[i];
	}
	/*
	 * The loop keeps pairs that begin or end a segment. If it has dropped no pair, keep the
	 * newer half.
	 */
	if (n == AT_CLOCK_PAIRS) {
		n /= 2;
		memmove(log->number, log->number + n, n * sizeof(log->number[0]));
		memmove(log->pairs, log->pairs + n, n * sizeof(log->pairs[0]));
		log->base = log->base > n ? log->base - n : 0;
	}
	log->nr = n;
}

/**
 * at_clock_mark - log a clock pair
 * @log: the session's log
 * @what: reason for the pair. ASYNCTRACE_MOMENT_RUNNING is ignored in a stopped session,
 *	which must not change between two snapshots
 */
void at_clock_mark(struct at_clock_log *log, enum asynctrace_clock_moment what)
{
	struct asynctrace_clock_pair pair;

	spin_lock(&log->pairs_lock);
	/* The periodic work of a running session may run once more after the stop. */
	if (what == ASYNCTRACE_MOMENT_RUNNING && log->nr &&
	    log->pairs[log->nr - 1].what == ASYNCTRACE_MOMENT_STOP) {
		spin_unlock(&log->pairs_lock);
		return;
	}
	at_clock_pair(log->clock, &pair);
	if (log->nr && (what == ASYNCTRACE_MOMENT_RESUME || at_clock_left(log, &pair))) {
		log->segment++;
		log->base = log->nr;
	}
	pair.segment = log->segment;
	pair.what = what;
	if (log->nr == AT_CLOCK_PAIRS)
		at_clock_thin(log);
	if (log->base > log->nr)
		log->base = log->nr;
	log->number[log->nr] = log->made++;
	log->pairs[log->nr++] = pair;
	spin_unlock(&log->pairs_lock);
}

/**
 * at_clock_now - read the session's clock and CLOCK_BOOTTIME at the same moment
 * @log: the session's log
 * @ticks: out: the session's clock
 * @boottime: out: CLOCK_BOOTTIME, nanoseconds
 *
 * Return: number of the clock segment.
 */
u32 at_clock_now(struct at_clock_log *log, u64 *ticks, u64 *boottime)
{
	struct asynctrace_clock_pair pair;
	u32 segment;

	spin_lock(&log->pairs_lock);
	at_clock_pair(log->clock, &pair);
	segment = log->segment;
	spin_unlock(&log->pairs_lock);
	*ticks = pair.ticks;
	*boottime = pair.boottime;
	return segment;
}

/**
 * at_clock_log_read - copy the pairs that were logged since the last call
 * @log: the session's log
 * @cursor: the reader's position, 0 before the first call; moved behind the last pair copied
 * @pairs: out: the pairs
 * @max: capacity of @pairs
 *
 * If at_clock_thin() drops pairs that the reader has not copied, the reader misses those pairs.
 *
 * Return: number of pairs copied.
 */
u32 at_clock_log_read(struct at_clock_log *log, u64 *cursor,
		      struct asynctrace_clock_pair *pairs, u32 max)
{
	u32 first, n;

	spin_lock(&log->pairs_lock);
	/* Search from the newest pair, because readers are seldom far behind. */
	for (first = log->nr; first && log->number[first - 1] >= *cursor; first--)
		;
	n = min(log->nr - first, max);
	memcpy(pairs, &log->pairs[first], n * sizeof(*pairs));
	if (n)
		*cursor = log->number[first + n - 1] + 1;
	spin_unlock(&log->pairs_lock);
	return n;
}

struct at_clock_log *at_clock_log_new(u32 clock)
{
	struct at_clock_log *log = kvzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);

	if (!log)
		return NULL;
	spin_lock_init(&log->pairs_lock);
	log->clock = clock;
	return log;
}

void at_clock_log_free(struct at_clock_log *log)
{
	kvfree(log);
}
