/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of the module that are slow to reach on the debug kernel, which takes 40 ms to create a
 * thread
 *
 * The module for that kernel has knobs that lower the limits. On other kernels the tests reach the
 * real limits.
 */
#ifndef SELFTESTS_LIMIT_H
#define SELFTESTS_LIMIT_H

#include <stdio.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define LIMIT_SLOTS	"/sys/kernel/debug/asynctrace/limit_slots"
#define LIMIT_SALTS	"/sys/kernel/debug/asynctrace/limit_salts"
#define LIMIT_KEPT	"/sys/kernel/debug/asynctrace/limit_kept"
#define LIMIT_PROVIDERS	"/sys/kernel/debug/asynctrace/limit_providers"

/* Lowers the limit to @few and returns that, or returns @normal if the module has no such knob. */
static inline int limit_lower(const char *knob, int normal, int few)
{
	char text[16];

	if (access(knob, W_OK))
		return normal;
	snprintf(text, sizeof(text), "%d", few);
	NEED(!raw_put(knob, text));
	return few;
}

static inline void limit_restore(const char *knob)
{
	if (!access(knob, W_OK))
		EXPECT(!raw_put(knob, "0"));
}

#endif /* SELFTESTS_LIMIT_H */
