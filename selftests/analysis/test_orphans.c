// SPDX-License-Identifier: GPL-2.0
/* Orphans, events without their counterpart: each kind is found, and no other event is */
#include "build.h"

struct found {
	char text[1024];
};

static int add_row(void *arg, const struct analysis_orphan *o)
{
	struct found *f = arg;
	size_t len = strlen(f->text);

	assert_int_equal(o->has_id, o->kind <= ANALYSIS_FLOW_ALONE);
	snprintf(f->text + len, sizeof(f->text) - len, "%s%s %s at %llu on %u", len ? ", " : "",
		 analysis_orphan_name(o->kind), o->id.name, (unsigned long long)o->ns,
		 o->thread->tid);
	return 0;
}

/* Analyses @t and frees it: the rows must be @want. */
static void expect(struct trace *t, const char *want)
{
	struct found found = { "" };
	struct analysis_sink sink = { .orphan = add_row, .arg = &found };
	struct analysis *a = analyse_into(t, NULL, &sink);

	assert_string_equal(found.text, want);
	analysis_free(a);
	trace_free(t);
}

static void whole_trace_has_no_orphans(void **state)
{
	struct trace t = { 0 };

	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 1, 1, "work", 0);
	BEGINS(&t, 2, 1, 1);
	STEPS(&t, 3, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_FLOW_BEGIN, 4, 1, "flow", 1);
	ENDS(&t, 5, 1, 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 6, 1, "work", 0);
	BEGINS(&t, 7, 1, 1);
	ENDS(&t, 8, 2, 1);
	expect(&t, "");
}

static void A8_any_number_of_instants_has_no_orphans(void **state)
{
	static const unsigned int instants[] = { 0, 1, 2, 300 };
	struct trace t = { 0 };
	uint64_t ns = 1;

	for (unsigned int i = 0; i < 4; i++) {
		BEGINS(&t, ns++, 1, i + 1);
		for (unsigned int k = 0; k < instants[i]; k++)
			STEPS(&t, ns++, 1 + k % 2, i + 1);
		ENDS(&t, ns++, 1, i + 1);
	}
	expect(&t, "");
}

static void end_without_begin_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	ENDS(&t, 5, 1, 1);
	expect(&t, "end without begin req at 5 on 1");
}

static void begin_without_end_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 5, 3, 1);
	expect(&t, "begin without end req at 5 on 3");
}

static void begin_of_an_open_id_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 5, 1, 1);
	BEGINS(&t, 6, 2, 1);
	ENDS(&t, 7, 1, 1);
	ENDS(&t, 8, 1, 1);
	expect(&t, "begun again while open req at 6 on 2");
}

static void instant_of_a_closed_id_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	BEGINS(&t, 5, 1, 1);
	ENDS(&t, 6, 1, 1);
	STEPS(&t, 7, 1, 1);
	expect(&t, "instant of an operation that is not open step at 7 on 1");
}

static void flow_outside_of_a_duration_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	put_duration(&t, 1, 3, 1, "work");
	put_event(&t, ASYNCTRACE_FXT_FLOW_BEGIN, 2, 1, "flow", 1);
	put_event(&t, ASYNCTRACE_FXT_FLOW_END, 4, 1, "flow", 1);
	expect(&t, "flow event outside of a duration flow at 4 on 1");
}

static void duration_end_alone_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 6, 1, "work", 0);
	expect(&t, "duration's end without begin work at 6 on 1");
}

static void duration_begin_alone_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 5, 1, "outer", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 6, 1, "inner", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 7, 1, "inner", 0);
	expect(&t, "duration's begin without end outer at 5 on 1");
}

static void duration_ends_with_its_thread(void **state)
{
	struct trace t = { 0 };

	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 5, 1, "outer", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 6, 1, "inner", 0);
	put_event(&t, ASYNCTRACE_FXT_FLOW_BEGIN, 7, 1, "flow", 1);
	put_switch(&t, 8, 0, 1, 0, EXITS);
	put_event(&t, ASYNCTRACE_FXT_FLOW_END, 9, 1, "flow", 1);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 10, 1, "next", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 11, 1, "next", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 12, 1, "outer", 0);
	expect(&t, "duration's begin without end outer at 5 on 1, "
		   "duration's begin without end inner at 6 on 1, "
		   "flow event outside of a duration flow at 9 on 1, "
		   "duration's end without begin outer at 12 on 1");
}

static void duration_of_another_name_is_an_orphan(void **state)
{
	struct trace t = { 0 };

	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 5, 1, "one", 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, 6, 1, "other", 0);
	expect(&t, "duration ends by another name other at 6 on 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_trace_has_no_orphans),
		cmocka_unit_test(A8_any_number_of_instants_has_no_orphans),
		cmocka_unit_test(end_without_begin_is_an_orphan),
		cmocka_unit_test(begin_without_end_is_an_orphan),
		cmocka_unit_test(begin_of_an_open_id_is_an_orphan),
		cmocka_unit_test(instant_of_a_closed_id_is_an_orphan),
		cmocka_unit_test(flow_outside_of_a_duration_is_an_orphan),
		cmocka_unit_test(duration_end_alone_is_an_orphan),
		cmocka_unit_test(duration_begin_alone_is_an_orphan),
		cmocka_unit_test(duration_ends_with_its_thread),
		cmocka_unit_test(duration_of_another_name_is_an_orphan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
