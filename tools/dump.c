// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace dump: prints a trace as text, one record on each line */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fxt/fxt.h"
#include "fxt/print.h"
#include "tool.h"

static const char usage[] =
"usage: asynctrace dump [OPTION ...] FILE\n"
"\n"
"Prints a trace as text, one record on each line, in the order of the file. FILE may be\n"
"compressed (gzip, zstd); - is the standard input.\n"
"\n"
"      --events     leave out names, tables, objects, and blobs without a time\n"
"      --offsets    begin each line with the record's offset in the file (hexadecimal)\n"
"      --json       print one JSON object on each line; --offsets adds \"offset\"\n"
"  -h, --help       print this text\n"
"\n"
"Exit status: 0; 1 if the file is damaged, or the output cannot be written; 2 if the file\n"
"cannot be read; 3 if all records are shown, but the end is missing: the file is cut, or\n"
"its recorder was killed.\n"
"\n"
"Examples:\n"
"  asynctrace dump --events trace.fxt | sort -sn                  in order of time\n"
"  asynctrace dump --events trace.fxt | grep 'id 0x200000000001'  one operation\n"
"  asynctrace dump --json trace.fxt | jq 'select(.record == \"process\") | .name'\n";

struct dump {
	bool events, offsets, json;
	const char *path;
	struct fxt_reader *reader;
	bool damaged, incomplete;
};

/* Reports the first damage, and what ends the reading. asynctrace validate reports all. */
static void on_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct dump *d = arg;
	const bool end = fxt_rules[rule].excuse == FXT_EXCUSE_END;
	const bool first = !end && !d->damaged, last = fxt_broke_off(d->reader);

	if (fxt_is_understood(rule))
		return;
	d->incomplete |= end;
	d->damaged |= !end;
	if (!first && !last && !end)
		return;
	tool_flush();
	fprintf(stderr, "asynctrace dump: %s: ", tool_text(d->path));
	fxt_print_breach(stderr, rule, offset, detail);
	fputs(end ? "; all whole records are shown\n" : last ?
	      "; what follows cannot be read and is not shown; asynctrace validate lists all errors\n" :
	      "; what can be read is shown; asynctrace validate lists all errors\n", stderr);
}

static bool wanted(const struct dump *d, const struct fxt_record *rec)
{
	return !d->events || rec->kind == FXT_EVENT || rec->kind == FXT_SWITCH ||
	       rec->kind == FXT_WAKEUP || rec->kind == FXT_LOG || rec->kind == FXT_BLOB_EVENT ||
	       rec->kind == FXT_PROVIDER_EVENT;
}

static int dump_file(struct dump *d)
{
	struct fxt_record rec;
	int err;

	d->reader = fxt_open(d->path, &err);
	if (!d->reader) {
		tool_cannot_read(d->path, fxt_error_text(err));
		return TOOL_USAGE;
	}
	fxt_on_breach(d->reader, on_breach, d);
	while ((err = fxt_next(d->reader, &rec)) > 0) {
		if (!wanted(d, &rec))
			continue;
		if (d->json) {
			fxt_print_record_json(stdout, &rec, d->offsets);
		} else {
			if (d->offsets)
				printf("%08llx ", (unsigned long long)rec.offset);
			fxt_print_record(stdout, &rec);
		}
		if (ferror(stdout))
			break;
	}
	fxt_close(d->reader);
	if (err < 0) {
		tool_error("reading %s failed: %s; the whole records before are shown",
			   tool_text(d->path), fxt_error_text(err));
		return TOOL_USAGE;
	}
	if (d->damaged)
		return TOOL_FAILED;
	return d->incomplete ? TOOL_INCOMPLETE : TOOL_OK;
}

int dump_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "events", no_argument, NULL, 'e' },
		{ "offsets", no_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct dump d = { 0 };
	int opt;

	optind = 0;
	while ((opt = tool_getopt(argc, argv, "h", options)) != -1) {
		switch (opt) {
		case 'e':
			d.events = true;
			break;
		case 'o':
			d.offsets = true;
			break;
		case 'j':
			d.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return TOOL_OK;
		default:
			fputs("Try 'asynctrace dump --help'.\n", stderr);
			return TOOL_USAGE;
		}
	}
	if (optind + 1 != argc) {
		tool_error("%s", optind == argc ?
			   "name the trace to show, or - for the standard input" :
			   "too many arguments: name one trace");
		return TOOL_USAGE;
	}
	d.path = argv[optind];
	return dump_file(&d);
}
