// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that work_at(), which skips works that have ended, answers as if it looked at each of them
 */
#include <time.h>

#include "analysis/engine.h"
#include "../fxt/random.h"
#include "build.h"

#define OPERATIONS	6

static struct work *slow_work_at(const struct thread *t, uint64_t ns)
{
	struct work *found = NULL;

	for (size_t i = t->works.nr; i > t->works.first; i--) {
		struct work *w = t->works.of[i - 1];

		if (w->from >= ns || work_end(w) < ns)
			continue;
		if (w->entered || !t->changed)
			return w;
		found = found ? found : w;
	}
	return found;
}

static void check_some_time(struct thread *t, uint64_t now)
{
	const uint64_t ns = 1 + (rnd_chance(50) ? now : rnd_below(now));

	assert_ptr_equal(work_at(t, ns), slow_work_at(t, ns));
}

static int ignore(void *arg, const struct analysis_operation *op)
{
	return 0;
}

/* Puts one record of thread 1 at @ns, mostly an event of an operation in a duration. */
static void random_record(struct trace *t, uint64_t ns)
{
	uint64_t id = 1 + rnd_below(OPERATIONS);

	switch (rnd_below(9)) {
	case 0:
		BEGINS(t, ns, 2, id);
		break;
	case 1:
		ENDS(t, ns, 2, id);
		break;
	case 2:
		put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, ns, 1, "open", 0);
		break;
	case 3:
		put_event(t, ASYNCTRACE_FXT_DURATION_END, ns, 1, "open", 0);
		break;
	case 4:
		put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, ns, 1, "scope", 0);
		add_number(&t->of[0], "operation", ASYNCTRACE_FXT_ARG_UINT64, id);
		break;
	case 5:
	case 6:
		put_duration(t, ns, ns + rnd_below(60), 1, "work");
		break;
	default:
		STEPS(t, ns, 1, id);
	}
}

/* @scopes: the thread enters operations, too. */
static void one_round(bool scopes)
{
	struct analysis_options opts = { 0 };
	struct analysis_sink sink = { 0 };
	struct analysis *a = analysis_new(&opts, &sink);
	struct thread *thread;

	assert_non_null(a);
	thread = thread_of(a, 1);
	assert_non_null(thread);
	for (uint64_t ns = 1; ns < 600; ns += 1 + rnd_below(6)) {
		struct trace t = { 0 };

		do {
			trace_free(&t);
			/* Some records come too late to be sorted. */
			random_record(&t, rnd_chance(5) ? 1 + rnd_below(ns) : ns);
		} while (!scopes && t.of[0].nargs);
		assert_int_equal(analysis_record(a, &t.of[0]), 0);
		trace_free(&t);
		assert_int_equal(analysis_settle(a, ns + 1), 0);
		if (rnd_chance(5))
			scheduling_forget(a, rnd_below(ns) + 1);
		if (rnd_chance(5))
			assert_int_equal(analysis_peek(a, NULL, ns, ignore, NULL), 0);
		if (rnd_chance(50))
			check_some_time(thread, ns);
	}
	analysis_free(a);
}

static void skipped_works_change_no_answer(void **state)
{
	const char *text = getenv("ANALYSIS_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	printf("ANALYSIS_SEED=%llu\n", (unsigned long long)seed);
	rnd_seed(seed * 0x9e3779b97f4a7c15ULL + 1);
	for (int i = 0; i < 2000; i++)
		one_round(i % 2);
}

/* Thread 1 works on operation 1 all the time, and on another one for half of each 100 ns. */
static void put_nested_works(struct trace *t, uint64_t nr)
{
	put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 1, "outer", 0);
	BEGINS(t, 2, 1, 1);
	for (uint64_t i = 1; i <= nr; i++) {
		put_duration(t, 100 * i, 100 * i + 50, 1, "work");
		BEGINS(t, 100 * i + 10, 1, 1 + i);
		ENDS(t, 100 * i + 40, 1, 1 + i);
	}
}

/* The first search is for the latest time, so no earlier one has found out which works ended. */
static void search_passes_many_ended_works(void **state)
{
	const uint64_t nr = 5000;
	struct analysis_options opts = { 0 };
	struct analysis_sink sink = { 0 };
	struct analysis *a = analysis_new(&opts, &sink);
	struct thread *thread;
	struct trace t = { 0 };

	assert_non_null(a);
	put_nested_works(&t, nr);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
	assert_int_equal(analysis_settle(a, UINT64_MAX), 0);
	thread = thread_of(a, 1);
	assert_non_null(thread);
	for (uint64_t i = nr; i; i--) {
		const struct work *w = work_at(thread, 100 * i + 80);

		assert_non_null(w);
		assert_int_equal(w->op->out.id, 1);
	}
	analysis_free(a);
	trace_free(&t);
}

/*
 * Thread 3 enters the operation at 30, so the work that a duration of thread 1 suggests does not
 * count. The end of the operation, at 25, comes late: after that, the work counts.
 */
static void late_end_makes_a_work_count_again(void **state)
{
	struct analysis_options opts = { 0 };
	struct analysis_sink sink = { 0 };
	struct analysis *a = analysis_new(&opts, &sink);
	struct thread *thread;
	struct trace t = { 0 };

	assert_non_null(a);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 12, 2, 1);
	STEPS(&t, 14, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 30, 3, "scope", 0);
	add_number(&t.of[t.nr - 1], "operation", ASYNCTRACE_FXT_ARG_UINT64, 1);
	BEGINS(&t, 40, 2, 2);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
	trace_free(&t);
	assert_int_equal(analysis_settle(a, 50), 0);
	thread = thread_of(a, 1);
	assert_non_null(thread);
	assert_null(work_at(thread, 20));
	ENDS(&t, 25, 2, 1);
	assert_int_equal(analysis_record(a, &t.of[0]), 0);
	assert_int_equal(analysis_settle(a, 50), 0);
	assert_non_null(work_at(thread, 20));
	assert_null(work_at(thread, 26));
	analysis_free(a);
	trace_free(&t);
}

/*
 * A look at 50 ends operation 1 for a moment. It searches for what thread 2 worked on at 60, when
 * it woke thread 1.
 */
static void peek_does_not_end_works(void **state)
{
	struct analysis_options opts = { 0 };
	struct analysis_sink sink = { 0 };
	struct analysis *a = analysis_new(&opts, &sink);
	struct work *w;
	struct trace t = { 0 };

	assert_non_null(a);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_duration(&t, 8, 100, 1, "read");
	BEGINS(&t, 10, 1, 1);
	BEGINS(&t, 11, 3, 2);
	put_duration(&t, 12, 100, 2, "help");
	STEPS(&t, 14, 2, 1);
	STEPS(&t, 15, 2, 2);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	ENDS(&t, 30, 3, 2);
	put_wakeup(&t, 60, 0, 1, 2);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(analysis_record(a, &t.of[i]), 0);
	assert_int_equal(analysis_settle(a, 70), 0);
	assert_int_equal(analysis_peek(a, NULL, 50, ignore, NULL), 0);
	w = work_at(thread_of(a, 2), 55);
	assert_non_null(w);
	assert_int_equal(w->op->out.id, 1);
	analysis_free(a);
	trace_free(&t);
}

static void put_unended(struct trace *t)
{
	put_clock(t, 0);
	put_switch(t, 5, 0, 0, 1, 0);
	put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 1, "outer", 0);
	put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 1, "load", 0);
	BEGINS(t, 10, 1, 1);
}

/* Thread 1 exits in two durations, and another thread gets its id. */
static void exit_ends_the_works_in_durations(void **state)
{
	struct trace t = { 0 };

	put_unended(&t);
	put_switch(&t, 30, 0, 1, 0, EXITS);
	put_wakeup(&t, 40, 0, 1, 0);
	put_switch(&t, 45, 0, 0, 1, 0);
	BEGINS(&t, 50, 1, 2);
	STEPS(&t, 55, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 60, 1, "work", 0);
	STEPS(&t, 65, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 70, 1, "work", 0);
	ENDS(&t, 80, 1, 2);
	ENDS(&t, 90, 1, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 2 50-80: 50-60 queued t1, 60-70 queued t1 on req 1, 70-80 queued t1 | "
		    "50-60 queued t1, 60-70 queued t1 on req 1, 70-80 queued t1",
		    "req 1 10-90: 10-30 running t1, 30-60 queued t1, 60-70 running t1, "
		    "70-90 queued t1 | 10-30 running t1, 30-60 queued t1, 60-70 running t1, "
		    "70-90 queued t1", NULL);
}

/* No exit is recorded, but the process of the next event shows that its thread is a new one. */
static void other_process_ends_the_works_in_durations(void **state)
{
	struct trace t = { 0 };
	size_t first;

	put_thread(&t, 1, 100, "first");
	put_unended(&t);
	put_thread(&t, 1, 200, "second");
	first = t.nr;
	STEPS(&t, 31, 1, 1);
	ENDS(&t, 90, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	for (size_t i = 0; i < first; i++)
		t.of[i].thread.pid = 100;
	t.of[first].thread.pid = 200;
	expect_rows(&t, "req 1 10-90: 10-30 running t1, 30-90 queued t2 | "
		    "10-30 running t1, 30-90 queued t2", NULL);
}

/* The next thread with the id changes nothing. Neither does the end of the history's memory. */
static void exit_blocks_an_open_operation(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		const struct analysis_options opts = { .history = i ? 100 : 0 };
		struct trace t = { 0 };
		struct rows rows;

		put_unended(&t);
		put_switch(&t, 30, 0, 1, 0, EXITS);
		put_wakeup(&t, 40, 0, 1, 0);
		put_switch(&t, 45, 0, 0, 1, 0);
		put_duration(&t, 50, 60, 1, "other");
		for (uint64_t ns = 100; i && ns < 10000; ns++)
			put_switch(&t, ns, 1, 2 + ns % 2, 3 - ns % 2, PREEMPTED);
		put_switch(&t, 10000, 0, 1, 0, SLEEPS);
		rows = analyse(&t, &opts, NULL);
		assert_int_equal(rows.nr, 1);
		if (i)
			assert_non_null(strstr(rows.of[0], "-10000 blocked/exited t1 in load |"));
		else
			assert_string_equal(rows.of[0], "req 1 10-10000 open: 10-30 running t1, "
					    "30-10000 blocked/exited t1 in load |");
		rows_free(&rows);
		trace_free(&t);
	}
}

/* Thread 2 works on the operation when thread 1 exits, or begins to work on it later. */
static void operation_outlives_an_exit(void **state)
{
	static const char *const want[] = {
		"req 1 10-100 open: 10-30 running t1, 30-60 running t2, "
			"60-100 blocked/exited t1 in load |",
		"req 1 10-100 open: 10-30 running t1, 30-50 queued t2, 50-60 running t2, "
			"60-100 queued |",
	};

	for (int i = 0; i < 2; i++) {
		struct trace t = { 0 };

		put_switch(&t, 4, 1, 0, 2, 0);
		put_unended(&t);
		put_duration(&t, i ? 50 : 10, 60, 2, "help");
		STEPS(&t, i ? 50 : 20, 2, 1);
		put_switch(&t, 30, 0, 1, 0, EXITS);
		put_switch(&t, 100, 1, 2, 0, SLEEPS);
		expect_rows(&t, want[i], NULL);
	}
}

/* A lost event may be the end of the duration, or the begin of one that thread 1 really was in. */
static void loss_hides_that_an_exit_blocks(void **state)
{
	struct trace t = { 0 };

	put_unended(&t);
	put_provider_loss(&t, 20, 25, "app");
	put_switch(&t, 30, 0, 1, 0, EXITS);
	put_clock(&t, 100);
	expect_rows(&t, "req 1 10-100 open: 10-30 unknown/records were lost t1, 30-100 queued |",
		    NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skipped_works_change_no_answer),
		cmocka_unit_test(search_passes_many_ended_works),
		cmocka_unit_test(late_end_makes_a_work_count_again),
		cmocka_unit_test(peek_does_not_end_works),
		cmocka_unit_test(exit_ends_the_works_in_durations),
		cmocka_unit_test(other_process_ends_the_works_in_durations),
		cmocka_unit_test(exit_blocks_an_open_operation),
		cmocka_unit_test(operation_outlives_an_exit),
		cmocka_unit_test(loss_hides_that_an_exit_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
