/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of text that tell what is in a snapshot, without newlines */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include <stdio.h>

#include "view.h"

/* Columns of numbers behind the type; a line has no more than that besides. */
#define LINES_NUMBERS	61
#define LINES_NAME_MAX	60

/* Both lines of the head, @line 0 and 1. @source: what is looked at */
void lines_head(FILE *f, const struct snapshot *s, const struct view *v, const char *source,
		int line);
/* The reasons why the answer is less than whole; nothing if it is whole */
void lines_warning(FILE *f, const struct snapshot *s);
/* @width: of the types' column, in columns of the terminal */
void lines_types_title(FILE *f, int width);
void lines_type(FILE *f, const struct view *v, const struct type_row *row, int width);
void lines_open_title(FILE *f, const struct snapshot *s, const struct view *v);
void lines_open(FILE *f, const struct open_operation *op, uint64_t age, int width);

/* Bytes of the beginning of @text that fill at most @width columns; *@columns: that many */
size_t lines_fit(const char *text, int width, int *columns);

#endif /* TOP_LINES_H */
