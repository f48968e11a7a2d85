// SPDX-License-Identifier: GPL-2.0
/*
 * Traces that are large in one respect
 *
 * Each takes seconds. If time grew with the square of the length it would take minutes, and the
 * runner would end the test.
 */
#include "analysis/engine.h"
#include "build.h"
#include "report/parties.h"

#define MANY	30000

static int count(void *arg, const struct analysis_operation *op)
{
	check_row(op);
	++*(uint64_t *)arg;
	return 0;
}

/* Analyses @t and frees it: there must be @want operations. */
static void expect_operations(struct trace *t, uint64_t want)
{
	uint64_t nr = 0;
	struct analysis_sink sink = { .operation = count, .arg = &nr };
	struct analysis *a = analyse_into(t, NULL, &sink);

	assert_int_equal(nr, want);
	analysis_free(a);
	trace_free(t);
}

/* One operation stays open during the whole trace. */
static void worker_serves_many_without_scheduling(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 1, 1, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		BEGINS(&t, 100 * i + 10, 1, 2 + i);
		put_duration(&t, 100 * i + 50, 100 * i + 90, 2, "work");
		ENDS(&t, 100 * i + 80, 2, 2 + i);
	}
	expect_operations(&t, MANY + 1);
}

static void worker_serves_many_with_scheduling(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 1, 1, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		put_switch(&t, 100 * i + 5, 0, 2, 3, SLEEPS);
		BEGINS(&t, 100 * i + 10, 1, 2 + i);
		put_wakeup(&t, 100 * i + 40, 0, 2, 2);
		put_switch(&t, 100 * i + 45, 0, 3, 2, SLEEPS);
		put_duration(&t, 100 * i + 4, 100 * i + 90, 2, "work");
		ENDS(&t, 100 * i + 80, 2, 2 + i);
	}
	expect_operations(&t, MANY + 1);
}

static void one_duration_serves_many(void **state)
{
	struct trace t = { 0 };

	put_switch(&t, 1, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 1, "loop", 0);
	for (uint64_t i = 0; i < MANY; i++) {
		BEGINS(&t, 100 * i + 10, 1, 1 + i);
		put_switch(&t, 100 * i + 20, 0, 1, 0, SLEEPS);
		put_wakeup(&t, 100 * i + 30, 0, 1, 1);
		put_switch(&t, 100 * i + 40, 0, 0, 1, SLEEPS);
		ENDS(&t, 100 * i + 80, 1, 1 + i);
	}
	expect_operations(&t, MANY);
}

static void one_duration_serves_many_at_once(void **state)
{
	struct trace t = { 0 };

	put_switch(&t, 1, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 1, "loop", 0);
	for (uint64_t i = 0; i < MANY; i++)
		BEGINS(&t, 10 + i, 1, 1 + i);
	expect_operations(&t, MANY);
}

static void one_operation_has_many_durations(void **state)
{
	struct trace t = { 0 };

	put_switch(&t, 1, 0, 0, 1, 0);
	BEGINS(&t, 2, 1, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		put_duration(&t, 100 * i + 50, 100 * i + 90, 1 + i % 2, "work");
		STEPS(&t, 100 * i + 80, 1 + i % 2, 1);
	}
	ENDS(&t, 100 * MANY, 1, 1);
	expect_operations(&t, 1);
}

static void many_operations_have_one_id(void **state)
{
	struct trace t = { 0 };

	put_switch(&t, 1, 0, 0, 1, 0);
	for (uint64_t i = 0; i < 100; i++)
		BEGINS(&t, 2 + i, 1, 1);
	for (uint64_t i = 2; i < MANY / 10; i++) {
		put_duration(&t, 100 * i + 50, 100 * i + 90, 1, "work");
		STEPS(&t, 100 * i + 80, 1, 1);
	}
	for (uint64_t i = 0; i < 100; i++)
		ENDS(&t, 1000 * MANY + i, 1, 1);
	expect_operations(&t, 100);
}

static void one_operation_has_many_threads(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 2, 1, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		put_duration(&t, 10 + i, 100000, 10 + i, "work");
		STEPS(&t, 10 + i, 10 + i, 1);
	}
	ENDS(&t, 100000, 1, 1);
	/* The only switch of each thread comes after the end of the operation. */
	for (uint64_t i = 0; i < MANY; i++)
		put_switch(&t, 200000 + i, 0, 10 + i, 0, SLEEPS);
	expect_operations(&t, 1);
}

static void many_threads_and_many_losses(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	for (uint64_t i = 0; i < MANY / 3; i++)
		put_switch(&t, 1 + i, 0, 10 + i, 11 + i, SLEEPS);
	for (uint64_t i = 0; i < MANY / 10; i++)
		put_kernel_loss(&t, 1000000 + 10 * i, 1000000 + 10 * i + 5, 1);
	expect_operations(&t, 0);
}

static void many_open_operations_and_many_losses(void **state)
{
	struct trace t = { 0 };

	for (uint64_t i = 0; i < MANY / 10; i++)
		BEGINS(&t, 1 + i, 1, 1 + i);
	for (uint64_t i = 0; i < MANY / 10; i++)
		put_provider_loss(&t, 100000 + 10 * i, 100000 + 10 * i + 5, "server");
	expect_operations(&t, MANY / 10);
}

static void wakers_in_a_circle(void **state)
{
	struct trace t = { 0 };

	put_duration(&t, 1, 1000 * MANY, 1, "work");
	BEGINS(&t, 2, 1, 1);
	for (uint64_t i = 1; i < MANY; i++) {
		put_switch(&t, 10 * i, 0, 1 + i % 40, 1 + (i + 1) % 40, SLEEPS);
		put_wakeup(&t, 10 * i + 5, 0, 1 + i % 40, 1 + (i + 7) % 40);
	}
	ENDS(&t, 100 * MANY, 1, 1);
	expect_operations(&t, 1);
}

/* Each switch out begins a new part, because the innermost duration changes. */
static void thread_leaves_its_cpu_again_and_again(void **state)
{
	struct trace t = { 0 };

	put_duration(&t, 1, 1000 * MANY, 1, "work");
	BEGINS(&t, 2, 1, 1);
	for (uint64_t i = 1; i < 2 * MANY; i++) {
		if (i % 2)
			put_duration(&t, 10 * i, 10 * i + 5, 1, "part");
		put_switch(&t, 10 * i + 5, 0, 1, 0, PREEMPTED);
	}
	put_switch(&t, 30 * MANY, 0, 0, 1, SLEEPS);
	ENDS(&t, 100 * MANY, 1, 1);
	expect_operations(&t, 1);
}

static void many_steps_of_many_operations_in_one_duration(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 1, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 2, 1, "loop", 0);
	STEPS(&t, 3, 1, 1);
	for (uint64_t i = 0; i < MANY; i++)
		BEGINS(&t, 4 + i, 1, 2 + i);
	for (uint64_t i = 0; i < MANY; i++) {
		put_duration(&t, 2 * MANY + 2 * i, 2 * MANY + 2 * i, 2, "help");
		STEPS(&t, 2 * MANY + 2 * i, 2, 1);
	}
	for (uint64_t i = 0; i < 3 * MANY; i++)
		STEPS(&t, 5 * MANY + i, 1, 1);
	expect_operations(&t, MANY + 1);
}

static void every_cpu_has_switches(void **state)
{
	struct trace t = { 0 };

	for (unsigned int i = 0; i < 65536; i++)
		put_switch(&t, 10 + i, i, 0, 1 + i % 100, 0);
	put_kernel_loss(&t, 100000, 100001, 3);
	expect_operations(&t, 0);
}

static void durations_are_deeper_than_the_stack(void **state)
{
	struct trace t = { 0 };

	for (uint64_t i = 0; i < MANY; i++) {
		put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 1 + 2 * i, 1, "deep", 0);
		BEGINS(&t, 2 + 2 * i, 1, 1 + i);
	}
	for (uint64_t i = 0; i < MANY; i++)
		put_event(&t, ASYNCTRACE_FXT_DURATION_END, 100000 + i, 1, "deep", 0);
	expect_operations(&t, MANY);
}

/* An operation that never ends must not keep more entries (struct work) than .history allows. */
static void long_operation_stays_within_history(void **state)
{
	struct analysis_options opts = { .history = 1000, .window = 16 };
	struct analysis_sink sink = { .operation = count };
	uint64_t nr = 0;
	struct trace t = { 0 };
	struct analysis *a;

	sink.arg = &nr;
	a = analysis_new(&opts, &sink);
	assert_non_null(a);
	BEGINS(&t, 1, 1, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		put_duration(&t, 100 * i + 50, 100 * i + 90, 2, "work");
		STEPS(&t, 100 * i + 60, 2, 1);
	}
	for (size_t i = 0; i < t.nr; i++) {
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
		if (a->oldest)
			assert_true(a->oldest->works.nr <= 1000 + 4096 + 1000 / 4);
	}
	assert_int_equal(analysis_finish(a), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(analysis_totals(a)->cut, 1);
	analysis_free(a);
	trace_free(&t);
}

/* Each record is older than the previous one, so no two records form a sorted run. */
static void records_come_in_reverse_order(void **state)
{
	struct trace t = { 0 };

	for (uint64_t i = 0; i < MANY; i++) {
		BEGINS(&t, 100 * i + 10, 1, 1 + i);
		ENDS(&t, 100 * i + 80, 1, 1 + i);
	}
	for (size_t i = 0; i < t.nr / 2; i++) {
		struct fxt_record swap = t.of[i];

		t.of[i] = t.of[t.nr - 1 - i];
		t.of[t.nr - 1 - i] = swap;
	}
	expect_operations(&t, MANY);
}

static bool is_last(void *arg, const struct analysis_operation *op)
{
	return op->id.id == MANY;
}

static int count_chosen(void *arg, const struct analysis_operation *op)
{
	if (is_last(NULL, op)) {
		assert_true(op->nr_intervals > MANY);
		return count(arg, op);
	}
	assert_int_equal(op->nr_intervals + op->nr_path, 0);
	assert_int_equal(op->ns[ANALYSIS_QUEUED] + op->ns[ANALYSIS_UNKNOWN], op->end - op->begin);
	++*(uint64_t *)arg;
	return 0;
}

/* While an operation waits, the worker takes up all others before it. */
static void many_wait_and_one_is_explained(void **state)
{
	uint64_t nr = 0;
	struct analysis_sink sink = { .operation = count_chosen, .whole = is_last, .arg = &nr };
	struct trace t = { 0 };

	for (uint64_t i = 1; i <= MANY; i++)
		BEGINS(&t, 10 + i, 1, i);
	for (uint64_t i = 1; i <= MANY; i++) {
		put_duration(&t, 100 * (MANY + i), 100 * (MANY + i) + 90, 2, "work");
		ENDS(&t, 100 * (MANY + i) + 80, 2, i);
	}
	analysis_free(analyse_into(&t, NULL, &sink));
	assert_int_equal(nr, MANY);
	trace_free(&t);
}

static void time_has_many_parties(void **state)
{
	const size_t nr = 10 * MANY;
	struct analysis_thread *threads = calloc(nr, sizeof(*threads));
	struct analysis_interval *rows = calloc(2 * nr, sizeof(*rows));
	struct analysis_operation op = { .intervals = rows, .nr_intervals = 2 * nr };
	struct parties parties = { 0 };

	assert_non_null(threads);
	assert_non_null(rows);
	for (size_t i = 0; i < 2 * nr; i++)
		rows[i] = (struct analysis_interval){
			.from = i, .to = i + 1, .state = ANALYSIS_RUNNING, .duration = "",
			.thread = &threads[i % nr],
		};
	assert_int_equal(parties_of(&op, ANALYSIS_RUNNING, &parties), 0);
	assert_int_equal(parties.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(parties.of[i].ns, 2);
	parties_free(&parties);
	free(threads);
	free(rows);
}

/* Two processes get one thread id in turns. The names stand before all events, or among them. */
static void many_threads_have_one_id(void **state)
{
	const struct analysis_options opts = { 0 };

	for (int by_turns = 0; by_turns < 2; by_turns++) {
		uint64_t nr = 0;
		struct analysis_sink sink = { .operation = count, .arg = &nr };
		struct analysis *a = analysis_new(&opts, &sink);

		for (uint32_t i = 0; i < 72 * MANY; i++) {
			struct trace t = { 0 };

			if (by_turns ? i % 2 == 0 : i < 36 * MANY) {
				put_thread(&t, 7, 100 + i / (1 + by_turns) % 2, "name");
			} else {
				BEGINS(&t, 10 * i, 7, 1);
				ENDS(&t, 10 * i + 5, 7, 1);
				t.of[0].thread.pid = by_turns ? 100 + i / 2 % 2 : 0;
			}
			feed(a, &t);
			trace_free(&t);
		}
		assert_int_equal(analysis_finish(a), 0);
		assert_int_equal(nr, 36 * MANY);
		analysis_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_operation_stays_within_history),
		cmocka_unit_test(worker_serves_many_without_scheduling),
		cmocka_unit_test(worker_serves_many_with_scheduling),
		cmocka_unit_test(one_duration_serves_many),
		cmocka_unit_test(one_duration_serves_many_at_once),
		cmocka_unit_test(one_operation_has_many_durations),
		cmocka_unit_test(many_operations_have_one_id),
		cmocka_unit_test(one_operation_has_many_threads),
		cmocka_unit_test(many_threads_and_many_losses),
		cmocka_unit_test(many_open_operations_and_many_losses),
		cmocka_unit_test(wakers_in_a_circle),
		cmocka_unit_test(thread_leaves_its_cpu_again_and_again),
		cmocka_unit_test(many_steps_of_many_operations_in_one_duration),
		cmocka_unit_test(every_cpu_has_switches),
		cmocka_unit_test(durations_are_deeper_than_the_stack),
		cmocka_unit_test(records_come_in_reverse_order),
		cmocka_unit_test(many_wait_and_one_is_explained),
		cmocka_unit_test(time_has_many_parties),
		cmocka_unit_test(many_threads_have_one_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
