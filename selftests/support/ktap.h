/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KTAP, version 1, and a closing line that adds up.
 */
#ifndef KTAP_H
#define KTAP_H

#include <stdbool.h>

#define KTAP_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* How many tests there will be. */
void ktap_plan(unsigned int tests);
/* A test begins; what fails until ktap_end() fails it. */
void ktap_begin(const char *name, ...) KTAP_PRINTF(1, 2);
void ktap_fail(const char *why, ...) KTAP_PRINTF(1, 2);
void ktap_note(const char *text, ...) KTAP_PRINTF(1, 2);
void ktap_skip(const char *why, ...) KTAP_PRINTF(1, 2);
/* Has anything failed since ktap_begin()? */
bool ktap_failed(void);
void ktap_end(void);
/* The closing line. Returns main()'s exit status. */
int ktap_exit(void);
/* What makes going on pointless. */
void ktap_bail(const char *why, ...) KTAP_PRINTF(1, 2) __attribute__((noreturn));

#define ktap_check(cond, ...) \
	do { \
		if (!(cond)) \
			ktap_fail(__VA_ARGS__); \
	} while (0)

/* For what is not under test: it works, or there is no test. */
#define must(cond) \
	do { \
		if (!(cond)) \
			ktap_bail("%s:%d: %s: %m", __FILE__, __LINE__, #cond); \
	} while (0)

#endif /* KTAP_H */
