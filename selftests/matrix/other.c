// SPDX-License-Identifier: GPL-2.0
/* The second file of the program: see inline.h */
#include <asynctrace/trace.h>

/* Advances __COUNTER__ by a number other than that of events.c. */
static void move_on(void)
{
	TRACE_INSTANT("unwanted", "moves on", TRACE_SCOPE_THREAD);
}

#include "inline.h"

void other_events(int n)
{
	move_on();
	inline_events(n);
}
