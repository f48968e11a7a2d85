// SPDX-License-Identifier: GPL-2.0-or-later
/* The width of a terminal and of text on it, and text cut to a width */
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "fxt/utf8.h"
#include "terminal.h"
#include "tool.h"

#define WIDTH_DEFAULT	80	/* of a terminal that does not report its width */
#define WIDTH_MIN	20

void terminal_init(void)
{
	/* The output is UTF-8 in all locales, but wcwidth() knows its characters only in some. */
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
}

size_t terminal_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	uint64_t width;

	if (!isatty(fileno(f)))
		return SIZE_MAX;
	if (!columns || !tool_parse_number(columns, &width) || !width)
		width = !ioctl(fileno(f), TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : WIDTH_DEFAULT;
	return width > WIDTH_MIN ? width : WIDTH_MIN;
}

/* Sets *@columns to the width of the first character of @text, and returns the next character. */
static const char *next(const char *text, size_t *columns)
{
	uint32_t code;
	const size_t n = fxt_char(text, strnlen(text, 4), &code);
	const int width = n ? wcwidth(code) : 1;

	/* A character that wcwidth() does not know is most likely one column wide. */
	*columns = width < 0 ? 1 : width;
	return text + (n ? n : 1);
}

size_t terminal_columns(const char *text)
{
	size_t sum = 0, columns;

	while (*text) {
		text = next(text, &columns);
		sum += columns;
	}
	return sum;
}

/* Returns the end of the part of @text that takes at most @max columns. */
static const char *head_end(const char *text, size_t max)
{
	while (*text) {
		size_t columns;
		const char *after = next(text, &columns);

		if (columns > max)
			break;
		max -= columns;
		text = after;
	}
	return text;
}

/* Returns the last part of @text that takes at most @max columns. */
static const char *tail(const char *text, size_t max)
{
	size_t left = terminal_columns(text), columns;

	while (*text) {
		const char *after = next(text, &columns);

		/* Do not begin with a character without a width: it modifies the one before. */
		if (left <= max && columns)
			break;
		left -= columns;
		text = after;
	}
	return text;
}

/* Prints @text, cut to @width. Returns the number of columns. */
static size_t print(FILE *f, const char *text, size_t width)
{
	const size_t columns = terminal_columns(text), head = (width - 3) / 2;
	const char *end, *rest;

	if (columns <= width) {
		fputs(text, f);
		return columns;
	}
	end = head_end(text, head);
	rest = tail(text, width - 3 - head);
	fprintf(f, "%.*s...%s", (int)(end - text), text, rest);
	return columns - terminal_columns(end) + 3 + terminal_columns(rest);
}

void terminal_print_cut(FILE *f, const char *text, size_t width)
{
	print(f, text, width);
}

void terminal_print_left(FILE *f, const char *text, size_t width)
{
	const size_t columns = print(f, text, width);

	fprintf(f, "%*s", columns < width ? (int)(width - columns) : 0, "");
}

void terminal_print_right(FILE *f, const char *text, size_t width)
{
	const size_t columns = terminal_columns(text);

	fprintf(f, "%*s", columns < width ? (int)(width - columns) : 0, "");
	print(f, text, width);
}
