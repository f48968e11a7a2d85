// SPDX-License-Identifier: GPL-2.0
/*
 * asynctrace status with faked answers of the module: the numbers that it shows, and that a session
 * that has ended does not hide the others
 */
#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <asynctrace/session.h>

#include "tool.h"

/* The result of listing the rings of session 1. Session 2 has one ring, and ended providers. */
static int rings_error;

/* Number of dropped records in the rings of session 2. Providers may claim any number. */
static uint64_t drops[2];

int at_ctl_open(struct at_ctl **ctl)
{
	*ctl = NULL;
	return 0;
}

void at_ctl_close(struct at_ctl *ctl)
{
	(void)ctl;
}

const char *at_ctl_error(const struct at_ctl *ctl)
{
	(void)ctl;
	return "as the test has it";
}

int at_info(struct at_ctl *ctl, struct at_info *info)
{
	(void)ctl;
	info->nr_cpus = info->online_cpus = 1;
	return 0;
}

int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg)
{
	(void)ctl;
	return fn(&(struct at_provider_info){ .id = 7, .name = "server" }, arg);
}

int at_for_each_session(struct at_ctl *ctl, at_session_fn fn, void *arg)
{
	int err;

	(void)ctl;
	err = fn(&(struct at_session_info){ .id = 1, .name = "first" }, arg);
	return err ? err : fn(&(struct at_session_info){ .id = 2, .name = "second", .ended = 3 }, arg);
}

int at_for_each_ring(struct at_ctl *ctl, uint32_t session, at_ring_fn fn, void *arg)
{
	const struct at_ring_info ring = {
		.provider = 7,
		.kind = ASYNCTRACE_RING_KIND_EVENTS,
		.committed = 1100,
		.delivered = 100,
		.overwritten = 200,
		.cleared = 300,
		.dropped = drops[0],
	};
	const struct at_ring_info ended = {
		.kind = ASYNCTRACE_RING_KIND_ENDED,
		.committed = 70,
		.overwritten = 70,
		.dropped = drops[1],
	};
	int err;

	(void)ctl;
	if (session == 1)
		return rings_error;
	err = fn(&ring, arg);
	return err ? err : fn(&ended, arg);
}

/* Returns the exit status; *text is the output, to be freed. */
static int run(char **text, char *option)
{
	char *argv[] = { "status", option, NULL };
	FILE *out = stdout;
	size_t size = 0;
	int status;

	*text = NULL;
	stdout = open_memstream(text, &size);
	assert_non_null(stdout);
	optind = 1;
	status = status_main(option ? 2 : 1, argv);
	fclose(stdout);
	stdout = out;
	return status;
}

static json_t *run_json(void)
{
	json_t *j;
	char *text;

	assert_int_equal(run(&text, "--json"), TOOL_OK);
	j = json_loads(text, 0, NULL);
	assert_non_null(j);
	free(text);
	return j;
}

static const json_t *session_of(const json_t *j, size_t i)
{
	return json_array_get(json_object_get(j, "sessions"), i);
}

/* Does a line contain these words in this order? */
static bool has_line(const char *text, const char *words)
{
	char *copy = strdup(text), *next = NULL;
	bool found = false;

	for (char *line = strtok_r(copy, "\n", &next); line && !found;
	     line = strtok_r(NULL, "\n", &next)) {
		char squeezed[512];
		size_t n = 0;

		for (; *line && n < sizeof(squeezed) - 1; line++)
			if (*line != ' ' || (n && squeezed[n - 1] != ' '))
				squeezed[n++] = *line;
		squeezed[n] = '\0';
		found = strstr(squeezed, words);
	}
	free(copy);
	return found;
}

static void the_ledger_is_whole(void **state)
{
	const json_t *ring;
	char *text;
	json_t *j;

	(void)state;
	rings_error = 0;
	assert_int_equal(run(&text, NULL), TOOL_OK);
	assert_true(has_line(text, "COMMITTED DELIVERED OVERWRITTEN CLEARED DROPPED MEMORY"));
	assert_true(has_line(text, "server 0 events 1,100 100 200 300 400 0 bytes"));
	/* Cleared records are not lost, because a start has requested the clearing. */
	assert_true(has_line(text, "670 records lost"));
	assert_true(has_line(text, "3 of them left only sums (ended, or taken by another session)"));
	assert_true(has_line(text, "ended or taken (3) - ended 70 0 70 0 0 0 bytes"));
	assert_true(has_line(text, "no ring has records yet"));
	free(text);
	j = run_json();
	ring = json_array_get(json_object_get(session_of(j, 1), "rings"), 0);
	assert_int_equal(json_integer_value(json_object_get(ring, "committed")), 1100);
	assert_int_equal(json_integer_value(json_object_get(ring, "delivered")), 100);
	assert_int_equal(json_integer_value(json_object_get(ring, "overwritten")), 200);
	assert_int_equal(json_integer_value(json_object_get(ring, "cleared")), 300);
	assert_int_equal(json_integer_value(json_object_get(ring, "dropped")), 400);
	json_decref(j);
}

static void sum_of_losses_does_not_overflow(void **state)
{
	static const uint64_t rows[][2] = {
		{ UINT64_MAX - 269, 0 },
		{ UINT64_MAX - 199, 0 },
		{ 1, UINT64_MAX - 270 },
		{ UINT64_MAX, UINT64_MAX },
	};

	(void)state;
	rings_error = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text;

		memcpy(drops, rows[i], sizeof(drops));
		assert_int_equal(run(&text, NULL), TOOL_OK);
		assert_true(has_line(text, "18,446,744,073,709,551,615 records lost"));
		free(text);
	}
}

static int claim_few_drops(void **state)
{
	(void)state;
	drops[0] = 400;
	drops[1] = 0;
	return 0;
}

/*
 * A session that has ended has no rings: the others are shown. Other errors of the module are
 * reported.
 */
static void ended_session_hides_no_other(void **state)
{
	static const int errors[] = { -EPROTO, -EPERM };
	char *text;
	json_t *j;

	(void)state;
	rings_error = -ENOENT;
	assert_int_equal(run(&text, NULL), TOOL_OK);
	assert_true(has_line(text, "session 1 \"first\""));
	assert_true(has_line(text, "server 0 events 1,100"));
	free(text);
	j = run_json();
	assert_int_equal(json_array_size(json_object_get(session_of(j, 0), "rings")), 0);
	assert_int_equal(json_array_size(json_object_get(session_of(j, 1), "rings")), 2);
	json_decref(j);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		rings_error = errors[i];
		assert_int_equal(run(&text, NULL), TOOL_FAILED);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_ledger_is_whole, claim_few_drops),
		cmocka_unit_test(sum_of_losses_does_not_overflow),
		cmocka_unit_test_setup(ended_session_hides_no_other, claim_few_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
