// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace session attach, snapshot: from a session that stays to a file
 */
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
	"Writes what a session brings to a file, until Ctrl-C, or until it is destroyed.\n"
	"The session goes on; what comes while nobody reads it waits in its rings, or\n"
	"finds no room there; in a circular session the oldest is overwritten. Of a\n"
	"one-shot session the first records are kept, and that they are read makes no\n"
	"room: once it is stopped, and all is read, that ends, too. Each record is read\n"
	"once.\n"
	"\n"
	"  -o, --output FILE      write the trace there; - is standard output\n"
	"                         (default: trace.fxt)\n"
	"  -d, --duration SECONDS stop after that time\n"
	"      --max-size SIZE    stop when FILE has that size\n"
	"      --rotate SIZE[,N]  begin a new file at that size, or at SIGHUP: FILE.0.fxt,\n"
	"                         FILE.1.fxt, ...; keep the last N\n"
	"      --json             the summary as JSON, on standard output\n"
	"  -h, --help             this\n"
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

	while ((opt = getopt_long(argc, argv, "o:d:h", attach_options, NULL)) != -1) {
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
	"Writes what a circular session holds at this moment to a file. The session goes\n"
	"on, nothing is taken out of it, and who is recorded is not disturbed.\n"
	"\n"
	"  -o, --output FILE  write the trace there; - is standard output\n"
	"                     (default: trace.fxt)\n"
	"      --json         the summary as JSON, on standard output\n"
	"  -h, --help         this\n"
	"\n"
	"Examples:\n"
	"  asynctrace session snapshot -o what-led-to-it.fxt flight\n";

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

	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
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
