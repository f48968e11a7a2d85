// SPDX-License-Identifier: GPL-2.0
/* Threads: names, numbers, and how many there are */
#include "build.h"

/* At some numbers of threads the next look-up enlarges the table of threads. */
static void finish_with_any_number_of_threads(void **state)
{
	for (uint32_t nr = 1; nr < 200; nr++) {
		struct trace t = { 0 };
		struct rows rows;

		put_clock(&t, 0);
		put_switch(&t, 1, 0, 0, 1, 0);
		put_duration(&t, 5, 25, 1, "work");
		put_duration(&t, 10, 20, 3, "work");
		BEGINS(&t, 11, 3, 1);
		STEPS(&t, 12, 1, 1);
		put_switch(&t, 13, 0, 1, 2, SLEEPS);
		put_wakeup(&t, 15, 0, 1, 2);
		ENDS(&t, 19, 3, 1);
		for (uint32_t i = 0; i < nr; i++)
			put_switch(&t, 30 + i, 1, i ? 100 + i : 0, 101 + i, SLEEPS);
		rows = analyse(&t, NULL, NULL);
		assert_int_equal(rows.nr, 1);
		rows_free(&rows);
		trace_free(&t);
	}
}

static int keep_thread(void *arg, const struct analysis_operation *op)
{
	*(struct analysis_thread *)arg = *op->threads[0];
	return 0;
}

static void last_name_of_a_reused_id_counts(void **state)
{
	struct analysis_thread thread;
	struct analysis_sink sink = { .operation = keep_thread, .arg = &thread };
	struct trace t = { 0 };
	struct analysis *a;

	put_thread(&t, 1, 50, "first");
	put_duration(&t, 10, 20, 1, "work");
	BEGINS(&t, 11, 1, 1);
	ENDS(&t, 19, 1, 1);
	put_thread(&t, 1, 100, "second");
	a = analyse_into(&t, NULL, &sink);
	assert_string_equal(thread.name, "second");
	assert_int_equal(thread.pid, 100);
	assert_int_equal(thread.tid, 1);
	analysis_free(a);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finish_with_any_number_of_threads),
		cmocka_unit_test(last_name_of_a_reused_id_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
