/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: how busy an event loop is, and how long it keeps events waiting
 *
 *	static struct at_loop loop = ASYNCTRACE_LOOP_INIT("server");
 *
 *	at_loop_enable(&loop);
 *	for (;;) {
 *		at_loop_poll_begin(&loop);
 *		n = epoll_wait(...);
 *		at_loop_poll_end(&loop);
 *		...	run what is ready
 *	}
 *
 * A round of a loop is a wait for events and the work that follows it. The delay of a round is
 * the time of its work: an event that becomes ready meanwhile waits no longer than that.
 * The loop's thread is idle in the wait and active in the work.
 *
 * In a trace each round is a counter of category "loop", named after the loop, with the idle and
 * active nanoseconds of the round: `asynctrace report loop` adds them up.
 */
#ifndef ASYNCTRACE_LOOP_H
#define ASYNCTRACE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asynctrace/detail/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Delays are counted in classes: each power of two of nanoseconds has 8, so that a percentile
 * is at most an eighth too large. Delays of 2^40 ns, 18 minutes, and more are in the last one.
 */
#define ASYNCTRACE_LOOP_CLASSES	305

/**
 * struct at_loop - the meter of a loop
 * @name: a literal; loops of one name are told apart by the address of their structure
 *
 * The other members belong to the library. The loop's thread calls at_loop_poll_begin() and
 * at_loop_poll_end(); all other functions may be called in any thread.
 */
struct at_loop {
	const char *name;
	uint32_t enabled_;	/* another number each time; 0: disabled */
	uint32_t times_;	/* that it was enabled */
	uint32_t reset_;	/* asks the loop's thread to forget its delays */
	uint32_t under_[2];	/* enabled_ and the gate, under which the present round began */
	uint32_t reserved_;
	uint64_t since_;	/* ns: begin of the present wait or work; 0: not known */
	uint64_t waited_;	/* ns of the present round */
	uint64_t idle_, active_;
	uint64_t count_, min_, max_;
	double sum_, squares_;
	uint64_t of_[ASYNCTRACE_LOOP_CLASSES];
};

#ifdef __cplusplus
#define ASYNCTRACE_LOOP_INIT(name) \
	{ "" name, 0, 0, 0, {}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {} }
#else
#define ASYNCTRACE_LOOP_INIT(name) \
	{ "" name, 0, 0, 0, { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 } }
#endif

/*
 * Starts and ends the measurement. Both return true if they changed something, so a second call
 * has no effect. What was measured before stays; at_loop_reset() clears it. Thread-safe and
 * async-signal-safe.
 */
bool at_loop_enable(struct at_loop *loop);
bool at_loop_disable(struct at_loop *loop);

/**
 * struct at_loop_use - how a loop spent its time, in nanoseconds
 * @idle: waiting for events
 * @active: working
 * @utilization: active / (idle + active), 0 to 1; 0 if both are 0
 */
struct at_loop_use {
	uint64_t idle;
	uint64_t active;
	double utilization;
};

/* The whole rounds since the loop was enabled first. */
struct at_loop_use at_loop_utilization(const struct at_loop *loop);
/* The time from then, an earlier result for the same loop, to now */
struct at_loop_use at_loop_utilization_since(const struct at_loop *loop,
					     const struct at_loop_use *then);

/**
 * struct at_loop_delay - delays of a loop, in nanoseconds
 * @count: of rounds; 0: the other members are 0, too
 * @min: the shortest delay
 * @max: the longest one
 * @mean: the average
 * @stddev: the standard deviation
 */
struct at_loop_delay {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	double mean;
	double stddev;
};

/* While the loop runs, numbers of one round may be missing in some of the members. */
struct at_loop_delay at_loop_delays(const struct at_loop *loop);
/* percent of the delays, 0 to 100, are not longer than the result; 0: there are none. */
uint64_t at_loop_percentile(const struct at_loop *loop, double percent);
/* Forgets the delays; the loop's thread does so at its next round if the loop is enabled. */
void at_loop_reset(struct at_loop *loop);

/* --- hooks ------------------------------------------------------------------------------- */

void at_loop_wait_(struct at_loop *loop);
void at_loop_work_(struct at_loop *loop);

/* Neither enabled nor, perhaps, recorded: two loads and a branch */
TRACE_INLINE_ bool at_loop_off_(const struct at_loop *loop)
{
	return __builtin_expect((__atomic_load_n(&loop->enabled_, __ATOMIC_RELAXED) |
				 at_gate_load_()) == 0, 1);
}

/* Just before and just after the call that waits. Async-signal-safe, but not for other threads. */
TRACE_INLINE_ void at_loop_poll_begin(struct at_loop *loop)
{
	if (!at_loop_off_(loop))
		at_loop_wait_(loop);
}

TRACE_INLINE_ void at_loop_poll_end(struct at_loop *loop)
{
	if (!at_loop_off_(loop))
		at_loop_work_(loop);
}

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_LOOP_H */
