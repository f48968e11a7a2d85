// SPDX-License-Identifier: GPL-2.0
/* A trace that is analysed while it grows: what is known of operations so far */
#include "build.h"

struct live {
	struct analysis *a;
	struct rows rows;
};

static void live_begin(struct live *l, uint64_t patience)
{
	struct analysis_options opts = { .patience = patience };
	struct analysis_sink sink = { .operation = rows_add, .arg = &l->rows };

	memset(l, 0, sizeof(*l));
	l->a = analysis_new(&opts, &sink);
	assert_non_null(l->a);
}

/* Gives all records of @t to the analysis, and settles them up to @ns. */
static void live_give(struct live *l, struct trace *t, uint64_t ns)
{
	feed(l->a, t);
	assert_int_equal(analysis_settle(l->a, ns), 0);
	trace_free(t);
}

static void live_end(struct live *l)
{
	analysis_free(l->a);
	rows_free(&l->rows);
}

static int ignore(void *arg, const struct analysis_operation *op)
{
	return 0;
}

static void look_counts_no_cut_operation(void **state)
{
	struct analysis_options opts = { .history = 1000 };
	struct analysis_sink sink = { .operation = ignore };
	struct analysis *a = analysis_new(&opts, &sink);
	struct trace t = { 0 };

	assert_non_null(a);
	BEGINS(&t, 1, 1, 1);
	for (uint64_t i = 0; i < 20000; i++)
		put_switch(&t, 10 + i, 0, 2 + i % 2, 3 - i % 2, PREEMPTED);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
	assert_int_equal(analysis_settle(a, 20010), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(analysis_peek(a, NULL, 20010, ignore, NULL), 0);
	assert_int_equal(analysis_totals(a)->cut, 0);
	assert_int_equal(analysis_finish(a), 0);
	assert_int_equal(analysis_totals(a)->cut, 1);
	analysis_free(a);
	trace_free(&t);
}

static void open_operation_is_known_until_now(void **state)
{
	struct rows seen = { 0 };
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 8, 1, "read", 0);
	BEGINS(&t, 10, 1, 7);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	BEGINS(&t, 30, 2, 8);
	live_give(&l, &t, 40);
	assert_int_equal(analysis_peek(l.a, NULL, 50, rows_add, &seen), 0);
	assert_int_equal(seen.nr, 2);
	assert_string_equal(seen.of[0],
			    "req 7 10-50 open: 10-20 running t1, 20-50 blocked/sleep t1 in read |");
	assert_string_equal(seen.of[1], "req 8 30-50 open: 30-50 queued |");
	rows_free(&seen);

	/* A look must change nothing. */
	put_wakeup(&t, 60, 0, 1, 0);
	put_switch(&t, 70, 0, 0, 1, 0);
	ENDS(&t, 80, 1, 7);
	live_give(&l, &t, 100);
	assert_int_equal(l.rows.nr, 1);
	assert_string_equal(l.rows.of[0],
			    "req 7 10-80: 10-20 running t1, "
			    "20-60 blocked/sleep t1 in read by interrupt, "
			    "60-70 runnable/woken t1 by idle, 70-80 running t1 | "
			    "10-20 running t1, 20-60 blocked/sleep t1 in read by interrupt, "
			    "60-70 runnable/woken t1 by idle, 70-80 running t1");
	live_end(&l);
}

/* The operation has ended at last, so it was queued after the exit. */
static void exit_blocks_until_a_thread_goes_on(void **state)
{
	struct rows seen = { 0 };
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 8, 1, "read", 0);
	BEGINS(&t, 10, 1, 7);
	put_switch(&t, 20, 0, 1, 0, EXITS);
	live_give(&l, &t, 40);
	assert_int_equal(analysis_peek(l.a, NULL, 50, rows_add, &seen), 0);
	assert_int_equal(seen.nr, 1);
	assert_string_equal(seen.of[0],
			    "req 7 10-50 open: 10-20 running t1, 20-50 blocked/exited t1 in read |");
	rows_free(&seen);
	ENDS(&t, 80, 2, 7);
	live_give(&l, &t, 100);
	assert_int_equal(l.rows.nr, 1);
	assert_string_equal(l.rows.of[0], "req 7 10-80: 10-20 running t1, 20-80 queued t2 | "
			    "10-20 running t1, 20-80 queued t2");
	live_end(&l);
}

static void only_the_operation_meant_is_seen(void **state)
{
	struct analysis_operation which = { .id.id = 7, .begin = 30 };
	struct rows seen = { 0 };
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 0);
	BEGINS(&t, 10, 1, 7);
	BEGINS(&t, 30, 1, 7);
	BEGINS(&t, 30, 1, 8);
	live_give(&l, &t, 50);
	assert_int_equal(analysis_peek(l.a, &which, 50, rows_add, &seen), 0);
	assert_int_equal(seen.nr, 1);
	assert_string_equal(seen.of[0], "req 7 30-50 open: 30-50 queued |");
	rows_free(&seen);
	which.begin = 31;
	assert_int_equal(analysis_peek(l.a, &which, 50, rows_add, &seen), 0);
	assert_int_equal(seen.nr, 0);
	live_end(&l);
}

static void operation_without_scheduling_waits(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 0);
	put_duration(&t, 5, 25, 1, "work");
	BEGINS(&t, 10, 1, 7);
	ENDS(&t, 20, 1, 7);
	live_give(&l, &t, 1000);
	assert_int_equal(l.rows.nr, 0);
	assert_int_equal(analysis_end(l.a), 0);
	assert_int_equal(l.rows.nr, 1);
	live_end(&l);
}

static void patience_ends_the_wait(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 100);
	put_duration(&t, 5, 25, 1, "work");
	BEGINS(&t, 10, 1, 7);
	ENDS(&t, 20, 1, 7);
	BEGINS(&t, 11, 1, 8);
	ENDS(&t, 21, 1, 8);
	live_give(&l, &t, 120);
	assert_int_equal(l.rows.nr, 0);
	assert_int_equal(analysis_settle(l.a, 121), 0);
	assert_int_equal(l.rows.nr, 1);
	assert_memory_equal(l.rows.of[0], "req 7 10-20:", strlen("req 7 10-20:"));
	assert_int_equal(analysis_settle(l.a, 122), 0);
	assert_int_equal(l.rows.nr, 2);
	live_end(&l);
}

static void open_operations_stay_after_the_end(void **state)
{
	struct rows seen = { 0 };
	struct trace t = { 0 };
	struct live l;

	live_begin(&l, 0);
	BEGINS(&t, 10, 1, 7);
	BEGINS(&t, 12, 1, 8);
	ENDS(&t, 20, 1, 8);
	live_give(&l, &t, 0);
	assert_int_equal(analysis_end(l.a), 0);
	assert_int_equal(l.rows.nr, 1);
	assert_int_equal(analysis_peek(l.a, NULL, 20, rows_add, &seen), 0);
	assert_int_equal(seen.nr, 1);
	assert_string_equal(seen.of[0], "req 7 10-20 open: 10-20 queued |");
	assert_int_equal(analysis_finish(l.a), 0);
	assert_int_equal(l.rows.nr, 2);
	rows_free(&seen);
	live_end(&l);
}

/*
 * Adding a thread resizes the table of threads at some sizes. This must not happen during a walk of
 * the table, so try many sizes.
 */
static void waker_without_records_moves_no_table(void **state)
{
	for (uint32_t nr = 1; nr < 200; nr++) {
		struct trace t = { 0 };
		struct rows rows;

		put_switch(&t, 1, 0, 0, 1, 0);
		put_duration(&t, 5, 25, 1, "work");
		BEGINS(&t, 11, 1, 1);
		put_switch(&t, 13, 0, 1, 0, SLEEPS);
		put_wakeup(&t, 15, 0, 1, 99);
		put_duration(&t, 16, 30, 3, "work");
		STEPS(&t, 17, 3, 1);
		ENDS(&t, 19, 3, 1);
		for (uint32_t i = 0; i < nr; i++)
			put_switch(&t, 30 + i, 1, i ? 100 + i : 0, 101 + i, SLEEPS);
		rows = analyse(&t, NULL, NULL);
		assert_int_equal(rows.nr, 1);
		rows_free(&rows);
		trace_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_counts_no_cut_operation),
		cmocka_unit_test(open_operation_is_known_until_now),
		cmocka_unit_test(exit_blocks_until_a_thread_goes_on),
		cmocka_unit_test(only_the_operation_meant_is_seen),
		cmocka_unit_test(operation_without_scheduling_waits),
		cmocka_unit_test(patience_ends_the_wait),
		cmocka_unit_test(open_operations_stay_after_the_end),
		cmocka_unit_test(waker_without_records_moves_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
