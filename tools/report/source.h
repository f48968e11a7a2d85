/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read a trace through the analysis, for commands: filters, messages, exit statuses. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <getopt.h>

#include "analysis/analysis.h"

/* Behind those of tool.h: all was analysed that is there, but the end is missing. */
enum { SOURCE_INCOMPLETE = 3 };

/* A time of the trace: after its begin, or of CLOCK_BOOTTIME */
struct source_time {
	bool given, absolute;
	uint64_t ns;
};

/* A filter of rows; zeros let all pass */
struct source_filter {
	struct source_time from, to;	/* of the row's begin; before .to */
	/* Of operations: */
	const char *type;	/* "request" or "http/request"; NULL: all */
	const char *provider;
	const char *category;
	uint64_t min_ns;	/* of latency */
	uint64_t max_ns;
	bool has_max;		/* else .max_ns is no limit */
};

struct source {
	const char *path;
	const char *pair, *key;	/* "START:DONE" and an argument; NULL: async events */
	struct source_filter filter;
	struct analysis_options opts;
	struct analysis_sink rows;	/* gets the rows that pass the filter, and all turns */
	/* Forget all rows: the trace is read again, because records came too late. */
	void (*restart)(void *arg);	/* with .rows.arg */

	/* Results of source_read() */
	struct analysis *analysis;	/* names in rows are its; source_close() frees it */
	bool damaged, incomplete;
	const char *told;	/* the trace whose damage was told in messages */
};

/* Options that choose operations, for getopt_long() and for help texts */
#define SOURCE_OPTIONS \
	{ "type", required_argument, NULL, 'T' }, \
	{ "provider", required_argument, NULL, 'P' }, \
	{ "category", required_argument, NULL, 'C' }, \
	{ "min", required_argument, NULL, 'M' }, \
	{ "max", required_argument, NULL, 'X' }, \
	{ "from", required_argument, NULL, 'F' }, \
	{ "to", required_argument, NULL, 'O' }, \
	{ "pair", required_argument, NULL, 'Q' }, \
	{ "key", required_argument, NULL, 'K' }, \
	{ "window", required_argument, NULL, 'W' }, \
	{ "history", required_argument, NULL, 'H' }
#define SOURCE_HELP \
	"      --type TYPE     only operations of this name: request, or http/request\n" \
	"      --provider NAME only operations of this provider\n" \
	"      --category NAME only operations of this category\n" \
	"      --min TIME      only operations that took at least so long: 50ms, 1.5s\n" \
	"      --max TIME      only operations that took at most so long\n" \
	"      --from TIME     only what began at least so long after the trace's begin\n" \
	"      --to TIME       only what began before that; a number alone is absolute, in ns\n" \
	"      --pair A:B      operations go from an event A to an event B whose argument\n" \
	"      --key ARG       ARG has the same value; without async events\n" \
	"      --window N      put that many records in order of time (1048576)\n" \
	"      --history N     keep that many states and works of threads (1048576)\n"

/* True if @path, as a pipe, can be read only once */
bool source_is_stream(const char *path);
/* True if the filter chooses operations */
bool source_filters_operations(const struct source *s);
/* True if it chooses them by their latency */
bool source_filters_latency(const struct source *s);
/* True if @ns is within the time that is wanted */
bool source_in_time(const struct source *s, uint64_t ns);
/* True if the filter chooses a time */
bool source_filters_time(const struct source *s);
/* Take option @opt with its argument. 0; 1 if it is none of the above; -1 after a message */
int source_option(struct source *s, int opt, char *arg);
/*
 * Analyse the trace. 0, or an exit status after a message. A file with records that come too
 * late to be put in order of time is read twice. A second call reads the file again, and
 * names in rows of the first one are gone.
 */
int source_read(struct source *s);
/* Messages about what makes the answer less than whole */
void source_limits(const struct source *s);
/* The exit status of a command that answered */
int source_status(const struct source *s);
void source_close(struct source *s);

#endif /* REPORT_SOURCE_H */
