// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace report: where did the time of all operations go? */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/blame.h"
#include "report/sheet.h"
#include "report/source.h"
#include "report/types.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace report [OPTION ...] FILE [WHAT]\n"
"       asynctrace report [OPTION ...] diff FILE-A FILE-B\n"
"\n"
"Add up the time of many operations. FILE may be compressed (gzip, zstd); - is the\n"
"standard input. WHAT is one of\n"
"  operations  latencies and states of each type (the default)\n"
"  blame       what the time was spent on, in all states\n"
"  running, runnable, blocked, queued, unknown\n"
"              the same in this state alone\n"
"  critical    the same along the critical paths\n"
"  unfinished  operations that began and did not end\n"
"  losses      when records were lost\n"
"  summary     what is in the trace\n"
"diff compares the operations of two traces: positive differences mean that B is slower.\n"
"\n"
SOURCE_HELP
"      --json          one JSON object a line\n"
"      --csv           comma-separated values, with a heading\n"
"      --folded        of blame and its parts: frames and ns, for flame graphs\n"
"      --all           all lines of blame and its parts, not only the first 30\n"
"  -h, --help          this text\n"
"\n"
"Exit status: 0; 1 if the file is damaged; 2 if it cannot be read; 3 if the end of\n"
"the file is missing: what is there was analysed.\n"
"\n"
"Examples:\n"
"  asynctrace report trace.fxt\n"
"  asynctrace report --type http/request --min 20ms trace.fxt blame\n"
"  asynctrace report --folded trace.fxt blocked > blocked.folded\n"
"  asynctrace report --csv trace.fxt operations > operations.csv\n"
"  asynctrace report diff before.fxt after.fxt\n";

#define ALL_STATES	((1u << ANALYSIS_STATES) - 1)
#define FIRST_LINES	30

struct report {
	struct source source;
	const struct what *what;
	const char *other;	/* diff: the second file */
	enum sheet_format format;
	bool folded, all;

	struct types types, first;	/* first: diff's of the first file */
	struct blame blame;
	struct sheet sheet;
};

/* A report: rows in, a sheet out. What is NULL is not needed. */
struct what {
	const char *name;
	unsigned int states;	/* of blame */
	int (*operation)(void *arg, const struct analysis_operation *op);
	int (*loss)(void *arg, const struct analysis_loss *loss);
	bool (*fill)(struct report *r);	/* the sheet, after the last row; false: no memory */
	bool foldable, totals_only;
	const struct sheet_column *columns;
	size_t nr_columns;
};

#define COLUMNS(c)	.columns = (c), .nr_columns = sizeof(c) / sizeof((c)[0])

static bool set_text(union sheet_cell *cell, const char *text)
{
	cell->text = strdup(text);
	return cell->text;
}

/* --- operations ---------------------------------------------------------------------- */

static const struct sheet_column operations_columns[] = {
	{ "type", "TYPE", SHEET_TEXT },
	{ "provider", "PROVIDER", SHEET_TEXT },
	{ "count", "COUNT", SHEET_COUNT },
	{ "incomplete", "OPEN", SHEET_COUNT },
	{ "p50_ns", "P50 ms", SHEET_NS },
	{ "p90_ns", "P90", SHEET_NS },
	{ "p99_ns", "P99", SHEET_NS },
	{ "p999_ns", "P99.9", SHEET_NS },
	{ "max_ns", "MAX", SHEET_NS },
	{ "running", "RUN %", SHEET_SHARE },
	{ "runnable", "WAIT %", SHEET_SHARE },
	{ "blocked", "BLOCK %", SHEET_SHARE },
	{ "queued", "QUEUE %", SHEET_SHARE },
	{ "unknown", "? %", SHEET_SHARE },
};

static int add_type(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return types_add(&r->types, op);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / all : 0;
}

static bool fill_operations(struct report *r)
{
	types_sort(&r->types);
	for (size_t i = 0; i < r->types.nr; i++) {
		const struct type *t = &r->types.of[i];
		union sheet_cell *c = sheet_row(&r->sheet);
		char text[512];

		snprintf(text, sizeof(text), "%s/%s", t->category, t->name);
		if (!c || !set_text(&c[0], text) || !set_text(&c[1], t->provider))
			return false;
		c[2].number = t->nr;
		c[3].number = t->incomplete;
		c[4].number = type_percentile(t, 50);
		c[5].number = type_percentile(t, 90);
		c[6].number = type_percentile(t, 99);
		c[7].number = type_percentile(t, 99.9);
		c[8].number = type_percentile(t, 100);
		c[9].share = share(t->ns[ANALYSIS_RUNNING], t->sum_ns);
		c[10].share = share(t->ns[ANALYSIS_RUNNABLE], t->sum_ns);
		c[11].share = share(t->ns[ANALYSIS_BLOCKED], t->sum_ns);
		c[12].share = share(t->ns[ANALYSIS_QUEUED], t->sum_ns);
		c[13].share = share(t->ns[ANALYSIS_UNKNOWN], t->sum_ns);
	}
	return true;
}

/* --- blame -------------------------------------------------------------------------------- */

static const struct sheet_column blame_columns[] = {
	{ "ns", "MS", SHEET_NS },
	{ "share", "%", SHEET_SHARE },
	{ "count", "TIMES", SHEET_COUNT },
	{ "type", "TYPE", SHEET_TEXT },
	{ "state", "STATE", SHEET_TEXT },
	{ "thread", "THREAD", SHEET_TEXT },
	{ "duration", "IN", SHEET_TEXT },
	{ "other", "OTHER PARTY", SHEET_TEXT },
};

static int add_blame(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return op->complete ? blame_add(&r->blame, op, op->intervals, op->nr_intervals,
					r->what->states) : 0;
}

static int add_critical(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;

	return blame_add(&r->blame, op, op->path, op->nr_path, r->what->states);
}

static bool fill_blame(struct report *r)
{
	bool cut = r->format == SHEET_PEOPLE && !r->all;

	blame_sort(&r->blame);
	for (size_t i = 0; i < r->blame.nr && (!cut || i < FIRST_LINES); i++) {
		const struct blame_row *b = &r->blame.of[i];
		union sheet_cell *c = sheet_row(&r->sheet);

		if (!c || !set_text(&c[3], b->type) ||
		    !set_text(&c[4], analysis_state_name(b->state)) ||
		    !set_text(&c[5], b->thread) || !set_text(&c[6], b->duration) ||
		    !set_text(&c[7], b->other))
			return false;
		c[0].number = b->ns;
		c[1].share = share(b->ns, r->blame.ns);
		c[2].number = b->count;
	}
	return true;
}

/* A frame of a folded stack: without what separates frames, and the number */
static void print_frame(const char *text)
{
	const char *clean = tool_text(text);

	putchar(';');
	for (; *clean; clean++)
		putchar(*clean == ';' ? ',' : *clean);
}

static void print_folded(const struct report *r)
{
	for (size_t i = 0; i < r->blame.nr; i++) {
		const struct blame_row *b = &r->blame.of[i];

		fputs(tool_text(b->type), stdout);
		print_frame(analysis_state_name(b->state));
		if (b->thread[0])
			print_frame(b->thread);
		if (b->duration[0])
			print_frame(b->duration);
		if (b->other[0])
			print_frame(b->other);
		printf(" %" PRIu64 "\n", b->ns);
	}
}

/* --- unfinished, losses, summary ------------------------------------------------------------ */

static const struct sheet_column unfinished_columns[] = {
	{ "type", "TYPE", SHEET_TEXT },
	{ "id", "ID", SHEET_TEXT },
	{ "pid", "PID", SHEET_COUNT },
	{ "age_ns", "AGE ms", SHEET_NS },
	{ "running_ns", "RUNNING ms", SHEET_NS },
	{ "blocked_ns", "BLOCKED ms", SHEET_NS },
	{ "queued_ns", "QUEUED ms", SHEET_NS },
	{ "thread", "LAST THREAD", SHEET_TEXT },
};

static int add_unfinished(void *arg, const struct analysis_operation *op)
{
	const struct analysis_thread *last = NULL;
	struct report *r = arg;
	union sheet_cell *c;
	char text[512];

	if (op->complete)
		return 0;
	for (size_t i = 0; i < op->nr_intervals; i++)
		if (op->intervals[i].thread && op->intervals[i].state != ANALYSIS_QUEUED)
			last = op->intervals[i].thread;
	c = sheet_row(&r->sheet);
	snprintf(text, sizeof(text), "%s/%s", op->id.category, op->id.name);
	if (!c || !set_text(&c[0], text))
		return -ENOMEM;
	snprintf(text, sizeof(text), "0x%" PRIx64, op->id.id);
	if (!set_text(&c[1], text))
		return -ENOMEM;
	c[2].number = op->id.pid;
	c[3].number = op->end - op->begin;
	c[4].number = op->ns[ANALYSIS_RUNNING];
	c[5].number = op->ns[ANALYSIS_BLOCKED];
	c[6].number = op->ns[ANALYSIS_QUEUED];
	if (last)
		snprintf(text, sizeof(text), "%s/%" PRIu32, last->name, last->tid);
	return set_text(&c[7], last ? text : "") ? 0 : -ENOMEM;
}

static const struct sheet_column losses_columns[] = {
	{ "from_ns", "FROM ms", SHEET_NS },
	{ "to_ns", "TO ms", SHEET_NS },
	{ "provider", "PROVIDER", SHEET_TEXT },
	{ "ring", "RING", SHEET_TEXT },
	{ "dropped", "DROPPED", SHEET_COUNT },
	{ "overwritten", "OVERWRITTEN", SHEET_COUNT },
	{ "malformed", "MALFORMED", SHEET_COUNT },
};

static int add_loss(void *arg, const struct analysis_loss *loss)
{
	struct report *r = arg;
	union sheet_cell *c = sheet_row(&r->sheet);

	if (!c || !set_text(&c[2], loss->provider) || !set_text(&c[3], loss->ring))
		return -ENOMEM;
	c[0].number = loss->from;
	c[1].number = loss->to;
	c[4].number = loss->dropped;
	c[5].number = loss->overwritten;
	c[6].number = loss->malformed;
	return 0;
}

static const struct sheet_column summary_columns[] = {
	{ "begin_ns", "BEGIN ms", SHEET_NS },
	{ "duration_ns", "DURATION ms", SHEET_NS },
	{ "records", "RECORDS", SHEET_COUNT },
	{ "complete", "OPERATIONS", SHEET_COUNT },
	{ "incomplete", "OPEN", SHEET_COUNT },
	{ "orphans", "ORPHANS", SHEET_COUNT },
	{ "switches", "SWITCHES", SHEET_COUNT },
	{ "wakeups", "WAKEUPS", SHEET_COUNT },
	{ "losses", "LOSSES", SHEET_COUNT },
};

static bool fill_summary(struct report *r)
{
	const struct analysis_totals *t = analysis_totals(r->source.analysis);
	union sheet_cell *c = sheet_row(&r->sheet);

	if (!c)
		return false;
	c[0].number = t->begin > t->end ? 0 : t->begin;
	c[1].number = t->begin > t->end ? 0 : t->end - t->begin;
	c[2].number = t->records;
	c[3].number = t->complete;
	c[4].number = t->incomplete;
	c[5].number = t->orphans;
	c[6].number = t->switches;
	c[7].number = t->wakeups;
	c[8].number = t->losses;
	return true;
}

/* --- diff ------------------------------------------------------------------------------------ */

static const struct sheet_column diff_columns[] = {
	{ "type", "TYPE", SHEET_TEXT },
	{ "count_a", "COUNT A", SHEET_COUNT },
	{ "count_b", "COUNT B", SHEET_COUNT },
	{ "p50_a_ns", "P50 A ms", SHEET_NS },
	{ "p50_diff_ns", "DIFF", SHEET_NS_DIFF },
	{ "p99_a_ns", "P99 A", SHEET_NS },
	{ "p99_diff_ns", "DIFF", SHEET_NS_DIFF },
	{ "running_diff_ns", "RUN", SHEET_NS_DIFF },
	{ "runnable_diff_ns", "WAIT", SHEET_NS_DIFF },
	{ "blocked_diff_ns", "BLOCK", SHEET_NS_DIFF },
	{ "queued_diff_ns", "QUEUE", SHEET_NS_DIFF },
	{ "unknown_diff_ns", "?", SHEET_NS_DIFF },
};

static const struct type *same_type(const struct types *t, const struct type *type)
{
	for (size_t i = 0; i < t->nr; i++)
		if (!strcmp(t->of[i].category, type->category) &&
		    !strcmp(t->of[i].name, type->name) && !strcmp(t->of[i].provider, type->provider))
			return &t->of[i];
	return NULL;
}

/* The mean time of an operation in @state */
static int64_t mean(const struct type *t, enum analysis_state state)
{
	return t->nr ? (int64_t)(t->ns[state] / t->nr) : 0;
}

static bool diff_row(struct report *r, const struct type *a, const struct type *b)
{
	static const enum analysis_state states[] = {
		ANALYSIS_RUNNING, ANALYSIS_RUNNABLE, ANALYSIS_BLOCKED, ANALYSIS_QUEUED,
		ANALYSIS_UNKNOWN,
	};
	static const struct type none;
	union sheet_cell *c = sheet_row(&r->sheet);
	const struct type *any = a ? a : b;
	char text[512];

	snprintf(text, sizeof(text), "%s/%s", any->category, any->name);
	if (!c || !set_text(&c[0], text))
		return false;
	a = a ? a : &none;
	b = b ? b : &none;
	c[1].number = a->nr;
	c[2].number = b->nr;
	c[3].number = type_percentile(a, 50);
	c[4].diff = type_percentile(b, 50) - type_percentile(a, 50);
	c[5].number = type_percentile(a, 99);
	c[6].diff = type_percentile(b, 99) - type_percentile(a, 99);
	for (size_t i = 0; i < ANALYSIS_STATES; i++)
		c[7 + i].diff = mean(b, states[i]) - mean(a, states[i]);
	return true;
}

static bool fill_diff(struct report *r)
{
	types_sort(&r->first);
	types_sort(&r->types);
	for (size_t i = 0; i < r->first.nr; i++)
		if (!diff_row(r, &r->first.of[i], same_type(&r->types, &r->first.of[i])))
			return false;
	for (size_t i = 0; i < r->types.nr; i++)
		if (!same_type(&r->first, &r->types.of[i]) && !diff_row(r, NULL, &r->types.of[i]))
			return false;
	return true;
}

static const struct what diff = {
	.name = "diff", .operation = add_type, .fill = fill_diff, .totals_only = true,
	COLUMNS(diff_columns)
};

/* --- the command --------------------------------------------------------------------------- */

#define BLAME(n, s) { \
	.name = (n), .states = (s), .operation = add_blame, .fill = fill_blame, .foldable = true, \
	COLUMNS(blame_columns) \
}

static const struct what whats[] = {
	{ .name = "operations", .operation = add_type, .fill = fill_operations, .totals_only = true,
	  COLUMNS(operations_columns) },
	BLAME("blame", ALL_STATES),
	BLAME("running", 1u << ANALYSIS_RUNNING),
	BLAME("runnable", 1u << ANALYSIS_RUNNABLE),
	BLAME("blocked", 1u << ANALYSIS_BLOCKED),
	BLAME("queued", 1u << ANALYSIS_QUEUED),
	BLAME("unknown", 1u << ANALYSIS_UNKNOWN),
	{ .name = "critical", .states = ALL_STATES, .operation = add_critical, .fill = fill_blame,
	  .foldable = true, COLUMNS(blame_columns) },
	{ .name = "unfinished", .operation = add_unfinished, COLUMNS(unfinished_columns) },
	{ .name = "losses", .loss = add_loss, COLUMNS(losses_columns) },
	{ .name = "summary", .fill = fill_summary, COLUMNS(summary_columns) },
};

static const struct what *find_what(const char *name)
{
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
		if (!strcmp(whats[i].name, name))
			return &whats[i];
	return NULL;
}

static void restart(void *arg)
{
	struct report *r = arg;

	sheet_free(&r->sheet);
	types_free(&r->types);
	blame_free(&r->blame);
}

static int run(struct report *r)
{
	int status;

	r->sheet.columns = r->what->columns;
	r->sheet.nr_columns = r->what->nr_columns;
	r->source.operation = r->what->operation;
	r->source.loss = r->what->loss;
	r->source.restart = restart;
	r->source.arg = r;
	r->source.opts.totals_only = r->what->totals_only;
	status = source_read(&r->source);
	if (!status && r->other) {
		source_limits(&r->source);
		r->first = r->types;
		r->types = (struct types){ 0 };
		r->source.path = r->other;
		status = source_read(&r->source);
	}
	if (status)
		return status;
	if (r->what->fill && !r->what->fill(r)) {
		tool_error("there is no memory for the report");
		return TOOL_USAGE;
	}
	if (r->folded)
		print_folded(r);
	else
		sheet_print(stdout, &r->sheet, r->format);
	if (!r->folded && r->format == SHEET_PEOPLE && r->sheet.nr < r->blame.nr)
		printf("and %zu more; --all shows them\n", r->blame.nr - r->sheet.nr);
	fflush(stdout);
	source_limits(&r->source);
	return source_status(&r->source);
}

static bool formats_fit(const struct report *r, int formats)
{
	if (formats > 1)
		tool_error("--json, --csv and --folded each choose a format: use one of them");
	else if (r->folded && !r->what->foldable)
		tool_error("--folded is for blame, a state and critical, not for %s", r->what->name);
	else
		return true;
	return false;
}

/* An exit status, or -1 to go on */
static int options(struct report *r, int argc, char **argv)
{
	static const struct option list[] = {
		SOURCE_OPTIONS,
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, 'c' },
		{ "folded", no_argument, NULL, 'f' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int opt, err, formats = 0;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "h", list, NULL)) != -1) {
		switch (opt) {
		case 'j':
			r->format = SHEET_JSON;
			formats++;
			break;
		case 'c':
			r->format = SHEET_CSV;
			formats++;
			break;
		case 'f':
			r->folded = true;
			formats++;
			break;
		case 'a':
			r->all = true;
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
			tool_error("diff compares two traces: name both");
			return TOOL_USAGE;
		}
		r->what = &diff;
		r->other = argv[optind + 2];
		r->source.path = argv[optind + 1];
		return formats_fit(r, formats) ? -1 : TOOL_USAGE;
	}
	if (optind == argc || optind + 2 < argc) {
		tool_error("%s", optind == argc ?
			   "name the trace to report on, or - for the standard input" :
			   "there are too many arguments: one trace, and one report");
		return TOOL_USAGE;
	}
	r->source.path = argv[optind];
	r->what = find_what(optind + 2 == argc ? argv[optind + 1] : "operations");
	if (!r->what) {
		tool_error("there is no report '%s'; asynctrace report --help lists them",
			   tool_text(argv[optind + 1]));
		return TOOL_USAGE;
	}
	return formats_fit(r, formats) ? -1 : TOOL_USAGE;
}

int report_main(int argc, char **argv)
{
	struct report r = { 0 };
	int status = options(&r, argc, argv);

	if (status >= 0)
		return status;
	status = run(&r);
	sheet_free(&r.sheet);
	types_free(&r.types);
	types_free(&r.first);
	blame_free(&r.blame);
	source_close(&r.source);
	return status;
}
