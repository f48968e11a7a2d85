// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of reports */
#include <string.h>

#include "what.h"

const struct what *what_find(const char *name)
{
	static const struct what *const groups[] = {
		whats_types, whats_causes, whats_levels, whats_timeline, whats_sched, whats_trace,
		whats_lints, whats_operations, whats_related, whats_loop, whats_logs,
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct what *w = groups[i]; w->name; w++)
			if (!strcmp(w->name, name))
				return w;
	return NULL;
}

const char *what_is_missing(const char *name)
{
	static const struct {
		const char *name, *why;
	} of[] = {
		{ "syscalls", "the analysis does not use the events of asynctrace record -k syscalls" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!strcmp(of[i].name, name))
			return of[i].why;
	return NULL;
}
