/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of text, numbers and times, printed for people or for programs. */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sheet_kind {
	SHEET_TEXT,
	SHEET_COUNT,
	SHEET_NS,	/* text: milliseconds */
	SHEET_NS_DIFF,	/* the same with a sign */
	SHEET_SHARE,	/* of 1; text: percent */
};

/* @key: member name in JSON, heading in CSV. @title: heading for people */
struct sheet_column {
	const char *key, *title;
	enum sheet_kind kind;
};

union sheet_cell {
	char *text;	/* the sheet frees it */
	uint64_t number;
	int64_t diff;
	double share;
};

enum sheet_format {
	SHEET_PEOPLE,
	SHEET_JSON,	/* an object a line */
	SHEET_CSV,	/* RFC 4180 */
};

struct sheet {
	const struct sheet_column *columns;
	size_t nr_columns;
	union sheet_cell *cells;
	size_t nr, room;	/* rows */
};

/* A new row of empty cells. NULL: no memory */
union sheet_cell *sheet_row(struct sheet *s);
void sheet_print(FILE *f, const struct sheet *s, enum sheet_format format);
void sheet_free(struct sheet *s);

#endif /* REPORT_SHEET_H */
