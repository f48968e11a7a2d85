// SPDX-License-Identifier: GPL-2.0
/*
 * KTAP on standard output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include "ktap.h"

/* A test that fails in a loop prints so many reasons. */
#define REASONS_MAX	12

static struct {
	pid_t pid;
	unsigned int planned, done, passed, failed, skipped;
	unsigned int reasons;
	const char *skip;	/* why, or NULL */
	char name[160];
	jmp_buf end;		/* of a test of ktap_run() */
} ktap;

void ktap_plan(unsigned int tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap.pid = getpid();
	ktap.planned = tests;
	printf("KTAP version 1\n1..%u\n", tests);
}

void ktap_begin(const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	vsnprintf(ktap.name, sizeof(ktap.name), name, ap);
	va_end(ap);
	ktap.reasons = 0;
	ktap.skip = NULL;
}

static void say(const char *text, va_list ap)
{
	printf("# ");
	vprintf(text, ap);
	printf("\n");
}

void ktap_fail(const char *why, ...)
{
	va_list ap;

	if (ktap.reasons++ >= REASONS_MAX)
		return;
	va_start(ap, why);
	say(why, ap);
	va_end(ap);
}

void ktap_note(const char *text, ...)
{
	va_list ap;

	va_start(ap, text);
	say(text, ap);
	va_end(ap);
}

unsigned int ktap_failed(void)
{
	return ktap.reasons;
}

void ktap_expect_is(const char *file, int line, const char *what, long long is, long long want)
{
	if (is == want)
		return;
	if (is < 0 && is > -4096)
		ktap_fail("%s:%d: %s is %lld (%s), not %lld", file, line, what, is, strerror(-is),
			  want);
	else
		ktap_fail("%s:%d: %s is %lld, not %lld", file, line, what, is, want);
}

void ktap_end(void)
{
	ktap.done++;
	if (ktap.reasons > REASONS_MAX)
		printf("# and %u more\n", ktap.reasons - REASONS_MAX);
	if (ktap.reasons) {
		ktap.failed++;
		printf("not ok %u %s\n", ktap.done, ktap.name);
	} else if (ktap.skip) {
		ktap.skipped++;
		printf("ok %u %s # SKIP %s\n", ktap.done, ktap.name, ktap.skip);
	} else {
		ktap.passed++;
		printf("ok %u %s\n", ktap.done, ktap.name);
	}
}

int ktap_exit(void)
{
	if (ktap.done != ktap.planned) {
		printf("# %u tests were planned, %u ran\n", ktap.planned, ktap.done);
		ktap.failed++;
	}
	printf("%u passed, %u failed, %u skipped\n", ktap.passed, ktap.failed, ktap.skipped);
	return ktap.failed ? 1 : 0;
}

void ktap_bail(const char *why, ...)
{
	va_list ap;

	printf("# in %s: ", ktap.name[0] ? ktap.name : "the preparation");
	va_start(ap, why);
	vprintf(why, ap);
	va_end(ap);
	printf("\n");
	/* A child's failure is its parent's to report. */
	if (ktap.pid != getpid())
		_exit(97);
	ktap.failed++;
	ktap.done = ktap.planned;
	printf("Bail out!\n");
	exit(ktap_exit());
}

void ktap_leave(void)
{
	/* The jump would make a child run the tests that follow. */
	if (ktap.pid != getpid())
		_exit(97);
	longjmp(ktap.end, 1);
}

void ktap_skip(const char *why)
{
	ktap.skip = why;
	ktap_leave();
}

int ktap_run(const struct ktap_test *tests, int count, const char *only)
{
	ktap_plan(count);
	/* Volatile: the value must survive longjmp(). */
	for (volatile int i = 0; i < count; i++) {
		ktap_begin("%s", tests[i].name);
		if (only && !strstr(tests[i].name, only))
			ktap.skip = "not asked for";
		else if (!setjmp(ktap.end))
			tests[i].run();
		ktap_end();
	}
	return ktap_exit();
}
