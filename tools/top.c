// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace top: shows operations while they run */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "report/source.h"
#include "report/terminal.h"
#include "tool.h"
#include "top/feed.h"
#include "top/plain.h"
#include "top/screen.h"

static const char usage[] =
	"usage: asynctrace top [OPTION...] [FILE]\n"
	"\n"
	"Shows operations while they run, twice a second: their rate and latency, their time\n"
	"in each state, and the operations that are open, with the reason.\n"
	"top makes a session, as record does, but writes no file. FILE is a trace that is being\n"
	"written to a pipe, or a finished trace, whose end is shown; - is standard input. The\n"
	"key ? lists the keys.\n"
	"\n"
	SESSION_OPTIONS_HELP
	"      --follow            with --pid: also the descendants of these processes\n"
	"      --attach SESSION    read this streaming session; each record is read once\n"
	"      --batch             print text instead of a screen; a finished FILE once\n"
	"      --json              with --batch: print one JSON object on each line\n"
	"      --count N           with --batch: print that many times, then stop\n"
	"      --interval SECONDS  time between two updates (default: 0.5)\n"
	"      --sort COLUMN       rate (default), p50, p99, max, running, runnable, blocked,\n"
	"                          queued, unknown, or name\n"
	"      --filter TEXT       only types and providers with this text in their names\n"
	"      --since-start       show numbers since the start, not of the last 10 seconds\n"
	"      --memory SIZE       restart the analysis if it takes more (default: 512M)\n"
	"  -h, --help              print this text\n"
	"\n"
	"Exit status: 0; 1 if the session fails, the trace is damaged, or the output cannot be\n"
	"written; 2 for wrong usage, and if FILE cannot be read; 3 if the end of the trace is\n"
	"missing.\n"
	"\n"
	"Examples:\n"
	"  asynctrace top\n"
	"  asynctrace top --providers httpd --sched all\n"
	"  ssh server asynctrace record -o - | asynctrace top -\n"
	"  asynctrace top --batch --json --count 10 --interval 1 | jq .types\n"
	"  asynctrace top --batch trace.fxt\n";

#define MEMORY_MIN	(64ull << 20)

enum {
	OPT_ATTACH = SESSION_OPT_END,
	OPT_BATCH,
	OPT_JSON,
	OPT_COUNT,
	OPT_INTERVAL,
	OPT_SORT,
	OPT_FILTER,
	OPT_SINCE_START,
	OPT_MEMORY,
};

struct top {
	struct feed feed;
	struct live live;
	struct screen screen;
	struct snapshot *snapshot;
	bool batch, json, chooses;	/* chooses: options of a new session were given */
	bool cut;			/* a part of the last update was not printed */
	uint64_t count;			/* 0: no limit */
	uint64_t interval;		/* ns */
	uint64_t next;			/* CLOCK_BOOTTIME of the next update */
	int signals;
};

/* --- options ------------------------------------------------------------------------- */

static bool take_interval(struct top *t, const char *text)
{
	char *end;
	const double seconds = strtod(text, &end);

	if (end != text && !*end && seconds >= 0.05 && seconds <= 3600) {
		t->interval = seconds * 1e9;
		return true;
	}
	tool_error("--interval takes seconds from 0.05 to 3600, not '%s'", tool_text(text));
	return false;
}

static bool take_filter(struct view *v, const char *text)
{
	if (strlen(text) <= FILTER_MAX) {
		strcpy(v->filter, text);
		return true;
	}
	tool_error("--filter takes at most %d bytes", FILTER_MAX);
	return false;
}

static bool take_sort(struct view *v, const char *text)
{
	if (view_take_sort(v, text))
		return true;
	tool_error("there is no column '%s'; use rate, p50, p99, max, running, runnable, blocked, queued, unknown or name",
		   tool_text(text));
	return false;
}

static bool take_memory(struct top *t, const char *text)
{
	if (tool_parse_size(text, &t->live.memory) && t->live.memory >= MEMORY_MIN)
		return true;
	tool_error("--memory takes a size from %s to 2^64 - 1 bytes, not '%s'",
		   tool_short_size(MEMORY_MIN), tool_text(text));
	return false;
}

static bool take_option(struct top *t, int opt)
{
	switch (opt) {
	case OPT_ATTACH:
		t->feed.attach = optarg;
		return true;
	case OPT_BATCH:
		t->batch = true;
		return true;
	case OPT_JSON:
		t->json = true;
		return true;
	case OPT_COUNT:
		if (tool_parse_number(optarg, &t->count) && t->count)
			return true;
		tool_error("--count takes a number from 1 to %" PRIu64 ", not '%s'", UINT64_MAX,
			   tool_text(optarg));
		return false;
	case OPT_INTERVAL:
		return take_interval(t, optarg);
	case OPT_SORT:
		return take_sort(&t->screen.view, optarg);
	case OPT_FILTER:
		return take_filter(&t->screen.view, optarg);
	case OPT_SINCE_START:
		t->screen.view.since_start = true;
		return true;
	case OPT_MEMORY:
		return take_memory(t, optarg);
	case '?':
		fputs("Try 'asynctrace top --help'.\n", stderr);
		return false;
	case 'm':
		tool_error("top needs --mode streaming, because it reads its session while that runs");
		return false;
	default:
		t->chooses = true;
		return session_args_take(&t->feed.args, opt, optarg);
	}
}

static bool check_options(struct top *t, int argc, char **argv)
{
	const struct feed *f = &t->feed;

	if (argc > optind + 1) {
		tool_error("too many arguments: name one trace");
		return false;
	}
	t->feed.path = argv[optind];
	if ((f->path || f->attach) && t->chooses) {
		tool_error("%s is recorded already: remove the options that choose what to record",
			   f->path ? "a trace" : "a session with --attach");
		return false;
	}
	if (f->path && f->attach) {
		tool_error("--attach and FILE exclude each other: use one of them");
		return false;
	}
	if (f->args.follow && !f->args.nr_pids) {
		tool_error("--follow needs --pid, whose descendants to record");
		return false;
	}
	if ((t->json || t->count) && !t->batch) {
		tool_error("%s needs --batch", t->json ? "--json" : "--count");
		return false;
	}
	return true;
}

/* Returns an exit status, or -1 to continue. */
static int options(struct top *t, int argc, char **argv)
{
	static const struct option list[] = {
		SESSION_LONG_OPTIONS,
		{ "attach", required_argument, NULL, OPT_ATTACH },
		{ "batch", no_argument, NULL, OPT_BATCH },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "count", required_argument, NULL, OPT_COUNT },
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "filter", required_argument, NULL, OPT_FILTER },
		{ "since-start", no_argument, NULL, OPT_SINCE_START },
		{ "memory", required_argument, NULL, OPT_MEMORY },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = tool_getopt(argc, argv, "h" SESSION_SHORT_OPTIONS, list)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return TOOL_OK;
		}
		if (!take_option(t, opt))
			return TOOL_USAGE;
	}
	return check_options(t, argc, argv) ? -1 : TOOL_USAGE;
}

/* --- running ----------------------------------------------------------------------------- */

static int open_signals(struct top *t)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction fallback = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaddset(&set, ends[i]);
		/*
		 * Undo an inherited SIG_IGN, because signalfd() gets no ignored signals.
		 * Background jobs of a shell inherit it.
		 */
		sigaction(ends[i], &fallback, NULL);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? -errno : 0;
}

static bool interrupted(const struct top *t)
{
	struct signalfd_siginfo info;

	return read(t->signals, &info, sizeof(info)) > 0;
}

static const char *source_name(const struct top *t)
{
	if (t->feed.path)
		return strcmp(t->feed.path, "-") ? t->feed.path : "standard input";
	return t->feed.attach ? t->feed.attach : t->feed.args.name;
}

/* Explains why the selected or the oldest open operation takes so long. */
static void explain(struct top *t)
{
	struct screen *sc = &t->screen;
	const struct open_operation *op = screen_selected(sc, t->snapshot);
	size_t len;
	FILE *f;

	free(sc->explanation);
	sc->explanation = NULL;
	if (!op || !sc->explains)
		return;
	f = open_memstream(&sc->explanation, &len);
	if (!f)
		return;
	if (!live_explain(&t->live, op, f))
		fputs(op->begin >= t->live.tally.now ?
		      "It has just begun: the records of all CPUs are not complete yet." :
		      "It has ended meanwhile, or began before the analysis.", f);
	fclose(f);
}

static void apply(struct top *t)
{
	view_apply(&t->screen.view, t->snapshot);
	if (t->batch)
		return;
	explain(t);
	screen_draw(&t->screen, t->snapshot);
}

/*
 * Analyses records that were held back for long enough, and shows the result unless the screen is
 * frozen. Returns 0, or a negative errno after a message.
 */
static int update(struct top *t, uint64_t now)
{
	int err = live_settle(&t->live, now);

	if (err)
		return feed_failed(&t->feed, err);
	if (t->screen.frozen)
		return 0;
	snapshot_take(t->snapshot, &t->feed, &t->live, now);
	apply(t);
	return 0;
}

/*
 * Writes to standard output. Its reader may stall, but signals are blocked, and must end the
 * program then, too. So each write is small enough not to block. Returns false after a signal, or
 * if standard output failed, which tool_end() reports.
 */
static bool write_text(struct top *t, const char *text, size_t len)
{
	struct pollfd fds[] = {
		{ .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = t->signals, .events = POLLIN },
	};
	size_t done = 0;

	while (done < len) {
		const size_t part = len - done < PIPE_BUF ? len - done : PIPE_BUF;

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if (!fds[0].revents) {
			t->cut = done;
			return false;
		}
		if (tool_print(text + done, part))
			return false;
		done += part;
	}
	return true;
}

/* Returns 0, 1 to print no more, or a negative errno after a message. */
static int print(struct top *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool failed = !f;

	if (f) {
		(t->json ? plain_json : plain_text)(f, t->snapshot, &t->screen.view,
						    source_name(t));
		failed = fclose(f);
	}
	if (failed) {
		free(text);
		return feed_failed(&t->feed, -ENOMEM);
	}
	failed = !write_text(t, text, len);
	free(text);
	return failed;
}

static void do_keys(struct top *t)
{
	int key;

	while (!t->screen.quit && (key = screen_key()) >= 0) {
		screen_do(&t->screen, t->snapshot, key);
		apply(t);
	}
}

/* Waits for the feed, a key, a signal, or the next update. */
static void wait_for(struct top *t, int state)
{
	struct pollfd fds[] = {
		{ .fd = t->signals, .events = POLLIN },
		{ .fd = t->batch ? -1 : screen_fd(), .events = POLLIN },
		{ .fd = state == FEED_END ? -1 : t->feed.fd, .events = POLLIN },
		{ .fd = state == FEED_END ? -1 : taken_fd(&t->feed.taken), .events = POLLIN },
	};
	const uint64_t now = live_wall();
	int timeout = t->next > now ? (t->next - now) / 1000000 + 1 : 0;

	if (state == FEED_MORE)
		timeout = 0;
	/* Wait without a timeout: after the end, only keys can change the screen. */
	if (state == FEED_END && !t->batch)
		timeout = -1;
	poll(fds, sizeof(fds) / sizeof(fds[0]), timeout);
}

/* True if the source is a finished file, which has only a final state. */
static bool is_finished(const struct top *t)
{
	return t->live.is_file;
}

static bool is_due(const struct top *t, int before, int state, uint64_t now)
{
	if (state == FEED_END)
		return before != FEED_END;
	return now >= t->next && !(t->batch && is_finished(t));
}

/* Shows the current state. Returns 1 after the last time, 0 otherwise, or a negative errno. */
static int show(struct top *t, int state, uint64_t now)
{
	int err = update(t, now);

	t->next = now + t->interval;
	if (!err && t->batch)
		err = print(t);
	if (err || !t->batch)
		return err;
	return state == FEED_END || (t->count && !--t->count);
}

/*
 * Runs until the user quits, a signal comes, or with --batch, everything was printed. Returns 0, or
 * a negative errno after a message.
 */
static int loop(struct top *t)
{
	int state = FEED_NOTHING, before, err = 0;

	while (!err && !t->screen.quit && !interrupted(t)) {
		const uint64_t now = live_wall();

		before = state;
		if (state != FEED_END)
			state = t->feed.take(&t->feed, &t->live);
		if (state < 0)
			return state;
		if (state != FEED_END)
			err = feed_bound(&t->feed, &t->live);
		if (!err && !t->batch)
			do_keys(t);
		if (!err && is_due(t, before, state, now))
			err = show(t, state, now);
		if (!err && !t->screen.quit)
			wait_for(t, state);
	}
	return err < 0 ? err : 0;
}

/* Returns 0, or an exit status after a message. */
static int open_all(struct top *t)
{
	int err = open_signals(t);

	if (err) {
		tool_error("cannot take signals: %s", strerror(-err));
		return TOOL_FAILED;
	}
	/* A message about damage would spoil the screen, which says DAMAGED itself. */
	if (t->batch && t->feed.path)
		t->live.path = source_name(t);
	if (feed_open(&t->feed, &t->live))
		return t->feed.path ? TOOL_USAGE : TOOL_FAILED;
	err = live_open(&t->live);
	if (err) {
		feed_failed(&t->feed, err);
		return TOOL_FAILED;
	}
	return !t->batch && screen_open() ? TOOL_USAGE : 0;
}

static int run(struct top *t)
{
	int status = open_all(t), err;

	if (status)
		return status;
	t->live.own_clock = !t->feed.path;
	t->screen.source = source_name(t);
	/* Show the numbers of a whole finished file: its last seconds have no special meaning. */
	t->screen.view.since_start |= is_finished(t);
	t->next = live_wall() + (t->batch ? t->interval : 0);
	err = loop(t);
	if (!t->batch)
		screen_close();
	if (err)
		return t->feed.path ? TOOL_USAGE : TOOL_FAILED;
	if (t->cut) {
		tool_error("a signal came while the reader of standard output stalled: the end of the last update is missing");
		return TOOL_FAILED;
	}
	return t->live.damaged ? TOOL_FAILED : t->live.incomplete ? TOOL_INCOMPLETE : TOOL_OK;
}

int top_main(int argc, char **argv)
{
	static char name[32];
	struct top *t = calloc(1, sizeof(*t));
	int status;

	if (t)
		t->snapshot = calloc(1, sizeof(*t->snapshot));
	if (!t || !t->snapshot) {
		tool_error("%s", strerror(ENOMEM));
		free(t);
		return TOOL_FAILED;
	}
	session_args_init(&t->feed.args);
	t->feed.args.name = name;
	snprintf(name, sizeof(name), "top-%d", (int)getpid());
	t->interval = 500000000;
	t->live.memory = LIVE_MEMORY;
	status = options(t, argc, argv);
	if (status < 0) {
		/* The screen shows what the locale has, but text is UTF-8 in all locales. */
		if (t->batch)
			terminal_init();
		else
			setlocale(LC_CTYPE, "");
		status = run(t);
		feed_close(&t->feed);
		live_close(&t->live);
	}
	free(t->screen.explanation);
	free(t->snapshot);
	free(t);
	return status;
}
