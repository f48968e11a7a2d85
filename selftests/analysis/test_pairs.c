// SPDX-License-Identifier: GPL-2.0
/* Operations that are pairs of events with an argument of the same value */
#include "build.h"

static struct fxt_record *put_instant(struct trace *t, uint64_t ns, const char *name)
{
	put_event(t, ASYNCTRACE_FXT_INSTANT, ns, 1, name, 0);
	return &t->of[t->nr - 1];
}

static void put_number(struct trace *t, uint64_t ns, const char *name, uint64_t value)
{
	add_number(put_instant(t, ns, name), "job", ASYNCTRACE_FXT_ARG_UINT64, value);
}

/*
 * Analyses @t with the pair and frees it. The rows without their intervals must be @want. Rows of
 * operations that wait for the states of threads come in reverse order.
 */
static struct analysis_totals expect(struct trace *t, const struct analysis_pair *pair,
				     const char *want)
{
	struct analysis_options opts = { .pair = pair };
	struct analysis_totals totals;
	struct rows rows = analyse(t, &opts, &totals);
	char text[1024] = "";

	for (size_t i = 0; i < rows.nr; i++) {
		*strstr(rows.of[i], ": ") = 0;
		strcat(strcat(text, i ? ", " : ""), rows.of[i]);
	}
	assert_string_equal(text, want);
	rows_free(&rows);
	trace_free(t);
	return totals;
}

static const struct analysis_pair take_give = {
	.name = "take:give", .start = "take", .done = "give", .key = "job",
};

static void key_joins_across_interleaving(void **state)
{
	struct trace t = { 0 };

	put_number(&t, 10, "take", 5);
	put_number(&t, 20, "take", 6);
	put_number(&t, 30, "give", 5);
	put_number(&t, 40, "give", 6);
	expect(&t, &take_give, "take:give 5 10-30, take:give 6 20-40");
}

static void done_without_start_is_an_orphan(void **state)
{
	struct analysis_totals totals;
	struct trace t = { 0 };

	put_number(&t, 10, "give", 5);
	put_number(&t, 20, "take", 5);
	put_number(&t, 30, "give", 5);
	put_number(&t, 40, "give", 5);
	totals = expect(&t, &take_give, "take:give 5 20-30");
	assert_int_equal(totals.orphans, 2);
}

static void second_start_begins_anew(void **state)
{
	struct analysis_totals totals;
	struct trace t = { 0 };

	put_number(&t, 10, "take", 5);
	put_number(&t, 20, "take", 5);
	put_number(&t, 30, "give", 5);
	put_number(&t, 40, "give", 5);
	totals = expect(&t, &take_give, "take:give 5 20-30, take:give 5 10-40 open");
	assert_int_equal(totals.orphans, 1);
}

static void numbers_of_all_types_are_equal(void **state)
{
	struct trace t = { 0 };

	add_number(put_instant(&t, 10, "take"), "job", ASYNCTRACE_FXT_ARG_INT32, 7);
	put_number(&t, 20, "give", 7);
	add_number(put_instant(&t, 30, "take"), "job", ASYNCTRACE_FXT_ARG_POINTER, 9);
	add_number(put_instant(&t, 40, "give"), "job", ASYNCTRACE_FXT_ARG_KOID, 9);
	expect(&t, &take_give, "take:give 7 10-20, take:give 9 30-40");
}

static void text_is_no_number(void **state)
{
	struct analysis_totals totals;
	struct trace t = { 0 };

	put_number(&t, 10, "take", 7);
	add_text(put_instant(&t, 20, "give"), "job", "7");
	put_clock(&t, 50);
	totals = expect(&t, &take_give, "take:give 7 10-50 open");
	assert_int_equal(totals.orphans, 1);
}

static void event_without_key_is_counted(void **state)
{
	struct analysis_totals totals;
	struct trace t = { 0 };

	put_instant(&t, 10, "take");
	add_bool(put_instant(&t, 20, "give"), "job");
	put_instant(&t, 30, "other");
	totals = expect(&t, &take_give, "");
	assert_int_equal(totals.unkeyed, 2);
	assert_int_equal(totals.orphans, 0);
}

static void duration_starts_and_is_done(void **state)
{
	static const struct analysis_pair pair = {
		.name = "p", .start = "cat/read", .done = "cat/write", .key = "job",
	};
	struct trace t = { 0 };

	put_duration(&t, 10, 20, 1, "read");
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 1);
	put_duration(&t, 30, 45, 2, "write");
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 50, 1, "read", 0);
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 2);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 60, 1, "read", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 70, 2, "write", 0);
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 2);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 80, 2, "write", 0);
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 2);
	expect(&t, &pair, "p 2 50-80, p 1 10-45");
}

static int keep_queued(void *arg, const struct analysis_operation *op)
{
	*(uint64_t *)arg += op->ns[ANALYSIS_QUEUED];
	return 0;
}

/* The durations themselves are the work: from 10 to 20 and from 30 to 45. */
static void duration_of_the_pair_is_work(void **state)
{
	static const struct analysis_pair pair = {
		.name = "p", .start = "read", .done = "write", .key = "job",
	};
	uint64_t queued = 0;
	struct analysis_options opts = { .pair = &pair };
	struct analysis_sink sink = { .operation = keep_queued, .arg = &queued };
	struct trace t = { 0 };
	struct analysis *a;

	put_duration(&t, 10, 20, 1, "read");
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 1);
	put_duration(&t, 30, 45, 2, "write");
	add_number(&t.of[t.nr - 1], "job", ASYNCTRACE_FXT_ARG_UINT64, 1);
	a = analyse_into(&t, &opts, &sink);
	assert_int_equal(queued, 10);
	analysis_free(a);
	trace_free(&t);
}

static void async_events_do_not_count_with_a_pair(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 5, 1, 5);
	put_number(&t, 10, "take", 5);
	ENDS(&t, 15, 1, 5);
	put_number(&t, 30, "give", 5);
	expect(&t, &take_give, "take:give 5 10-30");
}

static int count_row(void *arg, const struct analysis_operation *op)
{
	*(uint64_t *)arg += op->complete;
	return 0;
}

/* The limit of open operations leaves out an operation that another one of its key has replaced. */
static void replaced_operation_can_be_left_out(void **state)
{
	struct analysis_options opts = { .pair = &take_give, .open = 1 };
	uint64_t complete = 0;
	struct analysis_sink sink = { .operation = count_row, .arg = &complete };
	struct analysis *a = analysis_new(&opts, &sink);
	struct trace t = { 0 };

	assert_non_null(a);
	put_number(&t, 10, "take", 5);
	put_number(&t, 20, "take", 5);
	put_number(&t, 30, "give", 5);
	for (size_t i = 0; i < t.nr; i++) {
		if (i == 2) {
			assert_int_equal(analysis_settle(a, 25), 0);
			assert_int_equal(analysis_horizon(a, 10), 0);
		}
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
	}
	assert_int_equal(analysis_finish(a), 0);
	assert_int_equal(complete, 1);
	assert_int_equal(analysis_totals(a)->orphans, 0);
	analysis_free(a);
	trace_free(&t);
}

/* ASan finds a read behind the pair's text. */
static void category_with_a_nul_is_no_start(void **state)
{
	static const char category[] = "take\0take with a text that is longer than the pair's";
	struct trace t = { 0 };

	put_number(&t, 10, "other", 5);
	t.of[0].category = (struct fxt_text){ .s = category, .len = sizeof(category) - 1 };
	put_number(&t, 20, "give", 5);
	expect(&t, &take_give, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_joins_across_interleaving),
		cmocka_unit_test(done_without_start_is_an_orphan),
		cmocka_unit_test(second_start_begins_anew),
		cmocka_unit_test(numbers_of_all_types_are_equal),
		cmocka_unit_test(text_is_no_number),
		cmocka_unit_test(event_without_key_is_counted),
		cmocka_unit_test(duration_starts_and_is_done),
		cmocka_unit_test(duration_of_the_pair_is_work),
		cmocka_unit_test(async_events_do_not_count_with_a_pair),
		cmocka_unit_test(replaced_operation_can_be_left_out),
		cmocka_unit_test(category_with_a_nul_is_no_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
