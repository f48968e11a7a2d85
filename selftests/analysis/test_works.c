// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that work_at(), which remembers the works that have ended, answers as if it remembered
 * nothing
 */
#include <time.h>

#include "analysis/engine.h"
#include "../fxt/random.h"
#include "build.h"

#define OPERATIONS	6

static struct work *slow_work_at(const struct thread *t, uint64_t ns)
{
	for (size_t i = t->works.nr; i > t->works.first; i--) {
		struct work *w = t->works.of[i - 1];

		if (w->from < ns && work_end(w) >= ns)
			return w;
	}
	return NULL;
}

/* Puts one record of thread 1 at @ns, mostly an event of an operation in a duration. */
static void random_record(struct trace *t, uint64_t ns)
{
	uint64_t id = 1 + rnd_below(OPERATIONS);

	switch (rnd_below(8)) {
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
	case 5:
		put_duration(t, ns, ns + rnd_below(60), 1, "work");
		break;
	default:
		STEPS(t, ns, 1, id);
	}
}

static void one_round(void)
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

		random_record(&t, ns);
		assert_int_equal(analysis_record(a, &t.of[0]), 0);
		trace_free(&t);
		assert_int_equal(analysis_settle(a, ns + 1), 0);
		if (rnd_chance(5))
			scheduling_forget(a, rnd_below(ns) + 1);
		if (rnd_chance(50)) {
			uint64_t at = 1 + (rnd_chance(50) ? ns : rnd_below(ns));

			assert_ptr_equal(work_at(thread, at), slow_work_at(thread, at));
		}
	}
	analysis_free(a);
}

static void remembered_ends_change_no_answer(void **state)
{
	const char *text = getenv("ANALYSIS_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	printf("ANALYSIS_SEED=%llu\n", (unsigned long long)seed);
	rnd_seed(seed * 0x9e3779b97f4a7c15ULL + 1);
	for (int i = 0; i < 2000; i++)
		one_round();
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

/* If each search went through all works before it, the last ones would reach LOOK_BACK. */
static void search_skips_many_ended_works(void **state)
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
	for (uint64_t i = 1; i <= nr; i++) {
		const struct work *w = work_at(thread, 100 * i + 80);

		assert_non_null(w);
		assert_int_equal(w->op->out.id, 1);
	}
	analysis_free(a);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remembered_ends_change_no_answer),
		cmocka_unit_test(search_skips_many_ended_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
