/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports of asynctrace report. A report takes rows of the analysis and makes a table
 * of them. Each group of reports has a file, what_*.c.
 */
#ifndef REPORT_WHAT_H
#define REPORT_WHAT_H

#include "analysis/analysis.h"
#include "samples.h"
#include "sheet.h"
#include "source.h"

struct report {
	struct source source;
	const struct what *what;
	const char *other;	/* diff: the second file */
	const char *id;		/* of the operation that the report is about */
	enum sheet_format format;
	bool folded, pprof, all;

	void *data;		/* the report's own, zeros at first */
	struct sheet sheet;
};

struct what {
	const char *name;
	/* Rows of the analysis that the report takes; .arg will be the struct report. */
	struct analysis_sink rows;
	bool totals_only;	/* operations without intervals and paths are enough */
	size_t data_size;
	/* After the rows of the first of two files */
	void (*next_file)(struct report *r);
	/* After the last row: fill the sheet. NULL: the rows did. */
	void (*fill)(struct report *r);
	/* Print its stacks, folded or for pprof; false: no memory. NULL: it has no stacks. */
	bool (*stacks)(const struct report *r);
	/* Print for people, instead of the sheet; false: no memory */
	bool (*print)(const struct report *r);
	void (*free)(void *data);
	/* Forget the rows so far, but not those of the first of two files. NULL: forget all */
	void (*restart)(void *data);
	bool takes_id;		/* it is about the operations with an id */
	bool whole;		/* it is about the whole trace, although it takes operations */
	bool timed;		/* its rows have a time that --from and --to can choose */
	bool many;		/* rows: text has only the first ones without --all */
	unsigned int states;	/* a set of bits: the operations' time that the report is about */
	const struct sheet_column *columns;
	size_t nr_columns;
};

#define COLUMNS(c)	.columns = (c), .nr_columns = sizeof(c) / sizeof((c)[0])

/* The last columns of a histogram, and their cells for the bucket in hand */
#define HISTOGRAM_COLUMNS \
	COLUMN("from_ns", "FROM ms", SHEET_NS), \
	COLUMN("to_ns", "TO ms", SHEET_NS), \
	COLUMN("count", "COUNT", SHEET_COUNT), \
	COLUMN("share", "    %", SHEET_BAR),
void sheet_histogram(struct sheet *s, const struct histogram *h);

/* Ended by one without a name */
extern const struct what whats_types[], whats_causes[], whats_levels[], whats_sched[],
	whats_timeline[], whats_trace[], whats_lints[];
extern const struct what what_diff;

/* NULL: there is no such report */
const struct what *what_find(const char *name);
/* Why there is no report @name yet; NULL: none is planned */
const char *what_is_missing(const char *name);

#endif /* REPORT_WHAT_H */
