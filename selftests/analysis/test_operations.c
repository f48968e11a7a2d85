// SPDX-License-Identifier: GPL-2.0
/* Operations: pairs of begin and end, and the threads that work on them */
#include "build.h"

static void begin(struct trace *t)
{
	put_clock(t, 0);
	put_switch(t, 1, 0, 0, 1, 0);
	put_switch(t, 1, 1, 0, 2, 0);
}

static void one_id_in_two_names_is_two_operations(void **state)
{
	struct trace t = { 0 };

	begin(&t);
	put_duration(&t, 10, 90, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 20, 1, "phase", 1);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 30, 1, "phase", 1);
	ENDS(&t, 80, 1, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "phase 1 20-30: 20-30 running t1 | 20-30 running t1",
		    "req 1 10-80: 10-80 running t1 | 10-80 running t1", NULL);
}

static void end_ends_the_newest_of_its_key(void **state)
{
	struct trace t = { 0 };

	begin(&t);
	BEGINS(&t, 10, 1, 1);
	BEGINS(&t, 20, 1, 1);
	ENDS(&t, 30, 1, 1);
	ENDS(&t, 40, 1, 1);
	BEGINS(&t, 50, 1, 1);
	ENDS(&t, 60, 1, 1);
	expect_rows(&t, "req 1 20-30: 20-30 queued t1 | 20-30 queued t1",
		    "req 1 10-40: 10-40 queued t1 | 10-40 queued t1",
		    "req 1 50-60: 50-60 queued t1 | 50-60 queued t1", NULL);
}

static void orphans_and_incomplete_ones_are_counted(void **state)
{
	struct trace t = { 0 };
	struct analysis_totals totals;
	struct rows rows;

	begin(&t);
	ENDS(&t, 5, 1, 9);
	BEGINS(&t, 10, 1, 1);
	ENDS(&t, 10, 1, 1);
	BEGINS(&t, 20, 1, 2);
	put_clock(&t, 100);
	rows = analyse(&t, NULL, &totals);
	assert_int_equal(rows.nr, 2);
	assert_string_equal(rows.of[0], "req 1 10-10: |");
	assert_string_equal(rows.of[1], "req 2 20-100 open: 20-100 queued |");
	assert_int_equal(totals.orphans, 1);
	assert_int_equal(totals.complete, 1);
	assert_int_equal(totals.incomplete, 1);
	assert_int_equal(totals.begin, 0);
	assert_int_equal(totals.end, 100);
	rows_free(&rows);
	trace_free(&t);
}

/* The duration of thread 2 with an event of id 1 counts for the 64 newest operations of this id. */
static void operations_beyond_one_ids_limit_are_counted(void **state)
{
	const unsigned int nr = ANALYSIS_SAME_ID_MAX + 3;
	struct analysis_totals totals;
	struct trace t = { 0 };
	struct rows rows;

	begin(&t);
	for (unsigned int i = 0; i < nr; i++)
		BEGINS(&t, 10 + i, 1, 1);
	put_duration(&t, 200, 300, 2, "work");
	STEPS(&t, 210, 2, 1);
	STEPS(&t, 220, 2, 1);
	for (unsigned int i = 0; i < nr; i++)
		ENDS(&t, 400 + i, 1, 1);
	put_switch(&t, 600, 1, 2, 0, SLEEPS);
	rows = analyse(&t, NULL, &totals);
	assert_int_equal(rows.nr, nr);
	assert_int_equal(rows_without(&rows, "running t2"), 3);
	assert_int_equal(totals.crowded, 3);
	rows_free(&rows);
	trace_free(&t);
}

static void event_outside_its_operation_is_no_work(void **state)
{
	struct trace t = { 0 };

	begin(&t);
	put_duration(&t, 5, 50, 2, "before");
	STEPS(&t, 8, 2, 1);
	BEGINS(&t, 10, 1, 1);
	ENDS(&t, 40, 1, 1);
	STEPS(&t, 45, 2, 1);
	expect_rows(&t, "req 1 10-40: 10-40 queued t1 | 10-40 queued t1", NULL);
}

/* The outer duration does not enclose the event directly. */
static void innermost_duration_works(void **state)
{
	struct trace t = { 0 };

	begin(&t);
	BEGINS(&t, 5, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 2, "outer", 0);
	put_duration(&t, 20, 30, 2, "inner");
	put_event(&t, ASYNCTRACE_FXT_FLOW_STEP, 25, 2, "", 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 40, 2, "outer", 0);
	ENDS(&t, 50, 1, 1);
	put_switch(&t, 60, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 5-50: 5-20 queued t2, 20-30 running t2, 30-50 queued t1 | "
		    "5-20 queued t2, 20-30 running t2, 30-50 queued t1", NULL);
}

static void begin_end_duration_works_until_its_end(void **state)
{
	struct trace t = { 0 };

	begin(&t);
	BEGINS(&t, 5, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 2, "outer", 0);
	STEPS(&t, 15, 2, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 40, 2, "outer", 0);
	ENDS(&t, 50, 1, 1);
	put_switch(&t, 60, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 5-50: 5-10 queued t2, 10-40 running t2, 40-50 queued t1 | "
		    "5-10 queued t2, 10-40 running t2, 40-50 queued t1", NULL);
}

/* The critical path goes along thread 1 or 2, which both work until the end and later. */
static void later_end_of_work_changes_no_path(void **state)
{
	static const uint64_t ends[] = { 120, 200 };	/* of thread 2's work */

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct trace t = { 0 };

		begin(&t);
		put_duration(&t, 10, 150, 1, "work");
		put_duration(&t, 10, ends[i], 2, "work");
		BEGINS(&t, 20, 1, 1);
		STEPS(&t, 30, 2, 1);
		ENDS(&t, 100, 3, 1);
		expect_rows(&t, "req 1 20-100: 20-100 running t1 | 20-100 running t1", NULL);
	}
}

/*
 * The end has an earlier time than the begin, but follows it in the file after more records than
 * the window holds.
 */
static void late_end_is_an_orphan(void **state)
{
	struct analysis_options opts = { .window = 16 };
	struct analysis_totals totals;
	struct trace t = { 0 };
	struct rows rows;

	put_clock(&t, 0);
	BEGINS(&t, 100, 1, 1);
	for (int i = 0; i < 100; i++)
		STEPS(&t, 101 + i, 1, 1);
	ENDS(&t, 50, 1, 1);
	rows = analyse(&t, &opts, &totals);
	assert_int_equal(totals.late, 1);
	assert_int_equal(totals.orphans, 1);
	assert_int_equal(rows.nr, 1);
	assert_string_equal(rows.of[0], "req 1 100-200 open: 100-200 queued |");
	rows_free(&rows);
	trace_free(&t);
}

static void history_that_is_too_small_says_dropped(void **state)
{
	struct analysis_options opts = { .history = 64, .window = 16 };
	struct trace t = { 0 };
	struct rows rows;

	put_clock(&t, 0);
	put_duration(&t, 5, 2000000, 1, "work");
	put_switch(&t, 6, 0, 0, 1, 0);
	BEGINS(&t, 10, 1, 1);
	for (unsigned int i = 0; i < 20000; i++) {
		put_switch(&t, 20 + 20 * i, 0, 1, 0, SLEEPS);
		put_switch(&t, 30 + 20 * i, 0, 0, 1, 0);
	}
	ENDS(&t, 1000000, 1, 1);
	rows = analyse(&t, &opts, NULL);
	assert_int_equal(rows.nr, 1);
	assert_non_null(strstr(rows.of[0], ": 10-"));
	assert_non_null(strstr(rows.of[0], "unknown/not kept in memory t1"));
	rows_free(&rows);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_id_in_two_names_is_two_operations),
		cmocka_unit_test(end_ends_the_newest_of_its_key),
		cmocka_unit_test(orphans_and_incomplete_ones_are_counted),
		cmocka_unit_test(operations_beyond_one_ids_limit_are_counted),
		cmocka_unit_test(event_outside_its_operation_is_no_work),
		cmocka_unit_test(innermost_duration_works),
		cmocka_unit_test(begin_end_duration_works_until_its_end),
		cmocka_unit_test(later_end_of_work_changes_no_path),
		cmocka_unit_test(late_end_is_an_orphan),
		cmocka_unit_test(history_that_is_too_small_says_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
