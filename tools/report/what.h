/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports of asynctrace report. A report makes a table of rows of the analysis. Each group
 * of reports has a file what_*.c.
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
	const char *id;		/* id of the operation to report on */
	bool found;		/* the trace has it, even if it has no rows */
	const char *log_text;	/* print only logs with this text in category or message;
				   NULL: all */
	enum sheet_format format;
	bool folded, pprof, all;

	void *data;		/* private to the report; zeros at first */
	struct sheet sheet;
};

struct what {
	const char *name;
	/* Rows of the analysis that the report takes. .arg is set to the struct report. */
	struct analysis_sink rows;
	/*
	 * Takes each record of the file, in the order of the file, with .rows.arg. Returns 0 or a
	 * negative errno. NULL: the report needs rows only
	 */
	int (*record)(void *arg, const struct fxt_record *rec);
	bool totals_only;	/* the report needs no intervals and paths */
	bool grouped;		/* the report only adds up intervals */
	size_t data_size;
	/* Called after the rows of the first of two files. */
	void (*next_file)(struct report *r);
	/* Called after the last row to fill the sheet. NULL: the rows filled it. */
	void (*fill)(struct report *r);
	/*
	 * Prints stacks, folded or for pprof. Returns false if there is no memory. NULL: the
	 * report has no stacks.
	 */
	bool (*stacks)(const struct report *r);
	/* Prints for people instead of the sheet. Returns false if there is no memory. */
	bool (*print)(const struct report *r);
	void (*free)(void *data);
	/*
	 * Drops the rows so far, except those of the first of two files. NULL: data_size bytes
	 * are zeroed
	 */
	void (*restart)(void *data);
	bool takes_id;		/* the report is about the operations with one id */
	bool takes_log;		/* --log selects the report's rows */
	bool whole;		/* takes operations, but rejects the options that choose some of
				   them */
	bool timed;		/* the report's rows have a time, so --from and --to apply */
	bool scheduled;		/* its rows depend on the trace's scheduling */
	bool many;		/* many rows: text shows only the first ones without --all */
	unsigned int states;	/* a bit set: the states of operations that the report is about */
	const struct sheet_column *columns;
	size_t nr_columns;
};

#define COLUMNS(c)	.columns = (c), .nr_columns = sizeof(c) / sizeof((c)[0])

/* The last columns of a histogram, and their cells for the current bucket */
#define HISTOGRAM_COLUMNS \
	COLUMN("from_ns", "FROM ms", SHEET_NS), \
	COLUMN("to_ns", "TO ms", SHEET_NS), \
	COLUMN("count", "COUNT", SHEET_COUNT), \
	COLUMN("share", "    %", SHEET_BAR),
void sheet_histogram(struct sheet *s, const struct histogram *h);
/* Adds a cell of the kind SHEET_NS: the percentile, or none if there are no samples. */
void sheet_percentile(struct sheet *s, const struct samples *of, double percent);

/* A report without a name ends each list. */
extern const struct what whats_types[], whats_causes[], whats_levels[], whats_sched[],
	whats_timeline[], whats_trace[], whats_lints[], whats_operations[], whats_related[],
	whats_loop[], whats_logs[];
extern const struct what what_diff;

/* Returns NULL if there is no such report. */
const struct what *what_find(const char *name);
/* Returns why the report @name does not exist yet, or NULL if none is planned. */
const char *what_is_missing(const char *name);

#endif /* REPORT_WHAT_H */
