// SPDX-License-Identifier: GPL-2.0
/* Traces made by hand: record --slower-than must keep all that their slow operations need. */
#include <linux/asynctrace_fxt.h>

#include "tailed.h"
#include "words.h"

#define SLOW	20	/* operations that take longer are slow */

static void begin_trace(struct trace *t)
{
	*t = (struct trace){ 0 };
	put_thread(t, PSEUDO, 0x70000000, "clock");
	put_event(t, ASYNCTRACE_FXT_INSTANT, 1, PSEUDO, "session start", 0);
	for (uint32_t tid = 1; tid < 5; tid++)
		put_thread(t, tid, 100, "worker");
}

/*
 * Exactly @nr operations must be slow and in the file, which must give the same answers about them.
 * @left_out more operations were slow, but began before the window.
 */
static void expect_kept_by(struct trace *t, uint64_t window, uint64_t nr, uint64_t left_out)
{
	const struct tailed_options o = { .slower_than = SLOW, .window = window };
	struct tail_counts counts;
	uint64_t compared = 0;

	put_event(t, ASYNCTRACE_FXT_INSTANT, 1000, PSEUDO, "trace end", 0);
	counts = tailed_check(t, &o, &compared);
	assert_int_equal(compared, nr);
	assert_int_equal(counts.left_out, left_out);
	trace_free(t);
}

static void expect_kept(struct trace *t, uint64_t nr)
{
	expect_kept_by(t, 1 << 20, nr, 0);
}

static void put_inferred(struct trace *t, uint64_t ns, uint32_t out, uint32_t in)
{
	put_switch(t, ns, 0, out, in, 0);
	t->of[t->nr - 1].nargs = 0;
	t->of[t->nr - 1].number = ASYNCTRACE_FXT_STATE_BLOCKED;
	add_bool(&t->of[t->nr - 1], "inferred");
}

/*
 * CPU 1 loses records until 90. Meanwhile thread 1 came to CPU 0 and left it without a record. So
 * its state is unknown until 90, although it ran when its operation began.
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

/* The loss took the first record of thread 1 and ended before its operation began. */
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
 * The first event of thread 2, which wakes thread 1, contradicts what is known of thread 2. Records
 * of thread 2 are kept from that moment on.
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

/* Thread 2 has the CPU that thread 1 waits for, and no record during the operation. */
static void thread_without_records_is_named(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_switch(&t, 5, 1, 0, 2, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 20, 1, "work", 0);
	BEGINS(&t, 40, 1, 7);
	put_switch(&t, 50, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 60, 1, 1, 0);
	ENDS(&t, 100, 3, 7);
	expect_kept(&t, 1);
}

/*
 * Thread 3 enters operation 9, so durations do not count as work on operation 9. The file must show
 * this enter, although thread 3 has no part in operation 7.
 */
static void enter_by_a_thread_left_out_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	BEGINS(&t, 10, 2, 9);
	BEGINS(&t, 40, 2, 7);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 42, 1, "work", 0);
	STEPS(&t, 45, 1, 9);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 80, 1, "work", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 90, 3, "enter", 0);
	add_number(&t.of[t.nr - 1], "operation", ASYNCTRACE_FXT_ARG_UINT64, 9);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 95, 3, "enter", 0);
	add_number(&t.of[t.nr - 1], "resumed", ASYNCTRACE_FXT_ARG_UINT64, 0);
	put_duration(&t, 85, 101, 1, "work");
	ENDS(&t, 100, 1, 7);
	ENDS(&t, 105, 2, 9);
	expect_kept(&t, 2);
}

/*
 * The first event of thread 1 came before the operation, and was followed by a loss. The duration
 * around the operation begins after the loss, and is in the file.
 */
static void first_event_before_the_duration_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_duration(&t, 6, 6, 1, "work");
	put_kernel_loss(&t, 10, 20, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 30, 1, "work", 0);
	BEGINS(&t, 40, 1, 7);
	put_wakeup(&t, 50, 0, 1, 0);
	expect_kept(&t, 1);
}

/*
 * The end of a phase shows that thread 1 works on operation 9, because the phase has the same id.
 * This record has left the window when operation 7 begins. Operation 7 waits for thread 1.
 */
static void end_of_a_phase_before_the_window_counts(void **state)
{
	struct trace t;

	begin_trace(&t);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 10, 2, "phase", 9);
	BEGINS(&t, 10, 2, 9);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 20, 1, "work", 0);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 30, 1, "phase", 9);
	for (uint64_t ns = 40; ns < 240; ns++)
		put_event(&t, ASYNCTRACE_FXT_FLOW_STEP, ns, 4, "other", 5);
	BEGINS(&t, 300, 2, 7);
	put_duration(&t, 350, 400, 1, "work on 7");
	ENDS(&t, 400, 1, 7);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 420, 1, "work", 0);
	expect_kept_by(&t, 4096, 1, 1);
}

/* --- names that have no room in a record -------------------------------------------------- */

#define LONG_NAME	1	/* index of a string of the greatest length */

static void put_long_name(struct words *w)
{
	const size_t words = 1 + ASYNCTRACE_FXT_TEXT_WORDS(ASYNCTRACE_FXT_STRING_MAX);
	uint64_t *to = more_words(w, words);

	memset(to, 'a', words * 8);
	to[0] = ASYNCTRACE_FXT_STRING_HEAD(LONG_NAME, ASYNCTRACE_FXT_STRING_MAX);
}

/* An event whose category and name fit into a record only as indices */
static void put_long(struct words *w, unsigned int type, uint64_t ns, uint64_t id)
{
	const uint64_t event[] = {
		ASYNCTRACE_FXT_EVENT_HEAD(type, 5, 0, LONG_NAME, LONG_NAME), ns, 100, 1, id,
	};

	memcpy(more_words(w, 5), event, sizeof(event));
}

static ssize_t ignore_output(void *arg, const void *buf, size_t len)
{
	return len;
}

static struct tail_counts counts_of(const struct words *w)
{
	const struct tail_bound bound = { .type = "*", .ns = SLOW, .text = "*>20ns" };
	struct tail *t = tail_new(&(struct tail_options){
		.bounds = &bound, .nr_bounds = 1, .window = 1 << 20, .write = ignore_output,
	});
	struct tail_counts counts;

	assert_non_null(t);
	assert_int_equal(tail_push(t, w->of, w->nr), w->nr);
	assert_int_equal(tail_finish(t), 0);
	counts = *tail_counts(t);
	tail_free(t);
	return counts;
}

/*
 * Operation 7 needs the begin of thread 1's duration, but not the thread's exit. Another thread gets
 * the id and works on operation 8 only in its own duration. The second time, the file has the begin
 * before the exit is known.
 */
static void exit_outside_of_the_operation_counts(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct trace t;

		begin_trace(&t);
		put_switch(&t, 5, 0, 0, 1, 0);
		put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 1, "load", 0);
		BEGINS(&t, 20, 1, 7);
		ENDS(&t, 60, 1, 7);
		put_switch(&t, 70, 0, 1, 0, SLEEPS);
		put_wakeup(&t, 75, 0, 1, 0);
		put_switch(&t, 80, 0, 0, 1, 0);
		for (uint64_t ns = 100; ns < 200; ns++)
			put_duration(&t, ns, ns, 3, "other");
		put_switch(&t, 210, 0, 1, 0, EXITS);
		for (uint64_t ns = 300; ns < 400; ns++)
			put_duration(&t, ns, ns, 3, "other");
		put_switch(&t, 400, 0, 0, 1, 0);
		BEGINS(&t, 410, 1, 8);
		put_duration(&t, 430, 440, 1, "work");
		STEPS(&t, 435, 1, 8);
		ENDS(&t, 460, 1, 8);
		put_switch(&t, 470, 0, 1, 0, SLEEPS);
		expect_kept_by(&t, 1 << (i ? 13 : 20), 2, 0);
	}
}

static void operation_with_long_names_is_left_out(void **state)
{
	struct words w = { 0 };
	struct tail_counts counts;

	put_head(&w);
	put_long_name(&w);
	put_long(&w, ASYNCTRACE_FXT_ASYNC_BEGIN, 10, 7);
	put_long(&w, ASYNCTRACE_FXT_ASYNC_END, 90, 7);
	counts = counts_of(&w);
	assert_int_equal(counts.left_out, 1);
	assert_int_equal(counts.long_names, 1);
	assert_int_equal(counts.operations, 0);
	free(w.of);
}

static void thread_with_a_long_name_is_hasty(void **state)
{
	struct words w = { 0 };
	struct trace t = { 0 };
	struct tail_counts counts;

	put_work(&t);
	put_head(&w);
	put_long_name(&w);
	put_long(&w, ASYNCTRACE_FXT_DURATION, 10, 100);
	for (size_t i = 0; i < t.nr; i++)
		put_record(&w, &t.of[i]);
	counts = counts_of(&w);
	assert_int_equal(counts.operations, 1);
	assert_int_equal(counts.hasty, 1);
	trace_free(&t);
	free(w.of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss_before_the_operation_still_counts),
		cmocka_unit_test(loss_since_the_first_event_still_counts),
		cmocka_unit_test(first_event_with_the_operation_counts),
		cmocka_unit_test(thread_without_records_is_named),
		cmocka_unit_test(enter_by_a_thread_left_out_counts),
		cmocka_unit_test(first_event_before_the_duration_counts),
		cmocka_unit_test(end_of_a_phase_before_the_window_counts),
		cmocka_unit_test(exit_outside_of_the_operation_counts),
		cmocka_unit_test(operation_with_long_names_is_left_out),
		cmocka_unit_test(thread_with_a_long_name_is_hasty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
