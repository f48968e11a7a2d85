// SPDX-License-Identifier: GPL-2.0
/* Counts of records in snapshots of asynctrace top */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "top/snapshot.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(second_reading_has_no_negative_rate),
		cmocka_unit_test(sum_of_losses_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
