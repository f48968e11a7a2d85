// SPDX-License-Identifier: GPL-2.0
/*
 * KTAP on standard output
 */
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include "ktap.h"

/* Reasons that are printed for a test that fails in a loop */
#define REASONS_MAX	12

static struct {
	pid_t pid;
	unsigned int planned, done, passed, failed, skipped;
	unsigned int reasons;
	const char *skip;	/* reason, or NULL */
	char name[160];
	jmp_buf end;		/* where ktap_leave() jumps to */
} ktap;

static __attribute__((constructor)) void ktap_init(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap.pid = getpid();
}

void ktap_plan(unsigned int tests)
{
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

unsigned int amount(const char *name, unsigned int otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : otherwise;
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

void ktap_done(const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	vsnprintf(ktap.name, sizeof(ktap.name), name, ap);
	va_end(ap);
	ktap_end();
	ktap.name[0] = '\0';
	ktap.reasons = 0;
	ktap.skip = NULL;
}

void ktap_done_skipped(const char *name, const char *why)
{
	ktap.skip = why;
	ktap_done("%s", name);
}

int ktap_exit(void)
{
	if (ktap.planned && ktap.done != ktap.planned) {
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
	/* The parent reports a child's failure. */
	if (ktap.pid != getpid())
		_exit(97);
	ktap.failed++;
	ktap.planned = 0;
	printf("Bail out!\n");
	exit(ktap_exit());
}

void ktap_leave(void)
{
	/* After the jump a child would run the tests that follow. */
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
