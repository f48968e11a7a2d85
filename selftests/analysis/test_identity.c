// SPDX-License-Identifier: GPL-2.0
/* Threads that have one id after each other: each row has the name of its time. */
#include "build.h"
#include "report/kept.h"

/* Operations, in order of their begin, and wakeups; names are looked up at the end */
struct seen {
	struct kept kept;
	const struct analysis_thread *waker, *woken, *last;
};

static int add_operation(void *arg, const struct analysis_operation *op)
{
	struct seen *s = arg;

	check_row(op);
	assert_int_equal(op->nr_threads, 1);
	return kept_add(&s->kept, op);
}

static int add_wakeup(void *arg, const struct analysis_wakeup *w)
{
	struct seen *s = arg;

	if (!s->woken)
		s->woken = w->woken;
	s->waker = w->waker;
	return 0;
}

static int add_thread(void *arg, const struct analysis_thread_row *row)
{
	if (row->thread->tid == 7)
		((struct seen *)arg)->last = row->thread;
	return 0;
}

static void put_work_of(struct trace *t, uint64_t ns, uint64_t id)
{
	put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, ns, 7, "work", 0);
	BEGINS(t, ns, 7, id);
	ENDS(t, ns + 20, 7, id);
	put_event(t, ASYNCTRACE_FXT_DURATION_END, ns + 20, 7, "work", 0);
}

static void set_pid(struct trace *t, size_t from, uint32_t pid)
{
	for (; from < t->nr; from++)
		if (t->of[from].kind == FXT_EVENT)
			t->of[from].thread.pid = pid;
}

/* Thread 7 comes to CPU 0 at @ns, works on operation @id and wakes thread 8. */
static void live(struct trace *t, uint64_t ns, uint64_t id)
{
	put_wakeup(t, ns, 0, 7, 0);
	put_switch(t, ns + 1, 0, 0, 7, 0);
	put_work_of(t, ns + 10, id);
	put_wakeup(t, ns + 40, 1, 8, 7);
}

/*
 * Analyses @t and frees it: thread 7 must have the name @first while it works on operation 1, and
 * @second while it works on operation 2.
 */
static void expect_names(struct trace *t, const struct analysis_options *opts, const char *first,
			 const char *second)
{
	struct seen s = { .kept.max = SIZE_MAX };
	const struct analysis_sink sink = {
		.operation = add_operation, .wakeup = add_wakeup, .thread = add_thread, .arg = &s,
	};
	struct analysis *a = analyse_into(t, opts, &sink);
	const char *const want[] = { first, second };

	kept_sort(&s.kept);
	assert_int_equal(s.kept.nr, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct analysis_operation *op = s.kept.of[i];

		assert_string_equal(op->threads[0]->name, want[i]);
		assert_string_equal(op->creator->name, want[i]);
		for (size_t k = 0; k < op->nr_intervals; k++)
			assert_string_equal(op->intervals[k].thread->name, want[i]);
		for (size_t k = 0; k < op->nr_path; k++)
			assert_string_equal(op->path[k].thread->name, want[i]);
	}
	if (s.last)
		assert_string_equal(s.last->name, second);
	if (s.woken)
		assert_string_equal(s.woken->name, first);
	if (s.waker)
		assert_string_equal(s.waker->name, second);
	kept_free(&s.kept);
	analysis_free(a);
	trace_free(t);
}

static void name_after_exit_is_of_a_new_thread(void **state)
{
	/* The second time, records are late. */
	const struct analysis_options opts[] = { { 0 }, { .window = 3 } };

	for (size_t i = 0; i < 2; i++) {
		struct trace t = { 0 };

		put_thread(&t, 7, 100, "first");
		live(&t, 100, 1);
		put_switch(&t, 190, 0, 7, 0, EXITS);
		put_thread(&t, 7, 100, "second");
		live(&t, 200, 2);
		put_clock(&t, 300);
		expect_names(&t, &opts[i], "first", "second");
	}
}

static void new_name_of_a_thread_is_that_of_all_its_rows(void **state)
{
	struct trace t = { 0 };

	put_thread(&t, 7, 100, "first");
	live(&t, 100, 1);
	put_switch(&t, 190, 0, 7, 0, SLEEPS);
	put_thread(&t, 7, 100, "second");
	live(&t, 200, 2);
	put_clock(&t, 300);
	expect_names(&t, NULL, "second", "second");
}

static void third_thread_and_its_new_name(void **state)
{
	struct trace t = { 0 };

	put_thread(&t, 7, 100, "first");
	live(&t, 100, 1);
	put_switch(&t, 160, 0, 7, 0, EXITS);
	put_thread(&t, 7, 100, "between");
	put_wakeup(&t, 170, 0, 7, 0);
	put_switch(&t, 171, 0, 0, 7, 0);
	put_switch(&t, 190, 0, 7, 0, EXITS);
	put_thread(&t, 7, 100, "second, so far");
	live(&t, 200, 2);
	put_thread(&t, 7, 100, "second");
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

/* Without scheduling records, another process shows that the thread is a new one. */
static void thread_of_another_process_is_a_new_one(void **state)
{
	struct trace t = { 0 };
	size_t second;

	put_thread(&t, 7, 100, "first");
	put_work_of(&t, 100, 1);
	set_pid(&t, 0, 100);
	second = t.nr;
	put_thread(&t, 7, 200, "second");
	put_work_of(&t, 200, 2);
	set_pid(&t, second, 200);
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

/* The ring with the exit is read later than that with the new thread's records. */
static void exit_may_stand_behind_the_new_name(void **state)
{
	struct trace t = { 0 };
	size_t second;

	put_thread(&t, 7, 100, "first");
	live(&t, 100, 1);
	set_pid(&t, 0, 100);
	second = t.nr;
	put_thread(&t, 7, 200, "second");
	live(&t, 200, 2);
	set_pid(&t, second, 200);
	put_switch(&t, 190, 0, 7, 0, EXITS);
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

/* The exit of the first thread is not recorded, but that of the second one is. */
static void exit_may_be_that_of_the_second_thread(void **state)
{
	/* The second time, records are handed on soon. */
	const struct analysis_options opts[] = { { 0 }, { .window = 3 } };

	for (size_t i = 0; i < 2; i++) {
		struct trace t = { 0 };
		size_t second;

		put_thread(&t, 7, 100, "first");
		live(&t, 100, 1);
		set_pid(&t, 0, 100);
		second = t.nr;
		put_thread(&t, 7, 200, "second");
		put_work_of(&t, 210, 2);
		put_wakeup(&t, 240, 1, 8, 7);
		set_pid(&t, second, 200);
		put_switch(&t, 290, 0, 7, 0, EXITS);
		put_clock(&t, 400);
		expect_names(&t, &opts[i], "first", "second");
	}
}

/* The exits of the first and the second thread are not recorded, but that of the third one is. */
static void second_of_three_processes_has_its_name(void **state)
{
	struct trace t = { 0 };
	size_t next;

	put_thread(&t, 7, 50, "before");
	put_duration(&t, 50, 60, 7, "alive");
	set_pid(&t, 0, 50);
	next = t.nr;
	put_thread(&t, 7, 100, "first");
	put_work_of(&t, 100, 1);
	set_pid(&t, next, 100);
	next = t.nr;
	put_thread(&t, 7, 200, "second");
	put_work_of(&t, 200, 2);
	set_pid(&t, next, 200);
	put_switch(&t, 290, 0, 7, 0, EXITS);
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

/* Events have no process, so each exit begins the next thread. */
static void each_exit_begins_the_next_thread(void **state)
{
	/* The exit of the first thread stands behind @i names. */
	for (int i = 1; i <= 3; i++) {
		struct trace t = { 0 };

		put_thread(&t, 7, 50, "before");
		if (i == 1)
			put_switch(&t, 90, 0, 7, 0, EXITS);
		put_thread(&t, 7, 100, "first");
		if (i == 2)
			put_switch(&t, 90, 0, 7, 0, EXITS);
		put_thread(&t, 7, 200, "second");
		if (i == 3)
			put_switch(&t, 90, 0, 7, 0, EXITS);
		put_work_of(&t, 100, 1);
		put_switch(&t, 190, 0, 7, 0, EXITS);
		put_work_of(&t, 200, 2);
		put_clock(&t, 300);
		expect_names(&t, NULL, "first", "second");
	}
}

/* The event of the first thread shows that the exit is its own. */
static void exit_behind_an_event_is_of_its_thread(void **state)
{
	struct trace t = { 0 };

	put_thread(&t, 7, 50, "before");
	put_thread(&t, 7, 100, "first");
	put_work_of(&t, 100, 1);
	set_pid(&t, 0, 100);
	put_switch(&t, 190, 0, 7, 0, EXITS);
	put_thread(&t, 7, 200, "second");
	put_work_of(&t, 200, 2);
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

static void process_gets_the_id_back(void **state)
{
	struct trace t = { 0 };
	size_t between;

	put_thread(&t, 7, 100, "first");
	put_thread(&t, 7, 200, "between");
	put_thread(&t, 7, 100, "second");
	put_work_of(&t, 100, 1);
	put_work_of(&t, 200, 2);
	set_pid(&t, 0, 100);
	between = t.nr;
	put_duration(&t, 150, 160, 7, "alive");
	set_pid(&t, between, 200);
	put_clock(&t, 300);
	expect_names(&t, NULL, "first", "second");
}

/* The composer writes the objects of threads without a name at the end. */
static void name_at_the_end_is_that_of_a_nameless_thread(void **state)
{
	struct trace t = { 0 };

	live(&t, 100, 1);
	put_work_of(&t, 160, 2);
	put_switch(&t, 190, 0, 7, 0, EXITS);
	put_clock(&t, 300);
	put_thread(&t, 7, 100, "?");
	expect_names(&t, NULL, "?", "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_after_exit_is_of_a_new_thread),
		cmocka_unit_test(new_name_of_a_thread_is_that_of_all_its_rows),
		cmocka_unit_test(third_thread_and_its_new_name),
		cmocka_unit_test(thread_of_another_process_is_a_new_one),
		cmocka_unit_test(exit_may_stand_behind_the_new_name),
		cmocka_unit_test(exit_may_be_that_of_the_second_thread),
		cmocka_unit_test(second_of_three_processes_has_its_name),
		cmocka_unit_test(each_exit_begins_the_next_thread),
		cmocka_unit_test(exit_behind_an_event_is_of_its_thread),
		cmocka_unit_test(process_gets_the_id_back),
		cmocka_unit_test(name_at_the_end_is_that_of_a_nameless_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
