// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace report: adds up the time of all operations */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/id.h"
#include "report/terminal.h"
#include "report/what.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace report [OPTION ...] FILE [WHAT [ID]]\n"
"       asynctrace report [OPTION ...] diff FILE-A FILE-B\n"
"\n"
"Adds up the time of many operations. FILE may be compressed (gzip, zstd); - is the\n"
"standard input. WHAT is one of\n"
"  operations  latencies and states of each type (the default)\n"
"  blame       causes of the time, in all states\n"
"  running, runnable, blocked, queued, unknown\n"
"              causes of the time in this state\n"
"  critical    causes of the time on the critical paths\n"
"  timeline ID states of the operation with this id, as a picture\n"
"  tree ID     parts of the operation with this id: operations, regions, logs; and\n"
"              collections of garbage meanwhile\n"
"  related ID  threads that worked on the operation with this id, or woke these\n"
"  regions     time in scopes of each name, with and without inner ones\n"
"  logs        logs, in order of time\n"
"  loop        rounds of event loops: how busy they were, and their delays\n"
"  log-groups  number of logs with each category and message\n"
"  histogram   distribution of the latencies of each type\n"
"  concurrency number of operations of each type that were open at once\n"
"  levels      time at each such number\n"
"  unfinished  operations that began and did not end\n"
"  orphans     events without their counterpart, and their times\n"
"  threads     time of each thread in each state\n"
"  sched       time that each thread waited for a CPU, and behind which thread\n"
"  sched-histogram, sched-occupants\n"
"              distribution of the waits; threads that had the CPU meanwhile\n"
"  wakeups     wakers and woken threads, and the time until these ran\n"
"  losses      times of lost records\n"
"  lints       signs of mistakes in the program, with an example\n"
"  summary     numbers of records, operations and findings\n"
"diff compares the operations of two traces: positive differences mean that B is slower.\n"
"\n"
SOURCE_HELP
"      --json          print one JSON object on each line\n"
"      --csv           print comma-separated values, with a heading\n"
"      --folded        blame, states, critical: print stacks for flame graphs\n"
"      --pprof         the same reports: write a compressed profile for pprof\n"
"      --log TEXT      logs: only those with TEXT in category or message;\n"
"                      operations, histogram: with TEXT in type, region or log\n"
"      --all           print all lines of a long report, not only the first 30\n"
"  -h, --help          print this text\n"
"\n"
"Exit status: 0; 1 if the file is damaged, or has no operation with ID, or the output\n"
"cannot be written; 2 if the file cannot be read; 3 if the end of the file is missing,\n"
"and the rest was analysed.\n"
"\n"
"Examples:\n"
"  asynctrace report trace.fxt\n"
"  asynctrace report --type http/request --min 20ms trace.fxt blame\n"
"  asynctrace report --folded trace.fxt blocked > blocked.folded\n"
"  asynctrace report --pprof trace.fxt critical > critical.pb.gz\n"
"  asynctrace report --csv trace.fxt operations > operations.csv\n"
"  asynctrace report trace.fxt sched\n"
"  asynctrace report trace.fxt lints\n"
"  asynctrace report trace.fxt timeline 0x20000000028e\n"
"  asynctrace report --pair take:give --key job trace.fxt\n"
"  asynctrace report diff before.fxt after.fxt\n";

#define FIRST_LINES	30

static void restart(void *arg)
{
	struct report *r = arg;

	sheet_free(&r->sheet);
	if (r->what->restart) {
		r->what->restart(r->data);
	} else if (r->what->free) {
		r->what->free(r->data);
		memset(r->data, 0, r->what->data_size);
	}
}

static int no_memory(void)
{
	tool_error("not enough memory for the report");
	return TOOL_USAGE;
}

/* Reads the trace, or both traces. Returns an exit status. */
static int read_rows(struct report *r)
{
	struct source *s = &r->source;
	bool damaged, incomplete;
	int status;

	s->rows = r->what->rows;
	/* Without --log, reports of operations need no logs and regions. */
	if (!r->log_text && s->rows.operation && r->what->takes_log) {
		s->rows.region = NULL;
		s->rows.note = NULL;
	}
	s->rows.arg = r;
	s->record = r->what->record;
	s->restart = restart;
	s->opts.totals_only = r->what->totals_only;
	s->opts.grouped = r->what->grouped;
	status = source_read(s);
	if (status || !r->other)
		return status;
	source_limits(s);
	r->what->next_file(r);
	damaged = s->damaged;
	incomplete = s->incomplete;
	s->path = r->other;
	status = source_read(s);
	/* The exit status covers both traces. */
	s->damaged |= damaged;
	s->incomplete |= incomplete;
	return status;
}

/* Returns false if there is no memory. */
static bool print(const struct report *r)
{
	if (r->folded || r->pprof)
		return r->what->stacks(r);
	if (r->what->print && r->format == SHEET_PEOPLE)
		return r->what->print(r);
	sheet_print(stdout, &r->sheet, r->format);
	return true;
}

static int run(struct report *r)
{
	int status;

	r->sheet.columns = r->what->columns;
	r->sheet.nr_columns = r->what->nr_columns;
	if (r->what->many && !r->all)
		r->sheet.limit = FIRST_LINES;
	r->data = calloc(1, r->what->data_size + 1);
	if (!r->data)
		return no_memory();
	r->source.scheduled = r->what->scheduled;
	status = read_rows(r);
	if (status)
		return status;
	if (r->what->fill)
		r->what->fill(r);
	if (r->sheet.failed)
		return no_memory();
	if (!r->what->takes_id || r->sheet.nr || r->found) {
		if (!print(r))
			return no_memory();
		tool_flush();
		source_limits(&r->source);
		if (!r->sheet.nr && !r->found)
			source_says_none(&r->source, r->log_text);
		return source_status(&r->source);
	}
	r->source.scheduled = false;
	source_limits(&r->source);
	/* The operation may be in the part that could not be read. */
	if (r->source.unreadable)
		return source_status(&r->source);
	tool_error("%s has no operation with id %s%s", tool_text(r->source.path), tool_text(r->id),
		   source_filters(&r->source) ? " that the options choose" : "");
	return TOOL_FAILED;
}

static bool filters_fit(const struct report *r)
{
	if (source_filters_operations(&r->source) && (!r->what->rows.operation || r->what->whole))
		tool_error("--type, --provider, --category, --min and --max choose operations, but %s is "
			   "not about operations", r->what->name);
	else if (source_filters_latency(&r->source) && r->what->rows.begin)
		tool_error("--min and --max do not apply to %s, which counts operations before they end",
			   r->what->name);
	else if (r->log_text && !r->what->takes_log)
		tool_error("--log chooses logs, or operations with logs, but not for %s",
			   r->what->name);
	else if (source_filters_time(&r->source) && !r->what->timed)
		tool_error("--from and --to do not apply to %s, which is about the whole trace",
			   r->what->name);
	else
		return true;
	return false;
}

/* formats has a bit for each option that chooses a format; the same one may be given twice. */
static bool formats_fit(const struct report *r, unsigned int formats)
{
	if (formats & (formats - 1))
		tool_error("--json, --csv, --folded and --pprof each choose a format: use one of them");
	else if ((r->folded || r->pprof) && !r->what->stacks)
		tool_error("%s applies to blame, the states and critical, not to %s",
			   r->folded ? "--folded" : "--pprof", r->what->name);
	else if (r->pprof && isatty(STDOUT_FILENO))
		tool_error("--pprof writes binary data: send it to a file");
	else
		return true;
	return false;
}

/*
 * Takes the id. Returns false after a message if the arguments do not fit the report. @argv: the
 * trace, the report, and the id for reports that take one
 */
static bool id_fits(struct report *r, int argc, char **argv)
{
	uint64_t number;

	r->id = r->what->takes_id && argc > 2 ? argv[2] : NULL;
	if (argc > 2 + r->what->takes_id)
		tool_error("too many arguments: name one trace and one report");
	else if (r->what->takes_id && !r->id)
		tool_error("%s needs the id of an operation, which asynctrace why prints", r->what->name);
	else if (r->id && !r->source.pair && !id_parse(r->id, &number))
		tool_error("'%s' is not an id: write a number from 0 to 0x%" PRIx64 ", such as 0x20000000028e",
			   tool_text(r->id), UINT64_MAX);
	else
		return true;
	return false;
}

/* Returns an exit status, or -1 to continue. */
static int options(struct report *r, int argc, char **argv)
{
	static const struct option list[] = {
		SOURCE_OPTIONS,
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, 'c' },
		{ "folded", no_argument, NULL, 'f' },
		{ "pprof", no_argument, NULL, 'p' },
		{ "all", no_argument, NULL, 'a' },
		{ "log", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	unsigned int formats = 0;
	int opt, err;

	optind = 0;
	while ((opt = tool_getopt(argc, argv, "h", list)) != -1) {
		switch (opt) {
		case 'j':
			r->format = SHEET_JSON;
			formats |= 1;
			break;
		case 'c':
			r->format = SHEET_CSV;
			formats |= 2;
			break;
		case 'f':
			r->folded = true;
			formats |= 4;
			break;
		case 'p':
			r->pprof = true;
			formats |= 8;
			break;
		case 'a':
			r->all = true;
			break;
		case 'l':
			r->log_text = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			err = source_option(&r->source, opt, optarg);
			if (!err)
				break;
			if (err > 0)
				fputs("Try 'asynctrace report --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (optind < argc && !strcmp(argv[optind], "diff")) {
		if (optind + 3 != argc) {
			tool_error("diff compares two traces: name both, and nothing else, after diff");
			return TOOL_USAGE;
		}
		r->what = &what_diff;
		r->other = argv[optind + 2];
		r->source.path = argv[optind + 1];
		if (!strcmp(r->source.path, r->other) && source_is_stream(r->other)) {
			tool_error("diff reads two traces, but '%s' can be read only once: name another one",
				   tool_text(r->other));
			return TOOL_USAGE;
		}
		return formats_fit(r, formats) && filters_fit(r) ? -1 : TOOL_USAGE;
	}
	if (optind == argc) {
		tool_error("name the trace to report on, or - for the standard input");
		return TOOL_USAGE;
	}
	r->source.path = argv[optind];
	r->what = what_find(optind + 1 < argc ? argv[optind + 1] : "operations");
	if (!r->what && !strcmp(argv[optind + 1], "diff")) {
		tool_error("diff stands before the two traces that it compares: asynctrace report diff FILE-A FILE-B");
		return TOOL_USAGE;
	}
	if (!r->what && what_is_missing(argv[optind + 1])) {
		tool_error("the report %s is not supported yet: %s; asynctrace report --help lists those that are",
			   argv[optind + 1], what_is_missing(argv[optind + 1]));
		return TOOL_USAGE;
	}
	if (!r->what) {
		tool_error("there is no report '%s'; asynctrace report --help lists them",
			   tool_text(argv[optind + 1]));
		return TOOL_USAGE;
	}
	if (!id_fits(r, argc - optind, argv + optind))
		return TOOL_USAGE;
	return formats_fit(r, formats) && filters_fit(r) ? -1 : TOOL_USAGE;
}

int report_main(int argc, char **argv)
{
	struct report r = { 0 };
	int status;

	terminal_init();
	status = options(&r, argc, argv);
	if (status >= 0)
		return status;
	status = run(&r);
	if (r.data && r.what->free)
		r.what->free(r.data);
	free(r.data);
	sheet_free(&r.sheet);
	source_close(&r.source);
	return status;
}
