/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fits text to the columns of a terminal, on which a character may be two columns wide, or none. */
#ifndef REPORT_TERMINAL_H
#define REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prepares the functions below. */
void terminal_init(void);
/* Returns the number of columns of a line of @f, or SIZE_MAX if @f is no terminal. */
size_t terminal_width(FILE *f);
/* Returns the number of columns that @text takes on a terminal. */
size_t terminal_columns(const char *text);
/*
 * Prints @text on at least @width columns, to the left or to the right of spaces. If @text is wider
 * than @width, which must be 4 or more, "..." replaces its middle.
 */
void terminal_print_left(FILE *f, const char *text, size_t width);
void terminal_print_right(FILE *f, const char *text, size_t width);
/* Prints @text without spaces. If it is wider than @width, "..." replaces its middle. */
void terminal_print_cut(FILE *f, const char *text, size_t width);

#endif /* REPORT_TERMINAL_H */
