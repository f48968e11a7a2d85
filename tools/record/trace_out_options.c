// SPDX-License-Identifier: GPL-2.0-or-later
/* The limits of a trace's size, from the command line */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "record/trace_out.h"

bool trace_out_parse_max(struct trace_out *o, const char *text)
{
	if (!tool_parse_size(text, &o->max_size)) {
		tool_error("'%s' is not a size: write a number and a unit, such as 500M or 2G", tool_text(text));
		return false;
	}
	if (o->max_size >= TRACE_OUT_MIN)
		return true;
	tool_error("--max-size must be at least %s", tool_short_size(TRACE_OUT_MIN));
	return false;
}

bool trace_out_parse_rotate(struct trace_out *o, char *text)
{
	char *comma = strchr(text, ','), *end;
	unsigned long keep = 0;

	if (comma) {
		*comma = '\0';
		keep = strtoul(comma + 1, &end, 10);
		if (!isdigit((unsigned char)comma[1]) || *end || !keep || keep > 1000000) {
			tool_error("--rotate SIZE,N: N is the number of files to keep, not '%s'",
				   tool_text(comma + 1));
			return false;
		}
	}
	if (!tool_parse_size(text, &o->rotate)) {
		tool_error("'%s' is not a size: write a number and a unit, such as 500M or 2G", tool_text(text));
		return false;
	}
	if (o->rotate < TRACE_OUT_MIN) {
		tool_error("--rotate SIZE must be at least %s", tool_short_size(TRACE_OUT_MIN));
		return false;
	}
	o->numbered = true;
	o->keep = keep;
	return true;
}
