// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Misuse of contexts: counted, recorded, and fatal in debug mode
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"

static uint64_t misuses;

/* 0: as the environment says; else 1 + the answer */
static uint32_t debug;

bool at_misuse_aborts(void)
{
	const uint32_t d = __atomic_load_n(&debug, __ATOMIC_RELAXED);
	const char *text;

	if (d)
		return d == 2;
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
	__atomic_store_n(&debug, 1 + aborts, __ATOMIC_RELAXED);
}
