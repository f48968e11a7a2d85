// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Meters of event loops
 *
 * Only the loop's thread stores results. Any thread may set enabled_ and reset_. Other threads load
 * results with relaxed atomics, so their copy may lack the latest round in some members. They load
 * reset_ first, with acquire: if the loop's thread has cleared it, they see no delay from before.
 */
#include <time.h>

#include <asynctrace/loop.h>
#include <asynctrace/trace.h>

#include "writer/internal.h"
#include "writer/operation.h"

#define CATEGORY	"loop"

#define SHIFT		3	/* 8 classes for each power of two */
#define PER_POWER	(1u << SHIFT)
#define LAST_CLASS	(ASYNCTRACE_LOOP_CLASSES - 1)

#define get(member)		__atomic_load_n(&(member), __ATOMIC_RELAXED)
#define set(member, value)	__atomic_store_n(&(member), (value), __ATOMIC_RELAXED)

_Static_assert(ASYNCTRACE_LOOP_CLASSES == (40 - SHIFT + 1) * PER_POWER + 1,
	       "the last class begins with 2^40 ns");

/*
 * Delays of 0 to 7 ns have a class each. Above, each power of two has 8 classes: the three bits
 * below the highest bit choose the class.
 */
static unsigned int class_of(uint64_t ns)
{
	unsigned int power, class;

	if (ns < PER_POWER)
		return ns;
	power = 63 - __builtin_clzll(ns);
	class = (power - SHIFT + 1) * PER_POWER + (ns >> (power - SHIFT)) % PER_POWER;
	return class < LAST_CLASS ? class : LAST_CLASS;
}

/* Returns the largest delay, in ns, that belongs to @class. */
static uint64_t largest_of(unsigned int class)
{
	const unsigned int power = class / PER_POWER;

	if (!power)
		return class;
	return ((uint64_t)(PER_POWER + class % PER_POWER + 1) << (power - 1)) - 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* --- enabling ----------------------------------------------------------------------------- */

AT_PUBLIC bool at_loop_enable(struct at_loop *loop)
{
	const uint32_t time = __atomic_add_fetch(&loop->times_, 2, __ATOMIC_RELAXED) | 1;
	uint32_t off = 0;

	return __atomic_compare_exchange_n(&loop->enabled_, &off, time, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

AT_PUBLIC bool at_loop_disable(struct at_loop *loop)
{
	return __atomic_exchange_n(&loop->enabled_, 0, __ATOMIC_RELAXED);
}

static void set_double(double *to, double value)
{
	__atomic_store(to, &value, __ATOMIC_RELAXED);
}

static void clear_delays(struct at_loop *loop)
{
	set(loop->count_, 0);
	set(loop->min_, 0);
	set(loop->max_, 0);
	set_double(&loop->sum_, 0);
	set_double(&loop->squares_, 0);
	for (unsigned int i = 0; i < ASYNCTRACE_LOOP_CLASSES; i++)
		set(loop->of_[i], 0);
}

AT_PUBLIC void at_loop_reset(struct at_loop *loop)
{
	set(loop->reset_, 1);
}

/* --- the loop's thread -------------------------------------------------------------------- */

static void add_double(double *sum, double value)
{
	double total;

	__atomic_load(sum, &total, __ATOMIC_RELAXED);
	set_double(sum, total + value);
}

static void add_delay(struct at_loop *loop, uint64_t ns)
{
	uint64_t *const class = &loop->of_[class_of(ns)];

	if (!loop->count_ || ns < loop->min_)
		set(loop->min_, ns);
	if (ns > loop->max_)
		set(loop->max_, ns);
	add_double(&loop->sum_, ns);
	add_double(&loop->squares_, (double)ns * ns);
	set(*class, *class + 1);
	set(loop->count_, loop->count_ + 1);
}

static void write_counter(const struct at_loop *loop, uint64_t idle, uint64_t active)
{
	static const char *const keys[] = { "idle", "active" };
	const struct at_arg_ args[] = { at_arg_u64_(idle), at_arg_u64_(active) };
	const struct at_site_ site = { .keys = keys, .category = CATEGORY, .name = loop->name };
	const uint64_t found = at_category_find(CATEGORY);

	if (found >> 32)
		at_write_args_(found, &site, found >> 32, ASYNCTRACE_FXT_COUNTER | TRACE_EXTRA_,
			       (uintptr_t)loop, args, 2);
}

/*
 * Returns true if the loop is measured or recorded. If measuring or recording was turned on or off
 * since the begin of the round, marks that begin as unknown.
 */
static bool is_on(struct at_loop *loop, bool *measured, bool *recorded)
{
	const uint32_t enabled = get(loop->enabled_);
	uint32_t gate;

	*measured = enabled;
	*recorded = TRACE_CATEGORY_ENABLED(CATEGORY);
	/* The first use of the library changes the gate, so read the gate afterwards. */
	gate = at_gate_load_();
	if (likely((*measured || *recorded) && enabled == loop->under_[0] &&
		   gate == loop->under_[1]))
		return true;
	loop->under_[0] = enabled;
	loop->under_[1] = gate;
	loop->since_ = 0;
	loop->waited_ = 0;
	return *measured || *recorded;
}

/*
 * Ends the work of a round and begins the wait of the next round. Counts a round only if both its
 * wait and its work were measured from their begin. since_ and waited_ are 0 otherwise.
 */
AT_PUBLIC void at_loop_wait_(struct at_loop *loop)
{
	bool measured, recorded;
	uint64_t now, active;

	if (!is_on(loop, &measured, &recorded))
		return;
	now = now_ns();
	if (unlikely(get(loop->reset_)) && measured) {
		clear_delays(loop);
		__atomic_store_n(&loop->reset_, 0, __ATOMIC_RELEASE);
	}
	if (loop->since_ && loop->waited_) {
		active = now - loop->since_;
		if (measured) {
			set(loop->idle_, loop->idle_ + loop->waited_ - 1);
			set(loop->active_, loop->active_ + active);
			add_delay(loop, active);
		}
		if (recorded)
			write_counter(loop, loop->waited_ - 1, active);
	}
	loop->since_ = now;
	loop->waited_ = 0;
}

AT_PUBLIC void at_loop_work_(struct at_loop *loop)
{
	bool measured, recorded;
	uint64_t now;

	if (!is_on(loop, &measured, &recorded))
		return;
	now = now_ns();
	/* Add 1, because 0 means that the wait is not known. */
	loop->waited_ = loop->since_ ? now - loop->since_ + 1 : 0;
	loop->since_ = loop->waited_ ? now : 0;
}

/*
 * Computes a square root without sqrt(), for which each program that uses the library would have
 * to link libm.
 */
static double square_root(double square)
{
	double x = square;

	if (square < 1)
		return 0;
	for (int i = 0; i < 100; i++)
		x = (x + square / x) / 2;
	return x;
}

/* --- results ------------------------------------------------------------------------------ */

static struct at_loop_use use_of(uint64_t idle, uint64_t active)
{
	struct at_loop_use use = { .idle = idle, .active = active };

	if (idle + active)
		use.utilization = (double)active / (idle + active);
	return use;
}

AT_PUBLIC struct at_loop_use at_loop_utilization(const struct at_loop *loop)
{
	return use_of(get(loop->idle_), get(loop->active_));
}

AT_PUBLIC struct at_loop_use at_loop_utilization_since(const struct at_loop *loop,
						       const struct at_loop_use *then)
{
	return use_of(get(loop->idle_) - then->idle, get(loop->active_) - then->active);
}

static bool is_reset(const struct at_loop *loop)
{
	return __atomic_load_n(&loop->reset_, __ATOMIC_ACQUIRE);
}

AT_PUBLIC struct at_loop_delay at_loop_delays(const struct at_loop *loop)
{
	struct at_loop_delay d = { 0 };
	double sum, squares, variance;
	uint64_t count;

	if (is_reset(loop))
		return d;
	/* Load the count only once, because the loop's thread may clear it meanwhile. */
	count = get(loop->count_);
	if (!count)
		return d;
	__atomic_load(&loop->sum_, &sum, __ATOMIC_RELAXED);
	__atomic_load(&loop->squares_, &squares, __ATOMIC_RELAXED);
	d.count = count;
	d.min = get(loop->min_);
	d.max = get(loop->max_);
	d.mean = sum / d.count;
	variance = squares / d.count - d.mean * d.mean;
	d.stddev = square_root(variance);
	return d;
}

AT_PUBLIC uint64_t at_loop_percentile(const struct at_loop *loop, double percent)
{
	uint64_t total = 0, below = 0, max;
	double wanted;

	if (is_reset(loop))
		return 0;
	max = get(loop->max_);
	for (unsigned int i = 0; i < ASYNCTRACE_LOOP_CLASSES; i++)
		total += get(loop->of_[i]);
	wanted = total * percent / 100;
	for (unsigned int i = 0; i < ASYNCTRACE_LOOP_CLASSES; i++) {
		below += get(loop->of_[i]);
		if (below && below >= wanted)
			return i == LAST_CLASS || largest_of(i) > max ? max : largest_of(i);
	}
	return total ? max : 0;
}

/* --- the inline functions as symbols, for bindings of other languages --------------------- */

AT_PUBLIC void at_symbol_poll_begin(struct at_loop *loop) __asm__("at_loop_poll_begin");
AT_PUBLIC void at_symbol_poll_end(struct at_loop *loop) __asm__("at_loop_poll_end");

void at_symbol_poll_begin(struct at_loop *loop)
{
	at_loop_poll_begin(loop);
}

void at_symbol_poll_end(struct at_loop *loop)
{
	at_loop_poll_end(loop);
}
