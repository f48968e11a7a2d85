// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace why: explains the time of an operation */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "fxt/table.h"
#include "report/explain.h"
#include "report/id.h"
#include "report/joined.h"
#include "report/kept.h"
#include "report/source.h"
#include "report/samples.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace why [OPTION ...] FILE [ID]\n"
"\n"
"Explains the time of an operation: running, runnable (waiting for a CPU),\n"
"blocked, or queued (no thread worked on it); the causes; and its critical\n"
"path. The times add up to its latency. Without ID: the slowest operation. FILE may\n"
"be compressed (gzip, zstd); - is the standard input.\n"
"\n"
"  ID                  operations with this id, as other commands print it: 0x20000000028e\n"
"      --slowest N     the N slowest operations\n"
"      --percentile P  the operation at this percentile of latency: 99.9\n"
"      --brief         print only the sentences\n"
"      --json          print one JSON object on each line, for each operation\n"
SOURCE_HELP
"  -h, --help          print this text\n"
"\n"
"Exit status: 0; 1 if there is no such operation, the file is damaged, or the output\n"
"cannot be written; 2 if the file cannot be read; 3 if the end of the file is missing,\n"
"and the rest was analysed.\n"
"\n"
"Examples:\n"
"  asynctrace why trace.fxt                                   the slowest operation\n"
"  asynctrace why --brief --slowest 10 trace.fxt              ten sentences\n"
"  asynctrace why --type http/request --percentile 99 trace.fxt\n"
"  asynctrace why --pair take:give --key job trace.fxt\n"
"  asynctrace why --json --slowest 1000000 trace.fxt | jq .queued_ns\n";

/* Identifies a complete operation in the second reading */
struct place {
	uint64_t latency, begin, id;
};

struct why {
	struct source source;
	bool brief, json;
	const char *id;		/* NULL: not given */
	bool begun_before;	/* the trace has later events of .id, but may not have its begin */
	double percentile;	/* negative: not given */
	struct kept kept;
	struct joined joined;

	/*
	 * If the trace can be read twice, the first reading chooses operations by their latency, so
	 * that the second one need not find the causes of the time of all others. With
	 * --percentile, .places has all operations, and .wanted is the chosen one. Otherwise, those
	 * that took .least or longer are chosen.
	 */
	bool choosing;		/* this is the first reading */
	struct place *places;
	size_t nr_places, room_places;
	struct place wanted;
	uint64_t least;
};

static int keep_place(struct why *w, const struct analysis_operation *op)
{
	if (!more_room(&w->places, w->nr_places, &w->room_places, sizeof(*w->places)))
		return -ENOMEM;
	w->places[w->nr_places++] = (struct place){
		.latency = op->end - op->begin, .begin = op->begin, .id = op->id.id,
	};
	return 0;
}

static bool is_wanted(void *arg, const struct analysis_operation *op)
{
	const struct why *w = arg;

	if (w->id)
		return id_is(&op->id, w->id);
	if (!op->complete)
		return false;
	if (w->percentile < 0)
		return op->end - op->begin >= w->least;
	return w->choosing || (op->begin == w->wanted.begin && op->id.id == w->wanted.id &&
			       op->end - op->begin == w->wanted.latency);
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	struct why *w = arg;

	if (!is_wanted(w, op))
		return 0;
	return w->choosing && w->percentile >= 0 ? keep_place(w, op) : kept_add(&w->kept, op);
}

/* Notes events of an operation whose begin is not in the trace. */
static int on_orphan(void *arg, const struct analysis_orphan *orphan)
{
	struct why *w = arg;

	w->begun_before |= orphan->has_id && id_is(&orphan->id, w->id);
	return 0;
}

static int on_region(void *arg, const struct analysis_region *region)
{
	const struct analysis_id id = { .id = region->operation };
	struct why *w = arg;

	w->begun_before |= region->operation && id_is(&id, w->id);
	return 0;
}

static void restart(void *arg)
{
	struct why *w = arg;

	kept_clear(&w->kept);
	w->nr_places = 0;
}

static int by_latency(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->latency != y->latency)
		return x->latency < y->latency ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/*
 * Chooses the slowest operations, or the one whose latency is the percentile by nearest rank: the
 * smallest latency that at least P percent of the operations do not exceed. Returns an exit status.
 * Sets *@found to true if there are such operations.
 */
static int choose(struct why *w, bool *found)
{
	struct kept *k = &w->kept;
	int status;

	w->choosing = true;
	w->source.opts.totals_only = true;
	status = source_read(&w->source);
	w->source.opts.totals_only = false;
	w->choosing = false;
	*found = w->nr_places || k->nr;
	if (w->nr_places) {
		qsort(w->places, w->nr_places, sizeof(*w->places), by_latency);
		w->wanted = w->places[percentile_index(w->nr_places, w->percentile)];
	}
	/* The fastest one is the first in the heap. */
	if (k->nr && k->nr == k->max)
		w->least = k->of[0]->end - k->of[0]->begin;
	kept_clear(k);
	return status;
}

static void print_operation(const struct why *w, const struct analysis_operation *op)
{
	if (w->json) {
		explain_json(stdout, op, !w->brief, &w->joined);
		return;
	}
	explain_sentence(stdout, op);
	if (!op->complete)
		explain_end(stdout, op);
	if (w->brief)
		return;
	printf("\nOf %s/%" PRIu32 "%s%s. Where the time went:\n\n",
	       op->id.provider[0] ? tool_text(op->id.provider) : "process", op->id.pid,
	       op->id.category[0] ? ", category " : "", tool_text(op->id.category));
	explain_account(stdout, op);
	if (op->nr_path) {
		printf("\nThe critical path, from begin to end:\n\n");
		explain_path(stdout, op);
	}
	explain_joined(stdout, op, &w->joined);
}

/* Reads the kernel's events that belong to the operations, if the output will show them. */
static void read_joined(struct why *w)
{
	const char *path = w->source.path;
	int err;

	if (w->brief || w->source.pair || !w->kept.nr ||
	    !analysis_totals(w->source.analysis)->tracepoints)
		return;
	if (source_is_stream(path)) {
		tool_error("'%s' can be read only once, so events of the kernel that belong to the operation are not shown: write it to a file first",
			   tool_text(path));
		return;
	}
	err = joined_read(&w->joined, path, w->kept.of, w->kept.nr);
	if (err < 0)
		tool_error("events of the kernel that belong to the operation may be missing: %s",
			   fxt_error_text(err));
}

static void say_none(const struct why *w)
{
	const struct analysis_totals *t = analysis_totals(w->source.analysis);
	const char *path = tool_text(w->source.path);

	if (w->begun_before && !source_filters(&w->source))
		tool_error("%s has events of the operation with id %s, but not its begin: it began before the trace, or the begin was lost",
			   path, tool_text(w->id));
	else if (!t->complete && !t->incomplete && w->source.pair)
		source_says_none(&w->source, NULL);
	else if (t->selection && !t->complete && !t->incomplete)
		tool_error("%s has no operations: all were faster than the bounds of asynctrace record --slower-than",
			   path);
	else if (!t->complete && !t->incomplete && t->unreal)
		tool_error("%s has no operations that can be analysed", path);
	else if (!t->complete && !t->incomplete)
		tool_error("%s has no operations: programs write them with TRACE_ASYNC_BEGIN and TRACE_ASYNC_END",
			   path);
	else if (w->id)
		tool_error("%s has no operation with id %s%s", path, tool_text(w->id),
			   source_filters(&w->source) ? " that the options choose" : "");
	else if (t->complete)
		tool_error("%s has no complete operation that the options choose", path);
	else
		tool_error("%s has no complete operation: %" PRIu64 " began and did not end",
			   path, t->incomplete);
}

static int run(struct why *w)
{
	int status = TOOL_OK;
	bool found = true;

	if (!w->id && !source_is_stream(w->source.path))
		status = choose(w, &found);
	if (!status && found)
		status = source_read(&w->source);
	if (status)
		return status;
	kept_sort(&w->kept);
	read_joined(w);
	for (size_t i = 0; i < w->kept.nr; i++) {
		if (i && !w->json && !w->brief)
			putchar('\n');
		print_operation(w, w->kept.of[i]);
	}
	tool_flush();
	w->source.scheduled = w->kept.nr;
	source_limits(&w->source);
	/* The operation may be in the part that could not be read. */
	if (w->kept.nr || w->source.unreadable)
		return source_status(&w->source);
	say_none(w);
	return TOOL_FAILED;
}

static bool parse_percentile(const char *text, double *p)
{
	char *end;

	*p = strtod(text, &end);
	return *text >= '0' && *text <= '9' && !*end && *p > 0 && *p <= 100;
}

/* Returns an exit status, or -1 to continue. */
static int options(struct why *w, int argc, char **argv)
{
	static const struct option list[] = {
		{ "slowest", required_argument, NULL, 's' },
		{ "percentile", required_argument, NULL, 'p' },
		{ "brief", no_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		SOURCE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	uint64_t number;
	bool slowest = false;
	int opt, err;

	optind = 0;
	while ((opt = tool_getopt(argc, argv, "h", list)) != -1) {
		switch (opt) {
		case 's':
			if (!tool_parse_number(optarg, &number) || !number) {
				tool_error("--slowest takes a number from 1 to %" PRIu64 ", not '%s'",
					   UINT64_MAX, tool_text(optarg));
				return TOOL_USAGE;
			}
			w->kept.max = number;
			slowest = true;
			break;
		case 'p':
			if (!parse_percentile(optarg, &w->percentile)) {
				tool_error("--percentile takes a number above 0 and up to 100, not '%s'",
					   tool_text(optarg));
				return TOOL_USAGE;
			}
			break;
		case 'b':
			w->brief = true;
			break;
		case 'j':
			w->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			err = source_option(&w->source, opt, optarg);
			if (!err)
				break;
			if (err > 0)
				fputs("Try 'asynctrace why --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (optind == argc || optind + 2 < argc) {
		tool_error("%s", optind == argc ?
			   "name the trace to analyse, or - for the standard input" :
			   "too many arguments: name one trace and one id");
		return TOOL_USAGE;
	}
	w->source.path = argv[optind];
	w->id = optind + 2 == argc ? argv[optind + 1] : NULL;
	if (w->id && !w->source.pair && !id_parse(w->id, &number)) {
		tool_error("'%s' is not an id: write a number from 0 to 0x%" PRIx64 ", such as 0x20000000028e",
			   tool_text(w->id), UINT64_MAX);
		return TOOL_USAGE;
	}
	if (!!w->id + slowest + (w->percentile >= 0) > 1) {
		tool_error("ID, --slowest and --percentile each choose operations: use one of them");
		return TOOL_USAGE;
	}
	if (w->percentile >= 0 && source_is_stream(w->source.path)) {
		tool_error("--percentile reads the trace twice, but '%s' can be read only once: write it to a file first",
			   tool_text(w->source.path));
		return TOOL_USAGE;
	}
	if (w->id)
		w->kept.max = SIZE_MAX;
	return -1;
}

int why_main(int argc, char **argv)
{
	struct why w = { .percentile = -1, .kept.max = 1 };
	int status = options(&w, argc, argv);

	if (status >= 0)
		return status;
	w.source.rows = (struct analysis_sink){
		.operation = on_operation, .whole = is_wanted, .arg = &w,
	};
	if (w.id) {
		w.source.opts.open_parts = true;
		w.source.rows.orphan = on_orphan;
		w.source.rows.region = on_region;
	}
	w.source.restart = restart;
	status = run(&w);
	kept_free(&w.kept);
	joined_free(&w.joined);
	source_close(&w.source);
	free(w.places);
	return status;
}
