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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_of_longest_time_is_100),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
