// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of text, numbers and times: filling, and printing for people and programs */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/print.h"
#include "fxt/table.h"
#include "samples.h"
#include "sheet.h"
#include "terminal.h"
#include "tool.h"

#define COLUMNS_MAX	20
#define TEXT_WIDTH_MAX	60
#define TEXT_WIDTH_MIN	8
#define BAR_WIDTH	40
#define BAR_WIDTH_NARROW	15	/* if the table is wider than the terminal */
#define SEPARATOR	2	/* spaces between columns */

void sheet_row(struct sheet *s)
{
	assert(!s->column);
	if (!more_room(&s->cells, s->nr, &s->room, s->nr_columns * sizeof(*s->cells))) {
		s->failed = true;
		return;
	}
	memset(&s->cells[s->nr++ * s->nr_columns], 0, s->nr_columns * sizeof(*s->cells));
}

/* Returns the next cell of the row. Without memory for the row, returns a cell that no row has. */
static struct sheet_cell *next_cell(struct sheet *s, enum sheet_kind kind)
{
	static struct sheet_cell none;
	const size_t column = s->column;

	assert(s->columns[column].kind == kind);
	s->column = (column + 1) % s->nr_columns;
	return s->failed ? &none : &s->cells[(s->nr - 1) * s->nr_columns + column];
}

void sheet_text(struct sheet *s, const char *text)
{
	struct sheet_cell *c = next_cell(s, SHEET_TEXT);

	if (s->failed)
		return;
	c->text = strdup(text);
	s->failed = !c->text;
}

void sheet_textf(struct sheet *s, const char *fmt, ...)
{
	struct sheet_cell *c = next_cell(s, SHEET_TEXT);
	va_list list;

	if (s->failed)
		return;
	va_start(list, fmt);
	if (vasprintf(&c->text, fmt, list) < 0) {
		c->text = NULL;
		s->failed = true;
	}
	va_end(list);
}

void sheet_type(struct sheet *s, const char *category, const char *name)
{
	sheet_textf(s, "%s%s%s", category, category[0] ? "/" : "", name);
}

void sheet_number(struct sheet *s, uint64_t number)
{
	const enum sheet_kind kind = s->columns[s->column].kind;

	assert(kind == SHEET_COUNT || kind == SHEET_ID || kind == SHEET_NS);
	next_cell(s, kind)->number = number;
}

void sheet_diff(struct sheet *s, int64_t diff)
{
	next_cell(s, SHEET_NS_DIFF)->diff = diff;
}

void sheet_sum(struct sheet *s, unsigned __int128 ns)
{
	sheet_number(s, sum_limited(ns));
}

void sheet_share(struct sheet *s, double part, double all)
{
	const enum sheet_kind kind = s->columns[s->column].kind;

	assert(kind == SHEET_SHARE || kind == SHEET_RATIO || kind == SHEET_BAR);
	next_cell(s, kind)->share = all > 0 ? part / all : 0;
}

void sheet_absent(struct sheet *s)
{
	const enum sheet_kind kind = s->columns[s->column].kind;

	assert(kind != SHEET_TEXT);
	next_cell(s, kind)->absent = true;
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

/* Returns the text of a cell, valid until the next call. @bar: number of characters for 100 % */
static const char *people_text(enum sheet_kind kind, const struct sheet_cell *c, int bar)
{
	static const char full[BAR_WIDTH + 1] = "########################################";
	static char text[64];

	if (c->absent)
		return "-";
	switch (kind) {
	case SHEET_TEXT:
		return tool_text(c->text);
	case SHEET_COUNT:
		return tool_count(c->number);
	case SHEET_ID:
		snprintf(text, sizeof(text), "%" PRIu64, c->number);
		return text;
	case SHEET_NS:
		snprintf(text, sizeof(text), "%s%.3f", c->number == UINT64_MAX ? ">" : "",
			 c->number / 1e6);
		return text;
	case SHEET_NS_DIFF:
		snprintf(text, sizeof(text), "%s%.3f", c->diff > 0 ? "+" : "", c->diff / 1e6);
		return text;
	case SHEET_RATIO:
		snprintf(text, sizeof(text), "%.2f", c->share);
		return text;
	case SHEET_BAR:
		snprintf(text, sizeof(text), "%5.1f %.*s", 100 * c->share,
			 (int)(c->share * bar + 0.5), full);
		return text;
	default:
		snprintf(text, sizeof(text), "%.1f", 100 * c->share);
		return text;
	}
}

static size_t people_rows(const struct sheet *s)
{
	return s->limit && s->nr > s->limit ? s->limit : s->nr;
}

/* A table for people. Columns with the width 0 are left out. */
struct layout {
	const struct sheet *sheet;
	size_t nr;			/* number of rows */
	size_t max;			/* number of columns of the terminal */
	int bar;			/* number of characters of a bar for 100 % */
	size_t width[COLUMNS_MAX];
};

/* Sets the widths so that all cells fit. */
static void measure(struct layout *l)
{
	const struct sheet *s = l->sheet;

	for (size_t i = 0; i < s->nr_columns; i++)
		l->width[i] = terminal_columns(s->columns[i].title);
	for (size_t i = 0; i < l->nr * s->nr_columns; i++) {
		const size_t column = i % s->nr_columns;
		const enum sheet_kind kind = s->columns[column].kind;
		size_t width = terminal_columns(people_text(kind, &s->cells[i], l->bar));

		if (kind == SHEET_TEXT && width > TEXT_WIDTH_MAX && l->max != SIZE_MAX)
			width = TEXT_WIDTH_MAX;
		if (width > l->width[column])
			l->width[column] = width;
	}
}

/* Returns the width of the table, or its width with texts that are as narrow as possible. */
static size_t sum_of(const struct layout *l, bool narrow)
{
	size_t sum = 0;

	for (size_t i = 0; i < l->sheet->nr_columns; i++) {
		const bool cut = narrow && l->sheet->columns[i].kind == SHEET_TEXT &&
			l->width[i] > TEXT_WIDTH_MIN;

		if (l->width[i])
			sum += (sum ? SEPARATOR : 0) + (cut ? TEXT_WIDTH_MIN : l->width[i]);
	}
	return sum;
}

static size_t widest_text(const struct layout *l)
{
	const struct sheet *s = l->sheet;
	size_t found = s->nr_columns;

	for (size_t i = 0; i < s->nr_columns; i++)
		if (s->columns[i].kind == SHEET_TEXT && l->width[i] > TEXT_WIDTH_MIN &&
		    (found == s->nr_columns || l->width[i] > l->width[found]))
			found = i;
	return found;
}

/*
 * Narrows the table to the terminal. Optional columns are removed first, then bars and texts become
 * narrower. If that is not enough, other columns are removed, too, the last ones first.
 */
static void fit(struct layout *l)
{
	const struct sheet *s = l->sheet;
	size_t sum, i;

	if (sum_of(l, false) > l->max && s->columns[s->nr_columns - 1].kind == SHEET_BAR) {
		l->bar = BAR_WIDTH_NARROW;
		measure(l);
	}
	for (i = s->nr_columns; i-- > 1 && sum_of(l, false) > l->max;)
		if (s->columns[i].optional)
			l->width[i] = 0;
	for (i = s->nr_columns; i-- > 1 && sum_of(l, true) > l->max;)
		l->width[i] = 0;
	for (sum = sum_of(l, false); sum > l->max && (i = widest_text(l)) < s->nr_columns; sum--)
		l->width[i]--;
}

/* Prints @row, or the heading if @row is NULL. */
static void print_row(FILE *f, const struct layout *l, const struct sheet_cell *row)
{
	const struct sheet *s = l->sheet;
	size_t last = s->nr_columns - 1;

	while (!l->width[last])
		last--;
	for (size_t i = 0; i <= last; i++) {
		const struct sheet_column *c = &s->columns[i];
		const char *text = row ? people_text(c->kind, &row[i], l->bar) : c->title;

		if (!l->width[i])
			continue;
		if (i)
			fprintf(f, "%*s", SEPARATOR, "");
		if (c->kind != SHEET_TEXT && c->kind != SHEET_BAR)
			terminal_print_right(f, text, l->width[i]);
		else if (i == last)
			terminal_print_cut(f, text, l->width[i]);
		else
			terminal_print_left(f, text, l->width[i]);
	}
	fputc('\n', f);
}

static void print_people(FILE *f, const struct sheet *s)
{
	struct layout l = {
		.sheet = s, .nr = people_rows(s), .max = terminal_width(f), .bar = BAR_WIDTH,
	};
	size_t removed = 0;

	assert(s->nr_columns <= COLUMNS_MAX);
	measure(&l);
	fit(&l);
	print_row(f, &l, NULL);
	for (size_t i = 0; i < l.nr; i++)
		print_row(f, &l, &s->cells[i * s->nr_columns]);
	if (l.nr < s->nr)
		fprintf(f, "and %zu more; --all shows them\n", s->nr - l.nr);
	for (size_t i = 0; i < s->nr_columns; i++)
		removed += !l.width[i];
	if (removed)
		fprintf(f, "and %zu more column%s; --csv shows all\n", removed,
			removed == 1 ? "" : "s");
}

/* --- for programs ------------------------------------------------------------------ */

static void print_number(FILE *f, enum sheet_kind kind, const struct sheet_cell *c)
{
	if (kind == SHEET_SHARE || kind == SHEET_RATIO || kind == SHEET_BAR)
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

		fputc(i % s->nr_columns ? ',' : '{', f);
		if (column->kind == SHEET_TEXT) {
			fxt_print_json_member(f, column->key, s->cells[i].text);
		} else {
			fprintf(f, "\"%s\":", column->key);
			if (s->cells[i].absent)
				fputs("null", f);
			else
				print_number(f, column->kind, &s->cells[i]);
		}
		if ((i + 1) % s->nr_columns == 0)
			fputs("}\n", f);
	}
}

/* True if @code is a control character that a cell of a CSV file may have */
static bool is_white_space(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r';
}

/*
 * Doubles quotes. CSV has no escapes, so malformed UTF-8 becomes U+FFFD. Control characters do,
 * too, because a terminal that shows the file would obey them. White space stays, but not if
 * standard output is a terminal, where it would break the lines.
 */
static void print_character(FILE *f, const char *text, size_t bytes, uint32_t code, bool terminal)
{
	if (code == '"')
		fputc('"', f);
	if (!bytes || (fxt_is_control(code) && (terminal || !is_white_space(code))))
		fputs("\xef\xbf\xbd", f);
	else
		fwrite(text, 1, bytes, f);
}

static void print_quoted(FILE *f, const char *text, bool terminal)
{
	const bool quoted = strpbrk(text, ",\"\r\n");
	size_t left = strlen(text);

	if (quoted)
		fputc('"', f);
	while (left) {
		uint32_t code;
		const size_t n = fxt_char(text, left, &code), bytes = n ? n : 1;

		print_character(f, text, n, code, terminal);
		text += bytes;
		left -= bytes;
	}
	if (quoted)
		fputc('"', f);
}

static void print_csv(FILE *f, const struct sheet *s)
{
	const bool terminal = terminal_width(f) != SIZE_MAX;

	for (size_t i = 0; i < s->nr_columns; i++)
		fprintf(f, "%s%s", i ? "," : "", s->columns[i].key);
	fputs("\r\n", f);
	for (size_t i = 0; i < s->nr * s->nr_columns; i++) {
		const struct sheet_column *column = &s->columns[i % s->nr_columns];

		if (i % s->nr_columns)
			fputc(',', f);
		if (column->kind == SHEET_TEXT)
			print_quoted(f, s->cells[i].text, terminal);
		else if (!s->cells[i].absent)
			print_number(f, column->kind, &s->cells[i]);
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
