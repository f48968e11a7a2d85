// SPDX-License-Identifier: GPL-2.0
/* The messages about providers that a session does not get, from made-up notifications */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/taken.h"
#include "tool.h"

static unsigned int waiting;	/* notifications that were not read yet */
static unsigned int lost;	/* notifications that were lost before the next one */
static char *said;
static size_t length;

/* --- stand-ins for the library -------------------------------------------------------------- */

int at_notifications_open(struct at_notifications **n, uint32_t kinds, uint32_t session)
{
	(void)kinds, (void)session;
	*n = (struct at_notifications *)1;
	return 0;
}

void at_notifications_close(struct at_notifications *n)
{
	(void)n;
}

int at_notifications_fd(const struct at_notifications *n)
{
	(void)n;
	return -1;
}

const char *at_notifications_error(const struct at_notifications *n)
{
	(void)n;
	return "";
}

int at_notifications_next(struct at_notifications *n, struct at_notification *e)
{
	(void)n;
	if (!waiting)
		return -EAGAIN;
	waiting--;
	e->provider = 1;
	e->status = ENOMEM;
	e->lost = lost;
	lost = 0;
	e->name = "program";
	return 0;
}

int at_for_each_provider(struct at_ctl *ctl,
			 int (*fn)(const struct at_provider_info *provider, void *arg), void *arg)
{
	(void)ctl, (void)fn, (void)arg;
	return 0;
}

/* --- tests ---------------------------------------------------------------------------------- */

/* Reports @first providers, and later @then more. Returns what is printed; the caller frees it. */
static char *report(unsigned int first, unsigned int then)
{
	FILE *terminal = stderr;
	struct taken t = { 0 };

	stderr = open_memstream(&said, &length);
	taken_open(&t, 1);
	waiting = first;
	taken_tell(&t, NULL);
	waiting = then;
	taken_tell(&t, NULL);
	taken_close(&t);
	taken_close(&t);
	fclose(stderr);
	stderr = terminal;
	return said;
}

static unsigned int count(const char *text, const char *part)
{
	unsigned int n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void expect(unsigned int first, unsigned int then, unsigned int named, const char *others)
{
	char *text = report(first, then);

	assert_int_equal(count(text, "the provider program "), named);
	assert_int_equal(count(text, "more provider"), !!others);
	if (others && !strstr(text, others))
		fail_msg("no '%s' in: %s", others, text);
	free(text);
}

static void few_providers_are_named(void **state)
{
	(void)state;
	expect(0, 0, 0, NULL);
	expect(3, 5, 8, NULL);
}

static void further_providers_are_counted(void **state)
{
	(void)state;
	expect(8, 1, 8, "\n1 more provider is not recorded");
	expect(9, 100, 8, "\n101 more providers are not recorded");
}

/* A count without the lost notifications would be too low. */
static void lost_notifications_are_not_forgotten(void **state)
{
	(void)state;
	lost = 700;
	expect(9, 0, 8, "at least 1 more provider is not recorded");
	lost = 700;
	expect(8, 100, 8, "at least 100 more providers are not recorded");
	lost = 700;
	expect(3, 0, 3, "more providers may not be recorded by this session");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_providers_are_named),
		cmocka_unit_test(further_providers_are_counted),
		cmocka_unit_test(lost_notifications_are_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
