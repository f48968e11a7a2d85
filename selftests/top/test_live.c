// SPDX-License-Identifier: GPL-2.0
/* A trace that is analysed while it is written */
#include <unistd.h>

#include "../analysis/model.h"
#include "top/live.h"

#define S	1000000000ull

/* Sums of complete operations by name, as in asynctrace report */
struct want {
	const char *name;
	uint64_t nr, max;
	double sum, ns[ANALYSIS_STATES];	/* sums of whole numbers below 2^53 are exact */
};

static struct want wants[16];
static size_t nr_wants;

static int add_want(void *arg, const struct analysis_operation *op)
{
	size_t i = 0;

	if (!op->complete)
		return 0;
	while (i < nr_wants && strcmp(wants[i].name, op->id.name))
		i++;
	assert_true(i < 16);
	if (i == nr_wants)
		wants[nr_wants++] = (struct want){ .name = strdup(op->id.name) };
	wants[i].nr++;
	wants[i].sum += op->end - op->begin;
	if (op->end - op->begin > wants[i].max)
		wants[i].max = op->end - op->begin;
	for (int k = 0; k < ANALYSIS_STATES; k++)
		wants[i].ns[k] += op->ns[k];
	return 0;
}

static void report(const struct trace *t, uint64_t *open)
{
	struct analysis_options opts = { .totals_only = true };
	struct analysis_sink sink = { .operation = add_want };
	struct analysis *a;

	nr_wants = 0;
	a = analyse_into(t, &opts, &sink);
	*open = analysis_totals(a)->incomplete;
	analysis_free(a);
}

static void assert_as_reported(const struct live *l, uint64_t open)
{
	for (size_t i = 0; i < nr_wants; i++) {
		const struct top_type *t = NULL;

		for (size_t k = 0; k < l->tally.nr; k++)
			if (!strcmp(l->tally.of[k]->name, wants[i].name))
				t = l->tally.of[k];
		assert_non_null(t);
		assert_int_equal(t->all.latencies.nr, wants[i].nr);
		assert_int_equal(t->all.latencies.max, wants[i].max);
		assert_true(t->all.sum_ns == wants[i].sum);
		assert_memory_equal(t->all.ns, wants[i].ns, sizeof(wants[i].ns));
		free((char *)wants[i].name);
	}
	assert_int_equal(l->open.nr + l->open.more, open);
}

static void live_begin(struct live *l)
{
	memset(l, 0, sizeof(*l));
	l->memory = LIVE_MEMORY;
	assert_int_equal(live_open(l), 0);
}

/* Settles at random moments. Returns true if all records came in time. */
static bool run_live(struct live *l, const struct trace *t)
{
	uint64_t wall = 100 * S, seen = 0;
	const unsigned int often = 1 + rnd_below(30);

	live_begin(l);
	for (size_t i = 0; i < t->nr; i++) {
		assert_int_equal(live_record(l, &t->of[i]), 0);
		if (!rnd_chance(often))
			continue;
		if (seen && seen < l->newest) {
			live_read_until(l, wall, seen);
			wall += 2 * HOLD_MIN;
			assert_int_equal(live_settle(l, wall), 0);
		}
		seen = l->newest;
	}
	assert_int_equal(live_end(l), 0);
	return !live_late(l);
}

static void top_equals_report_without_late_records(void **state)
{
	const char *text = getenv("ANALYSIS_ROUNDS");
	const int rounds = text ? atoi(text) : 1000;
	int in_time = 0;

	for (int i = 0; i < rounds; i++) {
		struct model m = { 0 };
		struct trace t = { 0 };
		struct live l;
		uint64_t open;

		model_run(&m, false, rnd_chance(50));
		model_file(&m, 1 + rnd_below(20), &t);
		if (run_live(&l, &t)) {
			in_time++;
			report(&t, &open);
			assert_as_reported(&l, open);
		}
		live_close(&l);
		trace_free(&t);
		model_free(&m);
	}
	printf("%d of %d traces had no late record\n", in_time, rounds);
	assert_true(in_time > 0);
}

static void second_reading_of_a_file_is_the_report(void **state)
{
	int again = 0;

	for (int i = 0; i < 100; i++) {
		struct live l = { .memory = LIVE_MEMORY, .window = 16, .is_file = true };
		struct model m = { 0 };
		struct trace t = { 0 };
		uint64_t open;

		model_run(&m, false, rnd_chance(50));
		model_file(&m, 1, &t);
		assert_int_equal(live_open(&l), 0);
		for (size_t k = 0; k < t.nr; k++)
			assert_int_equal(live_record(&l, &t.of[k]), 0);
		if (live_again(&l)) {
			again++;
			for (size_t k = 0; k < t.nr; k++)
				assert_int_equal(live_record(&l, &t.of[k]), 0);
		}
		assert_int_equal(live_end(&l), 0);
		assert_int_equal(live_late(&l), 0);
		report(&t, &open);
		assert_as_reported(&l, open);
		live_close(&l);
		trace_free(&t);
		model_free(&m);
	}
	assert_true(again > 0);
}

static void open_operations_are_there_at_once(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l);
	BEGINS(&t, 10, 1, 7);
	BEGINS(&t, 20, 1, 8);
	ENDS(&t, 30, 1, 7);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	assert_int_equal(l.open.nr, 1);
	assert_int_equal(l.open.oldest->id, 8);
	assert_int_equal(l.open.oldest->type->open, 1);
	assert_int_equal(l.tally.of[0]->all.latencies.nr, 0);
	trace_free(&t);
	live_close(&l);
}

/* Records of the recorder do not count; all others do, as in the counts of a session. */
static void records_of_programs_and_kernel_count(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l);
	put_clock(&t, 1);
	t.of[0].provider = FXT_KERNEL_PROVIDER;
	t.of[0].category = (struct fxt_text){ "asynctrace", strlen("asynctrace"), 0 };
	put_switch(&t, 5, 0, 0, 1, 0);
	put_switch(&t, 6, 0, 1, 2, 0);
	add_bool(&t.of[t.nr - 1], "inferred");
	put_wakeup(&t, 7, 0, 1, 0);
	put_duration(&t, 8, 9, 1, "work");
	put_duration(&t, 10, 11, 0x40000000, "work of a virtual thread");
	add_record(&t, FXT_BLOB, 12)->provider = 2;
	add_record(&t, FXT_OBJECT, 13)->provider = 2;
	add_record(&t, FXT_OBJECT, 14)->provider = FXT_KERNEL_PROVIDER;
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	assert_int_equal(l.records, 6);
	trace_free(&t);
	live_close(&l);
}

static void enclosing_duration_is_held_for(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l);
	put_switch(&t, 5, 0, 0, 1, 0);
	BEGINS(&t, 10, 1, 7);
	ENDS(&t, 30, 1, 7);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	live_read_until(&l, 100 * S, 30);
	assert_int_equal(live_settle(&l, 100 * S + HOLD_MIN - 1), 0);
	trace_free(&t);
	/* The record of the enclosing duration comes last, because it is written when it ends. */
	put_duration(&t, 8, 40, 1, "work");
	assert_int_equal(live_record(&l, &t.of[0]), 0);
	live_read_until(&l, 101 * S, 40);
	assert_int_equal(live_settle(&l, 102 * S), 0);
	assert_int_equal(live_late(&l), 0);
	assert_int_equal(l.tally.of[0]->all.latencies.nr, 1);
	assert_int_equal(l.tally.of[0]->all.ns[ANALYSIS_RUNNING], 20);
	trace_free(&t);
	live_close(&l);
}

static void late_records_are_counted(void **state)
{
	struct trace t = { 0 };
	struct live l;

	live_begin(&l);
	BEGINS(&t, 10, 1, 7);
	ENDS(&t, 30, 1, 7);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	live_read_until(&l, 100 * S, 30);
	assert_int_equal(live_settle(&l, 102 * S), 0);
	put_duration(&t, 8, 40, 1, "work");
	assert_int_equal(live_record(&l, &t.of[2]), 0);
	assert_int_equal(live_late(&l), 1);
	trace_free(&t);
	live_close(&l);
}

/* Returns the explanation of the oldest open operation, or NULL if there is none. */
static char *explanation(struct live *l)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool known = live_explain(l, l->open.oldest, f);

	fclose(f);
	if (known)
		return text;
	free(text);
	return NULL;
}

static void open_operation_is_explained_until_settled(void **state)
{
	struct trace t = { 0 };
	struct live l;
	char *text;

	live_begin(&l);
	put_thread(&t, 1, 100, "worker");
	put_switch(&t, 5000000, 0, 0, 1, 0);
	BEGINS(&t, 10000000, 1, 7);
	put_duration(&t, 8000000, 11000000, 1, "work");
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 12000000, 1, "read", 0);
	STEPS(&t, 13000000, 1, 7);
	put_switch(&t, 14000000, 0, 1, 0, SLEEPS);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 20000000, 2, "late", 0);
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	assert_null(explanation(&l));
	live_read_until(&l, 100 * S, 19999999);
	assert_int_equal(live_settle(&l, 102 * S), 0);
	text = explanation(&l);
	assert_non_null(text);
	assert_non_null(strstr(text, "req 0x7 had not ended after 10.0 ms: 6.0 blocked (in read on "
			       "worker/1), 3.0 running, 1.0 queued"));
	assert_non_null(strstr(text, "It has been blocked for 6.0 ms: in read on worker/1.\n"));
	free(text);
	trace_free(&t);
	live_close(&l);
}

static void open_operation_does_not_age_after_stop(void **state)
{
	const uint64_t ms = 1000000;
	struct trace t = { 0 };
	struct live l;
	char *text;

	live_begin(&l);
	l.own_clock = true;
	BEGINS(&t, 10 * ms, 1, 7);
	put_moment(&t, 30 * ms, "session stop");
	/* A reader that comes late writes its own clock. */
	put_moment(&t, 90 * ms, "clock");
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	assert_int_equal(live_now(&l, 100 * S), 30 * ms);
	live_read_until(&l, 100 * S, 80 * ms);
	assert_int_equal(live_settle(&l, 102 * S), 0);
	text = explanation(&l);
	assert_non_null(text);
	assert_non_null(strstr(text, "req 0x7 had not ended after 20.0 ms: 20.0 queued"));
	free(text);
	trace_free(&t);
	put_moment(&t, 95 * ms, "session start");
	assert_int_equal(live_record(&l, &t.of[0]), 0);
	assert_int_equal(live_now(&l, 100 * S), 100 * S);
	trace_free(&t);
	live_close(&l);
}

/* The analysis, which report and why use, ends such a trace at the stop of the session, too. */
static void open_operation_of_a_file_ages_to_the_stop(void **state)
{
	const uint64_t ms = 1000000;
	struct trace t = { 0 };
	struct analysis *a;
	struct live l;

	live_begin(&l);
	BEGINS(&t, 10 * ms, 1, 7);
	put_moment(&t, 30 * ms, "session stop");
	put_moment(&t, 90 * ms, "clock");
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(live_record(&l, &t.of[i]), 0);
	assert_int_equal(live_end(&l), 0);
	a = analyse_into(&t, &(struct analysis_options){ 0 }, &(struct analysis_sink){ 0 });
	assert_int_equal(live_now(&l, 100 * S), 30 * ms);
	assert_int_equal(live_now(&l, 100 * S), analysis_totals(a)->end);
	analysis_free(a);
	trace_free(&t);
	live_close(&l);
}

static void too_many_names_begin_the_analysis_anew(void **state)
{
	struct trace t = { 0 };
	struct live l;
	char name[64];
	int err = 0;

	live_begin(&l);
	l.memory = 64 << 20;
	BEGINS(&t, 10, 1, 7);
	assert_int_equal(live_record(&l, &t.of[0]), 0);
	trace_free(&t);
	for (uint64_t i = 0; i < 4000000 && !l.restarts && !err; i++) {
		snprintf(name, sizeof(name), "name %llu", (unsigned long long)i);
		put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, 20 + i, 1, name, 0);
		assert_int_equal(live_record(&l, &t.of[0]), 0);
		trace_free(&t);
		if (i % 10000 == 0)
			err = live_bound(&l);
		assert_true(err >= 0);
	}
	/* Skip this under ASan, whose allocator reports no sizes. */
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(l.restarts, 1);
#endif
	/* The list of open operations is not affected. */
	assert_int_equal(l.open.nr, 1);
	live_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(top_equals_report_without_late_records),
		cmocka_unit_test(second_reading_of_a_file_is_the_report),
		cmocka_unit_test(open_operations_are_there_at_once),
		cmocka_unit_test(records_of_programs_and_kernel_count),
		cmocka_unit_test(enclosing_duration_is_held_for),
		cmocka_unit_test(late_records_are_counted),
		cmocka_unit_test(open_operation_is_explained_until_settled),
		cmocka_unit_test(open_operation_does_not_age_after_stop),
		cmocka_unit_test(open_operation_of_a_file_ages_to_the_stop),
		cmocka_unit_test(too_many_names_begin_the_analysis_anew),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
