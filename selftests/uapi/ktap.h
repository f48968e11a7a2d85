/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test results in KTAP. A test is a function; what it expects it says with
 * EXPECT(), which goes on after a failure, or NEED(), which ends the test.
 */
#ifndef SELFTESTS_KTAP_H
#define SELFTESTS_KTAP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ktap_test {
	const char *name;
	void (*run)(void);
};

#define KTAP_TEST(function) { #function, function }

struct ktap {
	int passed, failed, skipped;
	int errors;		/* of the test that runs */
	const char *skip;
	jmp_buf end;
};

/* Weak: the same one in all files of a test. */
struct ktap ktap __attribute__((weak));

static inline void __attribute__((format(printf, 3, 4)))
ktap_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	ktap.errors++;
}

/* Ends the test; not a failure. Where the machine cannot do what is tested. */
static inline void __attribute__((noreturn)) ktap_skip(const char *why)
{
	ktap.skip = why;
	longjmp(ktap.end, 1);
}

#define EXPECT(what) do {						\
	if (!(what))							\
		ktap_fail(__FILE__, __LINE__, "not so: %s", #what);	\
} while (0)

/* An errno, negative as everywhere, or another number. */
#define EXPECT_IS(what, want) do {					\
	long long __is = (what), __want = (want);			\
									\
	if (__is != __want)						\
		ktap_fail(__FILE__, __LINE__, "%s is %lld, not %lld%s%s%s", #what,	\
			  __is, __want, __is < 0 && __is > -4096 ? " (" : "",	\
			  __is < 0 && __is > -4096 ? strerror(-__is) : "",	\
			  __is < 0 && __is > -4096 ? ")" : "");		\
} while (0)

#define NEED(what) do {							\
	if (!(what)) {							\
		ktap_fail(__FILE__, __LINE__, "needed: %s (%s)", #what,	\
			  strerror(errno));				\
		longjmp(ktap.end, 1);					\
	}								\
} while (0)

/*
 * Runs the tests, or those whose names hold @only, and returns what main() is to
 * return. Wants stdout unbuffered where tests fork.
 */
static inline int ktap_run(const struct ktap_test *tests, int count, const char *only)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("KTAP version 1\n1..%d\n", count);
	for (int i = 0; i < count; i++) {
		if (only && !strstr(tests[i].name, only)) {
			ktap.skipped++;
			printf("ok %d %s # SKIP not asked for\n", i + 1, tests[i].name);
			continue;
		}
		ktap.errors = 0;
		ktap.skip = NULL;
		if (!setjmp(ktap.end))
			tests[i].run();
		if (ktap.errors) {
			ktap.failed++;
			printf("not ok %d %s\n", i + 1, tests[i].name);
		} else if (ktap.skip) {
			ktap.skipped++;
			printf("ok %d %s # SKIP %s\n", i + 1, tests[i].name, ktap.skip);
		} else {
			ktap.passed++;
			printf("ok %d %s\n", i + 1, tests[i].name);
		}
	}
	printf("%d passed, %d failed, %d skipped\n", ktap.passed, ktap.failed, ktap.skipped);
	return ktap.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define KTAP_MAIN(tests)						\
int main(int argc, char **argv)						\
{									\
	return ktap_run(tests, sizeof(tests) / sizeof((tests)[0]),	\
			argc > 1 ? argv[1] : NULL);			\
}

#endif /* SELFTESTS_KTAP_H */
