// SPDX-License-Identifier: GPL-2.0
/* The text that asynctrace why prints for an operation */
#include "build.h"
#include "report/explain.h"

static void share_of_longest_time_is_100(void **state)
{
	const struct analysis_operation op = {
		.end = INT64_MAX, .ns[ANALYSIS_QUEUED] = INT64_MAX, .complete = true,
	};
	char *text, *line;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	double ms, share;

	assert_non_null(f);
	explain_account(f, &op);
	fclose(f);
	line = strstr(text, "queued");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "queued %lf %lf", &ms, &share), 2);
	assert_true(share == 100);
	free(text);
}

/* Returns the sentence of an operation that is queued while another one is worked on. */
static char *sentence_of_queued(bool part)
{
	const struct analysis_thread thread = { .tid = 7, .name = "disk" };
	const struct analysis_id other = { .name = "query", .id = 9 };
	const struct analysis_interval queued = {
		.to = 500, .state = ANALYSIS_QUEUED, .thread = &thread, .duration = "", .in = "",
		.other_id = &other, .part = part,
	};
	const struct analysis_operation op = {
		.id = { .name = "req", .id = 8 }, .end = 500, .ns[ANALYSIS_QUEUED] = 500,
		.complete = true, .intervals = &queued, .nr_intervals = 1,
	};
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	explain_sentence(f, &op);
	fclose(f);
	return text;
}

static void work_on_a_part_is_named_so(void **state)
{
	char *other = sentence_of_queued(false), *part = sentence_of_queued(true);

	assert_string_equal(other, "req 0x8 took 500 ns: 500 queued "
			    "(while disk/7 worked on query 0x9).\n");
	assert_string_equal(part, "req 0x8 took 500 ns: 500 queued "
			    "(while disk/7 worked on query 0x9, a part of this operation).\n");
	free(other);
	free(part);
}

static void open_part_of_queued_operation_is_named(void **state)
{
	const struct analysis_id part = { .name = "query", .id = 9 };
	const struct analysis_interval queued = { .to = 500, .state = ANALYSIS_QUEUED };
	struct analysis_operation op = {
		.end = 500, .intervals = &queued, .nr_intervals = 1,
	};
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	explain_now(f, &op);
	op.open_part = &part;
	explain_now(f, &op);
	fclose(f);
	assert_string_equal(text, "It has been queued for 500 ns: no thread works on it.\n"
			    "It has been queued for 500 ns: no thread works on it, "
			    "but its part query 0x9 is open.\n");
	free(text);
}

static void part_lost_on_no_thread_has_a_colon(void **state)
{
	const struct analysis_thread worker = { .tid = 7, .pid = 7, .name = "worker" };
	const struct analysis_interval rows[] = {
		{ .to = 30, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_LOST,
		  .duration = "", .in = "" },
		{ .from = 30, .to = 50, .state = ANALYSIS_UNKNOWN, .reason = ANALYSIS_LOST,
		  .thread = &worker, .duration = "", .in = "" },
	};
	const struct analysis_operation op = {
		.id = { .provider = "", .category = "", .name = "op", .id = 1 },
		.end = 50, .ns[ANALYSIS_UNKNOWN] = 50, .complete = true,
		.intervals = rows, .nr_intervals = 2,
	};
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	explain_sentence(f, &op);
	fclose(f);
	assert_string_equal(text, "op 0x1 took 50 ns: 50 unknown (30 of it: records were lost).\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_of_longest_time_is_100),
		cmocka_unit_test(part_lost_on_no_thread_has_a_colon),
		cmocka_unit_test(work_on_a_part_is_named_so),
		cmocka_unit_test(open_part_of_queued_operation_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
