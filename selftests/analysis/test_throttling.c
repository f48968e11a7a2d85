// SPDX-License-Identifier: GPL-2.0
/* Runnable time in which the CPU quota of a cgroup may have kept a thread from running */
#include "report/explain.h"
#include "tailed.h"

#define US	1000

/*
 * Thread 1 of process 100 works on operation 1 from 10 to 100 us. It is runnable from 40 to 70 us,
 * while the CPU is idle.
 */
static void put_wait(struct trace *t)
{
	put_clock(t, 0);
	put_thread(t, 1, 100, "server");
	put_switch(t, 5 * US, 0, 0, 1, PREEMPTED);
	put_duration(t, 10 * US, 100 * US, 1, "work");
	BEGINS(t, 10 * US, 1, 1);
	put_switch(t, 40 * US, 0, 1, 0, PREEMPTED);
	put_switch(t, 70 * US, 0, 0, 1, PREEMPTED);
	ENDS(t, 100 * US, 1, 1);
	put_switch(t, 110 * US, 0, 1, 0, SLEEPS);
}

#define WAIT_ROW(quota) \
	"req 1 10000-100000: 10000-40000 running t1, " \
	"40000-70000 runnable/preempted t1 in work by idle" quota ", " \
	"70000-100000 running t1 | 10000-40000 running t1, " \
	"40000-70000 runnable/preempted t1 in work by idle" quota ", " \
	"70000-100000 running t1"

static void runnable_time_names_the_quota(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a/b", 45, 25, 1);
	expect_rows(&t, WAIT_ROW(" quota /a/b 25000"), NULL);
}

static void bound_is_at_most_the_overlap(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a", 15, 25, 1);
	expect_rows(&t, WAIT_ROW(" quota /a 5000"), NULL);
}

static void time_not_counted_yet_is_bounded_by_overlap(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 20 * US, 100, "/a", 40, 0, 1);
	put_throttling(&t, 60 * US, 100, "/a", 10, 5, 0);
	expect_rows(&t, WAIT_ROW(" quota /a 30000"), NULL);
}

static void overlapping_intervals_count_once(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a", 30, 15, 1);
	put_throttling(&t, 50 * US, 100, "/a", 30, 40, 1);
	expect_rows(&t, WAIT_ROW(" quota /a 30000"), NULL);
}

static void quota_with_the_longest_bound_is_named(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a", 45, 3, 1);
	put_throttling(&t, 30 * US, 100, "/a/b", 45, 7, 1);
	put_throttling(&t, 30 * US, 100, "/a/b/c", 45, 5, 1);
	expect_rows(&t, WAIT_ROW(" quota /a/b 7000"), NULL);
}

static void earlier_throttling_does_not_count(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 10 * US, 100, "/a", 30, 25, 1);
	put_throttling(&t, 35 * US, 100, "/a", 45, 3, 1);
	expect_rows(&t, WAIT_ROW(" quota /a 3000"), NULL);
}

static void other_times_name_no_quota(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 10 * US, 100, "/a", 30, 25, 1);
	put_throttling(&t, 70 * US, 100, "/a", 30, 25, 1);
	/* The throttling has ended. */
	put_throttling(&t, 30 * US, 100, "/a", 45, 0, 0);
	expect_rows(&t, WAIT_ROW(""), NULL);
}

static void other_process_is_not_concerned(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 200, "/a", 45, 25, 1);
	expect_rows(&t, WAIT_ROW(""), NULL);
}

/* A program may write a counter with the quota's name, but only in its own section of the file. */
static void counter_of_a_program_is_no_quota(void **state)
{
	struct trace t = { 0 };

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a", 45, 25, 1);
	t.of[t.nr - 1].provider = 2;
	expect_rows(&t, WAIT_ROW(""), NULL);
}

static void blocked_time_names_no_quota(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_thread(&t, 1, 100, "server");
	put_switch(&t, 5 * US, 0, 0, 1, PREEMPTED);
	put_duration(&t, 10 * US, 100 * US, 1, "work");
	BEGINS(&t, 10 * US, 1, 1);
	put_switch(&t, 40 * US, 0, 1, 0, SLEEPS);
	put_throttling(&t, 30 * US, 100, "/a", 45, 25, 1);
	put_wakeup(&t, 60 * US, 0, 1, 0);
	put_switch(&t, 70 * US, 0, 0, 1, PREEMPTED);
	ENDS(&t, 100 * US, 1, 1);
	expect_rows(&t, "req 1 10000-100000: 10000-40000 running t1, "
		    "40000-60000 blocked/sleep t1 in work by interrupt, "
		    "60000-70000 runnable/woken t1 by idle quota /a 10000, "
		    "70000-100000 running t1 | 10000-40000 running t1, "
		    "40000-60000 blocked/sleep t1 in work by interrupt, "
		    "60000-70000 runnable/woken t1 by idle quota /a 10000, "
		    "70000-100000 running t1", NULL);
}

/* The first reading ignores a record that comes too late. The second reading has it in order. */
static void late_record_counts_in_second_reading(void **state)
{
	const struct analysis_options opts = { .window = 4 };
	struct rows rows = { 0 };
	const struct analysis_sink sink = { .operation = rows_add, .arg = &rows };
	struct trace t = { 0 };
	struct analysis *a;

	put_wait(&t);
	for (unsigned int i = 0; i < 20; i++)
		put_switch(&t, (111 + i) * US, 1, 0, 2, PREEMPTED);
	put_throttling(&t, 30 * US, 100, "/a", 45, 25, 1);
	a = analysis_new(&opts, &sink);
	assert_non_null(a);
	feed(a, &t);
	assert_int_equal(analysis_finish(a), 0);
	assert_int_equal(analysis_totals(a)->late, 1);
	rows_free(&rows);
	a = analysis_again(a);
	assert_non_null(a);
	feed(a, &t);
	assert_int_equal(analysis_finish(a), 0);
	assert_int_equal(rows.nr, 1);
	assert_string_equal(rows.of[0], WAIT_ROW(" quota /a 25000"));
	rows_free(&rows);
	analysis_free(a);
	trace_free(&t);
}

/* A pipe is read once, so late records come out of order. */
static void intervals_out_of_order_are_sorted(void **state)
{
	const struct analysis_options opts = { .window = 4 };
	struct rows rows = { 0 };
	const struct analysis_sink sink = { .operation = rows_add, .arg = &rows };
	struct trace t = { 0 };
	struct analysis *a;

	put_clock(&t, 0);
	put_thread(&t, 1, 100, "server");
	put_switch(&t, 5 * US, 0, 0, 1, PREEMPTED);
	put_duration(&t, 10 * US, 300 * US, 1, "work");
	BEGINS(&t, 10 * US, 1, 1);
	put_switch(&t, 40 * US, 0, 1, 0, PREEMPTED);
	put_throttling(&t, 60 * US, 100, "/a", 6, 6, 1);
	put_switch(&t, 70 * US, 0, 0, 1, PREEMPTED);
	for (unsigned int i = 0; i < 20; i++)
		put_switch(&t, (111 + i) * US, 1, 0, 2, PREEMPTED);
	put_throttling(&t, 35 * US, 100, "/a", 10, 0, 1);
	ENDS(&t, 200 * US, 1, 1);
	a = analyse_into(&t, &opts, &sink);
	assert_int_equal(analysis_totals(a)->late, 1);
	assert_int_equal(rows.nr, 1);
	assert_non_null(strstr(rows.of[0], "40000-70000 runnable/preempted t1 in work by idle quota /a 11000"));
	rows_free(&rows);
	analysis_free(a);
	trace_free(&t);
}

/* --- threads and totals ------------------------------------------------------------ */

static int keep_row(void *arg, const struct analysis_thread_row *row)
{
	if (row->thread->tid == 1)
		*(struct analysis_thread_row *)arg = *row;
	return 0;
}

static void throttled_time_of_a_thread_stays_runnable(void **state)
{
	struct analysis_thread_row row = { 0 };
	const struct analysis_sink sink = { .thread = keep_row, .arg = &row };
	struct trace t = { 0 };
	struct analysis *a;

	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a", 45, 25, 1);
	put_throttling(&t, 30 * US, 200, "/a", 45, 25, 1);
	put_throttling(&t, 30 * US, 200, "/b", 45, 25, 1);
	a = analyse_into(&t, NULL, &sink);
	assert_int_equal(row.throttled_ns, 25 * US);
	/* The row does not include the time before the thread's first record. */
	assert_int_equal(row.ns[ANALYSIS_RUNNABLE], 30 * US);
	assert_int_equal(analysis_totals(a)->throttled, 2);
	analysis_free(a);
	trace_free(&t);
}

/* --- text -------------------------------------------------------------------------- */

static int explain(void *arg, const struct analysis_operation *op)
{
	explain_sentence(arg, op);
	explain_account(arg, op);
	explain_path(arg, op);
	explain_json(arg, op, true, NULL);
	return 0;
}

static void sentence_names_the_quota(void **state)
{
	static const char quota[] = "; up to 25.0 us because of the CPU quota of cgroup /a/b";
	struct trace t = { 0 };
	char *text, *at;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct analysis_sink sink = { .operation = explain, .arg = f };

	assert_non_null(f);
	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a/b", 45, 25, 1);
	analysis_free(analyse_into(&t, NULL, &sink));
	fclose(f);
	assert_non_null(strstr(text, "30.0 runnable (until the idle CPU took server/1; up to 25.0 us "
			       "because of the CPU quota of cgroup /a/b)"));
	/* The text has the quota three times: in the sentence, the account and the path. */
	at = text;
	for (int i = 0; i < 3; i++) {
		at = strstr(at, quota);
		assert_non_null(at);
		at++;
	}
	assert_null(strstr(at, quota));
	/*
	 * The JSON has the quota three times: in the list of parties that the operation waited for,
	 * in the interval, and in the path.
	 */
	at = text;
	for (int i = 0; i < 3; i++) {
		at = strstr(at, "\"throttled_cgroup\":\"/a/b\",\"throttled_ns\":25000");
		assert_non_null(at);
		at++;
	}
	free(text);
	trace_free(&t);
}

/* --- record --slower-than ------------------------------------------------------------ */

static void slow_operation_keeps_its_quota(void **state)
{
	const struct tailed_options o = { .slower_than = 10, .window = 1 << 20 };
	uint64_t compared = 0;
	struct trace t = { 0 };

	put_thread(&t, PSEUDO, 0x70000000, "clock");
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 1, PSEUDO, "session start", 0);
	put_wait(&t);
	put_throttling(&t, 30 * US, 100, "/a/b", 45, 25, 1);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 120 * US, PSEUDO, "trace end", 0);
	tailed_check(&t, &o, &compared);
	assert_int_equal(compared, 1);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runnable_time_names_the_quota),
		cmocka_unit_test(bound_is_at_most_the_overlap),
		cmocka_unit_test(time_not_counted_yet_is_bounded_by_overlap),
		cmocka_unit_test(overlapping_intervals_count_once),
		cmocka_unit_test(quota_with_the_longest_bound_is_named),
		cmocka_unit_test(earlier_throttling_does_not_count),
		cmocka_unit_test(other_times_name_no_quota),
		cmocka_unit_test(other_process_is_not_concerned),
		cmocka_unit_test(counter_of_a_program_is_no_quota),
		cmocka_unit_test(blocked_time_names_no_quota),
		cmocka_unit_test(late_record_counts_in_second_reading),
		cmocka_unit_test(intervals_out_of_order_are_sorted),
		cmocka_unit_test(throttled_time_of_a_thread_stays_runnable),
		cmocka_unit_test(sentence_names_the_quota),
		cmocka_unit_test(slow_operation_keeps_its_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
