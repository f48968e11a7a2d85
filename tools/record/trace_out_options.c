// SPDX-License-Identifier: GPL-2.0-or-later
/* The limits of a trace's size, from the command line */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "record/trace_out.h"

/* Limit of the number of files that --rotate keeps */
#define KEEP_MAX	1000000

static bool take_size(const char *option, const char *text, uint64_t *size)
{
	if (tool_parse_size(text, size) && *size >= TRACE_OUT_MIN)
		return true;
	tool_error("%s takes a size from %s to 2^64 - 1 bytes, such as 500M or 2G, not '%s'", option,
		   tool_short_size(TRACE_OUT_MIN), tool_text(text));
	return false;
}

bool trace_out_parse_max(struct trace_out *o, const char *text)
{
	return take_size("--max-size", text, &o->max_size);
}

bool trace_out_parse_rotate(struct trace_out *o, char *text)
{
	char *comma = strchr(text, ','), *end;
	unsigned long keep = 0;

	if (comma) {
		*comma = '\0';
		keep = strtoul(comma + 1, &end, 10);
		if (!isdigit((unsigned char)comma[1]) || *end || !keep || keep > KEEP_MAX) {
			tool_error("--rotate SIZE,N: N is the number of files to keep, from 1 to %d, not '%s'",
				   KEEP_MAX, tool_text(comma + 1));
			return false;
		}
	}
	if (!take_size("--rotate", text, &o->rotate))
		return false;
	o->numbered = true;
	o->keep = keep;
	return true;
}
