// SPDX-License-Identifier: GPL-2.0
/* Clock pairs that a session logs at start, while running, and at stop */
#include <kunit/test.h>
#include <linux/delay.h>

#include "base/clock.h"

static void p41_stopped_session_gets_no_clock_pair(struct kunit *test)
{
	static const enum asynctrace_clock_moment moments[] = {
		ASYNCTRACE_MOMENT_START, ASYNCTRACE_MOMENT_RUNNING, ASYNCTRACE_MOMENT_STOP,
		ASYNCTRACE_MOMENT_RUNNING, ASYNCTRACE_MOMENT_START, ASYNCTRACE_MOMENT_RUNNING,
	};
	static const u32 want[] = { 1, 2, 3, 3, 4, 5 };
	struct asynctrace_clock_pair pairs[8];
	struct at_clock_log *log = at_clock_log_new(ASYNCTRACE_CLOCK_BOOTTIME);
	u64 cursor;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, log);
	for (i = 0; i < ARRAY_SIZE(moments); i++) {
		at_clock_mark(log, moments[i]);
		cursor = 0;
		KUNIT_EXPECT_EQ(test, want[i],
				at_clock_log_read(log, &cursor, pairs, ARRAY_SIZE(pairs)));
	}
	KUNIT_EXPECT_EQ(test, pairs[2].what, (u32)ASYNCTRACE_MOMENT_STOP);
	KUNIT_EXPECT_EQ(test, pairs[3].what, (u32)ASYNCTRACE_MOMENT_START);
	at_clock_log_free(log);
}

/*
 * Waits until the clock of the pairs advances. Returns false if that takes too long: a kernel that
 * boots may have no better clock than the timer tick.
 */
static bool clock_advances(void)
{
	const u64 start = ktime_get_boottime_ns();
	int i;

	for (i = 0; i < 100; i++) {
		if (ktime_get_boottime_ns() != start)
			return true;
		ndelay(10);
	}
	return false;
}

/* A reader that falls behind a full log misses pairs, but gets none twice. */
static void p41_slow_reader_gets_no_clock_pair_twice(struct kunit *test)
{
	struct at_clock_log *log = at_clock_log_new(ASYNCTRACE_CLOCK_BOOTTIME);
	struct asynctrace_clock_pair pairs[8];
	u32 round, logged, n, i, got = 0;
	u64 cursor = 0, last = 0;
	bool fine = true;

	KUNIT_ASSERT_NOT_NULL(test, log);
	for (round = 0; round < 4; round++) {
		/* More than half of a full log is left unread. */
		for (logged = 0; logged < 3000; logged++) {
			at_clock_mark(log, ASYNCTRACE_MOMENT_START);
			fine = clock_advances() && fine;
		}
		do {
			n = at_clock_log_read(log, &cursor, pairs, ARRAY_SIZE(pairs));
			for (i = 0; i < n; i++) {
				/* With a coarse clock, two pairs may have the same time. */
				KUNIT_EXPECT_GE(test, pairs[i].boottime, last + fine);
				last = pairs[i].boottime;
			}
			got += n;
		} while (n && round & 1);
	}
	/* at_clock_thin() leaves at least 1024 pairs, and more were logged. All were read. */
	KUNIT_EXPECT_GT(test, got, 1024U);
	KUNIT_EXPECT_EQ(test, 0U, at_clock_log_read(log, &cursor, pairs, ARRAY_SIZE(pairs)));
	at_clock_log_free(log);
}

static struct kunit_case at_clock_cases[] = {
	KUNIT_CASE(p41_stopped_session_gets_no_clock_pair),
	KUNIT_CASE(p41_slow_reader_gets_no_clock_pair_twice),
	{}
};

static struct kunit_suite at_clock_suite = {
	.name = "asynctrace_clock",
	.test_cases = at_clock_cases,
};

kunit_test_suite(at_clock_suite);
