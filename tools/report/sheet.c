// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of text, numbers and times: filling, and printing for people and programs */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fxt/print.h"
#include "fxt/table.h"
#include "sheet.h"
#include "tool.h"

#define COLUMNS_MAX	20
#define WIDTH_DEFAULT	100	/* width of a terminal that does not report its width */
#define TEXT_WIDTH_MAX	60
#define TEXT_WIDTH_MIN	8
#define BAR_WIDTH	40
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
static union sheet_cell *next_cell(struct sheet *s, enum sheet_kind kind)
{
	static union sheet_cell none;
	const size_t column = s->column;

	assert(s->columns[column].kind == kind);
	s->column = (column + 1) % s->nr_columns;
	return s->failed ? &none : &s->cells[(s->nr - 1) * s->nr_columns + column];
}

void sheet_text(struct sheet *s, const char *text)
{
	union sheet_cell *c = next_cell(s, SHEET_TEXT);

	if (s->failed)
		return;
	c->text = strdup(text);
	s->failed = !c->text;
}

void sheet_textf(struct sheet *s, const char *fmt, ...)
{
	union sheet_cell *c = next_cell(s, SHEET_TEXT);
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

void sheet_share(struct sheet *s, uint64_t part, uint64_t all)
{
	const enum sheet_kind kind = s->columns[s->column].kind;

	assert(kind == SHEET_SHARE || kind == SHEET_RATIO || kind == SHEET_BAR);
	next_cell(s, kind)->share = all ? (double)part / all : 0;
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

/* Returns the end of the first @nr characters of @text, or of @text if it has fewer. */
static const char *advance(const char *text, size_t nr)
{
	for (; nr && *text; nr--) {
		uint32_t code;
		size_t n = fxt_char(text, strlen(text), &code);

		text += n ? n : 1;
	}
	return text;
}

size_t sheet_characters(const char *text)
{
	size_t nr = 0;

	for (; *text; text = advance(text, 1))
		nr++;
	return nr;
}

/* Returns the text of a cell, which is valid until the next call. */
static const char *people_text(enum sheet_kind kind, const union sheet_cell *c)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	static char text[64];

	switch (kind) {
	case SHEET_TEXT:
		return tool_text(c->text);
	case SHEET_COUNT:
		return tool_count(c->number);
	case SHEET_ID:
		snprintf(text, sizeof(text), "%" PRIu64, c->number);
		return text;
	case SHEET_NS:
		snprintf(text, sizeof(text), "%.3f", c->number / 1e6);
		return text;
	case SHEET_NS_DIFF:
		snprintf(text, sizeof(text), "%s%.3f", c->diff > 0 ? "+" : "", c->diff / 1e6);
		return text;
	case SHEET_RATIO:
		snprintf(text, sizeof(text), "%.2f", c->share);
		return text;
	case SHEET_BAR:
		snprintf(text, sizeof(text), "%5.1f %.*s", 100 * c->share,
			 (int)(c->share * BAR_WIDTH + 0.5), bar);
		return text;
	default:
		snprintf(text, sizeof(text), "%.1f", 100 * c->share);
		return text;
	}
}

bool sheet_is_cut(FILE *f)
{
	return isatty(fileno(f));
}

/* Returns the number of characters that a line may have. */
static size_t width_of(FILE *f)
{
	struct winsize w;

	if (!sheet_is_cut(f))
		return SIZE_MAX;
	return !ioctl(fileno(f), TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : WIDTH_DEFAULT;
}

static size_t people_rows(const struct sheet *s)
{
	return s->limit && s->nr > s->limit ? s->limit : s->nr;
}

static size_t widest_text(const struct sheet *s, const size_t *width)
{
	size_t found = s->nr_columns;

	for (size_t i = 0; i < s->nr_columns; i++)
		if (s->columns[i].kind == SHEET_TEXT && width[i] > TEXT_WIDTH_MIN &&
		    (found == s->nr_columns || width[i] > width[found]))
			found = i;
	return found;
}

/* Narrows the columns to @max. Optional columns are removed first, and get width 0. */
static void fit(const struct sheet *s, size_t *width, size_t max)
{
	size_t optional = s->nr_columns, sum = 0, i;

	for (i = 0; i < s->nr_columns; i++)
		sum += width[i] + (i ? SEPARATOR : 0);
	while (sum > max && optional) {
		if (!s->columns[--optional].optional)
			continue;
		sum -= width[optional] + SEPARATOR;
		width[optional] = 0;
	}
	for (; sum > max && (i = widest_text(s, width)) < s->nr_columns; sum--)
		width[i]--;
}

/* Prints @text. If it is too long for its column, "..." replaces its middle. */
static void print_fitted(FILE *f, const char *text, size_t width, bool left, bool last)
{
	size_t nr = sheet_characters(text), head = (width - 3) / 2;

	if (nr > width) {
		fprintf(f, "%.*s...%s", (int)(advance(text, head) - text), text,
			advance(text, nr - (width - 3 - head)));
		return;
	}
	fprintf(f, "%*s%s%*s", left ? 0 : (int)(width - nr), "", text,
		left && !last ? (int)(width - nr) : 0, "");
}

void sheet_print_text(FILE *f, const char *text, size_t width, bool pad)
{
	const size_t nr = sheet_characters(text);

	print_fitted(f, text, nr > width && !sheet_is_cut(f) ? nr : width, true, !pad);
}

/* Prints @row, or the heading if @row is NULL. */
static void print_row(FILE *f, const struct sheet *s, const size_t *width,
		      const union sheet_cell *row)
{
	size_t last = s->nr_columns;

	while (!width[last - 1])
		last--;
	for (size_t i = 0; i < last; i++) {
		const struct sheet_column *c = &s->columns[i];

		if (!width[i])
			continue;
		if (i)
			fprintf(f, "%*s", SEPARATOR, "");
		print_fitted(f, row ? people_text(c->kind, &row[i]) : c->title, width[i],
			     c->kind == SHEET_TEXT || c->kind == SHEET_BAR, i + 1 == last);
	}
	fputc('\n', f);
}

static void print_people(FILE *f, const struct sheet *s)
{
	size_t width[COLUMNS_MAX], nr = people_rows(s), max = width_of(f);

	assert(s->nr_columns <= COLUMNS_MAX);
	for (size_t i = 0; i < s->nr_columns; i++)
		width[i] = sheet_characters(s->columns[i].title);
	for (size_t i = 0; i < nr * s->nr_columns; i++) {
		const size_t column = i % s->nr_columns;
		size_t len = sheet_characters(people_text(s->columns[column].kind, &s->cells[i]));

		if (s->columns[column].kind == SHEET_TEXT && len > TEXT_WIDTH_MAX &&
		    max != SIZE_MAX)
			len = TEXT_WIDTH_MAX;
		if (len > width[column])
			width[column] = len;
	}
	fit(s, width, max);
	print_row(f, s, width, NULL);
	for (size_t i = 0; i < nr; i++)
		print_row(f, s, width, &s->cells[i * s->nr_columns]);
	if (nr < s->nr)
		fprintf(f, "and %zu more; --all shows them\n", s->nr - nr);
}

/* --- for programs ------------------------------------------------------------------ */

static void print_number(FILE *f, enum sheet_kind kind, const union sheet_cell *c)
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
			print_number(f, column->kind, &s->cells[i]);
		}
		if ((i + 1) % s->nr_columns == 0)
			fputs("}\n", f);
	}
}

/*
 * Doubles quotes. CSV has no escapes, so control characters that a terminal obeys become
 * U+FFFD.
 */
static void print_character(FILE *f, const char *text, size_t bytes, uint32_t code)
{
	if (code == '"')
		fputc('"', f);
	if (!bytes || (fxt_is_control(code) && !strchr("\t\r\n", code)))
		fputs("\xef\xbf\xbd", f);
	else
		fwrite(text, 1, bytes, f);
}

static void print_quoted(FILE *f, const char *text)
{
	const bool quoted = strpbrk(text, ",\"\r\n");
	size_t left = strlen(text);

	if (quoted)
		fputc('"', f);
	while (left) {
		uint32_t code;
		const size_t n = fxt_char(text, left, &code), bytes = n ? n : 1;

		print_character(f, text, n, code);
		text += bytes;
		left -= bytes;
	}
	if (quoted)
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
		else
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
