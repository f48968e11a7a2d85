// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which tracepoints the command line asks for
 */
#include <string.h>

#include "ftrace/ftrace.h"
#include "tool.h"

static const struct {
	const char *name;
	const char *events;
} sets[] = {
	{ "syscalls", "raw_syscalls:*" },
	{ "faults", "exceptions:page_fault_*" },
	{ "block", "block:*" },
	{ "irq", "irq:*,irq_vectors:*" },
	{ "reclaim", "vmscan:*,compaction:*" },
	{ "cpu", "power:cpu_*" },
};

#define NR_SETS	(sizeof(sets) / sizeof(sets[0]))

static bool add(struct ftrace_lists *l, const char *text)
{
	if (l->nr == FTRACE_LISTS_MAX) {
		tool_error("at most %d lists of tracepoints are allowed: write one list with commas",
			   FTRACE_LISTS_MAX);
		return false;
	}
	l->events[l->nr++] = text;
	return true;
}

/* A name or a prefix and a final '*', of at most one part of "SYSTEM:EVENT" */
static bool part_ok(const char *text, size_t len)
{
	if (!len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", text[i]) &&
		    !(text[i] == '*' && i == len - 1))
			return false;
	return true;
}

static bool event_ok(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t system = colon ? (size_t)(colon - text) : len;

	return part_ok(text, system) && (!colon || part_ok(colon + 1, len - system - 1));
}

bool ftrace_add_events(struct ftrace_lists *l, char *text)
{
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");

		if (!event_ok(p, len)) {
			tool_error("'%.*s' is no tracepoint; write SYSTEM:EVENT, as block:block_rq_issue or block:*",
				   (int)(len < 100 ? len : 100), tool_text(p));
			return false;
		}
		p += len;
		if (!*p)
			break;
	}
	return add(l, text);
}

bool ftrace_add_sets(struct ftrace_lists *l, char *text)
{
	char *rest = text;

	for (char *name; (name = strsep(&rest, ","));) {
		size_t i = 0;

		while (i < NR_SETS && strcmp(sets[i].name, name))
			i++;
		if (i == NR_SETS) {
			tool_error("'%s' is no set of tracepoints; use syscalls, faults, block, irq, reclaim or cpu",
				   tool_text(name));
			return false;
		}
		if (!add(l, sets[i].events))
			return false;
	}
	return true;
}
