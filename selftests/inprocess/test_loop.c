// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of meters of event loops: enabling, delays, utilization and records
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/loop.h>

#include "kept.h"

#define MS	1000000ull
#define NONE	0xabcdefULL	/* value for a missing argument */

#define HOUR	(3600 * 1000 * MS)

static struct at_loop loop = ASYNCTRACE_LOOP_INIT("the loop");

static uint64_t hours;	/* how far the clock of this program is ahead */

/* The library calls this function, too. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const int err = syscall(SYS_clock_gettime, clock, ts);

	if (clock == CLOCK_MONOTONIC)
		ts->tv_sec += 3600 * __atomic_load_n(&hours, __ATOMIC_RELAXED);
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Works for at least @ns. */
static void spend(uint64_t ns)
{
	const uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

/* Waits and then works. */
static void round_of(uint64_t idle, uint64_t active)
{
	at_loop_poll_begin(&loop);
	spend(idle);
	at_loop_poll_end(&loop);
	spend(active);
}

/* --- switches ----------------------------------------------------------------------------- */

/* Must run first: the first use of the library in a process registers the process. */
static void first_round(void)
{
	static struct at_loop first = ASYNCTRACE_LOOP_INIT("first");

	at_loop_enable(&first);
	for (int i = 0; i < 2; i++) {
		at_loop_poll_begin(&first);
		at_loop_poll_end(&first);
	}
	check(at_loop_delays(&first).count == 1);
	done("first_round_of_a_process_counts");
}

static void switches(void)
{
	struct at_loop_use use, before;
	uint64_t enabled;

	check(at_loop_delays(&loop).count == 0 && at_loop_percentile(&loop, 50) == 0);
	check(at_loop_utilization(&loop).utilization == 0);
	round_of(0, 0);
	check(!at_loop_disable(&loop));
	check(at_loop_enable(&loop));
	check(!at_loop_enable(&loop));
	/*
	 * The delay of a round counts when the next round's wait begins. The round before this one
	 * does not count, because its wait began before the meter was enabled.
	 */
	round_of(0, 0);
	check(!at_loop_delays(&loop).count);
	round_of(0, 0);
	check(at_loop_delays(&loop).count == 1);
	check(at_loop_disable(&loop));
	check(!at_loop_disable(&loop));
	round_of(0, 0);
	check(at_loop_delays(&loop).count == 1);
	/* A time while the loop is disabled is not part of a round. */
	before = at_loop_utilization(&loop);
	spend(5 * MS);
	enabled = now_ns();
	at_loop_enable(&loop);
	at_loop_poll_end(&loop);
	at_loop_poll_begin(&loop);
	at_loop_poll_end(&loop);
	check(at_loop_delays(&loop).count == 1);
	at_loop_poll_begin(&loop);
	use = at_loop_utilization_since(&loop, &before);
	check(at_loop_delays(&loop).count == 2);
	check(use.idle + use.active <= now_ns() - enabled);
	at_loop_disable(&loop);
	done("H10_enable_and_disable_are_idempotent");
}

/* --- numbers ------------------------------------------------------------------------------ */

static void delays(void)
{
	struct at_loop_delay d;
	uint64_t last = 0;

	at_loop_reset(&loop);
	check(!at_loop_delays(&loop).count && !at_loop_percentile(&loop, 100));
	at_loop_enable(&loop);
	round_of(0, 0);
	for (int i = 0; i < 98; i++)
		round_of(0, MS / 10);
	round_of(0, 8 * MS);
	round_of(0, 0);
	round_of(0, 0);
	at_loop_disable(&loop);
	d = at_loop_delays(&loop);
	check(d.count == 101, "%llu rounds", (unsigned long long)d.count);
	check(d.min && d.min <= d.mean && d.mean <= d.max && d.max >= 8 * MS);
	check(d.stddev > 0 && d.stddev <= d.max);
	for (double p = 0; p <= 100; p += 0.5) {
		const uint64_t ns = at_loop_percentile(&loop, p);

		check(ns >= last && ns >= d.min && ns <= d.max, "%g %%: %llu", p,
		      (unsigned long long)ns);
		last = ns;
	}
	check(at_loop_percentile(&loop, 50) >= MS / 10);
	check(at_loop_percentile(&loop, 100) == d.max && at_loop_percentile(&loop, 99.5) >= 8 * MS);
	at_loop_reset(&loop);
	d = at_loop_delays(&loop);
	check(!d.count && !d.min && !d.max && !d.mean && !d.stddev);
	check(!at_loop_percentile(&loop, 50));
	done("H10_delays_have_order_and_percentiles");
}

/*
 * A meter counts delays in classes. A percentile is the largest value of its class, but not more
 * than the largest delay. It is at most an eighth larger than any delay of the class.
 */
static void classes(void)
{
	static struct at_loop l = ASYNCTRACE_LOOP_INIT("classes");
	unsigned int wrong = 0;

	for (uint64_t ns = 1; ns < 1ull << 41; ns += 1 + ns / 50) {
		l = (struct at_loop)ASYNCTRACE_LOOP_INIT("classes");
		at_loop_enable(&l);
		at_loop_poll_begin(&l);
		at_loop_poll_end(&l);
		/* Pretend that the work began @ns ago. */
		l.since_ = now_ns() - ns;
		at_loop_poll_begin(&l);
		{
			const uint64_t exact = at_loop_delays(&l).max;
			const uint64_t found = at_loop_percentile(&l, 1);

			/* The percentile of a single delay is exact. */
			if (exact < ns || found != exact) {
				wrong++;
				printf("# %llu: %llu, not %llu\n", (unsigned long long)ns,
				       (unsigned long long)found, (unsigned long long)exact);
			}
		}
		at_loop_poll_end(&l);
		l.since_ = now_ns() - (1ull << 42);
		at_loop_poll_begin(&l);
		{
			const uint64_t least = at_loop_delays(&l).min;
			const uint64_t found = at_loop_percentile(&l, 50);

			if (found < least ||
			    (least < 1ull << 40 && found > least + least / 8 + 1)) {
				wrong++;
				printf("# at least %llu: %llu\n", (unsigned long long)least,
				       (unsigned long long)found);
			}
		}
	}
	check(!wrong, "%u delays in a wrong class", wrong);
	done("H10_percentiles_are_an_eighth_too_large_at_most");
}

/* Begins a wait. Returns the time that the meter has noted as the begin of the wait. */
static uint64_t begin_wait(void)
{
	const uint64_t before = now_ns();

	at_loop_poll_begin(&loop);
	check(loop.since_ >= before && loop.since_ <= now_ns());
	return loop.since_;
}

static void utilisation(void)
{
	struct at_loop_use before, after, d;
	uint64_t from, to;

	at_loop_enable(&loop);
	round_of(0, 0);
	from = begin_wait();
	before = at_loop_utilization(&loop);
	at_loop_poll_end(&loop);
	for (int i = 0; i < 5; i++)
		round_of(MS, 2 * MS);
	to = begin_wait();
	after = at_loop_utilization(&loop);
	at_loop_disable(&loop);
	d = at_loop_utilization_since(&loop, &before);
	check(d.idle == after.idle - before.idle && d.active == after.active - before.active);
	check(d.idle >= 5 * MS && d.active >= 10 * MS);
	/* Each nanosecond from one begin of a wait to another is counted once. */
	check(d.idle + d.active == to - from, "%llu of %llu ns",
	      (unsigned long long)(d.idle + d.active), (unsigned long long)(to - from));
	check(d.utilization > 0 && d.utilization < 1 &&
	      d.utilization == (double)d.active / (d.idle + d.active));
	done("H10_idle_and_active_are_the_elapsed_time");
}

/* --- the trace ---------------------------------------------------------------------------- */

static void records(void)
{
	uint64_t active = 0, idle = 0, rounds = 0;
	struct at_loop_use before, use;
	uint64_t count;

	kept_begin("another");
	round_of(0, 0);
	round_of(0, 0);
	kept_end();
	check(!nr_kept);
	/* A loop that is not enabled is recorded. */
	count = at_loop_delays(&loop).count;
	kept_begin("loop");
	for (int i = 0; i < 4; i++)
		round_of(0, 0);
	kept_end();
	check(nr_kept == 3 && at_loop_delays(&loop).count == count, "%u records", nr_kept);
	/* A loop that is enabled and recorded has the same numbers in both. */
	kept_begin(NULL);
	at_loop_enable(&loop);
	before = at_loop_utilization(&loop);
	for (int i = 0; i < 4; i++)
		round_of(MS, MS / 2);
	at_loop_poll_begin(&loop);
	use = at_loop_utilization_since(&loop, &before);
	at_loop_disable(&loop);
	kept_end();
	for (unsigned int i = 0; i < nr_kept; i++) {
		check(kept_is(&kept[i], ASYNCTRACE_FXT_COUNTER, "the loop") &&
		      !strcmp(kept[i].category, "loop") && kept[i].ev.id == (uintptr_t)&loop);
		idle += kept_number(&kept[i], "idle", NONE);
		active += kept_number(&kept[i], "active", NONE);
		rounds++;
	}
	check(rounds == 4 && idle == use.idle && active == use.active && active >= 2 * MS);
	done("H10_each_round_is_a_counter_in_the_trace");
}

/* --- other threads ------------------------------------------------------------------------ */

#define ROUNDS	20000

static int over;

/*
 * @most: the most rounds that can have been counted. Returns NULL if it saw no more than that, and
 * only zeros with a count of 0.
 */
static void *look(void *most)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		struct at_loop_delay d = at_loop_delays(&loop);

		(void)at_loop_percentile(&loop, 50);
		(void)at_loop_utilization(&loop);
		at_loop_enable(&loop);
		at_loop_reset(&loop);
		at_loop_disable(&loop);
		if (d.count > *(uint64_t *)most)
			return most;
		if (!d.count && (d.min || d.max || d.mean != 0 || d.stddev != 0))
			return most;
	}
	return NULL;
}

static void beside(void)
{
	uint64_t most = at_loop_delays(&loop).count + ROUNDS;
	pthread_t th[2];
	void *wrong;

	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, look, &most);
	for (int i = 0; i < ROUNDS; i++) {
		at_loop_poll_begin(&loop);
		at_loop_poll_end(&loop);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++) {
		pthread_join(th[i], &wrong);
		check(!wrong);
	}
	at_loop_enable(&loop);
	at_loop_reset(&loop);
	for (int i = 0; i < 10; i++)
		round_of(0, 0);
	check(at_loop_delays(&loop).count >= 8);
	done("loop_beside_readers_and_switches");
}

#define RESETS	2000

enum { OLD, RESET, NEW, SEEN };

static int phase;

static void await(int wanted)
{
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != wanted)
		sched_yield();
}

static void go_to(int next)
{
	__atomic_store_n(&phase, next, __ATOMIC_RELEASE);
}

/* For each reset, has a round of an hour before it, and short ones after it. */
static void *run_loop(void *arg)
{
	for (int i = 0; i < RESETS; i++) {
		await(OLD);
		at_loop_poll_begin(&loop);
		at_loop_poll_end(&loop);
		__atomic_add_fetch(&hours, 1, __ATOMIC_RELAXED);
		at_loop_poll_begin(&loop);
		go_to(RESET);
		await(NEW);
		for (int k = 0; k < 3; k++)
			round_of(0, 0);
		go_to(SEEN);
	}
	return arg;
}

static void resets(void)
{
	unsigned int old = 0;
	pthread_t th;
	bool seen;

	at_loop_enable(&loop);
	pthread_create(&th, NULL, run_loop, NULL);
	for (int i = 0; i < RESETS; i++) {
		await(RESET);
		at_loop_reset(&loop);
		go_to(NEW);
		do {
			seen = __atomic_load_n(&phase, __ATOMIC_ACQUIRE) == SEEN;
			old += at_loop_percentile(&loop, 100) >= HOUR;
			old += at_loop_delays(&loop).max >= HOUR;
		} while (!seen);
		go_to(OLD);
	}
	pthread_join(th, NULL);
	check(!old);
	done("reset_hides_old_delays_from_other_threads");
}

int main(void)
{
	first_round();
	switches();
	delays();
	classes();
	utilisation();
	records();
	beside();
	resets();
	return finish();
}
