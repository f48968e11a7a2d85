// SPDX-License-Identifier: GPL-2.0
/* The state of an operation at each moment, and the parties that contributed */
#include "build.h"

static void running_thread_is_running(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 110, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-100 running t1 | 10-100 running t1", NULL);
}

static void preempted_row_names_the_running_thread(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 20, 0, 1, 2, PREEMPTED);
	put_switch(&t, 30, 0, 2, 3, SLEEPS);
	put_switch(&t, 40, 0, 3, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 runnable/preempted t1 in work by t2, "
		    "30-40 runnable/preempted t1 in work by t3, 40-100 running t1 | "
		    "10-20 running t1, 20-30 runnable/preempted t1 in work by t2, "
		    "30-40 runnable/preempted t1 in work by t3, 40-100 running t1", NULL);
}

static void preempted_thread_waits_for_the_cpu_it_gets(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 6, 1, 0, 4, 0);
	put_switch(&t, 20, 0, 1, 2, PREEMPTED);
	put_switch(&t, 40, 1, 4, 0, SLEEPS);
	put_switch(&t, 50, 1, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-40 runnable/preempted t1 in work by t4, "
		    "40-50 runnable/preempted t1 in work by idle, 50-100 running t1 | "
		    "10-20 running t1, 20-40 runnable/preempted t1 in work by t4, "
		    "40-50 runnable/preempted t1 in work by idle, 50-100 running t1", NULL);
}

static void woken_thread_names_waker_and_its_operation(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 6, 1, 0, 2, 0);
	put_duration(&t, 30, 70, 2, "other");
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 31, 2, "bg", 2);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 60, 0, 1, 2);
	put_switch(&t, 65, 0, 0, 1, 0);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 110, 2, "bg", 2);
	put_switch(&t, 120, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-60 blocked/sleep t1 in work by t2 on bg 2, "
		    "60-65 runnable/woken t1 by idle, 65-100 running t1 | "
		    "10-20 running t1, 20-60 running t2, "
		    "60-65 runnable/woken t1 by idle, 65-100 running t1",
		    "bg 2 31-110: 31-70 running t2, 70-110 queued t2 | "
		    "31-70 running t2, 70-110 queued t2", NULL);
}

/*
 * Thread 2 is not followed, or only since 80: it may have run and slept without records after it
 * was preempted.
 */
static void path_skips_waker_that_is_not_followed(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct trace t = { 0 };

		put_work(&t);
		put_switch(&t, 5, 0, 0, 1, 0);
		put_switch(&t, 20, 0, 1, 2, SLEEPS);
		put_switch(&t, 30, 0, 2, HIDDEN_ON(0), PREEMPTED);
		put_wakeup(&t, 60, 0, 1, 2);
		put_switch(&t, 65, 0, HIDDEN_ON(0), 1, 0);
		if (late)
			put_switch(&t, 80, 1, 0, 2, 0);
		expect_rows(&t, "req 1 10-100: 10-20 running t1, "
			    "20-60 blocked/sleep t1 in work by t2, "
			    "60-65 runnable/woken t1 by hidden, 65-100 running t1 | "
			    "10-20 running t1, 20-60 blocked/sleep t1 in work by t2, "
			    "60-65 runnable/woken t1 by hidden, 65-100 running t1", NULL);
	}
}

/* A thread runs from its switch in to its switch out, even if the thread is not followed. */
static void path_follows_any_waker_while_it_runs(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 20, 0, 1, 2, SLEEPS);
	put_wakeup(&t, 60, 0, 1, 2);
	put_switch(&t, 65, 0, 2, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-60 blocked/sleep t1 in work by t2, "
		    "60-65 runnable/woken t1 by t2, 65-100 running t1 | "
		    "10-20 running t1, 20-60 running t2, "
		    "60-65 runnable/woken t1 by t2, 65-100 running t1", NULL);
}

/* On other systems, the idle thread of a CPU has an id. Its weight marks it. */
static void idle_thread_is_known_by_its_weight(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 900, 1, 0);
	add_number(&t.of[t.nr - 1], "outgoing_weight", ASYNCTRACE_FXT_ARG_INT32,
		   ASYNCTRACE_FXT_WEIGHT_IDLE);
	put_switch(&t, 20, 0, 1, 900, SLEEPS);
	add_number(&t.of[t.nr - 1], "incoming_weight", ASYNCTRACE_FXT_ARG_INT32,
		   ASYNCTRACE_FXT_WEIGHT_IDLE);
	put_wakeup(&t, 30, 0, 1, 0);
	put_switch(&t, 40, 0, 900, 1, 0);
	add_number(&t.of[t.nr - 1], "outgoing_weight", ASYNCTRACE_FXT_ARG_INT32,
		   ASYNCTRACE_FXT_WEIGHT_IDLE);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 blocked/sleep t1 in work by interrupt, "
		    "30-40 runnable/woken t1 by idle, 40-100 running t1 | "
		    "10-20 running t1, 20-30 blocked/sleep t1 in work by interrupt, "
		    "30-40 runnable/woken t1 by idle, 40-100 running t1", NULL);
}

static void each_sleep_has_its_reason(void **state)
{
	static const struct {
		unsigned int state;
		const char *word;
	} of[] = {
		{ SLEEPS, "sleep" }, { SLEEPS_ON_DISK, "disk sleep" }, { STOPS, "stopped" },
		{ EXITS, "exited" }, { 0x402, "disk sleep" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct trace t = { 0 };
		char want[300];

		put_work(&t);
		put_switch(&t, 5, 0, 0, 1, 0);
		put_switch(&t, 20, 0, 1, 0, of[i].state);
		snprintf(want, sizeof(want), "req 1 10-100: 10-20 running t1, "
			 "20-100 blocked/%s t1 in work | 10-20 running t1, "
			 "20-100 blocked/%s t1 in work", of[i].word, of[i].word);
		expect_rows(&t, want, NULL);
	}
}

/* Other writers of the format tell only its own states of threads. */
static void state_of_the_format_has_its_reason(void **state)
{
	static const struct {
		unsigned int number;
		const char *words;
	} of[] = {
		{ ASYNCTRACE_FXT_STATE_RUNNING, "runnable/preempted t1 in work by idle" },
		{ ASYNCTRACE_FXT_STATE_SUSPENDED, "blocked/sleep t1 in work" },
		{ ASYNCTRACE_FXT_STATE_BLOCKED, "blocked/sleep t1 in work" },
		{ ASYNCTRACE_FXT_STATE_DYING, "blocked/exited t1 in work" },
		{ ASYNCTRACE_FXT_STATE_DEAD, "blocked/exited t1 in work" },
		/* The format does not define these. */
		{ 6, "runnable/preempted t1 in work by idle" },
		{ 15, "runnable/preempted t1 in work by idle" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct trace t = { 0 };
		char want[300];

		put_work(&t);
		put_switch(&t, 5, 0, 0, 1, 0);
		put_switch(&t, 20, 0, 1, 0, 0);
		t.of[t.nr - 1].number = of[i].number;
		t.of[t.nr - 1].nargs = 0;
		put_switch(&t, 100, 0, 0, 1, 0);
		snprintf(want, sizeof(want), "req 1 10-100: 10-20 running t1, 20-100 %s | "
			 "10-20 running t1, 20-100 %s", of[i].words, of[i].words);
		expect_rows(&t, want, NULL);
	}
}

static void interrupt_and_hidden_wakers_are_named(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 20, 0, 1, HIDDEN_ON(0), SLEEPS);
	put_wakeup(&t, 30, 0, 1, 0);
	put_switch(&t, 35, 0, HIDDEN_ON(0), 1, 0);
	put_switch(&t, 50, 0, 1, 0, SLEEPS_ON_DISK);
	put_wakeup(&t, 60, 0, 1, HIDDEN_ON(1));
	put_switch(&t, 61, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 blocked/sleep t1 in work by interrupt, "
		    "30-35 runnable/woken t1 by hidden, 35-50 running t1, "
		    "50-60 blocked/disk sleep t1 in work by hidden, 60-61 runnable/woken t1 by idle, "
		    "61-100 running t1 | "
		    "10-20 running t1, 20-30 blocked/sleep t1 in work by interrupt, "
		    "30-35 runnable/woken t1 by hidden, 35-50 running t1, "
		    "50-60 blocked/disk sleep t1 in work by hidden, 60-61 runnable/woken t1 by idle, "
		    "61-100 running t1", NULL);
}

static void best_of_several_threads_counts(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 6, 1, 0, 2, 0);
	put_duration(&t, 20, 80, 2, "help");
	STEPS(&t, 25, 2, 1);
	put_switch(&t, 30, 0, 1, 0, SLEEPS);	/* thread 2 still runs */
	put_switch(&t, 40, 1, 2, 3, PREEMPTED);	/* thread 2 is runnable, 1 sleeps */
	put_switch(&t, 50, 1, 3, 2, SLEEPS);
	put_switch(&t, 60, 1, 2, 0, SLEEPS);	/* both sleep */
	put_wakeup(&t, 70, 0, 1, 0);
	put_switch(&t, 75, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-40 running t2, "
		    "40-50 runnable/preempted t2 in help by t3, 50-60 running t2, "
		    "60-70 blocked/sleep t2 in help, 70-75 runnable/woken t1 by idle, "
		    "75-100 running t1 | 10-30 running t1, 30-70 blocked/sleep t1 in work by interrupt, "
		    "70-75 runnable/woken t1 by idle, 75-100 running t1", NULL);
}

static void queue_names_next_thread_and_its_work(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_switch(&t, 1, 0, 0, 1, 0);
	put_switch(&t, 2, 1, 0, 2, 0);
	put_duration(&t, 5, 40, 2, "handle");
	BEGINS(&t, 6, 2, 7);
	put_duration(&t, 10, 12, 1, "accept");
	BEGINS(&t, 11, 1, 1);
	ENDS(&t, 39, 2, 7);
	put_duration(&t, 50, 60, 2, "handle");
	STEPS(&t, 51, 2, 1);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 90, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 7 6-39: 6-39 running t2 | 6-39 running t2",
		    "req 1 11-60: 11-12 running t1, 12-39 queued t2 on req 7, 39-50 queued t2, "
		    "50-60 running t2 | 11-12 running t1, 12-39 queued t2 on req 7, "
		    "39-50 queued t2, 50-60 running t2", NULL);
}

static void thread_without_scheduling_is_unknown(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 2, 0);
	expect_rows(&t, "req 1 10-100: 10-100 unknown/no scheduling was recorded t1 | "
		    "10-100 unknown/no scheduling was recorded t1", NULL);
}

static void first_record_tells_what_was_before(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 90, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-90 running t1 ?, 90-100 blocked/sleep t1 in work | "
		    "10-90 running t1 ?, 90-100 blocked/sleep t1 in work", NULL);
	put_work(&t);
	put_switch(&t, 90, 0, 0, 1, 0);
	/* Thread 1 ran when its duration began; no record shows when it left its CPU. */
	expect_rows(&t, "req 1 10-100: 10-90 unknown/no scheduling was recorded t1, "
		    "90-100 running t1 | 10-90 unknown/no scheduling was recorded t1, "
		    "90-100 running t1", NULL);
	put_work(&t);
	/* No record shows that the thread left its CPU, so the wakeup came while it ran. */
	put_wakeup(&t, 90, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-100 running t1 ? | 10-100 running t1 ?", NULL);
	/* A record after the operation's end gives the same states. */
	put_work(&t);
	put_switch(&t, 500, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-100 running t1 ? | 10-100 running t1 ?", NULL);
}

static void second_wakeup_changes_nothing(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_wakeup(&t, 15, 0, 1, 3);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 30, 0, 1, 2);
	put_wakeup(&t, 35, 0, 1, 3);
	put_switch(&t, 40, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 blocked/sleep t1 in work by t2, "
		    "30-40 runnable/woken t1 by idle, 40-100 running t1 | "
		    "10-20 running t1, 20-30 blocked/sleep t1 in work by t2, "
		    "30-40 runnable/woken t1 by idle, 40-100 running t1", NULL);
}

/* A wakeup may come before the record that the thread leaves its CPU. */
static void thread_woken_as_it_leaves_is_runnable(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_wakeup(&t, 15, 0, 1, 3);
	put_switch(&t, 20, 0, 1, 2, SLEEPS);
	put_switch(&t, 40, 0, 2, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-40 runnable/woken t1 in work by t2 ?, "
		    "40-100 running t1 | 10-20 running t1, "
		    "20-40 runnable/woken t1 in work by t2 ?, 40-100 running t1", NULL);
}

/*
 * A wakeup came before the thread left its CPU, and no record shows that the thread came back. So
 * it may have slept or waited for a CPU.
 */
static void sleep_of_a_woken_thread_needs_a_wakeup(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 6, 1, 0, 2, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 1, "work", 0);
	BEGINS(&t, 10, 1, 1);
	put_wakeup(&t, 15, 0, 1, 3);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	ENDS(&t, 40, 2, 1);
	expect_rows(&t, "req 1 10-40: 10-20 running t1, 20-40 unknown/no scheduling was recorded t1 | "
		    "10-20 running t1, 20-40 unknown/no scheduling was recorded t1", NULL);
}

/* The duration began before the trace, and the wakeup did not end a sleep. */
static void first_wakeup_may_find_a_thread_running(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 10);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 10, 2, 1);
	STEPS(&t, 80, 1, 1);
	ENDS(&t, 100, 2, 1);
	put_wakeup(&t, 20, 0, 1, 0);
	put_switch(&t, 30, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 40, 0, 1, 0);
	put_switch(&t, 50, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1 ?, 30-40 blocked/sleep t1 in work by interrupt, "
		    "40-50 runnable/woken t1 by idle, 50-100 running t1 | 10-30 running t1 ?, "
		    "30-40 blocked/sleep t1 in work by interrupt, 40-50 runnable/woken t1 by idle, "
		    "50-100 running t1", NULL);
}

/*
 * No record shows that thread 1 came back to its CPU, because it was not followed yet. It is
 * followed since it traced its first event.
 */
static void thread_followed_late_runs_when_it_traces(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 3, 0, 2, 1, SLEEPS);
	put_switch(&t, 5, 0, 1, HIDDEN_ON(0), PREEMPTED);
	put_switch(&t, 90, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-90 running t1 ?, 90-100 blocked/sleep t1 in work | "
		    "10-90 running t1 ?, 90-100 blocked/sleep t1 in work", NULL);
}

static void thread_followed_late_may_be_unknown(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 3, 0, 2, 1, SLEEPS);
	put_switch(&t, 5, 0, 1, HIDDEN_ON(0), PREEMPTED);
	put_switch(&t, 90, 0, 2, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-90 unknown/no scheduling was recorded t1, "
		    "90-100 running t1 | 10-90 unknown/no scheduling was recorded t1, "
		    "90-100 running t1", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_thread_is_running),
		cmocka_unit_test(preempted_row_names_the_running_thread),
		cmocka_unit_test(preempted_thread_waits_for_the_cpu_it_gets),
		cmocka_unit_test(woken_thread_names_waker_and_its_operation),
		cmocka_unit_test(path_skips_waker_that_is_not_followed),
		cmocka_unit_test(path_follows_any_waker_while_it_runs),
		cmocka_unit_test(idle_thread_is_known_by_its_weight),
		cmocka_unit_test(each_sleep_has_its_reason),
		cmocka_unit_test(state_of_the_format_has_its_reason),
		cmocka_unit_test(interrupt_and_hidden_wakers_are_named),
		cmocka_unit_test(best_of_several_threads_counts),
		cmocka_unit_test(queue_names_next_thread_and_its_work),
		cmocka_unit_test(thread_without_scheduling_is_unknown),
		cmocka_unit_test(first_record_tells_what_was_before),
		cmocka_unit_test(second_wakeup_changes_nothing),
		cmocka_unit_test(thread_woken_as_it_leaves_is_runnable),
		cmocka_unit_test(sleep_of_a_woken_thread_needs_a_wakeup),
		cmocka_unit_test(first_wakeup_may_find_a_thread_running),
		cmocka_unit_test(thread_followed_late_runs_when_it_traces),
		cmocka_unit_test(thread_followed_late_may_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
