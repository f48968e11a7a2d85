// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "what.h"

const struct what *what_find(const char *name)
{
	static const struct what *const groups[] = {
		whats_types, whats_causes, whats_levels, whats_timeline, whats_sched, whats_trace,
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct what *w = groups[i]; w->name; w++)
			if (!strcmp(w->name, name))
				return w;
	return NULL;
}

void sheet_histogram(struct sheet *s, const struct histogram *h)
{
	sheet_number(s, h->from);
	sheet_number(s, h->to);
	sheet_number(s, h->count);
	sheet_share(s, h->count, h->samples->nr);
}
