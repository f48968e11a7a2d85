/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects and sorts the part of a snapshot that is shown */
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
	bool since_start;		/* false: show the last seconds */
	char filter[FILTER_MAX + 1];	/* substring of a type or provider; "": show all */

	/* Results of view_apply(): sorted rows of the snapshot */
	const struct type_row *types[TYPES_MAX + 1];
	size_t nr_types;
	size_t open[OPEN_MAX];		/* indexes of open operations in the snapshot */
	size_t nr_open;
};

void view_apply(struct view *v, const struct snapshot *s);
/* Returns the numbers of @row that the view shows. */
const struct numbers *view_numbers(const struct view *v, const struct type_row *row);
/* Returns the name of a column, such as "rate". */
const char *view_sort_name(enum view_sort sort);
/* Sets the column by its name. Returns false if there is no such column. */
bool view_take_sort(struct view *v, const char *text);
/* Returns the share of @state in the time of @n, or 0 if @n has none. */
double view_share(const struct numbers *n, enum analysis_state state);

#endif /* TOP_VIEW_H */
