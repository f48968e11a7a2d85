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

struct late {
	struct analysis_thread_row row;
	size_t nr_waits, nr_exact, nr_latencies;
};

static int keep_row(void *arg, const struct analysis_thread_row *row)
{
	if (row->thread->tid == 9)
		((struct late *)arg)->row = *row;
	return 0;
}

static int count_wait(void *arg, const struct analysis_wait *wait)
{
	struct late *l = arg;

	l->nr_waits += wait->thread->tid == 9;
	l->nr_exact += wait->thread->tid == 9 && wait->exact;
	return 0;
}

static int count_latency(void *arg, const struct analysis_wakeup *w)
{
	((struct late *)arg)->nr_latencies += w->woken->tid == 9 && w->ran && w->exact;
	return 0;
}

/* Analyses @t into *@l, and frees it. */
static void analyse_late(struct trace *t, struct late *l)
{
	struct analysis_sink sink = {
		.thread = keep_row, .wait = count_wait, .wakeup = count_latency, .arg = l,
	};

	analysis_free(analyse_into(t, NULL, &sink));
	trace_free(t);
}

/*
 * The session follows thread 9 only since 500. So the records until then show neither that it
 * waited from 10 to 400, nor that it slept from 410 to 450: it may have run on another CPU.
 */
static void unfollowed_time_is_not_known(void **state)
{
	struct late l = { 0 };
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 8, 0, 1, 9, SLEEPS);
	put_switch(&t, 10, 0, 9, 1, PREEMPTED);
	put_switch(&t, 400, 0, 1, 9, SLEEPS);
	put_switch(&t, 410, 0, 9, 1, SLEEPS);
	put_switch(&t, 460, 0, 1, 9, SLEEPS);
	put_switch(&t, 470, 0, 9, 0, SLEEPS);
	put_switch(&t, 500, 1, 0, 9, 0);
	put_switch(&t, 510, 1, 9, 0, SLEEPS);
	put_wakeup(&t, 550, 1, 9, 0);
	put_switch(&t, 555, 1, 0, 9, 0);
	put_switch(&t, 560, 1, 9, 0, SLEEPS);
	put_clock(&t, 600);
	analyse_late(&t, &l);
	assert_int_equal(l.nr_waits, 3);
	assert_int_equal(l.nr_exact, 1);
	assert_int_equal(l.nr_latencies, 1);
	assert_int_equal(l.row.from, 8);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNING], 2 + 10 + 10 + 10 + 5);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNABLE], 5);
	assert_int_equal(l.row.ns[ANALYSIS_BLOCKED], 40 + 40);
	assert_int_equal(l.row.ns[ANALYSIS_UNKNOWN], 390 + 50 + 30);
	assert_int_equal(l.row.reason_ns[ANALYSIS_PREEMPTED], 0);
}

/* The kernel records wakeups only of threads that the session follows. */
static void woken_thread_is_followed(void **state)
{
	struct late l = { 0 };
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 8, 0, 1, 9, SLEEPS);
	put_switch(&t, 10, 0, 9, 1, SLEEPS);
	put_wakeup(&t, 50, 0, 9, 1);
	put_switch(&t, 60, 0, 1, 9, PREEMPTED);
	put_switch(&t, 70, 0, 9, 1, PREEMPTED);
	put_switch(&t, 90, 0, 1, 9, PREEMPTED);
	put_clock(&t, 100);
	analyse_late(&t, &l);
	assert_int_equal(l.nr_waits, 3);
	assert_int_equal(l.nr_exact, 2);
	assert_int_equal(l.nr_latencies, 1);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNING], 2 + 10 + 10);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNABLE], 10 + 20);
	assert_int_equal(l.row.ns[ANALYSIS_BLOCKED], 0);
	assert_int_equal(l.row.ns[ANALYSIS_UNKNOWN], 40);
}

/*
 * The session follows the first thread with the id 9, which traces, but not the second one, of
 * another process.
 */
static void reused_id_is_not_followed(void **state)
{
	struct late l = { 0 };
	struct analysis_sink sink = { .thread = keep_row, .wait = count_wait, .arg = &l };
	struct trace t = { 0 };
	struct analysis *a;

	put_clock(&t, 0);
	put_thread(&t, 9, 100, "first");
	put_switch(&t, 5, 0, 1, 9, PREEMPTED);
	put_duration(&t, 6, 8, 9, "work");
	put_switch(&t, 10, 0, 9, 1, PREEMPTED);
	put_switch(&t, 20, 0, 1, 9, PREEMPTED);
	put_switch(&t, 30, 0, 9, 1, EXITS);
	put_thread(&t, 9, 200, "second");
	put_switch(&t, 40, 0, 1, 9, PREEMPTED);
	put_switch(&t, 50, 0, 9, 1, PREEMPTED);
	put_switch(&t, 70, 0, 1, 9, PREEMPTED);
	put_clock(&t, 100);
	a = analyse_into(&t, NULL, &sink);
	assert_string_equal(l.row.thread->name, "second");
	assert_false(l.row.thread->followed);
	assert_int_equal(l.nr_exact, 1);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNING], 5 + 10 + 10 + 30);
	assert_int_equal(l.row.ns[ANALYSIS_RUNNABLE], 10);
	assert_int_equal(l.row.ns[ANALYSIS_UNKNOWN], 20);
	analysis_free(a);
	trace_free(&t);
}

/* A hostile file has a mark of slow operations with a reason that the state cannot have. */
static void mark_with_wrong_reason_keeps_its_state(void **state)
{
	static const struct {
		const char *state, *reason;
		enum analysis_state want;
		enum analysis_reason want_reason;
		uint64_t ns, reason_ns;		/* it runs without a reason from 200 to 300 */
	} marks[] = {
		{ "blocked", "disk sleep", ANALYSIS_BLOCKED, ANALYSIS_DISK, 100, 100 },
		{ "blocked", "preempted", ANALYSIS_BLOCKED, ANALYSIS_NO_REASON, 100, 200 },
		{ "runnable", "preempted", ANALYSIS_RUNNABLE, ANALYSIS_PREEMPTED, 100, 100 },
		{ "runnable", "exited", ANALYSIS_RUNNABLE, ANALYSIS_NO_REASON, 100, 200 },
		{ "running", "iowait", ANALYSIS_RUNNING, ANALYSIS_NO_REASON, 200, 200 },
		{ "unknown", "woken", ANALYSIS_UNKNOWN, ANALYSIS_NO_REASON, 100, 200 },
		{ "queued", "sleep", ANALYSIS_QUEUED, ANALYSIS_SLEEP, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		struct late l = { 0 };
		struct analysis_sink sink = { .thread = keep_row, .arg = &l };
		struct trace t = { 0 };
		struct fxt_record *rec;

		put_event(&t, ASYNCTRACE_FXT_INSTANT, 0, PSEUDO, "slower than", 0);
		t.of[0].category = (struct fxt_text){ .s = "asynctrace", .len = 10 };
		put_event(&t, ASYNCTRACE_FXT_INSTANT, 101, PSEUDO, "thread state", 0);
		rec = &t.of[1];
		rec->category = t.of[0].category;
		add_number(rec, "thread", ASYNCTRACE_FXT_ARG_KOID, 9);
		add_text(rec, "state", marks[i].state);
		add_text(rec, "reason", marks[i].reason);
		add_bool(rec, "followed");
		put_switch(&t, 200, 0, 0, 9, 0);
		put_switch(&t, 300, 0, 9, 0, EXITS);
		put_clock(&t, 300);
		analysis_free(analyse_into(&t, NULL, &sink));
		assert_int_equal(l.row.ns[marks[i].want], marks[i].ns);
		assert_int_equal(l.row.reason_ns[marks[i].want_reason], marks[i].reason_ns);
		trace_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finish_with_any_number_of_threads),
		cmocka_unit_test(last_name_of_a_reused_id_counts),
		cmocka_unit_test(unfollowed_time_is_not_known),
		cmocka_unit_test(woken_thread_is_followed),
		cmocka_unit_test(reused_id_is_not_followed),
		cmocka_unit_test(mark_with_wrong_reason_keeps_its_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
