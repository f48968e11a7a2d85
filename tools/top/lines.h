/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats a snapshot as lines of text without newlines. */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include <stdio.h>

#include "view.h"

/* Columns of the numbers after the type. No line has more columns besides its type. */
#define LINES_NUMBERS	61
#define LINES_NAME_MAX	60

/* Print line 0 or 1 of the head. @source: name of the source */
void lines_head(FILE *f, const struct snapshot *s, const struct view *v, const char *source,
		int line);
/* Prints why the snapshot is incomplete; nothing if it is complete. */
void lines_warning(FILE *f, const struct snapshot *s);
/* @width: columns of the terminal for the type */
void lines_types_title(FILE *f, int width);
void lines_type(FILE *f, const struct view *v, const struct type_row *row, int width);
void lines_open_title(FILE *f, const struct snapshot *s, const struct view *v);
void lines_open(FILE *f, const struct open_operation *op, uint64_t age, int width);

/*
 * Returns how many bytes of @text fit into @width columns, and in *@columns the columns that
 * they fill.
 */
size_t lines_fit(const char *text, int width, int *columns);

#endif /* TOP_LINES_H */
