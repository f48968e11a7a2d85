// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace session attach, snapshot: write records of an existing session to a file */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "session/session.h"
#include "tool.h"

static const char attach_usage[] =
	"usage: asynctrace session attach [OPTION...] SESSION\n"
	"\n"
	"Writes the records of a session to a file, until Ctrl-C, or until the session is\n"
	"destroyed. The session continues. Records that come without a reader wait in its\n"
	"rings; if these are full, records are dropped, or overwrite the oldest in circular\n"
	"mode. A one-shot session keeps the first records, and reading frees no room.\n"
	"Reading it ends when it is stopped and all is read. Each record is read once.\n"
	"\n"
	"  -o, --output FILE      write the trace to FILE; - is standard output;\n"
	"                         FILE.zst and FILE.gz are compressed\n"
	"                         (default: trace.fxt)\n"
	"  -d, --duration SECONDS stop after this time\n"
	"      --max-size SIZE    stop when FILE reaches this size\n"
	"      --rotate SIZE[,N]  begin a new file at this size, or at SIGHUP: FILE.0.fxt,\n"
	"                         FILE.1.fxt, ...; keep the last N files\n"
	"      --json             print the summary as JSON on standard output\n"
	"  -h, --help             print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session attach -o part.fxt mine\n"
	"  asynctrace session stop boot && asynctrace session attach -o boot.fxt boot\n";

enum {
	OPT_MAX_SIZE = SESSION_OPT_END,
	OPT_ROTATE,
};

static const struct option attach_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "duration", required_argument, NULL, 'd' },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "rotate", required_argument, NULL, OPT_ROTATE },
	SESSION_COMMON_OPTIONS
};

static bool take_attach(struct recorder *r, int opt)
{
	switch (opt) {
	case 'o':
		return record_take_output(r, optarg);
	case 'd':
		return record_take_seconds(&r->opt, optarg);
	case OPT_MAX_SIZE:
		return trace_out_parse_max(&r->out, optarg);
	case OPT_ROTATE:
		return trace_out_parse_rotate(&r->out, optarg);
	default:
		return false;
	}
}

int session_attach_main(int argc, char **argv)
{
	struct recorder r = {
		.in = -1, .signals = -1, .out = { .path = "trace.fxt", .fd = -1 },
	};
	int opt;

	while ((opt = tool_getopt(argc, argv, "o:d:h", attach_options)) != -1) {
		switch (opt) {
		case 'j':
			r.opt.json = true;
			break;
		case 'h':
			fputs(attach_usage, stdout);
			return TOOL_OK;
		case '?':
			return session_wrong_usage();
		default:
			if (!take_attach(&r, opt))
				return TOOL_USAGE;
		}
	}
	r.opt.attach = session_argument(argc, argv);
	if (!r.opt.attach)
		return session_wrong_usage();
	if (!record_check_output(&r))
		return TOOL_USAGE;
	return record_all(&r) ? TOOL_FAILED : TOOL_OK;
}

/* --- snapshot ------------------------------------------------------------------------- */

static const char snapshot_usage[] =
	"usage: asynctrace session snapshot [OPTION...] SESSION\n"
	"\n"
	"Writes the records that a circular session holds now to a file. The session\n"
	"continues, keeps its records, and does not delay recorded programs.\n"
	"\n"
	"  -o, --output FILE  write the trace to FILE; - is standard output;\n"
	"                     FILE.zst and FILE.gz are compressed\n"
	"                     (default: trace.fxt)\n"
	"      --json         print the summary as JSON on standard output\n"
	"  -h, --help         print this text\n"
	"\n"
	"Examples:\n"
	"  asynctrace session snapshot -o before-the-error.fxt flight\n";

int session_snapshot_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		SESSION_COMMON_OPTIONS
	};
	struct recorder r = {
		.in = -1, .signals = -1, .out = { .path = "trace.fxt", .fd = -1 },
	};
	int opt;

	while ((opt = tool_getopt(argc, argv, "o:h", options)) != -1) {
		switch (opt) {
		case 'j':
			r.opt.json = true;
			break;
		case 'o':
			if (!record_take_output(&r, optarg))
				return TOOL_USAGE;
			break;
		case 'h':
			fputs(snapshot_usage, stdout);
			return TOOL_OK;
		default:
			return session_wrong_usage();
		}
	}
	r.opt.attach = session_argument(argc, argv);
	if (!r.opt.attach)
		return session_wrong_usage();
	if (!record_check_output(&r))
		return TOOL_USAGE;
	r.opt.snapshot = true;
	return record_all(&r) ? TOOL_FAILED : TOOL_OK;
}
