/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The harness of the tests in C: KTAP, version 1, and a closing line with the counts
 *
 * A program has a table of tests for KTAP_MAIN() or ktap_run(). Or it announces its tests
 * with ktap_plan() and runs each between ktap_begin() and ktap_end(). Or it ends each test
 * with ktap_done(), without a plan.
 */
#ifndef KTAP_H
#define KTAP_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KTAP_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* --- checks ------------------------------------------------------------------ */

/* Fail the running test, which goes on. */
void ktap_fail(const char *why, ...) KTAP_PRINTF(1, 2);
void ktap_note(const char *text, ...) KTAP_PRINTF(1, 2);
/* Returns the number of failures of the running test. */
unsigned int ktap_failed(void);
/* Ends the program: a failure that leaves nothing to test. A child exits with 97. */
void ktap_bail(const char *why, ...) KTAP_PRINTF(1, 2) __attribute__((noreturn));

#define ktap_check(cond, ...) \
	do { \
		if (!(cond)) \
			ktap_fail(__VA_ARGS__); \
	} while (0)

/* For preparations: ends the program unless @cond is true. */
#define must(cond) \
	do { \
		if (!(cond)) \
			ktap_bail("%s:%d: %s: %m", __FILE__, __LINE__, #cond); \
	} while (0)

#define EXPECT(what) \
	ktap_check(what, "%s:%d: not so: %s", __FILE__, __LINE__, #what)

/* Compares numbers; shows a negative errno as text, too. */
#define EXPECT_IS(what, want) \
	ktap_expect_is(__FILE__, __LINE__, #what, (what), (want))
void ktap_expect_is(const char *file, int line, const char *what, long long is, long long want);

/* Returns the number in the environment variable @name, or @otherwise. */
unsigned int amount(const char *name, unsigned int otherwise);

/* --- a table of tests ---------------------------------------------------------- */

struct ktap_test {
	const char *name;
	void (*run)(void);
};

#define KTAP_TEST(function) { #function, function }

/*
 * Runs the tests, or if @only is not NULL those whose names contain it. Returns the exit
 * status of main().
 */
int ktap_run(const struct ktap_test *tests, int count, const char *only);
/* Ends the running test of ktap_run(). A child exits with 97. */
void ktap_leave(void) __attribute__((noreturn));
/* Ends the running test of ktap_run() as skipped: the machine cannot do what is tested. */
void ktap_skip(const char *why) __attribute__((noreturn));

/* For preparations within a test of ktap_run(): if @what is false, the test fails and ends. */
#define NEED(what) \
	do { \
		if (!(what)) { \
			ktap_fail("%s:%d: needed: %s (%m)", __FILE__, __LINE__, #what); \
			ktap_leave(); \
		} \
	} while (0)

#define KTAP_MAIN(tests) \
int main(int argc, char **argv) \
{ \
	return ktap_run(tests, sizeof(tests) / sizeof((tests)[0]), argc > 1 ? argv[1] : NULL); \
}

/* --- tests in a row -------------------------------------------------------------- */

/* Announces the number of tests. */
void ktap_plan(unsigned int tests);
/* Begins a test; a failure until ktap_end() fails it. */
void ktap_begin(const char *name, ...) KTAP_PRINTF(1, 2);
void ktap_end(void);

/* --- tests without a plan -------------------------------------------------------- */

/* Ends the test that the previous call began; the first test begins with the program. */
void ktap_done(const char *name, ...) KTAP_PRINTF(1, 2);
void ktap_done_skipped(const char *name, const char *why);

/* --- the end --------------------------------------------------------------------- */

/* Prints the closing line. Returns the exit status of main(). */
int ktap_exit(void);

#endif /* KTAP_H */
