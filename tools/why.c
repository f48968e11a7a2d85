// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace why: where did the time of an operation go? */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "fxt/print.h"
#include "report/explain.h"
#include "report/kept.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace why [OPTION ...] FILE [ID]\n"
"\n"
"Tell where the time of an operation went: running, runnable (waiting for a CPU),\n"
"blocked, or queued (no thread worked on it); who was in its way; and its critical\n"
"path. The times add up to its latency. Without ID: the slowest operation. FILE may\n"
"be compressed (gzip, zstd); - is the standard input.\n"
"\n"
"  ID                 operations with this id, as other commands print it: 0x20000000028e\n"
"      --slowest N    the N slowest operations\n"
"      --type TYPE    only operations of this name: request, or http/request\n"
"      --percentile P the operation at this percentile of latency: 99.9\n"
"      --brief        the sentences alone\n"
"      --json         one JSON object for each operation and line\n"
"      --window N     put that many records in order of time (1048576)\n"
"  -h, --help         this text\n"
"\n"
"Exit status: 0; 1 if there is no such operation, or the file is damaged; 2 if it\n"
"cannot be read; 3 if the end of the file is missing: what is there was analysed.\n"
"\n"
"Examples:\n"
"  asynctrace why trace.fxt                                   the slowest operation\n"
"  asynctrace why --brief --slowest 10 trace.fxt              ten sentences\n"
"  asynctrace why --type http/request --percentile 99 trace.fxt\n"
"  asynctrace why --json --slowest 1000000 trace.fxt | jq .queued_ns\n";

/* Behind those of tool.h */
enum { WHY_INCOMPLETE = 3 };

/* One complete operation, to find it again */
struct place {
	uint64_t latency, begin, id;
	const char *name;
};

struct why {
	const char *path;
	const char *type;
	bool has_id, brief, json;
	uint64_t id;
	double percentile;	/* negative: not wanted */
	uint64_t window;

	bool damaged, incomplete;
	struct kept kept;
	struct analysis *analysis;	/* the names in kept are its */

	/* --percentile: all operations, then the one that is wanted */
	struct place *places;
	size_t nr_places, room_places;
	struct place wanted;
	bool found;
};

static void on_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct why *w = arg;
	bool end = fxt_rules[rule].excuse == FXT_EXCUSE_END;

	if (!end && w->damaged)
		return;
	w->incomplete |= end;
	w->damaged |= !end;
	fprintf(stderr, "asynctrace why: %s: at byte %" PRIu64 ": %s (", w->path, offset,
		fxt_rules[rule].text);
	fxt_print_detail(stderr, detail);
	fputs(end ? "); what is there is analysed\n" :
		    "); the rest is analysed; asynctrace validate tells more\n", stderr);
}

/* "request", or "http/request" */
static bool is_type(const struct why *w, const struct analysis_id *id)
{
	size_t len = strlen(id->category);

	if (!w->type || !strcmp(w->type, id->name))
		return true;
	return !strncmp(w->type, id->category, len) && w->type[len] == '/' &&
	       !strcmp(w->type + len + 1, id->name);
}

static int keep_place(struct why *w, const struct analysis_operation *op)
{
	if (w->nr_places == w->room_places) {
		size_t room = w->room_places ? 2 * w->room_places : 1024;
		struct place *places = realloc(w->places, room * sizeof(*places));

		if (!places)
			return -ENOMEM;
		w->places = places;
		w->room_places = room;
	}
	w->places[w->nr_places++] = (struct place){
		.latency = op->end - op->begin, .begin = op->begin, .id = op->id.id,
	};
	return 0;
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	struct why *w = arg;

	if (!is_type(w, &op->id))
		return 0;
	if (w->has_id)
		return op->id.id == w->id ? kept_add(&w->kept, op) : 0;
	if (!op->complete)
		return 0;
	if (w->percentile < 0)
		return kept_add(&w->kept, op);
	if (!w->found)
		return keep_place(w, op);
	return op->begin == w->wanted.begin && op->id.id == w->wanted.id &&
	       op->end - op->begin == w->wanted.latency ? kept_add(&w->kept, op) : 0;
}

/* Analyse the file once. An exit status, with a message if it is not TOOL_OK. */
static int analyse(struct why *w, bool totals_only)
{
	struct analysis_options opts = { .window = w->window, .totals_only = totals_only };
	struct analysis_sink sink = { .operation = on_operation, .arg = w };
	struct fxt_record rec;
	struct fxt_reader *r;
	int err, failed = 0;

	r = fxt_open(w->path, &err);
	if (!r) {
		tool_error("cannot read %s: %s", tool_text(w->path), fxt_error_text(err));
		return TOOL_USAGE;
	}
	analysis_free(w->analysis);
	w->analysis = analysis_new(&opts, &sink);
	if (!w->analysis) {
		fxt_close(r);
		tool_error("no memory");
		return TOOL_USAGE;
	}
	w->damaged = false;
	fxt_on_breach(r, on_breach, w);
	while ((err = fxt_next(r, &rec)) > 0) {
		failed = analysis_record(w->analysis, &rec);
		if (failed)
			break;
	}
	fxt_close(r);
	if (!failed)
		failed = analysis_finish(w->analysis);
	if (failed) {
		tool_error("%s: %s", tool_text(w->path), strerror(-failed));
		return TOOL_USAGE;
	}
	if (err < 0) {
		tool_error("reading %s failed: %s; what was read is analysed", tool_text(w->path),
			   fxt_error_text(err));
		w->damaged = true;
	}
	return TOOL_OK;
}

static int by_latency(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->latency != y->latency)
		return x->latency < y->latency ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Nearest rank: the smallest latency that at least P percent do not exceed. */
static int find_percentile(struct why *w)
{
	int status = analyse(w, true);
	size_t rank;

	if (status || !w->nr_places)
		return status;
	qsort(w->places, w->nr_places, sizeof(*w->places), by_latency);
	rank = (size_t)(w->percentile / 100 * w->nr_places);
	if ((double)rank < w->percentile / 100 * w->nr_places)
		rank++;
	w->wanted = w->places[rank ? rank - 1 : 0];
	w->found = true;
	return TOOL_OK;
}

static void print_operation(const struct why *w, const struct analysis_operation *op)
{
	if (w->json) {
		explain_json(stdout, op, !w->brief);
		return;
	}
	explain_sentence(stdout, op);
	if (w->brief)
		return;
	printf("\nOf %s/%" PRIu32 ", category %s. Where the time went:\n\n",
	       op->id.provider[0] ? tool_text(op->id.provider) : "process", op->id.pid,
	       tool_text(op->id.category));
	explain_account(stdout, op);
	if (!op->nr_path)
		return;
	printf("\nThe critical path, from begin to end:\n\n");
	explain_path(stdout, op);
}

/* What makes the answer less than whole */
static void print_limits(const struct why *w)
{
	const struct analysis_totals *t = analysis_totals(w->analysis);

	if (!t->scheduled && t->complete)
		tool_error("%s has no scheduling: running, runnable and blocked time is unknown; "
			   "asynctrace record --sched records it", tool_text(w->path));
	if (t->losses)
		tool_error("records were lost %" PRIu64 " times; time that they would explain is unknown",
			   t->losses);
	if (t->late)
		tool_error("%" PRIu64 " records came too late to be put in order of time, so the answer "
			   "is partial; use a larger --window", t->late);
}

static void say_none(const struct why *w)
{
	const struct analysis_totals *t = analysis_totals(w->analysis);

	if (!t->complete && !t->incomplete)
		tool_error("%s has no operations: programs write them with TRACE_ASYNC_BEGIN and TRACE_ASYNC_END",
			   tool_text(w->path));
	else if (w->has_id)
		tool_error("%s has no operation with id 0x%" PRIx64, tool_text(w->path), w->id);
	else if (w->type)
		tool_error("%s has no complete operation '%s'", tool_text(w->path), tool_text(w->type));
	else
		tool_error("%s has no complete operation: %" PRIu64 " began and did not end",
			   tool_text(w->path), t->incomplete);
}

static int run(struct why *w)
{
	int status = TOOL_OK;

	if (w->percentile >= 0) {
		status = find_percentile(w);
		if (!status && w->found)
			status = analyse(w, false);
	} else {
		status = analyse(w, false);
	}
	if (status)
		return status;
	kept_sort(&w->kept);
	for (size_t i = 0; i < w->kept.nr; i++) {
		if (i && !w->json && !w->brief)
			putchar('\n');
		print_operation(w, w->kept.of[i]);
	}
	fflush(stdout);
	print_limits(w);
	if (!w->kept.nr)
		say_none(w);
	if (w->damaged || !w->kept.nr)
		return TOOL_FAILED;
	return w->incomplete ? WHY_INCOMPLETE : TOOL_OK;
}

static bool parse_id(const char *text, uint64_t *id)
{
	char *end;

	errno = 0;
	*id = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool parse_percentile(const char *text, double *p)
{
	char *end;

	*p = strtod(text, &end);
	return *text >= '0' && *text <= '9' && !*end && *p > 0 && *p <= 100;
}

/* An exit status, or -1 to go on */
static int options(struct why *w, int argc, char **argv)
{
	static const struct option list[] = {
		{ "slowest", required_argument, NULL, 's' },
		{ "type", required_argument, NULL, 't' },
		{ "percentile", required_argument, NULL, 'p' },
		{ "brief", no_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "window", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	uint64_t number;
	bool slowest = false;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "h", list, NULL)) != -1) {
		switch (opt) {
		case 's':
			if (!tool_parse_number(optarg, &number) || !number) {
				tool_error("--slowest takes a number from 1 on, not '%s'",
					   tool_text(optarg));
				return TOOL_USAGE;
			}
			w->kept.max = number;
			slowest = true;
			break;
		case 't':
			w->type = optarg;
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
		case 'w':
			if (!tool_parse_number(optarg, &w->window) || !w->window ||
			    w->window > UINT32_MAX) {
				tool_error("--window takes a number of records, not '%s'",
					   tool_text(optarg));
				return TOOL_USAGE;
			}
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			fputs("Try 'asynctrace why --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (optind == argc || optind + 2 < argc) {
		tool_error("%s", optind == argc ?
			   "name the trace to analyse, or - for the standard input" :
			   "there are too many arguments: one trace, and one id");
		return TOOL_USAGE;
	}
	w->path = argv[optind];
	w->has_id = optind + 2 == argc;
	if (w->has_id && !parse_id(argv[optind + 1], &w->id)) {
		tool_error("'%s' is no id: write a number, as 0x20000000028e",
			   tool_text(argv[optind + 1]));
		return TOOL_USAGE;
	}
	if (w->has_id + slowest + (w->percentile >= 0) > 1) {
		tool_error("ID, --slowest and --percentile each choose operations: use one of them");
		return TOOL_USAGE;
	}
	if (w->percentile >= 0 && !strcmp(w->path, "-")) {
		tool_error("--percentile reads the trace twice: it needs a file, not the standard input");
		return TOOL_USAGE;
	}
	if (w->has_id)
		w->kept.max = SIZE_MAX;
	return -1;
}

int why_main(int argc, char **argv)
{
	struct why w = { .percentile = -1, .kept.max = 1 };
	int status = options(&w, argc, argv);

	if (status >= 0)
		return status;
	status = run(&w);
	kept_free(&w.kept);
	analysis_free(w.analysis);
	free(w.places);
	return status;
}
