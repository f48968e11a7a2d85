// SPDX-License-Identifier: GPL-2.0
/* Traces made by hand, of which record --slower-than keeps what it needs */
#include <linux/asynctrace_fxt.h>

#include "tailed.h"

#define SLOW	20	/* operations that take longer */

static void begin_trace(struct trace *t)
{
	*t = (struct trace){ 0 };
	put_thread(t, PSEUDO, 0x70000000, "clock");
	put_event(t, ASYNCTRACE_FXT_INSTANT, 1, PSEUDO, "session start", 0);
	for (uint32_t tid = 1; tid < 5; tid++)
		put_thread(t, tid, 100, "worker");
}

/* Exactly @nr operations are slow, and all of them are in the file with the same answers. */
static void expect_kept(struct trace *t, uint64_t nr)
{
	const struct tailed_options o = { .slower_than = SLOW, .window = 1 << 20 };
	struct tail_counts counts;
	uint64_t compared = 0;

	put_event(t, ASYNCTRACE_FXT_INSTANT, 1000, PSEUDO, "trace end", 0);
	counts = tailed_check(t, &o, &compared);
	assert_int_equal(compared, nr);
	assert_int_equal(counts.left_out, 0);
	trace_free(t);
}

static void put_inferred(struct trace *t, uint64_t ns, uint32_t out, uint32_t in)
{
	put_switch(t, ns, 0, out, in, 0);
	t->of[t->nr - 1].nargs = 0;
	t->of[t->nr - 1].number = ASYNCTRACE_FXT_STATE_BLOCKED;
	add_bool(&t->of[t->nr - 1], "inferred");
}

/*
 * CPU 1 loses records until 90. Thread 1 came to CPU 0 meanwhile, and left it unseen: so nothing
 * is known of it until 90, although it ran when its operation began.
 */
static void loss_before_the_operation_still_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_switch(&t, 5, 0, 1, 2, PREEMPTED);
	put_kernel_loss(&t, 20, 90, 1);
	put_switch(&t, 30, 0, 2, 1, SLEEPS);
	put_duration(&t, 40, 100, 1, "work");
	BEGINS(&t, 40, 1, 7);
	put_inferred(&t, 50, 1, 0);
	STEPS(&t, 55, 1, 7);
	put_kernel_loss(&t, 60, 70, 0);
	put_wakeup(&t, 95, 0, 3, 0);
	ENDS(&t, 100, 1, 7);
	put_inferred(&t, 110, 0, 1);
	put_switch(&t, 110, 0, 1, 0, SLEEPS);
	expect_kept(&t, 1);
}

/* The loss took the first record of thread 1, and was over before its operation began. */
static void loss_since_the_first_event_still_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_duration(&t, 10, 100, 1, "work");
	put_kernel_loss(&t, 15, 20, 0);
	BEGINS(&t, 40, 1, 7);
	put_inferred(&t, 60, 0, 1);
	put_switch(&t, 60, 0, 1, 0, SLEEPS);
	ENDS(&t, 100, 1, 7);
	expect_kept(&t, 1);
}

/*
 * The first event of thread 2, which wakes thread 1, contradicts what is known of thread 2. Its
 * records are kept from that moment on.
 */
static void first_event_with_the_operation_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_switch(&t, 5, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 10, 0, 2, 0);
	put_duration(&t, 4, 100, 1, "work");
	BEGINS(&t, 40, 2, 7);
	put_switch(&t, 50, 0, 0, 2, 0);
	put_wakeup(&t, 60, 0, 1, 2);
	put_switch(&t, 70, 0, 2, 1, SLEEPS);
	ENDS(&t, 100, 1, 7);
	put_switch(&t, 110, 0, 1, 0, SLEEPS);
	expect_kept(&t, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_before_the_operation_still_counts),
		cmocka_unit_test(loss_since_the_first_event_still_counts),
		cmocka_unit_test(first_event_with_the_operation_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
