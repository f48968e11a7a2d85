/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a snapshot that is shown, and its order */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "snapshot.h"

enum view_sort {
	VIEW_RATE, VIEW_P50, VIEW_P99, VIEW_MAX, VIEW_RUNNING, VIEW_RUNNABLE, VIEW_BLOCKED,
	VIEW_QUEUED, VIEW_UNKNOWN, VIEW_NAME, VIEW_SORTS
};

#define FILTER_MAX	63

struct view {
	enum view_sort sort;
	bool since_start;		/* else the last seconds */
	char filter[FILTER_MAX + 1];	/* part of a type or provider; "": all */

	/* Results of view_apply(): rows of the snapshot, in order */
	const struct type_row *types[TYPES_MAX + 1];
	size_t nr_types;
	size_t open[OPEN_MAX];		/* numbers of its open operations */
	size_t nr_open;
};

void view_apply(struct view *v, const struct snapshot *s);
/* The numbers of @row that are shown */
const struct numbers *view_numbers(const struct view *v, const struct type_row *row);
/* The word for a column, as in "rate" */
const char *view_sort_name(enum view_sort sort);
/* Takes such a word. False if it is none */
bool view_take_sort(struct view *v, const char *text);
/* The share of @state in the time of @n; 0 if there is none */
double view_share(const struct numbers *n, enum analysis_state state);

#endif /* TOP_VIEW_H */
