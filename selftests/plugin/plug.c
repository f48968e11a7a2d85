// SPDX-License-Identifier: GPL-2.0
/* A plug-in that traces, and contains the static library or is linked with the shared one. */
#include <asynctrace/trace.h>

void plug_write(unsigned int records);

void plug_write(unsigned int records)
{
	for (unsigned int i = 0; i < records; i++)
		TRACE_INSTANT("plugin", "record", TRACE_SCOPE_THREAD, "i", i);
}
