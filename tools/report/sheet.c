// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/print.h"
#include "sheet.h"
#include "tool.h"

#define TEXT_WIDTH_MAX	60

union sheet_cell *sheet_row(struct sheet *s)
{
	union sheet_cell *row;

	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		void *cells = realloc(s->cells, room * s->nr_columns * sizeof(*s->cells));

		if (!cells)
			return NULL;
		s->cells = cells;
		s->room = room;
	}
	row = &s->cells[s->nr++ * s->nr_columns];
	memset(row, 0, s->nr_columns * sizeof(*row));
	return row;
}

void sheet_free(struct sheet *s)
{
	for (size_t i = 0; i < s->nr * s->nr_columns; i++)
		if (s->columns[i % s->nr_columns].kind == SHEET_TEXT)
			free(s->cells[i].text);
	free(s->cells);
	s->cells = NULL;
	s->nr = 0;
	s->room = 0;
}

/* --- for people ----------------------------------------------------------------- */

/* Bytes of @text of @size bytes. What is too long for its column loses its middle. */
static int people_text(char *text, size_t size, enum sheet_kind kind, const union sheet_cell *c)
{
	const char *clean;
	size_t len;

	switch (kind) {
	case SHEET_TEXT:
		clean = tool_text(c->text ? c->text : "");
		len = strlen(clean);
		if (len <= TEXT_WIDTH_MAX)
			return snprintf(text, size, "%s", clean);
		return snprintf(text, size, "%.*s...%s", TEXT_WIDTH_MAX / 2 - 1, clean,
				clean + len - TEXT_WIDTH_MAX / 2 + 2);
	case SHEET_COUNT:
		return snprintf(text, size, "%s", tool_count(c->number));
	case SHEET_NS:
		return snprintf(text, size, "%.3f", c->number / 1e6);
	case SHEET_NS_DIFF:
		return snprintf(text, size, "%s%.3f", c->diff > 0 ? "+" : "", c->diff / 1e6);
	default:
		return snprintf(text, size, "%.1f", 100 * c->share);
	}
}

static void print_people(FILE *f, const struct sheet *s)
{
	size_t *width = calloc(s->nr_columns, sizeof(*width));
	char text[4 * TEXT_WIDTH_MAX];

	if (!width)
		return;
	for (size_t i = 0; i < s->nr_columns; i++)
		width[i] = strlen(s->columns[i].title);
	for (size_t i = 0; i < s->nr * s->nr_columns; i++) {
		size_t column = i % s->nr_columns;
		size_t len = people_text(text, sizeof(text), s->columns[column].kind, &s->cells[i]);

		if (len > width[column])
			width[column] = len;
	}
	for (size_t i = 0; i < s->nr_columns; i++) {
		bool left = s->columns[i].kind == SHEET_TEXT, last = i + 1 == s->nr_columns;

		fprintf(f, "%s%*s", i ? "  " : "", left ? (last ? 0 : -(int)width[i]) : (int)width[i],
			s->columns[i].title);
	}
	fputc('\n', f);
	for (size_t i = 0; i < s->nr * s->nr_columns; i++) {
		size_t column = i % s->nr_columns;
		bool left = s->columns[column].kind == SHEET_TEXT, last = column + 1 == s->nr_columns;

		people_text(text, sizeof(text), s->columns[column].kind, &s->cells[i]);
		fprintf(f, "%s%*s%s", column ? "  " : "",
			left ? (last ? 0 : -(int)width[column]) : (int)width[column], text,
			last ? "\n" : "");
	}
	free(width);
}

/* --- for programs ------------------------------------------------------------------ */

static void print_number(FILE *f, enum sheet_kind kind, const union sheet_cell *c)
{
	if (kind == SHEET_SHARE)
		fprintf(f, "%.6f", c->share);
	else if (kind == SHEET_NS_DIFF)
		fprintf(f, "%" PRId64, c->diff);
	else
		fprintf(f, "%" PRIu64, c->number);
}

static void print_json(FILE *f, const struct sheet *s)
{
	for (size_t i = 0; i < s->nr * s->nr_columns; i++) {
		const struct sheet_column *column = &s->columns[i % s->nr_columns];
		const char *text = s->cells[i].text;

		fprintf(f, "%s\"%s\":", i % s->nr_columns ? "," : "{", column->key);
		if (column->kind != SHEET_TEXT)
			print_number(f, column->kind, &s->cells[i]);
		else
			fxt_print_json(f, &(struct fxt_text){ .s = text ? text : "",
							      .len = text ? strlen(text) : 0 });
		if ((i + 1) % s->nr_columns == 0)
			fputs("}\n", f);
	}
}

static void print_quoted(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void print_csv(FILE *f, const struct sheet *s)
{
	for (size_t i = 0; i < s->nr_columns; i++)
		fprintf(f, "%s%s", i ? "," : "", s->columns[i].key);
	fputs("\r\n", f);
	for (size_t i = 0; i < s->nr * s->nr_columns; i++) {
		const struct sheet_column *column = &s->columns[i % s->nr_columns];

		if (i % s->nr_columns)
			fputc(',', f);
		if (column->kind != SHEET_TEXT)
			print_number(f, column->kind, &s->cells[i]);
		else if (s->cells[i].text)
			print_quoted(f, s->cells[i].text);
		if ((i + 1) % s->nr_columns == 0)
			fputs("\r\n", f);
	}
}

void sheet_print(FILE *f, const struct sheet *s, enum sheet_format format)
{
	if (format == SHEET_JSON)
		print_json(f, s);
	else if (format == SHEET_CSV)
		print_csv(f, s);
	else
		print_people(f, s);
}
