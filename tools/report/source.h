/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a trace through the analysis, for commands: filters, messages, exit statuses. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <getopt.h>

#include "analysis/analysis.h"

/* A time of the trace: since its begin, or absolute (CLOCK_BOOTTIME) */
struct source_time {
	bool given, absolute;
	uint64_t ns;
};

/* A filter of rows. Zero bytes let all rows pass. */
struct source_filter {
	struct source_time from, to;	/* rows begin at .from or later, and before .to */
	/* For operations: */
	const char *type;	/* "request" or "http/request"; NULL: all */
	const char *provider;
	const char *category;
	uint64_t min_ns;	/* bounds of the latency */
	uint64_t max_ns;
	bool has_max;		/* false: .max_ns is not used */
};

struct source {
	const char *path;
	const char *pair, *key;	/* "START:DONE", and the name of an argument; NULL:
				   operations are async events */
	struct source_filter filter;
	struct analysis_options opts;
	struct analysis_sink rows;	/* gets the rows that pass the filter; all turns, notes,
					   threads and losses pass */
	int (*record)(void *arg, const struct fxt_record *rec);	/* see struct what; may be NULL */
	/* Drops all rows: the trace is read again, because records came too late. */
	void (*restart)(void *arg);	/* called with .rows.arg */

	bool scheduled;		/* the answer depends on the trace's scheduling */

	/* Results of source_read() */
	struct analysis *analysis;	/* owns the names in rows; source_close() frees it */
	bool damaged, incomplete;
	bool unreadable;	/* a read(2) failed, so the answer lacks the rest */
	struct fxt_reader *reader;	/* during source_read() */
	const char *told;	/* the trace about whose damage a message was printed */
};

/* Options of commands that analyse operations, for getopt_long() and for help texts */
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
	"      --min TIME      only operations that took at least TIME: 50ms, 1.5s\n" \
	"      --max TIME      only operations that took at most TIME\n" \
	"      --from TIME     only entries that began TIME after the trace's begin or later\n" \
	"      --to TIME       only entries that began before TIME; without unit: absolute ns\n" \
	"      --pair A:B      make operations of an event A and an event B whose argument\n" \
	"      --key ARG       ARG has the same value, instead of async events\n" \
	"      --window N      sort N records by time at once (1048576)\n" \
	"      --history N     keep N states and works of threads in memory (1048576)\n"

/* True if @path can be read only once, such as a pipe. */
bool source_is_stream(const char *path);
/* True if the filter chooses operations. */
bool source_filters_operations(const struct source *s);
/* True if the filter chooses operations by latency. */
bool source_filters_latency(const struct source *s);
/* True if @ns is within the time that the filter chooses. */
bool source_in_time(const struct source *s, uint64_t ns);
/* True if the filter chooses a time. */
bool source_filters_time(const struct source *s);
/* True if there is any filter. */
bool source_filters(const struct source *s);
/*
 * Takes option @opt with its argument. Returns 0, 1 if @opt is not one of SOURCE_OPTIONS, or -1
 * after a message.
 */
int source_option(struct source *s, int opt, char *arg);
/*
 * Analyses the trace. Returns 0, or an exit status after a message. Reads a file twice if
 * records come too late to be sorted by time. A second call reads the file again and
 * invalidates names in rows of the first call.
 */
int source_read(struct source *s);
/*
 * Call this if no row was chosen. Returns true after a message, which names the options that
 * restrict the rows, or says that --pair matches no event. Returns false, without a message, if
 * there are no such options. @log_text: value of --log, or NULL
 */
bool source_says_none(const struct source *s, const char *log_text);
/* Prints messages about everything that makes the answer incomplete. */
void source_limits(const struct source *s);
/* Returns the exit status after a result was printed: it shows if the result is incomplete. */
int source_status(const struct source *s);
void source_close(struct source *s);

#endif /* REPORT_SOURCE_H */
