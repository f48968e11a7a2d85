// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counting and recording misuse of contexts, which is fatal in debug mode
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"

static uint64_t misuses;

/* Debug mode as set by at_context_debug() */
static enum { BY_ENVIRONMENT, OFF, ON } debug;

bool at_misuse_aborts(void)
{
	const uint32_t mode = __atomic_load_n(&debug, __ATOMIC_RELAXED);
	const char *text;

	if (mode != BY_ENVIRONMENT)
		return mode == ON;
	text = secure_getenv("ASYNCTRACE_DEBUG");
	return text && !strcmp(text, "1");
}

AT_COLD void at_misuse(const struct at_context *c, const char *what)
{
	const struct at_context *current = at_context_here();
	const uint64_t id = c ? c->operation.id : 0, expected = current ? current->operation.id : 0;

	__atomic_fetch_add(&misuses, 1, __ATOMIC_RELAXED);
	at_context_record_misuse(id, expected, what);
	if (!at_misuse_aborts())
		return;
	fprintf(stderr, "asynctrace: the stack of contexts has become corrupted (actual: %#" PRIx64
		", expected: %#" PRIx64 "): %s\n", id, expected, what);
	abort();
}

AT_PUBLIC uint64_t at_context_misuses(void)
{
	return __atomic_load_n(&misuses, __ATOMIC_RELAXED);
}

AT_PUBLIC void at_context_debug(bool aborts)
{
	__atomic_store_n(&debug, aborts ? ON : OFF, __ATOMIC_RELAXED);
}
