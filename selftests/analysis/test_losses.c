// SPDX-License-Identifier: GPL-2.0
/* Missing records make states unknown, never wrong. */
#include "build.h"

static void thread_on_another_cpu_stays_known(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 1);
	put_switch(&t, 40, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 60, 0, 1, 0);
	put_switch(&t, 60, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-40 running t1, 40-60 unknown/records were lost t1, "
		    "60-100 running t1 | 10-40 running t1, 40-60 unknown/records were lost t1, "
		    "60-100 running t1", NULL);
}

static void thread_on_the_lossy_cpu_is_unknown(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	put_switch(&t, 70, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 80, 0, 1, 0);
	put_switch(&t, 80, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-80 blocked/sleep t1 in work by interrupt, "
		    "80-100 running t1 | 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-80 blocked/sleep t1 in work by interrupt, "
		    "80-100 running t1", NULL);
}

/* A wakeup that came when the thread was about to sleep is among the lost records. */
static void lost_wakeup_may_keep_a_thread_runnable(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	put_switch(&t, 70, 0, 1, 0, SLEEPS);
	put_switch(&t, 80, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-80 runnable/woken t1 in work by idle ?, "
		    "80-100 running t1 | 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-80 runnable/woken t1 in work by idle ?, "
		    "80-100 running t1", NULL);
}

static void event_ends_the_doubt_about_lost_wakeups(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	STEPS(&t, 60, 1, 1);
	put_switch(&t, 70, 0, 1, 0, SLEEPS);
	put_kernel_loss(&t, 80, 100, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-80 blocked/sleep t1 in work, "
		    "80-100 unknown/records were lost t1 | 10-30 running t1, "
		    "30-50 unknown/records were lost t1, 50-70 running t1 ?, "
		    "70-80 blocked/sleep t1 in work, 80-100 unknown/records were lost t1", NULL);
}

/* A timer fires before the thread sleeps. */
static void wakeup_after_a_loss_may_find_it_running(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	put_wakeup(&t, 60, 0, 1, 0);
	put_switch(&t, 70, 0, 1, 2, PREEMPTED);
	put_switch(&t, 90, 0, 2, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-90 runnable/preempted t1 in work by t2, "
		    "90-100 running t1 | 10-30 running t1, 30-50 unknown/records were lost t1, "
		    "50-70 running t1 ?, 70-90 runnable/preempted t1 in work by t2, "
		    "90-100 running t1", NULL);
}

static void wakeup_between_losses_tells_nothing(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	put_wakeup(&t, 60, 0, 1, 0);
	put_kernel_loss(&t, 80, 100, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-100 unknown/records were lost t1 | "
		    "10-30 running t1, 30-100 unknown/records were lost t1", NULL);
}

/*
 * The wakeup that ended the sleep may have come before the thread left its CPU at 40. Then it is
 * among the records that CPU 1 lost.
 */
static void sleep_between_losses_may_have_ended(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 35, 1);
	put_switch(&t, 40, 0, 1, 0, SLEEPS);
	put_kernel_loss(&t, 60, 70, 0);
	put_wakeup(&t, 80, 0, 1, 0);
	put_switch(&t, 80, 0, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-40 running t1, 40-80 unknown/records were lost t1, "
		    "80-100 running t1 | 10-40 running t1, 40-80 unknown/records were lost t1, "
		    "80-100 running t1", NULL);
}

/* An event shows that the thread runs, but not on which CPU. */
static void second_loss_after_an_event_is_not_missed(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 1, 0, 1, 0);
	put_kernel_loss(&t, 20, 30, 1);
	STEPS(&t, 40, 1, 1);
	put_kernel_loss(&t, 50, 60, 1);
	put_wakeup(&t, 80, 1, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 unknown/records were lost t1, "
		    "30-50 running t1 ?, 50-60 unknown/records were lost t1, "
		    "60-100 running t1 ? | 10-20 running t1, 20-30 unknown/records were lost t1, "
		    "30-50 running t1 ?, 50-60 unknown/records were lost t1, "
		    "60-100 running t1 ?", NULL);
}

static void first_record_after_a_loss_tells_no_more(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_kernel_loss(&t, 20, 30, 0);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 10, 1, 1);
	ENDS(&t, 60, 1, 1);
	put_switch(&t, 50, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-30 unknown/records were lost t1, 30-50 running t1 ?, "
		    "50-60 blocked/sleep t1 in work | 10-30 unknown/records were lost t1, "
		    "30-50 running t1 ?, 50-60 blocked/sleep t1 in work", NULL);
}

static void cpu_after_a_loss_has_an_unknown_thread(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 30, 50, 0);
	put_wakeup(&t, 60, 0, 1, 0);
	put_switch(&t, 80, 0, 3, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-60 unknown/records were lost t1, "
		    "60-80 runnable t1 ?, 80-100 running t1 | 10-30 running t1, "
		    "30-60 unknown/records were lost t1, 60-80 runnable t1 ?, 80-100 running t1",
		    NULL);
}

static void loss_hides_the_cpu_that_was_awaited(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 20, 0, 1, 2, PREEMPTED);
	put_kernel_loss(&t, 30, 40, 1);
	put_switch(&t, 60, 1, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 runnable/preempted t1 in work, "
		    "30-40 unknown/records were lost t1, 40-60 running t1 ?, 60-100 blocked/sleep t1 in work | "
		    "10-20 running t1, 20-30 runnable/preempted t1 in work, "
		    "30-40 unknown/records were lost t1, 40-60 running t1 ?, 60-100 blocked/sleep t1 in work",
		    NULL);
}

static void put_inferred(struct trace *t, uint64_t ns, uint32_t out, uint32_t in)
{
	put_switch(t, ns, 0, out, in, 0);
	t->of[t->nr - 1].nargs = 0;
	t->of[t->nr - 1].number = ASYNCTRACE_FXT_STATE_BLOCKED;
	add_bool(&t->of[t->nr - 1], "inferred");
}

/* After a loss, the recorder infers two switches: thread 3 left at 20, and thread 1 came at 60. */
static void inferred_switches_are_not_taken_for_records(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 15, 0, 1, 2, SLEEPS);
	put_switch(&t, 20, 0, 2, 3, SLEEPS);
	put_kernel_loss(&t, 25, 50, 0);
	put_inferred(&t, 20, 3, 0);
	put_inferred(&t, 60, 0, 1);
	put_switch(&t, 60, 0, 1, 2, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-15 running t1, 15-25 blocked/sleep t1 in work, "
		    "25-50 unknown/records were lost t1, 50-60 running t1 ?, 60-100 blocked/sleep t1 in work | "
		    "10-15 running t1, 15-25 blocked/sleep t1 in work, "
		    "25-50 unknown/records were lost t1, 50-60 running t1 ?, 60-100 blocked/sleep t1 in work",
		    NULL);
}

/* The recorder mistakes a wakeup after the loss for the last record before the loss. */
static void inferred_leave_after_a_loss_tells_nothing(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_kernel_loss(&t, 25, 50, 0);
	put_wakeup(&t, 60, 0, 3, 0);
	put_inferred(&t, 60, 1, 0);
	put_inferred(&t, 70, 0, 2);
	put_switch(&t, 70, 0, 2, 3, SLEEPS);
	put_wakeup(&t, 80, 0, 1, 0);
	put_switch(&t, 90, 0, 3, 1, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-25 running t1, 25-80 unknown/records were lost t1, "
		    "80-90 runnable t1 by t3 ?, 90-100 running t1 | "
		    "10-25 running t1, 25-80 unknown/records were lost t1, "
		    "80-90 runnable t1 by t3 ?, 90-100 running t1", NULL);
}

/*
 * The thread runs on CPU 1 when CPU 2 begins to lose records. During that loss CPU 1 loses records,
 * too, so the thread may have moved to CPU 2.
 */
static void longer_loss_of_another_cpu_counts(void **state)
{
	struct trace t = { 0 };

	put_work(&t);
	put_switch(&t, 5, 1, 0, 1, 0);
	put_kernel_loss(&t, 20, 90, 2);
	put_kernel_loss(&t, 30, 40, 1);
	put_wakeup(&t, 50, 0, 1, 0);
	expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-90 unknown/records were lost t1, 90-100 running t1 ? | "
		    "10-30 running t1, 30-90 unknown/records were lost t1, 90-100 running t1 ?", NULL);
}

/* Begins a trace whose states are all known. */
static void put_known(struct trace *t)
{
	put_work(t);
	put_switch(t, 5, 0, 0, 1, 0);
	put_switch(t, 20, 0, 1, 0, SLEEPS);
	put_wakeup(t, 60, 0, 1, 0);
	put_switch(t, 65, 0, 0, 1, 0);
}

static void expect_known(struct trace *t)
{
	expect_rows(t, "req 1 10-100: 10-20 running t1, 20-60 blocked/sleep t1 in work by interrupt, "
		    "60-65 runnable/woken t1 by idle, 65-100 running t1 | 10-20 running t1, "
		    "20-60 blocked/sleep t1 in work by interrupt, 60-65 runnable/woken t1 by idle, "
		    "65-100 running t1", NULL);
}

static void lost_events_leave_only_running_known(void **state)
{
	struct trace t = { 0 };

	put_known(&t);
	put_provider_loss(&t, 200, 210, "server");
	expect_known(&t);
	put_clock(&t, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_provider_loss(&t, 30, 50, "server");
	put_duration(&t, 10, 20, 1, "a");
	BEGINS(&t, 10, 1, 1);
	put_duration(&t, 70, 80, 1, "b");
	ENDS(&t, 80, 1, 1);
	put_switch(&t, 200, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-80: 10-20 running t1, 20-50 unknown/records were lost, "
		    "50-70 queued t1, 70-80 running t1 | 10-20 running t1, "
		    "20-50 unknown/records were lost, 50-70 queued t1, 70-80 running t1", NULL);
}

/* The account of an operation depends on no event of a tracepoint. */
static void lost_tracepoints_hide_nothing(void **state)
{
	struct trace t = { 0 };

	put_known(&t);
	put_tracepoint_loss(&t, 5, 300);
	expect_known(&t);
}

/* The longer loss ends first; the second time, it ends last. No record comes between the two. */
static void losses_in_a_row_last_until_the_end_of_all(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct trace t = { 0 };

		put_work(&t);
		put_switch(&t, 5, 0, 0, 1, 0);
		put_kernel_loss(&t, 30, i ? 40 : 70, 0);
		put_kernel_loss(&t, i ? 60 : 35, i ? 70 : 40, 0);
		put_switch(&t, 80, 0, 1, 0, SLEEPS);
		expect_rows(&t, "req 1 10-100: 10-30 running t1, 30-70 unknown/records were lost t1, "
			    "70-80 running t1 ?, 80-100 blocked/sleep t1 in work | "
			    "10-30 running t1, 30-70 unknown/records were lost t1, "
			    "70-80 running t1 ?, 80-100 blocked/sleep t1 in work", NULL);
	}
}

/* Thread 1 may have entered the operation at any time since the first loss. */
static void operation_is_unknown_since_the_first_loss(void **state)
{
	struct trace t = { 0 };

	put_switch(&t, 5, 0, 0, 1, 0);
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_kernel_loss(&t, 30, 40, 0);
	put_kernel_loss(&t, 50, 60, 0);
	put_wakeup(&t, 70, 0, 1, 0);
	add_cell(&t, "operation", 1);
	put_switch(&t, 75, 0, 0, 1, 0);
	add_cell(&t, "incoming_operation", 1);
	ENDS(&t, 80, 1, 1);
	put_switch(&t, 90, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-80: 10-30 queued t1, 30-70 unknown/records were lost t1, "
		    "70-75 runnable t1 ?, 75-80 running t1 | 10-30 queued t1, "
		    "30-70 unknown/records were lost t1, 70-75 runnable t1 ?, "
		    "75-80 running t1", NULL);
}

/* The history is limited, and each loss hides what the waiting thread 1 and the idle 3 do. */
static void many_losses_do_not_use_up_the_history(void **state)
{
	const struct analysis_options opts = { .history = 200 };
	struct trace t = { 0 };
	struct rows rows;

	put_clock(&t, 0);
	put_duration(&t, 10, 200000, 1, "work");
	BEGINS(&t, 10, 1, 1);
	ENDS(&t, 200000, 1, 1);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 50, 0, 1, 3, SLEEPS);
	put_switch(&t, 60, 0, 3, 0, SLEEPS);
	for (uint64_t ns = 100; ns < 100000; ns += 20)
		put_kernel_loss(&t, ns, ns + 10, 0);
	put_wakeup(&t, 150000, 0, 1, 0);
	put_switch(&t, 150010, 0, 0, 1, 0);
	put_clock(&t, 300000);
	rows = analyse(&t, &opts, NULL);
	assert_int_equal(rows.nr, 1);
	assert_null(strstr(rows.of[0], "not kept"));
	assert_non_null(strstr(rows.of[0], "50-100 blocked/sleep t1 in work, "
			       "100-150000 unknown/records were lost t1"));
	rows_free(&rows);
	trace_free(&t);
}

/* --- durations that a loss makes doubtful ------------------------------------------------ */

enum { DB = ASYNCTRACE_FXT_DURATION_BEGIN, DE = ASYNCTRACE_FXT_DURATION_END,
       AB = ASYNCTRACE_FXT_ASYNC_BEGIN, AI = ASYNCTRACE_FXT_ASYNC_INSTANT,
       AE = ASYNCTRACE_FXT_ASYNC_END };

/* Events of threads 1 and 2, which run all the time. Events were lost from 50 to 60. */
static const struct doubt {
	struct {
		uint64_t ns;
		uint32_t tid;
		unsigned int type;
		const char *name;
	} events[10];
	const char *row;
	struct {
		uint64_t from, to;
	} serve;	/* a complete duration of thread 2; 0: none */
} doubts[] = {
	/* The end of "reload" is lost. */
	{ .events = { { 10, 1, DB, "reload" }, { 100, 1, AB, "req" }, { 150, 2, DB, "handle" },
	    { 151, 2, AI, "req" }, { 160, 2, AE, "req" }, { 161, 2, DE, "handle" } },
	  .row = "100-150 unknown/records were lost t1, 150-160 running t2 | "
	  "100-150 unknown/records were lost t1, 150-160 running t2" },
	/* "reload" begins during the loss. */
	{ .events = { { 55, 1, DB, "reload" }, { 100, 1, AB, "req" }, { 150, 2, DB, "handle" },
	    { 151, 2, AI, "req" }, { 160, 2, AE, "req" }, { 161, 2, DE, "handle" } },
	  .row = "100-150 unknown/records were lost t1, 150-160 running t2 | "
	  "100-150 unknown/records were lost t1, 150-160 running t2" },
	/* "serve" begins after the loss, so it is certain. */
	{ .events = { { 65, 1, DB, "serve" }, { 100, 1, AB, "req" }, { 150, 2, DB, "handle" },
	    { 151, 2, AI, "req" }, { 160, 2, AE, "req" }, { 161, 2, DE, "handle" } },
	  .row = "100-160 running t1 | 100-150 running t1, 150-160 running t2" },
	/* The begin of "parse" is lost. Its end does not end "serve". */
	{ .events = { { 10, 2, DB, "serve" }, { 70, 2, DE, "parse" }, { 75, 1, DB, "accept" },
	    { 100, 1, AB, "req" }, { 105, 1, DE, "accept" }, { 110, 2, AI, "req" },
	    { 160, 2, AE, "req" }, { 180, 2, DE, "serve" } },
	  .row = "100-105 running t1, 105-160 unknown/records were lost t2 | "
	  "100-105 running t1, 105-160 unknown/records were lost t2" },
	/* The end of "parse" is lost. The end of "serve" ends both. */
	{ .events = { { 10, 2, DB, "serve" }, { 20, 2, DB, "parse" }, { 70, 2, DE, "serve" },
	    { 75, 1, DB, "accept" }, { 100, 1, AB, "req" }, { 105, 1, DE, "accept" },
	    { 110, 2, AI, "req" }, { 160, 2, AE, "req" } },
	  .row = "100-105 running t1, 105-160 queued t2 | 100-105 running t1, 105-160 queued t2" },
	/* "parse" lasts from before "serve", so its end also ends "serve". */
	{ .events = { { 10, 2, DB, "parse" }, { 20, 2, DB, "serve" }, { 100, 2, AB, "req" },
	    { 120, 2, DE, "parse" }, { 160, 1, AE, "req" } },
	  .row = "100-120 unknown/records were lost t2, 120-160 queued t1 | "
	  "100-120 unknown/records were lost t2, 120-160 queued t1" },
	/*
	 * The end of the first "parse" and the begin of another one in "serve" may be lost. Then
	 * the end at 70 does not end "serve".
	 */
	{ .events = { { 10, 2, DB, "parse" }, { 55, 2, DB, "serve" }, { 70, 2, DE, "parse" },
	    { 100, 2, AB, "req" }, { 160, 1, AE, "req" }, { 180, 2, DE, "serve" } },
	  .row = "100-160 unknown/records were lost t2 | 100-160 unknown/records were lost t2" },
	/*
	 * "req" begins during the loss, and the end of "parse" before it may be lost. Then "req"
	 * begins in "serve", and the end at 120 belongs to another "parse".
	 */
	{ .events = { { 10, 2, DB, "serve" }, { 20, 2, DB, "parse" }, { 55, 2, AB, "req" },
	    { 120, 2, DE, "parse" }, { 160, 1, AE, "req" } },
	  .row = "55-160 unknown/records were lost t2 | 55-160 unknown/records were lost t2" },
	/* "serve" goes on, so the end at 70 is not that of the "parse" around it. */
	{ .events = { { 10, 2, DB, "parse" }, { 70, 2, DE, "parse" }, { 100, 2, AB, "req" },
	    { 160, 1, AE, "req" } },
	  .row = "100-140 running t2, 140-160 queued t1 | 100-140 running t2, 140-160 queued t1",
	  .serve = { 55, 140 } },
	/*
	 * "parse" ended with "serve" at the latest. The end at 90 belongs to another "parse", and
	 * does not end "accept".
	 */
	{ .events = { { 20, 2, DB, "parse" }, { 55, 2, DB, "accept" }, { 90, 2, DE, "parse" },
	    { 100, 2, AB, "req" }, { 160, 1, AE, "req" } },
	  .row = "100-160 unknown/records were lost t2 | 100-160 unknown/records were lost t2",
	  .serve = { 10, 54 } },
	/* The end of "reload" is lost. "parse" is certain, and thread 1 works on later. */
	{ .events = { { 10, 1, DB, "reload" }, { 100, 1, AB, "req" }, { 110, 2, DB, "parse" },
	    { 111, 2, AI, "req" }, { 130, 2, DE, "parse" }, { 160, 1, AE, "req" } },
	  .row = "100-110 unknown/records were lost t1, 110-130 running t2, "
	  "130-160 unknown/records were lost t1 | "
	  "100-110 unknown/records were lost t1, 110-130 running t2, "
	  "130-160 unknown/records were lost t1" },
};

/* Analyses @t, and reads it again if records come too late. Returns the only row. */
static char *row_of(struct trace *t, size_t window, bool late)
{
	const struct analysis_options opts = { .window = window };
	struct rows rows = { 0 };
	const struct analysis_sink sink = { .operation = rows_add, .arg = &rows };
	struct analysis *a = analyse_into(t, &opts, &sink), *again = analysis_again(a);
	char *row;

	assert_int_equal(!!again, late);
	if (again) {
		rows_free(&rows);
		feed(again, t);
		assert_int_equal(analysis_finish(again), 0);
	}
	analysis_free(again ? again : a);
	assert_int_equal(rows.nr, 1);
	row = rows.of[0];
	rows.nr = 0;
	rows_free(&rows);
	trace_free(t);
	return row;
}

/* The second time, the mark of the loss comes too late to be sorted. */
static void open_durations_are_doubtful_after_loss(void **state)
{
	for (size_t i = 0; i < 2 * sizeof(doubts) / sizeof(doubts[0]); i++) {
		const struct doubt *d = &doubts[i / 2];
		const bool late = i % 2;
		bool served = !d->serve.to;
		struct trace t = { 0 };
		char want[256], *row;

		put_clock(&t, 0);
		put_switch(&t, 1, 0, 0, 1, 0);
		put_switch(&t, 1, 1, 0, 2, 0);
		if (!late)
			put_provider_loss(&t, 50, 60, "server");
		for (size_t k = 0; k < 10 && d->events[k].ns; k++) {
			if (d->events[k].ns > d->serve.from && !served) {
				served = true;
				put_duration(&t, d->serve.from, d->serve.to, 2, "serve");
			}
			put_event(&t, d->events[k].type, d->events[k].ns,
				  d->events[k].tid, d->events[k].name, 1);
		}
		for (uint64_t ns = 200; ns < 240; ns++)
			put_wakeup(&t, ns, 0, 3, 0);
		put_switch(&t, 250, 0, 1, 0, SLEEPS);
		put_switch(&t, 250, 1, 2, 0, SLEEPS);
		if (late)
			put_provider_loss(&t, 50, 60, "server");
		/* The operation begins where its first interval does. */
		snprintf(want, sizeof(want), "req 1 %.*s-160: %s", (int)strcspn(d->row, "-"),
			 d->row, d->row);
		row = row_of(&t, late ? 16 : 0, late);
		assert_string_equal(row, want);
		free(row);
	}
}

/*
 * Threads 1 and 2 sleep from 60 on, and lost wakeups may have ended both sleeps. The second loss
 * divides these times into parts that look alike. The row shows thread 2, whose state is known
 * sooner.
 */
static void parts_that_look_alike_count_as_one(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 0);
	for (uint32_t tid = 1; tid <= 3; tid++)
		put_switch(&t, 1, tid, 0, tid, 0);
	for (uint32_t tid = 1; tid <= 3; tid++)
		put_event(&t, DB, 2, tid, "work", 0);
	put_event(&t, AB, 10, 3, "req", 1);
	put_event(&t, AI, 11, 1, "req", 1);
	put_event(&t, AI, 11, 2, "req", 1);
	put_kernel_loss(&t, 30, 50, 0);
	put_switch(&t, 60, 1, 1, 0, SLEEPS);
	put_switch(&t, 60, 2, 2, 0, SLEEPS);
	put_event(&t, DE, 70, 3, "work", 0);
	put_kernel_loss(&t, 90, 95, 0);
	put_switch(&t, 93, 2, 0, 2, 0);
	put_event(&t, AE, 100, 3, "req", 1);
	expect_rows(&t, "req 1 10-100: 10-60 running t1, 60-70 running t3, "
		    "70-93 unknown/records were lost t2, 93-100 running t2 | "
		    "10-60 running t1, 60-100 unknown/records were lost t1", NULL);
}

/* --- stops of the session ------------------------------------------------------------------ */

static void time_of_a_stop_is_unknown(void **state)
{
	struct analysis_totals totals;
	struct trace t = { 0 };
	struct rows rows;

	put_moment(&t, 1, "session start");
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 5, 1, 0, 2, 0);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_duration(&t, 12, 20, 2, "before");
	BEGINS(&t, 13, 2, 2);
	ENDS(&t, 18, 2, 2);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_moment(&t, 30, "session stop");
	put_moment(&t, 70, "session start");
	put_switch(&t, 80, 0, 0, 1, 0);
	put_duration(&t, 85, 99, 1, "after");
	BEGINS(&t, 86, 1, 3);
	ENDS(&t, 98, 1, 3);
	ENDS(&t, 100, 1, 1);
	put_moment(&t, 120, "session stop");
	put_moment(&t, 1000, "trace end");
	rows = analyse(&t, NULL, &totals);
	assert_int_equal(rows.nr, 3);
	assert_string_equal(rows.of[0], "req 2 13-18: 13-18 running t2 | 13-18 running t2");
	assert_string_equal(rows.of[1], "req 3 86-98: 86-98 running t1 | 86-98 running t1");
	assert_string_equal(rows.of[2], "req 1 10-100: 10-100 unknown/records were lost t1 | "
			    "10-100 unknown/records were lost t1");
	assert_int_equal(totals.stopped_ns, 40);
	assert_int_equal(totals.losses, 0);
	assert_int_equal(totals.end, 120);
	rows_free(&rows);
	trace_free(&t);
}

static void trace_ends_with_its_last_stop(void **state)
{
	struct trace t = { 0 };

	put_moment(&t, 1, "session start");
	put_switch(&t, 5, 0, 0, 1, 0);
	put_event(&t, DB, 8, 1, "handle", 0);
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_moment(&t, 50, "session stop");
	put_moment(&t, 5000, "trace end");
	expect_rows(&t, "req 1 10-50 open: 10-20 running t1, 20-50 blocked/sleep t1 in handle |",
		    NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_on_another_cpu_stays_known),
		cmocka_unit_test(sleep_between_losses_may_have_ended),
		cmocka_unit_test(thread_on_the_lossy_cpu_is_unknown),
		cmocka_unit_test(lost_wakeup_may_keep_a_thread_runnable),
		cmocka_unit_test(event_ends_the_doubt_about_lost_wakeups),
		cmocka_unit_test(wakeup_after_a_loss_may_find_it_running),
		cmocka_unit_test(wakeup_between_losses_tells_nothing),
		cmocka_unit_test(second_loss_after_an_event_is_not_missed),
		cmocka_unit_test(first_record_after_a_loss_tells_no_more),
		cmocka_unit_test(cpu_after_a_loss_has_an_unknown_thread),
		cmocka_unit_test(loss_hides_the_cpu_that_was_awaited),
		cmocka_unit_test(inferred_switches_are_not_taken_for_records),
		cmocka_unit_test(inferred_leave_after_a_loss_tells_nothing),
		cmocka_unit_test(longer_loss_of_another_cpu_counts),
		cmocka_unit_test(lost_events_leave_only_running_known),
		cmocka_unit_test(lost_tracepoints_hide_nothing),
		cmocka_unit_test(losses_in_a_row_last_until_the_end_of_all),
		cmocka_unit_test(operation_is_unknown_since_the_first_loss),
		cmocka_unit_test(many_losses_do_not_use_up_the_history),
		cmocka_unit_test(open_durations_are_doubtful_after_loss),
		cmocka_unit_test(parts_that_look_alike_count_as_one),
		cmocka_unit_test(time_of_a_stop_is_unknown),
		cmocka_unit_test(trace_ends_with_its_last_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
