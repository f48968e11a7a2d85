// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the lists of tracepoints on the command line */
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

static bool add(struct ftrace_lists *l, const char *text, const char *set)
{
	if (l->nr == FTRACE_LISTS_MAX) {
		tool_error("at most %d lists of tracepoints are allowed: write one list with commas",
			   FTRACE_LISTS_MAX);
		return false;
	}
	l->sets[l->nr] = set;
	l->events[l->nr++] = text;
	return true;
}

#define NAME_LETTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define OPERATION	"/operation="

/* Splits off the name or pattern at *@p. Returns false if it is empty. */
static bool take_part(const char **p, const char **part, size_t *len)
{
	*part = *p;
	*p += strspn(*p, NAME_LETTERS);
	*p += **p == '*';
	*len = *p - *part;
	return *len;
}

/* Splits off "/operation=FIELD/" at *@p, which may be missing. Returns false if it is wrong. */
static bool take_field(const char **p, struct ftrace_element *e)
{
	if (**p != '/')
		return true;
	if (strncmp(*p, OPERATION, strlen(OPERATION)))
		return false;
	e->field = *p + strlen(OPERATION);
	e->field_len = strspn(e->field, NAME_LETTERS);
	*p = e->field + e->field_len;
	return e->field_len && *(*p)++ == '/';
}

bool ftrace_element(struct ftrace_element *e, const char *text)
{
	const char *p = text;

	*e = (struct ftrace_element){
		.text = text, .len = strcspn(text, ","), .event = "*", .event_len = 1,
	};
	if (!take_part(&p, &e->system, &e->system_len))
		return false;
	if (*p == ':') {
		p++;
		if (!take_part(&p, &e->event, &e->event_len))
			return false;
	}
	return take_field(&p, e) && p == text + e->len;
}

bool ftrace_add_events(struct ftrace_lists *l, char *text)
{
	const char *p = text;

	do {
		struct ftrace_element e;

		if (!ftrace_element(&e, p)) {
			tool_error("'%.*s' is no tracepoint; write SYSTEM:EVENT, as block:block_rq_issue or block:*, or SYSTEM:EVENT/operation=FIELD/",
				   (int)(e.len < 100 ? e.len : 100), tool_text(p));
			return false;
		}
		p = ftrace_next(&e);
		/* A list that ends in a comma has an empty last element. */
		if (!*p && p[-1] == ',') {
			tool_error("'' is no tracepoint: the list '%s' ends in a comma", tool_text(text));
			return false;
		}
	} while (*p);
	return add(l, text, NULL);
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
		if (!add(l, sets[i].events, sets[i].name))
			return false;
	}
	return true;
}
