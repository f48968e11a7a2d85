/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of text, numbers and times, printed for people or for programs */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sheet_kind {
	SHEET_TEXT,
	SHEET_COUNT,
	SHEET_ID,	/* a number that identifies something, such as a pid */
	SHEET_NS,	/* printed for people as milliseconds, for programs as ns; UINT64_MAX:
			   this time or a longer one */
	SHEET_NS_DIFF,	/* a difference, like SHEET_NS, for people with a sign */
	SHEET_SHARE,	/* a fraction of 1, printed for people as percent */
	SHEET_RATIO,	/* a number with a fraction */
	SHEET_BAR,	/* a share with a bar; only as last column */
};

/*
 * @key: member name in JSON, heading in CSV. @title: heading for people. @optional: the first
 * ones to be left out for people if the table is wider than their terminal. The first column of a
 * table is always shown.
 */
struct sheet_column {
	const char *key, *title;
	enum sheet_kind kind;
	bool optional;
};

#define COLUMN(key, title, kind)		{ key, title, kind, false }
#define COLUMN_OPTIONAL(key, title, kind)	{ key, title, kind, true }

struct sheet_cell {
	union {
		char *text;	/* freed by the sheet */
		uint64_t number;
		int64_t diff;
		double share;
	};
	bool absent;
};

enum sheet_format {
	SHEET_PEOPLE,
	SHEET_JSON,	/* one object on each line */
	SHEET_CSV,	/* RFC 4180 */
};

struct sheet {
	const struct sheet_column *columns;
	size_t nr_columns;
	size_t limit;		/* rows shown to people; 0: all */
	struct sheet_cell *cells;
	size_t nr, room;	/* number of rows */
	size_t column;		/* column of the next cell */
	bool failed;		/* memory was missing */
};

/*
 * Begins a row. Exactly one call for each cell must follow, in the order of the columns and
 * with their kinds. .failed is set if memory was missing.
 */
void sheet_row(struct sheet *s);
void sheet_text(struct sheet *s, const char *text);
void sheet_textf(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Adds a type of operations or events: category/name, or the name alone if it has no category.
 */
void sheet_type(struct sheet *s, const char *category, const char *name);
void sheet_number(struct sheet *s, uint64_t number);	/* also for SHEET_ID, SHEET_NS */
void sheet_diff(struct sheet *s, int64_t diff);
/* Adds a cell of the kind SHEET_SHARE, SHEET_RATIO or SHEET_BAR. */
void sheet_share(struct sheet *s, double part, double all);
/* Adds a cell of the kind SHEET_NS: @ns, or UINT64_MAX if it is larger. */
void sheet_sum(struct sheet *s, unsigned __int128 ns);
/*
 * Adds a cell without a value, of any kind but SHEET_TEXT. It is "-" for people, null in JSON and
 * empty in CSV.
 */
void sheet_absent(struct sheet *s);
/*
 * Prints the table. On a terminal, columns and the middle of texts give way to its width, and a
 * line says how many columns are left out. Other files get all of it.
 */
void sheet_print(FILE *f, const struct sheet *s, enum sheet_format format);
void sheet_free(struct sheet *s);

#endif /* REPORT_SHEET_H */
