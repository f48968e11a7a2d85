// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace validate: checks a trace against all rules of its format */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fxt/check.h"
#include "fxt/print.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace validate [OPTION ...] FILE\n"
"\n"
"Checks that a trace keeps every rule of its format, and those of this project:\n"
"a name for every thread, times within the session, durations that nest, async\n"
"operations and flows that begin once and end once, contexts that run between the\n"
"two, context switches that join.\n"
"FILE may be compressed (gzip, zstd); - is the standard input.\n"
"\n"
"      --expect-async NAME=COUNT  exactly COUNT whole async operations NAME\n"
"      --cross-thread NAME        each operation NAME begins and ends on different threads\n"
"      --allow-open               excuse breaches that a loss explains: ends without begin, ...\n"
"      --window EVENTS            sort EVENTS events and switches by time at once (4194304)\n"
"      --json                     print the result as JSON\n"
"      --rules                    list the rules\n"
"  -q, --quiet                    print no result, even with --json: the exit status is it\n"
"  -h, --help                     print this text\n"
"\n"
"Exit status: 0 clean; 1 rules are broken, or the result cannot be written; 2 the trace\n"
"cannot be read; 3 clean so far, but the end is missing: the file is cut, or its recorder\n"
"was killed.\n"
"\n"
"Examples:\n"
"  asynctrace validate trace.fxt\n"
"  asynctrace validate --expect-async request=1000 --cross-thread request trace.fxt\n"
"  asynctrace validate --json trace.fxt | jq '.violations[].rule'\n";

struct validate {
	bool allow_open, json, quiet;
	const char *path;
	struct fxt_check *check;
};

static bool counts(const struct validate *v, enum fxt_rule rule)
{
	return fxt_findings(v->check)[rule].count &&
	       !fxt_excused(v->check, rule, v->allow_open);
}

static bool clean(const struct validate *v)
{
	for (int i = 0; i < FXT_RULE_COUNT; i++)
		if (counts(v, i))
			return false;
	return true;
}

static void begin_line(const struct validate *v)
{
	printf("%s: ", tool_text(v->path));
}

static void note(const struct validate *v, const char *text)
{
	begin_line(v);
	printf("note: %s\n", text);
}

static void print_text(const struct validate *v)
{
	const struct fxt_finding *f = fxt_findings(v->check);
	const struct fxt_tally *t = fxt_tally(v->check);
	bool excusable = false;

	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		if (!f[i].count)
			continue;
		excusable |= counts(v, i) && fxt_rules[i].excuse == FXT_EXCUSE_LOSS;
		begin_line(v);
		printf("%s%s: %" PRIu64 ", first at byte %" PRIu64 ": %s: ",
		       counts(v, i) ? "" : fxt_rules[i].excuse == FXT_EXCUSE_END ?
		       "warning: " : "excused: ", fxt_rules[i].name, f[i].count,
		       f[i].offset, fxt_rules[i].text);
		fxt_print_detail(stdout, f[i].detail);
		putchar('\n');
	}
	if (t->late) {
		begin_line(v);
		printf("note: %" PRIu64 " events or switches were out of order by more than the window; with a larger --window, fewer breaches may be found\n",
		       t->late);
	}
	if (fxt_is_selection(v->check))
		note(v, "the file has only the records that slow operations need; missing records of other operations are excused");
	else if (fxt_is_part(v->check))
		note(v, "the file is a part of a recording; begins and ends in its other files are excused");
	if (fxt_is_incomplete(v->check))
		note(v, "the check ends with the last whole record; records of the missing end are excused");
	if (excusable && t->losses)
		note(v, "records were lost during recording; --allow-open excuses breaches that this explains");
	begin_line(v);
	printf("%s: %" PRIu64 " records, %" PRIu64 " events of %" PRIu64 " threads, %" PRIu64
	       " switches, %" PRIu64 " wakeups, %" PRIu64 " async operations, %" PRIu64
	       " flows, %" PRIu64 " losses, %" PRIu64 " bytes\n", !clean(v) ? "NOT clean" :
	       fxt_is_incomplete(v->check) ? "clean, but its end is missing" : "clean",
	       t->records, t->events, t->threads,
	       t->switches, t->wakeups, t->asyncs, t->flows, t->losses, t->bytes);
}

static void json_quoted(const char *s)
{
	struct fxt_text t = { .s = s, .len = strlen(s) };

	fxt_print_json(stdout, &t);
}

static void print_json(const struct validate *v)
{
	const struct fxt_finding *f = fxt_findings(v->check);
	const struct fxt_tally *t = fxt_tally(v->check);
	const char *comma = "";

	fputs("{\"file\":", stdout);
	json_quoted(v->path);
	printf(",\"clean\":%s,\"complete\":%s,\"part\":%s", clean(v) ? "true" : "false",
	       fxt_is_incomplete(v->check) ? "false" : "true",
	       fxt_is_part(v->check) ? "true" : "false");
	printf(",\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"events\":%" PRIu64
	       ",\"threads\":%" PRIu64 ",\"switches\":%" PRIu64 ",\"wakeups\":%" PRIu64
	       ",\"asyncs\":%" PRIu64 ",\"flows\":%" PRIu64 ",\"losses\":%" PRIu64
	       ",\"late\":%" PRIu64 ",\"violations\":[", t->records, t->bytes,
	       t->events, t->threads, t->switches, t->wakeups, t->asyncs, t->flows,
	       t->losses, t->late);
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		if (!f[i].count)
			continue;
		printf("%s{\"rule\":\"%s\",\"count\":%" PRIu64 ",\"offset\":%" PRIu64
		       ",\"excused\":%s,\"text\":", comma, fxt_rules[i].name, f[i].count,
		       f[i].offset, counts(v, i) ? "false" : "true");
		json_quoted(fxt_rules[i].text);
		fputs(",\"detail\":", stdout);
		json_quoted(f[i].detail);
		putchar('}');
		comma = ",";
	}
	fputs("]}\n", stdout);
}

static int validate_file(struct validate *v)
{
	struct fxt_reader *r;
	int err;

	r = fxt_open(v->path, &err);
	if (!r) {
		tool_cannot_read(v->path, fxt_error_text(err));
		return TOOL_USAGE;
	}
	err = fxt_check_all(v->check, r);
	fxt_close(r);
	if (err) {
		tool_error("reading %s failed: %s", tool_text(v->path), fxt_error_text(err));
		return TOOL_USAGE;
	}
	if (!v->quiet)
		(v->json ? print_json : print_text)(v);
	if (!clean(v))
		return TOOL_FAILED;
	return fxt_is_incomplete(v->check) ? TOOL_INCOMPLETE : TOOL_OK;
}

static int no_memory(void)
{
	tool_error("%s", strerror(ENOMEM));
	return TOOL_USAGE;
}

/* Parses NAME=COUNT. The name may contain '='. */
static int expect(struct validate *v, char *arg)
{
	char *equals = strrchr(arg, '=');
	uint64_t count;

	if (!equals || !tool_parse_number(equals + 1, &count)) {
		tool_error("--expect-async takes NAME=COUNT with a number from 0 to %" PRIu64 ", not '%s'",
			   UINT64_MAX, tool_text(arg));
		return TOOL_USAGE;
	}
	*equals = 0;
	return fxt_expect_async(v->check, arg, count) ? no_memory() : 0;
}

static const char *when_excused(enum fxt_excuse excuse)
{
	switch (excuse) {
	case FXT_EXCUSE_LOSS:
		return " (--allow-open excuses it)";
	case FXT_EXCUSE_PART:
		return " (excused in a part of a recording)";
	case FXT_EXCUSE_CUT:
		return " (excused if the end is missing)";
	case FXT_EXCUSE_END:
		return " (exit status 3)";
	default:
		return "";
	}
}

static void list_rules(void)
{
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		printf("%-18s %s%s\n", fxt_rules[i].name, fxt_rules[i].text,
		       when_excused(fxt_rules[i].excuse));
		/* Flush each line: if stdio flushes a full buffer itself, its errno is lost. */
		tool_flush();
	}
}

/* Returns an exit status, or -1 to continue. */
static int parse(struct validate *v, int argc, char **argv)
{
	static const struct option options[] = {
		{ "expect-async", required_argument, NULL, 'e' },
		{ "cross-thread", required_argument, NULL, 'c' },
		{ "allow-open", no_argument, NULL, 'o' },
		{ "window", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'j' },
		{ "rules", no_argument, NULL, 'r' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	uint64_t window = 0;
	int opt;

	/* Two passes, because the check needs the window before the other options. */
	for (int pass = 0; pass < 2; pass++) {
		optind = 0;
		opterr = !pass;
		if (pass)
			v->check = fxt_check_new(window);
		if (pass && !v->check)
			return no_memory();
		while ((opt = tool_getopt(argc, argv, "qh", options)) != -1) {
			switch (opt) {
			case 'e':
				if (pass && expect(v, optarg))
					return 2;
				break;
			case 'c':
				if (pass && fxt_cross_thread(v->check, optarg))
					return no_memory();
				break;
			case 'o':
				v->allow_open = true;
				break;
			case 'w':
				if (!tool_parse_number(optarg, &window) || !window) {
					tool_error("--window takes a number of events from 1 to %" PRIu64 ", not '%s'",
						   UINT64_MAX, tool_text(optarg));
					return TOOL_USAGE;
				}
				break;
			case 'j':
				v->json = true;
				break;
			case 'q':
				v->quiet = true;
				break;
			case 'r':
				list_rules();
				return 0;
			case 'h':
				fputs(usage, stdout);
				return 0;
			default:
				fputs("Try 'asynctrace validate --help'.\n", stderr);
				return 2;
			}
		}
	}
	if (optind + 1 != argc) {
		tool_error("%s", optind == argc ?
			   "name the trace to check, or - for the standard input" :
			   "too many arguments: name one trace");
		return TOOL_USAGE;
	}
	v->path = argv[optind];
	return -1;
}

int validate_main(int argc, char **argv)
{
	struct validate v = { 0 };
	int status = parse(&v, argc, argv);

	if (status < 0)
		status = validate_file(&v);
	fxt_check_free(v.check);
	return status;
}
