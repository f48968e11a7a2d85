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
 * the time of its work. An event that becomes ready during the work waits no longer than that. The
 * loop's thread is idle in the wait and active in the work.
 *
 * In a trace each round is a counter of category "loop", named after the loop, with the idle and
 * active nanoseconds of the round: `asynctrace report FILE loop` adds them up.
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
 * Number of classes in which delays are counted. Each power of two of nanoseconds has 8 classes,
 * so a percentile is at most an eighth too large. The last class has all delays of at least
 * 2^40 ns, which is 18 minutes.
 */
#define ASYNCTRACE_LOOP_CLASSES	305

/**
 * struct at_loop - the meter of a loop
 * @name: a string literal. In traces, loops of the same name differ by the address of this
 *	structure.
 *
 * The other members belong to the library. The loop's thread calls at_loop_poll_begin() and
 * at_loop_poll_end(); all other functions may be called in any thread. All functions are
 * async-signal-safe.
 */
struct at_loop {
	const char *name;
	uint32_t enabled_;	/* 0: disabled; otherwise, different after each enabling */
	uint32_t times_;	/* source of values of enabled_ */
	uint32_t reset_;	/* at_loop_reset() asks the loop's thread to clear delays */
	uint32_t under_[2];	/* enabled_ and the gate at the begin of the round */
	uint32_t reserved_;
	uint64_t since_;	/* begin of the wait or work in ns; 0: not known */
	uint64_t waited_;	/* 1 + the wait of this round in ns; 0: not known */
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
 * Start and end the measurement. Both return true if they changed something; a second call has no
 * effect. Earlier results are kept: new rounds are added to them.
 */
bool at_loop_enable(struct at_loop *loop);
bool at_loop_disable(struct at_loop *loop);

/**
 * struct at_loop_use - how a loop spent its time, in nanoseconds
 * @idle: time of the waits for events
 * @active: time of the work
 * @utilization: active / (idle + active), 0 to 1; 0 if both are 0
 */
struct at_loop_use {
	uint64_t idle;
	uint64_t active;
	double utilization;
};

/*
 * Returns the sums over all rounds that were measured from begin to end. Recording of the process
 * must not have started, stopped or changed its categories meanwhile.
 */
struct at_loop_use at_loop_utilization(const struct at_loop *loop);
/* Returns the sums over the rounds since *then, an earlier result of the same loop. */
struct at_loop_use at_loop_utilization_since(const struct at_loop *loop,
					     const struct at_loop_use *then);

/**
 * struct at_loop_delay - delays of a loop, in nanoseconds
 * @count: number of rounds; 0: the other members are also 0
 * @min: the shortest delay
 * @max: the longest delay
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

/*
 * Returns statistics of the delays since the last at_loop_reset(). While the loop runs, some
 * members may not include the latest round.
 */
struct at_loop_delay at_loop_delays(const struct at_loop *loop);
/*
 * Returns the delay in nanoseconds that the given percentage of delays, 0 to 100, does not exceed;
 * 0: there are no delays.
 */
uint64_t at_loop_percentile(const struct at_loop *loop, double percent);
/*
 * Clears the delays, but not the utilization. The results are 0 at once. The loop's thread clears
 * the delays in its next measured round.
 */
void at_loop_reset(struct at_loop *loop);

/* --- hooks ------------------------------------------------------------------------------- */

void at_loop_wait_(struct at_loop *loop);
void at_loop_work_(struct at_loop *loop);

/*
 * Returns true if the loop is not enabled and nothing is recorded. The hooks then cost only this
 * test, so it has one branch for both conditions.
 */
TRACE_INLINE_ bool at_loop_off_(const struct at_loop *loop)
{
	return __builtin_expect((__atomic_load_n(&loop->enabled_, __ATOMIC_RELAXED) |
				 at_gate_load_()) == 0, 1);
}

/* Call these just before and just after the call that waits for events, on the loop's thread. */
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
