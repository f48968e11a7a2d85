// SPDX-License-Identifier: GPL-2.0
/* Counts of records in snapshots of asynctrace top, and the line about losses */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top/lines.h"

static struct at_compose_counts counts;

/* Stands in for the source of records. */
void feed_counts(struct feed *f, const struct live *l, struct at_compose_counts *c)
{
	(void)f, (void)l;
	*c = counts;
}

/* Takes the next snapshot, a second after the last one. The caller must free the first one. */
static struct snapshot *take(struct snapshot *s)
{
	struct live l = { .begin = UINT64_MAX };

	if (!s)
		s = calloc(1, sizeof(*s));
	assert_non_null(s);
	snapshot_take(s, NULL, &l, s->wall + 1000000000);
	return s;
}

static void second_reading_has_no_negative_rate(void **state)
{
	struct snapshot *s;

	(void)state;
	counts = (struct at_compose_counts){ .delivered = 1000 };
	s = take(NULL);
	counts.delivered = 3000;
	take(s);
	assert_true(s->record_rate == 2000);
	counts.delivered = 10;
	take(s);
	assert_true(s->record_rate == 0);
	free(s);
}

static void sum_of_losses_does_not_overflow(void **state)
{
	struct snapshot *s;

	(void)state;
	counts = (struct at_compose_counts){ .delivered = 1000, .dropped = UINT64_MAX - 999 };
	s = take(NULL);
	assert_int_equal(snapshot_attempted(s), UINT64_MAX);
	assert_true(snapshot_share(s) < 0.5);
	free(s);
}

static void assert_warning(const char *want)
{
	struct snapshot *s = take(NULL);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	lines_warning(f, s);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	free(s);
}

static void warning_names_each_kind_of_loss(void **state)
{
	(void)state;
	counts = (struct at_compose_counts){ .delivered = 5 };
	assert_warning("");
	counts.dropped = 1;
	assert_warning("LOST 1 records (1 dropped, 0 overwritten, 0 malformed): unknown time");
	counts.cleared = 7;
	counts.unwritten = 2;
	assert_warning("LOST 10 records (1 dropped, 0 overwritten, 0 malformed, 7 cleared by a later "
		       "start, 2 not analysed): unknown time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(second_reading_has_no_negative_rate),
		cmocka_unit_test(sum_of_losses_does_not_overflow),
		cmocka_unit_test(warning_names_each_kind_of_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
