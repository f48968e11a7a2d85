// SPDX-License-Identifier: GPL-2.0
/*
 * KTAP on standard output.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ktap.h"

/* A test that fails in a loop need not say so a thousand times. */
#define REASONS_MAX	12

static struct {
	pid_t pid;
	unsigned int planned, done, passed, failed, skipped;
	unsigned int reasons;
	bool skip;
	char name[160];
	char why[160];
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
	ktap.skip = false;
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

void ktap_skip(const char *why, ...)
{
	va_list ap;

	va_start(ap, why);
	vsnprintf(ktap.why, sizeof(ktap.why), why, ap);
	va_end(ap);
	ktap.skip = true;
}

bool ktap_failed(void)
{
	return ktap.reasons;
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
		printf("ok %u %s # SKIP %s\n", ktap.done, ktap.name, ktap.why);
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
