// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: the command line */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

static const char usage[] =
	"usage: asynctrace record [OPTION...] [-- CMD ARG...]\n"
	"\n"
	"Records a trace while CMD runs, or without CMD until Ctrl-C.\n"
	"\n"
	"  -o, --output FILE       write the trace to FILE; - is standard output;\n"
	"                          FILE.zst and FILE.gz are compressed\n"
	"                          (default: trace.fxt)\n"
	"  -m, --mode MODE         streaming: write FILE continuously (default);\n"
	"                          circular: keep the last records;\n"
	"                          oneshot: keep the first records\n"
	SESSION_OPTIONS_HELP
	"      --follow            record only CMD and its descendants; with --pid: also\n"
	"                          the descendants of these processes\n"
	"      --max-size SIZE     stop when FILE reaches this size\n"
	"      --rotate SIZE[,N]   begin a new file at this size, or at SIGHUP: FILE.0.fxt,\n"
	"                          FILE.1.fxt, ...; keep the last N files\n"
	"  -d, --duration SECONDS  stop after this time; CMD continues\n"
	"  -n, --name NAME         name of the session (default: record-PID)\n"
	"  -e, --event LIST        events of these tracepoints of the kernel, too: SYSTEM:EVENT\n"
	"                          separated by commas; 'block:*' are all of block. Only of\n"
	"                          the command's and the providers' threads, unless -s all.\n"
	"                          SYSTEM:EVENT/operation=FIELD/: this field has the id of\n"
	"                          the operation to which the event belongs, on any thread\n"
	"  -k, --kernel LIST       sets of tracepoints: syscalls, faults, block, irq, reclaim,\n"
	"                          cpu\n"
	"      --slower-than TYPE>TIME\n"
	"                          keep only the records that slower operations need, as in\n"
	"                          'http/request>50ms'; may be repeated\n"
	"      --before TIME       also keep what their threads did TIME before (default: 0ms)\n"
	"      --window SIZE       memory for records of undecided operations (default: 64M)\n"
	"      --cpu-time          add to each duration how long its thread had a CPU\n"
	"      --trigger ALERT:DO  when a program raises ALERT: stop, or, in circular mode,\n"
	"                          write a snapshot to FILE.0.fxt, FILE.1.fxt, ...\n"
	"      --json              print the summary as JSON on standard output\n"
	"  -h, --help              print this text\n"
	"\n"
	"Exit status: with CMD, that of CMD (128 + N if signal N ended it), or 125 if\n"
	"the recorder failed, 126 if CMD cannot be executed, 127 if it is not\n"
	"found. Without CMD: 0, 1 if recording failed, 2 for wrong usage.\n"
	"\n"
	"While CMD runs, Ctrl-C, Ctrl-\\ and SIGTERM go to CMD; given twice, they end\n"
	"the recording. FILE is always a valid trace. If the disk is full or the\n"
	"recorder is killed, the end is missing, which dump and validate report.\n"
	"In modes circular and oneshot, a killed recorder leaves no records: use\n"
	"asynctrace session create and snapshot for records that must survive it.\n"
	"\n"
	"Examples:\n"
	"  asynctrace record -d 10\n"
	"  asynctrace record -o t.fxt -c http,disk -- ./server --port 8080\n"
	"  asynctrace record --mode circular --buffer-size 8M    the last records\n"
	"                                                        before Ctrl-C\n"
	"  asynctrace record --rotate 100M,10 -o server.fxt      the last gigabyte, for days\n"
	"  asynctrace record --slower-than 'http/request>50ms' --before 10ms -o slow.fxt\n"
	"  asynctrace record -e 'block:*' -k faults -- ./server\n"
	"  asynctrace record -e mydriver:complete/operation=cookie/ -- ./server\n"
	"  asynctrace record -o - -d 5 | zstd > t.fxt.zst\n";

enum {
	OPT_MAX_SIZE = SESSION_OPT_END,
	OPT_ROTATE,
	OPT_TRIGGER,
	OPT_SLOWER,
	OPT_BEFORE,
	OPT_WINDOW,
	OPT_CPU_TIME,
	OPT_JSON,
};

static const struct option options[] = {
	SESSION_LONG_OPTIONS,
	{ "output", required_argument, NULL, 'o' },
	{ "duration", required_argument, NULL, 'd' },
	{ "name", required_argument, NULL, 'n' },
	{ "event", required_argument, NULL, 'e' },
	{ "kernel", required_argument, NULL, 'k' },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "rotate", required_argument, NULL, OPT_ROTATE },
	{ "trigger", required_argument, NULL, OPT_TRIGGER },
	{ "slower-than", required_argument, NULL, OPT_SLOWER },
	{ "before", required_argument, NULL, OPT_BEFORE },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "cpu-time", no_argument, NULL, OPT_CPU_TIME },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

#define SECONDS_LIMIT	1e9	/* of --duration */

bool record_take_seconds(struct record_options *o, const char *text)
{
	char *end;

	o->seconds = strtod(text, &end);
	if (end == text || *end || !(o->seconds > 0 && o->seconds < SECONDS_LIMIT)) {
		tool_error("--duration takes seconds above 0 and below %.0f, such as 10 or 0.5, not '%s'",
			   SECONDS_LIMIT, tool_text(text));
		return false;
	}
	return true;
}

bool record_take_output(struct recorder *r, const char *path)
{
	r->out.path = path;
	if (*path)
		return true;
	tool_error("the output file's name is empty: use -o FILE");
	return false;
}

static bool parse_option(struct recorder *r, int opt)
{
	struct record_options *o = &r->opt;

	switch (opt) {
	case 'o':
		return record_take_output(r, optarg);
	case 'd':
		return record_take_seconds(o, optarg);
	case 'n':
		return session_args_name(&o->args, optarg);
	case 'e':
	case 'k':
		return record_take_tracepoints(o, optarg, opt == 'k');
	case OPT_MAX_SIZE:
		return trace_out_parse_max(&r->out, optarg);
	case OPT_ROTATE:
		return trace_out_parse_rotate(&r->out, optarg);
	case OPT_TRIGGER:
		return record_take_trigger(o, optarg);
	case OPT_SLOWER:
		return record_take_slower(r, optarg);
	case OPT_BEFORE:
		return record_take_before(r, optarg);
	case OPT_WINDOW:
		return record_take_window(r, optarg);
	case OPT_CPU_TIME:
		r->out.cpu_time = true;
		return true;
	case OPT_JSON:
		o->json = true;
		return true;
	case '?':
		fputs("Try 'asynctrace record --help'.\n", stderr);
		return false;
	default:
		return session_args_take(&o->args, opt, optarg);
	}
}

/* Checks combinations of options. */
static bool check_options(struct recorder *r)
{
	const struct session_args *a = &r->opt.args;

	if ((r->out.max_size || r->out.numbered) && a->mode != ASYNCTRACE_MODE_STREAMING) {
		tool_error("%s needs --mode streaming; in %s mode the rings' size is the limit",
			   r->out.numbered ? "--rotate" : "--max-size", tool_mode(a->mode));
		return false;
	}
	if (r->opt.snapshots && a->mode != ASYNCTRACE_MODE_CIRCULAR) {
		tool_error("--trigger %s needs --mode circular", "ALERT:snapshot");
		return false;
	}
	if (r->opt.snapshots && !strcmp(r->out.path, "-")) {
		tool_error("snapshots are files: use -o FILE");
		return false;
	}
	if (a->follow && !r->opt.cmd && !a->nr_pids) {
		tool_error("--follow needs a command or --pid, whose descendants to record");
		return false;
	}
	return record_check_cpu_time(r) && record_check_tracepoints(&r->opt) &&
	       record_check_slower(r) && record_check_output(r);
}

/*
 * True if @path is standard output, under any name such as /dev/stdout. False if both are a device
 * that is not a terminal, such as /dev/null, because two outputs can share it.
 */
static bool is_stdout(const char *path)
{
	struct stat file, out;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &file) || fstat(STDOUT_FILENO, &out) || file.st_dev != out.st_dev ||
	    file.st_ino != out.st_ino)
		return false;
	return !S_ISCHR(out.st_mode) || isatty(STDOUT_FILENO);
}

bool record_check_output(const struct recorder *r)
{
	const char *path = r->out.path;

	if (r->out.numbered && !strcmp(path, "-")) {
		tool_error("standard output cannot be rotated; use -o FILE");
		return false;
	}
	if (r->out.numbered && path[strlen(path) - 1] == '/') {
		tool_error("'%s' is a directory: name a file, to whose name numbers are appended",
			   tool_text(path));
		return false;
	}
	if (!is_stdout(r->out.path))
		return true;
	if (isatty(STDOUT_FILENO)) {
		tool_error("standard output is a terminal, and a trace is binary; use -o FILE or a pipe");
		return false;
	}
	if (r->opt.json)
		tool_error("--json and the trace cannot both be on standard output; use -o FILE");
	return !r->opt.json;
}

int record_main(int argc, char **argv)
{
	static char name[32];
	struct recorder r = {
		.in = -1, .signals = -1, .out = { .path = "trace.fxt", .fd = -1 },
	};
	struct record_options *o = &r.opt;
	int err, opt, status, last = 1;
	bool right = true;

	session_args_init(&o->args);
	o->args.name = name;
	snprintf(name, sizeof(name), "record-%d", (int)getpid());
	while ((opt = tool_getopt(argc, argv, "+o:d:n:e:k:h" SESSION_SHORT_OPTIONS, options)) != -1) {
		if (opt == 'h') {
			tool_help(usage);
			return TOOL_OK;
		}
		/*
		 * Parse on after an error: the exit status depends on whether there is a
		 * command.
		 */
		right = parse_option(&r, opt) && right;
		last = optind;
	}
	if (optind < argc)
		o->cmd = argv + optind;
	/* An empty command after --, as in -- $EMPTY, must not mean all programs. */
	if (right && optind == argc && optind > last) {
		tool_error("there is no command after --: name one, or leave -- out");
		right = false;
	}
	if (!right || !check_options(&r))
		return o->cmd ? RECORD_FAILED : TOOL_USAGE;
	if (o->cmd) {
		status = record_find_command(o);
		if (status)
			return status;
	}

	err = record_all(&r);
	if (err)
		return !o->cmd ? TOOL_FAILED : err > 0 ? err : RECORD_FAILED;
	return o->cmd ? record_exit_status(r.status) : TOOL_OK;
}

int record_all(struct recorder *r)
{
	int err;

	err = record_setup(r);
	if (!err)
		err = record_run(r);
	/*
	 * Recording has ended, even if the command still runs: destroy the session, remove the
	 * ftrace instance and free the memory now.
	 */
	record_free(r);
	record_wait_child(r);
	return err;
}
