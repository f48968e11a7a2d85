// SPDX-License-Identifier: GPL-2.0
/* Scheduling records say why a thread left its CPU, and on which operations both threads work. */
#include "build.h"
#include "report/blame.h"
#include "report/explain.h"
#include "report/reasons.h"

/* Threads 1 and 2 run on CPU 0 and 1 from 1 on, and work on nothing. */
static void start(struct trace *t)
{
	put_clock(t, 0);
	put_switch(t, 1, 0, 0, 1, 0);
	put_switch(t, 1, 1, 0, 2, 0);
}

/* Thread 1 leaves CPU 0 to idle while it works on @id. */
static void leaves_on(struct trace *t, uint64_t ns, uint32_t state, uint64_t id)
{
	put_switch(t, ns, 0, 1, 0, state);
	add_cell(t, "outgoing_operation", id);
}

static void comes_on(struct trace *t, uint64_t ns, uint64_t id)
{
	put_switch(t, ns, 0, 0, 1, 0);
	add_cell(t, "incoming_operation", id);
}

static void switches_name_what_blocks(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	add_call(&t, "recvfrom", 5, ASYNCTRACE_FXT_FILE_SOCKET << 4);
	put_wakeup(&t, 30, 0, 1, 2);
	put_switch(&t, 31, 0, 0, 1, 0);
	put_switch(&t, 40, 0, 1, 0, SLEEPS_ON_DISK);
	add_call(&t, "fsync", 7, ASYNCTRACE_FXT_OFF_IOWAIT);
	put_wakeup(&t, 50, 0, 1, 0);
	put_switch(&t, 51, 0, 0, 1, 0);
	put_switch(&t, 60, 0, 1, 0, SLEEPS_ON_DISK);
	add_call(&t, NULL, -1, ASYNCTRACE_FXT_OFF_EXCEPTION);
	put_wakeup(&t, 70, 0, 1, 0);
	put_switch(&t, 71, 0, 0, 1, 0);
	put_switch(&t, 80, 0, 1, 3, PREEMPTED);
	add_call(&t, "sched_yield", -1, 0);
	put_switch(&t, 85, 0, 3, 1, PREEMPTED);
	put_switch(&t, 90, 0, 1, 3, PREEMPTED);
	add_call(&t, "sched_yield", -1, ASYNCTRACE_FXT_OFF_PREEMPTED);
	put_switch(&t, 95, 0, 3, 1, PREEMPTED);
	ENDS(&t, 100, 1, 1);
	put_switch(&t, 110, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-100: 10-20 running t1, 20-30 blocked/sleep t1 @recvfrom(5)#12 in work by t2, "
			"30-31 runnable/woken t1 by idle, 31-40 running t1, "
			"40-50 blocked/iowait t1 @fsync(7) in work by interrupt, "
			"50-51 runnable/woken t1 by idle, 51-60 running t1, "
			"60-70 blocked/disk sleep t1 @page fault in work by interrupt, "
			"70-71 runnable/woken t1 by idle, 71-80 running t1, "
			"80-85 runnable/yielded t1 in work by t3, 85-90 running t1, "
			"90-95 runnable/preempted t1 in work by t3, 95-100 running t1 | "
			"10-20 running t1, 20-30 running t2, 30-31 runnable/woken t1 by idle, "
			"31-40 running t1, 40-50 blocked/iowait t1 @fsync(7) in work by interrupt, "
			"50-51 runnable/woken t1 by idle, 51-60 running t1, "
			"60-70 blocked/disk sleep t1 @page fault in work by interrupt, "
			"70-71 runnable/woken t1 by idle, 71-80 running t1, "
			"80-85 runnable/yielded t1 in work by t3, 85-90 running t1, "
			"90-95 runnable/preempted t1 in work by t3, 95-100 running t1", NULL);
}

/* A thread that exits is in the system call exit, for which it does not wait. */
static void exited_threads_wait_for_nothing(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_duration(&t, 10, 100, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, EXITS);
	add_call(&t, "exit", 0, 0);
	ENDS(&t, 40, 2, 1);
	put_switch(&t, 50, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-40: 10-20 running t1, 20-40 blocked/exited t1 in work | "
			"10-20 running t1, 20-40 blocked/exited t1 in work", NULL);
}

/* No event says on what the threads work: only the records of the scheduler do. */
static void ids_alone_tell_the_account(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 5, 2, 1);
	BEGINS(&t, 5, 2, 2);
	BEGINS(&t, 5, 2, 3);
	leaves_on(&t, 20, SLEEPS, 1);
	add_call(&t, "futex", -1, 0);
	/* Thread 2 serves request 2 when it wakes thread 1. */
	put_wakeup(&t, 30, 0, 1, 2);
	add_cell(&t, "operation", 1);
	add_cell(&t, "waker_operation", 2);
	/* Thread 3 serves request 3 on the CPU for which thread 1 waits. */
	put_switch(&t, 25, 0, 0, 3, 0);
	add_cell(&t, "incoming_operation", 3);
	put_switch(&t, 40, 0, 3, 1, SLEEPS);
	add_cell(&t, "outgoing_operation", 3);
	add_cell(&t, "incoming_operation", 1);
	ENDS(&t, 50, 1, 1);
	leaves_on(&t, 60, SLEEPS, 0);
	ENDS(&t, 70, 2, 2);
	ENDS(&t, 70, 2, 3);
	put_switch(&t, 80, 1, 2, 0, SLEEPS);
	add_cell(&t, "outgoing_operation", 2);
	expect_rows(&t, "req 1 5-50: 5-20 running t1, 20-30 blocked/sleep t1 @futex by t2 on req 2, "
			"30-40 runnable/woken t1 by t3 on req 3, 40-50 running t1 | "
			"5-20 running t1, 20-30 running t2, 30-40 runnable/woken t1 by t3 on req 3, "
			"40-50 running t1",
		    "req 2 5-70: 5-70 running t2 | 5-70 running t2",
		    /* Thread 3 did not run, so it had entered its operation before. */
		    "req 3 5-70: 5-20 runnable t3 by t1 on req 1 ?, 20-25 runnable t3 by idle ?, "
			"25-40 running t3, 40-70 blocked/sleep t3 | 5-20 runnable t3 by t1 on req 1 ?, "
			"20-25 runnable t3 by idle ?, 25-40 running t3, 40-70 blocked/sleep t3", NULL);
}

/* The worker of request 1 serves request 2 first. */
static void ids_tell_what_the_worker_did(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 5, 2, 1);
	BEGINS(&t, 5, 2, 2);
	leaves_on(&t, 10, SLEEPS, 2);
	put_wakeup(&t, 15, 0, 1, 0);
	comes_on(&t, 20, 2);
	ENDS(&t, 30, 1, 2);
	leaves_on(&t, 40, SLEEPS, 1);
	put_wakeup(&t, 45, 0, 1, 0);
	comes_on(&t, 50, 1);
	ENDS(&t, 60, 1, 1);
	leaves_on(&t, 70, SLEEPS, 0);
	put_switch(&t, 80, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 2 5-30: 5-10 running t1, 10-15 blocked/sleep t1 by interrupt, "
			"15-20 runnable/woken t1 by idle, 20-30 running t1 | 5-10 running t1, "
			"10-15 blocked/sleep t1 by interrupt, 15-20 runnable/woken t1 by idle, "
			"20-30 running t1",
		    "req 1 5-60: 5-20 queued t1 on req 2, 20-40 running t1, "
			"40-45 blocked/sleep t1 by interrupt, 45-50 runnable/woken t1 by idle, "
			"50-60 running t1 | 5-20 queued t1 on req 2, 20-40 running t1, "
			"40-45 blocked/sleep t1 by interrupt, 45-50 runnable/woken t1 by idle, "
			"50-60 running t1", NULL);
}

/* Thread 2 is in a duration around an event of request 9, but serves request 2. */
static void ids_count_more_than_durations(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 2, 1, 2);
	BEGINS(&t, 2, 1, 9);
	put_duration(&t, 5, 60, 2, "other");
	STEPS(&t, 6, 2, 9);
	put_duration(&t, 10, 50, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_wakeup(&t, 30, 0, 1, 2);
	add_cell(&t, "waker_operation", 2);
	put_switch(&t, 31, 0, 0, 1, 0);
	ENDS(&t, 50, 1, 1);
	put_switch(&t, 70, 0, 1, 0, SLEEPS);
	put_clock(&t, 80);
	expect_rows(&t, "req 1 10-50: 10-20 running t1, 20-30 blocked/sleep t1 in work by t2 on req 2, "
			"30-31 runnable/woken t1 by idle, 31-50 running t1 | 10-20 running t1, "
			"20-30 running t2, 30-31 runnable/woken t1 by idle, 31-50 running t1",
		    "req 2 2-80 open: 2-80 running t2 |",
		    "req 9 2-80 open: 2-5 queued t2 on req 2, 5-60 running t2, 60-80 queued |", NULL);
}

/* Each record counts for all operations with its id that are open at its time. */
static void id_counts_for_operations_begun_since(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 5, 2, 1);
	leaves_on(&t, 10, SLEEPS, 1);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 15, 2, "phase", 1);
	put_wakeup(&t, 20, 0, 1, 0);
	add_cell(&t, "operation", 1);
	comes_on(&t, 30, 1);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 40, 2, "phase", 1);
	ENDS(&t, 50, 2, 1);
	leaves_on(&t, 60, SLEEPS, 0);
	put_switch(&t, 70, 1, 2, 0, SLEEPS);
	expect_rows(&t, "phase 1 15-40: 15-20 queued t1 on req 1, 20-30 runnable/woken t1 by idle, "
			"30-40 running t1 | 15-20 queued t1 on req 1, 20-30 runnable/woken t1 by idle, "
			"30-40 running t1",
		    "req 1 5-50: 5-10 running t1, 10-20 blocked/sleep t1 by interrupt, "
			"20-30 runnable/woken t1 by idle, 30-50 running t1 | "
			"5-10 running t1, 10-20 blocked/sleep t1 by interrupt, "
			"20-30 runnable/woken t1 by idle, 30-50 running t1", NULL);
}

/* Thread 1 may have changed from request 1 to 2 at any time since the loss began. */
static void loss_hides_when_the_id_changed(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 2, 2, 1);
	BEGINS(&t, 5, 2, 2);
	leaves_on(&t, 10, SLEEPS, 1);
	put_kernel_loss(&t, 20, 30, 0);
	put_wakeup(&t, 40, 0, 1, 0);
	add_cell(&t, "operation", 2);
	comes_on(&t, 45, 2);
	ENDS(&t, 50, 1, 1);
	ENDS(&t, 50, 1, 2);
	leaves_on(&t, 60, SLEEPS, 2);
	put_switch(&t, 70, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 2-50: 2-10 running t1, 10-20 blocked/sleep t1, "
			"20-40 unknown/records were lost t1, 40-50 queued t1 on req 2 | "
			"2-10 running t1, 10-20 blocked/sleep t1, "
			"20-40 unknown/records were lost t1, 40-50 queued t1 on req 2",
		    "req 2 5-50: 5-20 queued t1 on req 1, 20-40 unknown/records were lost t1, "
			"40-45 runnable t1 ?, 45-50 running t1 | "
			"5-20 queued t1 on req 1, 20-40 unknown/records were lost t1, "
			"40-45 runnable t1 ?, 45-50 running t1", NULL);
}

/*
 * The wakeup at 10 has an operation of its waker, thread 3. So the scheduling of thread 3 is
 * recorded from 10 on, although its first event comes later.
 */
static void waker_with_an_id_runs_on(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_wakeup(&t, 10, 2, 4, 3);
	add_cell(&t, "waker_operation", 1);
	BEGINS(&t, 15, 2, 1);
	put_duration(&t, 20, 50, 3, "later");
	put_switch(&t, 30, 2, 3, 0, SLEEPS);
	add_cell(&t, "outgoing_operation", 1);
	ENDS(&t, 40, 2, 1);
	put_clock(&t, 50);
	expect_rows(&t, "req 1 15-40: 15-30 running t3 ?, 30-40 blocked/sleep t3 in later | "
			"15-30 running t3 ?, 30-40 blocked/sleep t3 in later", NULL);
}

/*
 * If an earlier record had an operation id of the thread, a record without an id means that the
 * thread works on nothing.
 */
static void absent_id_ends_the_work(void **state)
{
	struct trace t = { 0 };

	start(&t);
	BEGINS(&t, 5, 2, 1);
	leaves_on(&t, 10, SLEEPS, 1);
	put_wakeup(&t, 20, 0, 1, 0);
	add_cell(&t, "operation", 1);
	comes_on(&t, 30, 1);
	leaves_on(&t, 40, SLEEPS, 0);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 70, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 5-60: 5-10 running t1, 10-20 blocked/sleep t1 by interrupt, "
			"20-30 runnable/woken t1 by idle, 30-40 running t1, 40-60 queued t2 | "
			"5-10 running t1, 10-20 blocked/sleep t1 by interrupt, "
			"20-30 runnable/woken t1 by idle, 30-40 running t1, 40-60 queued t2", NULL);
}

/* --- threads that sleep ------------------------------------------------------------------ */

static char threads[1024];

static int keep_thread(void *arg, const struct analysis_thread_row *row)
{
	(void)arg;
	snprintf(threads + strlen(threads), sizeof(threads) - strlen(threads),
		 "t%u %llu-%llu running %llu blocked %llu unknown %llu: %s @%s; ", row->thread->tid,
		 (unsigned long long)row->from, (unsigned long long)row->to,
		 (unsigned long long)row->ns[ANALYSIS_RUNNING],
		 (unsigned long long)row->ns[ANALYSIS_BLOCKED],
		 (unsigned long long)row->ns[ANALYSIS_UNKNOWN],
		 analysis_state_name(row->last.state), row->last.in);
	return 0;
}

/* The recorder has read the state of the thread between @from and @until. */
static void put_state(struct trace *t, uint32_t tid, unsigned int state, uint64_t since,
		      uint64_t from, uint64_t until)
{
	put_thread(t, tid, 100, "worker");
	add_number(&t->of[t->nr - 1], "state", ASYNCTRACE_FXT_ARG_UINT32, state);
	add_number(&t->of[t->nr - 1], "state_since", ASYNCTRACE_FXT_ARG_UINT64, since);
	add_number(&t->of[t->nr - 1], "read_from", ASYNCTRACE_FXT_ARG_UINT64, from);
	add_number(&t->of[t->nr - 1], "read_until", ASYNCTRACE_FXT_ARG_UINT64, until);
}

static void put_asleep(struct trace *t, uint32_t tid, const char *syscall)
{
	put_state(t, tid, SLEEPS, 100, 104, 106);
	if (syscall)
		add_text(&t->of[t->nr - 1], "syscall", syscall);
}

/* Returns the rows of the threads of @t, which is freed. */
static const char *threads_of(struct trace *t)
{
	const struct analysis_sink sink = { .thread = keep_thread };
	const struct analysis_options opts = { 0 };

	*threads = '\0';
	analysis_free(analyse_into(t, &opts, &sink));
	trace_free(t);
	return threads;
}

static void G11_sleeping_thread_has_its_state(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_asleep(&t, 5, "epoll_wait");
	put_asleep(&t, 6, NULL);
	/* The thread can run, so only records can show its state. */
	put_state(&t, 7, 0, 100, 104, 106);
	put_wakeup(&t, 150, 0, 6, 0);
	put_switch(&t, 160, 0, 0, 6, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 0 blocked 100 unknown 0: blocked @epoll_wait; "
			    "t6 100-200 running 40 blocked 50 unknown 0: running @; "
			    "t7 100-200 running 0 blocked 0 unknown 100: unknown @; ");
}

/* A record during the reading may be older or newer than the state that was read. */
static void G11_records_override_a_state(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	/* Threads 5 and 6 have a record before the reading, or during it. */
	put_state(&t, 5, SLEEPS, 100, 120, 130);
	put_state(&t, 6, SLEEPS, 100, 120, 130);
	put_switch(&t, 110, 0, 5, 0, SLEEPS);
	put_switch(&t, 130, 0, 0, 6, 0);
	/* Thread 7 belongs to the session only since 150. Thread 8 is woken during its reading. */
	put_state(&t, 7, SLEEPS, 150, 160, 170);
	put_state(&t, 8, SLEEPS, 100, 160, 170);
	put_wakeup(&t, 165, 1, 8, 0);
	put_switch(&t, 180, 1, 0, 8, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 10 blocked 90 unknown 0: blocked @; "
			    "t6 100-200 running 70 blocked 0 unknown 0: running @; "
			    "t7 150-200 running 0 blocked 50 unknown 0: blocked @; "
			    "t8 100-200 running 20 blocked 0 unknown 65: running @; ");
}

/*
 * At 110, thread 5 is preempted and thread 6 falls asleep. The session follows these threads only
 * since the recorder read their states at 150. So in between, both may have run without records.
 */
static void reading_ends_what_was_known_of_others(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_switch(&t, 105, 0, 9, 5, SLEEPS);
	put_switch(&t, 110, 0, 5, HIDDEN_ON(0), PREEMPTED);
	put_switch(&t, 105, 1, 9, 6, SLEEPS);
	put_switch(&t, 110, 1, 6, HIDDEN_ON(1), SLEEPS);
	put_state(&t, 5, 0, 150, 150, 155);
	put_state(&t, 6, SLEEPS, 150, 150, 155);
	put_duration(&t, 160, 170, 5, "work");
	put_switch(&t, 180, 0, 5, 0, SLEEPS);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 105-200 running 35 blocked 20 unknown 40: blocked @; "
			    "t6 105-200 running 5 blocked 50 unknown 40: blocked @; "
			    "t9 105-200 running 0 blocked 0 unknown 95: unknown @; ");
}

/*
 * The switches at 110 are from rings that were read late, so they are older than the states of
 * threads 5 and 6. The state of thread 5 comes from an earlier file of the series, which has all
 * records before it. The state of thread 6 was read from /proc: what it did between 110 and 115 is
 * unknown.
 */
static void state_of_earlier_file_overrides_records(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_switch(&t, 110, 0, 5, 0, SLEEPS);
	put_state(&t, 5, 0, 120, 120, 120);
	put_switch(&t, 150, 0, 0, 5, 0);
	put_switch(&t, 110, 1, 6, 0, SLEEPS);
	put_state(&t, 6, 0, 115, 115, 130);
	put_switch(&t, 150, 1, 0, 6, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 110-200 running 50 blocked 10 unknown 0: running @; "
			    "t6 110-200 running 50 blocked 0 unknown 5: running @; ");
}

/* A thread whose state was never read may have been created right before its first record. */
static void unlisted_thread_counts_from_first_record(void **state)
{
	const struct analysis_sink sink = { .thread = keep_thread };
	const struct analysis_options opts = { 0 };
	struct trace t = { 0 };

	*threads = '\0';
	put_clock(&t, 100);
	put_state(&t, 7, 0, 100, 104, 106);
	put_switch(&t, 160, 0, 7, 0, SLEEPS);
	put_switch(&t, 170, 0, 0, 8, 0);
	put_switch(&t, 190, 0, 8, 0, SLEEPS);
	put_wakeup(&t, 180, 0, 9, 8);
	put_switch(&t, 195, 0, 0, 9, 0);
	put_switch(&t, 196, 1, 0, 7, 0);
	put_clock(&t, 200);
	analysis_free(analyse_into(&t, &opts, &sink));
	assert_string_equal(threads, "t7 100-200 running 64 blocked 36 unknown 0: running @; "
				     "t8 170-200 running 20 blocked 10 unknown 0: blocked @; "
				     "t9 180-200 running 5 blocked 0 unknown 0: running @; ");
	trace_free(&t);
}

static void stop_of_the_session_hides_states(void **state)
{
	struct trace t = { 0 };

	put_moment(&t, 100, "session start");
	put_asleep(&t, 5, "epoll_wait");
	put_switch(&t, 110, 0, 0, 6, 0);
	put_switch(&t, 110, 1, 0, 7, 0);
	put_switch(&t, 120, 1, 7, 0, SLEEPS);
	put_moment(&t, 130, "session stop");
	put_moment(&t, 170, "session start");
	put_switch(&t, 180, 0, 6, 0, SLEEPS);
	put_wakeup(&t, 190, 0, 6, 0);
	put_moment(&t, 200, "session stop");
	put_moment(&t, 999, "trace end");
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 0 blocked 30 unknown 70: unknown @; "
			    "t6 110-200 running 30 blocked 10 unknown 40: runnable @; "
			    "t7 110-200 running 10 blocked 10 unknown 70: unknown @; ");
}

/* The session may have been stopped when this file began, so the sleep of thread 5 may be over. */
static void file_may_begin_with_a_stopped_session(void **state)
{
	struct trace t = { 0 };

	put_moment(&t, 100, "session continued");
	put_state(&t, 5, SLEEPS, 50, 50, 50);
	put_moment(&t, 130, "session start");
	put_moment(&t, 200, "trace end");
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 0 blocked 0 unknown 100: unknown @; ");
}

/* The session is stopped at 200, and the recorder reads states before that or afterwards. */
static void state_read_after_a_stop_does_not_count(void **state)
{
	for (int after = 0; after < 2; after++) {
		const uint64_t read = after ? 304 : 184;
		struct trace t = { 0 };

		put_moment(&t, 100, "session start");
		put_switch(&t, 110, 0, 0, 6, 0);
		put_moment(&t, 200, "session stop");
		put_state(&t, 5, SLEEPS, 100, read, read + 2);
		put_moment(&t, 400, "trace end");
		assert_string_equal(threads_of(&t), after ?
				    "t5 100-200 running 0 blocked 0 unknown 100: unknown @; "
				    "t6 110-200 running 90 blocked 0 unknown 0: running @; " :
				    "t5 100-200 running 0 blocked 100 unknown 0: blocked @; "
				    "t6 110-200 running 90 blocked 0 unknown 0: running @; ");
	}
}

/* A wakeup that was lost may have been the thread's. */
static void G11_loss_hides_what_a_sleeper_did(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_asleep(&t, 5, "epoll_wait");
	put_kernel_loss(&t, 120, 130, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 0 blocked 20 unknown 80: unknown @; ");
}

/* A state that is read after a loss holds since the loss. A state read during it is ignored. */
static void G11_state_is_known_again_after_a_loss(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_switch(&t, 105, 1, 0, 5, 0);
	put_switch(&t, 110, 1, 5, 0, SLEEPS);
	put_kernel_loss(&t, 120, 130, 0);
	put_state(&t, 5, SLEEPS, 100, 150, 160);
	put_state(&t, 6, SLEEPS, 100, 150, 160);
	put_state(&t, 7, SLEEPS, 100, 125, 135);
	/* Thread 8 is woken while the recorder reads its state. */
	put_state(&t, 8, SLEEPS, 100, 150, 160);
	put_wakeup(&t, 155, 1, 8, 0);
	put_switch(&t, 170, 1, 0, 8, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 5 blocked 80 unknown 10: blocked @; "
			    "t6 100-200 running 0 blocked 70 unknown 30: blocked @; "
			    "t7 100-200 running 0 blocked 0 unknown 100: unknown @; "
			    "t8 100-200 running 30 blocked 0 unknown 55: running @; ");
}

/*
 * The reading shows that thread 1 sleeps after the loss. The sleep belongs to "wait", the innermost
 * open duration.
 */
static void G11_sleep_after_a_loss_is_in_its_duration(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_duration(&t, 10, 180, 1, "work");
	BEGINS(&t, 10, 1, 1);
	put_duration(&t, 15, 175, 1, "wait");
	put_switch(&t, 20, 0, 1, 0, SLEEPS);
	put_kernel_loss(&t, 120, 130, 0);
	put_kernel_loss(&t, 120, 130, 1);
	put_state(&t, 1, SLEEPS, 0, 150, 160);
	put_wakeup(&t, 170, 0, 1, 0);
	put_switch(&t, 170, 0, 0, 1, 0);
	ENDS(&t, 180, 1, 1);
	put_switch(&t, 190, 0, 1, 0, SLEEPS);
	put_clock(&t, 200);
	expect_rows(&t, "req 1 10-180: 10-20 running t1, 20-120 blocked/sleep t1 in wait, "
			"120-130 unknown/records were lost t1, "
			"130-170 blocked/sleep t1 in wait by interrupt, 170-180 running t1 | "
			"10-20 running t1, 20-120 blocked/sleep t1 in wait, "
			"120-130 unknown/records were lost t1, "
			"130-170 blocked/sleep t1 in wait by interrupt, 170-180 running t1", NULL);
}

/* A later file of a session repeats readings that are older than the file. */
static void G11_state_may_be_older_than_the_file(void **state)
{
	struct trace t = { 0 };

	put_clock(&t, 100);
	put_state(&t, 5, SLEEPS, 10, 20, 30);
	put_wakeup(&t, 150, 0, 5, 0);
	put_switch(&t, 160, 0, 0, 5, 0);
	put_clock(&t, 200);
	assert_string_equal(threads_of(&t),
			    "t5 100-200 running 40 blocked 50 unknown 0: running @; ");
}

/* --- in words --------------------------------------------------------------------------------- */

struct said {
	struct blame blame;
	char sentence[512];
};

static int say(void *arg, const struct analysis_operation *op)
{
	struct said *said = arg;
	FILE *f = fmemopen(said->sentence, sizeof(said->sentence), "w");

	assert_non_null(f);
	explain_sentence(f, op);
	fclose(f);
	return blame_add(&said->blame, op, op->intervals, op->nr_intervals, 1u << ANALYSIS_BLOCKED);
}

static void sentence_and_profile_name_the_reason(void **state)
{
	struct said said = { 0 };
	const struct analysis_sink sink = { .operation = say, .arg = &said };
	const struct analysis_options opts = { 0 };
	const char *frames[BLAME_FRAMES];
	struct trace t = { 0 };
	struct analysis *a;

	put_thread(&t, 1, 100, "worker");
	start(&t);
	put_duration(&t, 10, 100, 1, "flush");
	BEGINS(&t, 10, 1, 1);
	put_switch(&t, 20, 0, 1, 0, SLEEPS_ON_DISK);
	add_call(&t, "fdatasync", 7, ASYNCTRACE_FXT_OFF_IOWAIT);
	put_wakeup(&t, 60, 0, 1, 0);
	put_switch(&t, 60, 0, 0, 1, 0);
	put_switch(&t, 70, 0, 1, 0, SLEEPS);
	add_call(&t, "futex", 0x1000, 0);
	put_wakeup(&t, 90, 0, 1, 0);
	put_switch(&t, 90, 0, 0, 1, 0);
	ENDS(&t, 100, 1, 1);
	a = analyse_into(&t, &opts, &sink);
	assert_string_equal(said.sentence, "req 0x1 took 90 ns: 60 blocked (40 of it in fdatasync(7) "
					   "(iowait) within flush on worker/1, woken by an interrupt), "
					   "30 running.\n");
	blame_sort(&said.blame);
	assert_int_equal(said.blame.nr, 2);
	assert_int_equal(said.blame.of[0].ns, 40);
	assert_string_equal(said.blame.of[0].reason, "fsync");
	assert_int_equal(said.blame.of[1].ns, 20);
	assert_string_equal(said.blame.of[1].reason, "futex");
	assert_int_equal(blame_frames(&said.blame.of[1], frames), 6);
	assert_string_equal(frames[2], "futex");
	blame_free(&said.blame);
	analysis_free(a);
	trace_free(&t);
}

/* The binary search must find calls in all parts of the table. */
static void each_call_has_its_reason(void **state)
{
	static const char *const of[][2] = {
		{ "accept", "socket" }, { "epoll_pwait2", "epoll" }, { "futex", "futex" },
		{ "clock_nanosleep", "sleep" }, { "read", "read" }, { "recvmsg", "socket" },
		{ "splice", "pipe" }, { "wait4", "child" }, { "writev", "write" },
		{ "syscall_999", "syscall_999" }, { ANALYSIS_PAGE_FAULT, ANALYSIS_PAGE_FAULT },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct analysis_interval row = {
			.state = ANALYSIS_BLOCKED, .reason = ANALYSIS_SLEEP, .in = of[i][0],
		};

		assert_string_equal(reason_of(&row), of[i][1]);
	}
}

static void descriptor_tells_what_reading_waits_for(void **state)
{
	static const struct {
		const char *call;
		unsigned int file;
		const char *reason, *text;
	} of[] = {
		{ "read", ASYNCTRACE_FXT_FILE_SOCKET, "socket", "read(7) on a socket" },
		{ "writev", ASYNCTRACE_FXT_FILE_PIPE, "pipe", "writev(7) on a pipe" },
		{ "pread64", ASYNCTRACE_FXT_FILE_REGULAR, "read", "pread64(7) on a file" },
		{ "read", ASYNCTRACE_FXT_FILE_CHARACTER, "read", "read(7) on a character device" },
		{ "read", ASYNCTRACE_FXT_FILE_OTHER, "read", "read(7)" },
		{ "fsync", ASYNCTRACE_FXT_FILE_BLOCK, "fsync", "fsync(7) on a block device" },
		{ "read", 15, "read", "read(7)" },
		/*
		 * These calls take no descriptor. Their argument equals the number of an open file
		 * by chance, so the type of that file must not count.
		 */
		{ "wait4", ASYNCTRACE_FXT_FILE_SOCKET, "child", "wait4" },
		{ "futex", ASYNCTRACE_FXT_FILE_PIPE, "futex", "futex(0x7)" },
		{ "syscall_999", ASYNCTRACE_FXT_FILE_PIPE, "syscall_999", "syscall_999" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct analysis_interval row = {
			.state = ANALYSIS_BLOCKED, .reason = ANALYSIS_SLEEP, .in = of[i].call,
			.argument = 7, .has_argument = true, .file = of[i].file,
		};
		char text[64] = "";
		FILE *f = fmemopen(text, sizeof(text), "w");

		assert_non_null(f);
		reason_print_call(f, &row);
		fclose(f);
		assert_string_equal(text, of[i].text);
		assert_string_equal(reason_of(&row), of[i].reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_name_what_blocks),
		cmocka_unit_test(exited_threads_wait_for_nothing),
		cmocka_unit_test(ids_alone_tell_the_account),
		cmocka_unit_test(ids_tell_what_the_worker_did),
		cmocka_unit_test(ids_count_more_than_durations),
		cmocka_unit_test(id_counts_for_operations_begun_since),
		cmocka_unit_test(loss_hides_when_the_id_changed),
		cmocka_unit_test(waker_with_an_id_runs_on),
		cmocka_unit_test(absent_id_ends_the_work),
		cmocka_unit_test(G11_sleeping_thread_has_its_state),
		cmocka_unit_test(reading_ends_what_was_known_of_others),
		cmocka_unit_test(state_of_earlier_file_overrides_records),
		cmocka_unit_test(unlisted_thread_counts_from_first_record),
		cmocka_unit_test(stop_of_the_session_hides_states),
		cmocka_unit_test(file_may_begin_with_a_stopped_session),
		cmocka_unit_test(state_read_after_a_stop_does_not_count),
		cmocka_unit_test(G11_loss_hides_what_a_sleeper_did),
		cmocka_unit_test(G11_records_override_a_state),
		cmocka_unit_test(G11_state_is_known_again_after_a_loss),
		cmocka_unit_test(G11_sleep_after_a_loss_is_in_its_duration),
		cmocka_unit_test(G11_state_may_be_older_than_the_file),
		cmocka_unit_test(sentence_and_profile_name_the_reason),
		cmocka_unit_test(each_call_has_its_reason),
		cmocka_unit_test(descriptor_tells_what_reading_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
