// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a trace for commands: options, filters, messages, exit statuses */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "choose.h"
#include "fxt/print.h"
#include "source.h"
#include "tool.h"

static void on_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct source *s = arg;
	const bool end = fxt_rules[rule].excuse == FXT_EXCUSE_END;
	const bool first = !end && !s->damaged, last = fxt_broke_off(s->reader);

	if (fxt_is_understood(rule))
		return;
	s->incomplete |= end;
	s->damaged |= !end;
	/* Report the first damage, and what ends the reading: asynctrace validate lists all. */
	if ((!first && !last && !end) || s->told == s->path)
		return;
	fprintf(stderr, "asynctrace %s: %s: ", tool_name, tool_text(s->path));
	fxt_print_breach(stderr, rule, offset, detail);
	fputs(end ? "; the analysis covers the records up to there\n" : last ?
	      "; what follows cannot be read, and the analysis covers the records up to there; asynctrace validate lists all errors\n" :
	      "; the analysis covers the other records; asynctrace validate lists all errors\n", stderr);
}

static uint64_t time_of(const struct source *s, const struct source_time *t)
{
	return t->ns + (t->absolute ? 0 : analysis_totals(s->analysis)->begin);
}

bool source_in_time(const struct source *s, uint64_t ns)
{
	const struct source_filter *f = &s->filter;

	return (!f->from.given || ns >= time_of(s, &f->from)) &&
	       (!f->to.given || ns < time_of(s, &f->to));
}

static bool wanted_begin(const struct source *s, const struct analysis_id *id, uint64_t ns)
{
	const struct source_filter *f = &s->filter;

	return source_in_time(s, ns) && (!f->type || choose_type(f->type, id)) &&
	       (!f->provider || !strcmp(f->provider, id->provider)) &&
	       (!f->category || !strcmp(f->category, id->category));
}

static bool wanted(const struct source *s, const struct analysis_operation *op)
{
	const struct source_filter *f = &s->filter;
	uint64_t latency = op->end - op->begin;

	return wanted_begin(s, &op->id, op->begin) && latency >= f->min_ns &&
	       (!f->has_max || latency <= f->max_ns);
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	struct source *s = arg;

	return wanted(s, op) ? s->rows.operation(s->rows.arg, op) : 0;
}

/* Intervals and paths take most of the time, so the analysis makes only those that rows need. */
static bool on_whole(void *arg, const struct analysis_operation *op)
{
	struct source *s = arg;

	return wanted(s, op) && (!s->rows.whole || s->rows.whole(s->rows.arg, op));
}

static int on_loss(void *arg, const struct analysis_loss *loss)
{
	struct source *s = arg;

	return s->rows.loss(s->rows.arg, loss);
}

static int on_thread(void *arg, const struct analysis_thread_row *row)
{
	struct source *s = arg;

	return s->rows.thread(s->rows.arg, row);
}

static int on_wakeup(void *arg, const struct analysis_wakeup *wakeup)
{
	struct source *s = arg;

	return source_in_time(s, wakeup->ns) ? s->rows.wakeup(s->rows.arg, wakeup) : 0;
}

static int on_wait(void *arg, const struct analysis_wait *wait)
{
	struct source *s = arg;

	return source_in_time(s, wait->from) ? s->rows.wait(s->rows.arg, wait) : 0;
}

static int on_turn(void *arg, const struct analysis_turn *turn)
{
	struct source *s = arg;

	return s->rows.turn(s->rows.arg, turn);
}

static int on_begin(void *arg, const struct analysis_begin *begin)
{
	struct source *s = arg;

	return wanted_begin(s, &begin->id, begin->ns) ? s->rows.begin(s->rows.arg, begin) : 0;
}

static int on_orphan(void *arg, const struct analysis_orphan *orphan)
{
	struct source *s = arg;

	return source_in_time(s, orphan->ns) ? s->rows.orphan(s->rows.arg, orphan) : 0;
}

static int on_region(void *arg, const struct analysis_region *region)
{
	struct source *s = arg;

	return source_in_time(s, region->from) ? s->rows.region(s->rows.arg, region) : 0;
}

/*
 * Does not filter by time, because --from counts from the trace's begin, which is known only at the
 * end. Reports of logs filter when they are printed.
 */
static int on_note(void *arg, const struct analysis_note *note)
{
	struct source *s = arg;

	return s->rows.note(s->rows.arg, note);
}

bool source_filters_operations(const struct source *s)
{
	const struct source_filter *f = &s->filter;

	return f->type || f->provider || f->category || source_filters_latency(s);
}

bool source_filters_latency(const struct source *s)
{
	return s->filter.min_ns || s->filter.has_max;
}

bool source_filters_time(const struct source *s)
{
	return s->filter.from.given || s->filter.to.given;
}

bool source_filters(const struct source *s)
{
	return source_filters_operations(s) || source_filters_time(s);
}

static bool parse_moment(const char *text, struct source_time *t)
{
	t->given = true;
	t->absolute = tool_parse_number(text, &t->ns);
	return t->absolute || choose_time(text, &t->ns);
}

int source_option(struct source *s, int opt, char *arg)
{
	uint64_t number;

	switch (opt) {
	case 'T':
		s->filter.type = arg;
		return 0;
	case 'P':
		s->filter.provider = arg;
		return 0;
	case 'C':
		s->filter.category = arg;
		return 0;
	case 'M':
	case 'X':
		s->filter.has_max |= opt == 'X';
		if (choose_time(arg, opt == 'M' ? &s->filter.min_ns : &s->filter.max_ns))
			return 0;
		tool_error("%s takes a time from 0ns to below " CHOOSE_TIME_LIMIT ", in ns, us, ms or s, such as 50ms or 1.5s, not '%s'",
			   opt == 'M' ? "--min" : "--max", tool_text(arg));
		return -1;
	case 'F':
	case 'O':
		if (parse_moment(arg, opt == 'F' ? &s->filter.from : &s->filter.to))
			return 0;
		tool_error("%s takes a time of the trace, not '%s': write a number and ns, us, ms or s, such as 1.5s, for the "
			   "time since its begin, from 0ns to below " CHOOSE_TIME_LIMIT ", or a number of ns alone, from 0 to %" PRIu64,
			   opt == 'F' ? "--from" : "--to", tool_text(arg), UINT64_MAX);
		return -1;
	case 'Q':
		s->pair = arg;
		return 0;
	case 'K':
		s->key = arg;
		return 0;
	case 'W':
		if (tool_parse_number(arg, &number) && number && number <= UINT32_MAX) {
			s->opts.window = number;
			return 0;
		}
		tool_error("--window takes a number of records from 1 to %u, not '%s'", UINT32_MAX,
			   tool_text(arg));
		return -1;
	case 'H':
		if (tool_parse_number(arg, &number) && number && number <= UINT32_MAX) {
			s->opts.history = number;
			return 0;
		}
		tool_error("--history takes a number of states from 1 to %u, not '%s'", UINT32_MAX,
			   tool_text(arg));
		return -1;
	default:
		return 1;
	}
}

/*
 * Returns the only single colon in @text, or NULL. "::" is part of a name and does not count.
 */
static const char *single_colon(const char *text)
{
	const char *found = NULL;

	for (; *text; text += strspn(text, ":") ? strspn(text, ":") : 1) {
		if (strspn(text, ":") != 1)
			continue;
		if (found)
			return NULL;
		found = text;
	}
	return found;
}

/*
 * Fills in @pair, whose .start the caller must free. Returns 0, or an exit status after a
 * message.
 */
static int parse_pair(struct source *s, struct analysis_pair *pair)
{
	const char *colon;
	char *start;

	if (!s->pair != !s->key) {
		tool_error("--pair and --key belong together: the events, and the argument that joins them");
		return TOOL_USAGE;
	}
	s->opts.pair = NULL;
	if (!s->pair)
		return TOOL_OK;
	colon = single_colon(s->pair);
	if (!colon || colon == s->pair || !colon[1]) {
		tool_error("'%s' is not a pair: name two events, such as take:give or app/take:app/give",
			   tool_text(s->pair));
		return TOOL_USAGE;
	}
	start = strndup(s->pair, colon - s->pair);
	if (!start) {
		tool_error("not enough memory for the analysis");
		return TOOL_USAGE;
	}
	*pair = (struct analysis_pair){
		.name = s->pair, .start = start, .done = colon + 1, .key = s->key,
	};
	s->opts.pair = pair;
	return TOOL_OK;
}

/*
 * Feeds all records of the trace to s->analysis. Returns 0, or an exit status after a message.
 */
static int read_all(struct source *s)
{
	struct fxt_record rec;
	struct fxt_reader *r;
	int err, failed = 0;

	s->reader = r = fxt_open(s->path, &err);
	if (!r) {
		tool_cannot_read(s->path, fxt_error_text(err));
		return TOOL_USAGE;
	}
	s->damaged = false;
	s->incomplete = false;
	fxt_on_breach(r, on_breach, s);
	/*
	 * Arguments of events are needed only for pairs, for notes, for reports of records, and in
	 * files of slow operations. Such a file begins with a mark. At the mark, the loop below
	 * turns the arguments on again.
	 */
	if (!s->pair && !s->rows.note && !s->record)
		fxt_without_args(r);
	while ((err = fxt_next(r, &rec)) > 0 && !failed) {
		failed = analysis_record(s->analysis, &rec);
		if (!failed && s->record)
			failed = s->record(s->rows.arg, &rec);
		if (analysis_totals(s->analysis)->selection)
			fxt_with_args(r);
	}
	fxt_close(r);
	s->told = s->path;
	if (!failed)
		failed = analysis_finish(s->analysis);
	if (failed) {
		tool_error("%s cannot be analysed: %s", tool_text(s->path), strerror(-failed));
		return TOOL_USAGE;
	}
	if (err >= 0)
		return TOOL_OK;
	tool_error("reading %s failed: %s; the analysis covers the records before", tool_text(s->path),
		   fxt_error_text(err));
	s->unreadable = true;
	return TOOL_OK;
}

bool source_is_stream(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") ||
	       (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Reads the trace, and reads it again if records come too late. Returns 0 or an exit status. */
static int read_trace(struct source *s)
{
	struct analysis_sink sink = {
		.operation = s->rows.operation ? on_operation : NULL, .whole = on_whole,
		.loss = s->rows.loss ? on_loss : NULL,
		.thread = s->rows.thread ? on_thread : NULL,
		.wakeup = s->rows.wakeup ? on_wakeup : NULL,
		.wait = s->rows.wait ? on_wait : NULL,
		.turn = s->rows.turn ? on_turn : NULL,
		.begin = s->rows.begin ? on_begin : NULL,
		.orphan = s->rows.orphan ? on_orphan : NULL,
		.region = s->rows.region ? on_region : NULL,
		.note = s->rows.note ? on_note : NULL, .arg = s,
	};
	struct analysis *again;
	int status;

	analysis_free(s->analysis);
	s->analysis = analysis_new(&s->opts, &sink);
	if (!s->analysis) {
		tool_error("not enough memory for the analysis");
		return TOOL_USAGE;
	}
	status = read_all(s);
	if (status || !analysis_totals(s->analysis)->late || source_is_stream(s->path))
		return status;
	/* Rows around late records are wrong, so drop all rows. */
	s->restart(s->rows.arg);
	again = analysis_again(s->analysis);
	if (!again) {
		tool_error("not enough memory to sort the records of %s by time", tool_text(s->path));
		return TOOL_USAGE;
	}
	s->analysis = again;
	return read_all(s);
}

/* Returns false after a message if no row can be within the bounds. */
static bool bounds_fit(const struct source *s)
{
	const struct source_filter *f = &s->filter;

	if (f->has_max && f->min_ns > f->max_ns)
		tool_error("no operation can take longer than --min and shorter than --max: swap them");
	else if (f->from.given && f->to.given && f->from.absolute == f->to.absolute &&
		 f->from.ns >= f->to.ns)
		tool_error("no time is between --from and --to: the first one must be earlier");
	else
		return true;
	return false;
}

int source_read(struct source *s)
{
	struct analysis_pair pair = { 0 };
	int status = bounds_fit(s) ? parse_pair(s, &pair) : TOOL_USAGE;

	if (status)
		return status;
	status = read_trace(s);
	free((char *)pair.start);
	return status;
}

bool source_says_none(const struct source *s, const char *log_text)
{
	const struct source_filter *f = &s->filter;
	const struct analysis_totals *t = analysis_totals(s->analysis);
	const struct {
		const char *option;
		bool given;
	} of[] = {
		{ "--type", f->type }, { "--provider", f->provider }, { "--category", f->category },
		{ "--min", f->min_ns }, { "--max", f->has_max }, { "--from", f->from.given },
		{ "--to", f->to.given }, { "--log", log_text },
	};
	char list[128] = "";

	if (s->pair && !t->complete && !t->incomplete) {
		tool_error("%s has no event that --pair names as the first one, with an argument '%s'",
			   tool_text(s->path), tool_text(s->key));
		return true;
	}
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		if (!of[i].given)
			continue;
		strcat(list, *list ? ", " : "");
		strcat(list, of[i].option);
	}
	if (*list)
		tool_error("nothing is chosen by %s in %s, which lasts %.6f s and has this number of operations: %s",
			   list, tool_text(s->path),
			   t->end > t->begin ? (t->end - t->begin) / 1e9 : 0,
			   tool_count(t->complete + t->incomplete));
	return *list;
}

void source_limits(const struct source *s)
{
	const struct analysis_totals *t = analysis_totals(s->analysis);

	if (t->selection)
		tool_error("%s has only the records of slow operations, which asynctrace record --slower-than chose: %s; other operations are context and not counted: %s",
			   tool_text(s->path), tool_count(t->complete + t->incomplete),
			   tool_count(t->context));
	if (s->scheduled && !t->scheduled && t->complete)
		tool_error("%s has no scheduling records, so running, runnable and blocked time is unknown; "
			   "asynctrace record --sched targets records it, ASYNCTRACE_OUT does not", tool_text(s->path));
	if (t->unreal)
		tool_error("operations are left out, because they begin on threads with ids above %u, the largest of Linux: %s",
			   FXT_TID_REAL_MAX, tool_count(t->unreal));
	if (t->unkeyed)
		tool_error("events of the pair have no argument '%s' that is an integer or a text: %s",
			   tool_text(s->key), tool_count(t->unkeyed));
	if (t->lost)
		tool_error("records were dropped or overwritten: %s; the time around them is unknown; if a buffer was too small, use a larger one: record --buffer-size, ASYNCTRACE_BUFFER_SIZE with ASYNCTRACE_OUT, or the arguments of at_flight_start(3)",
			   tool_count(t->lost));
	if (t->filled)
		tool_error("buffers of programs were full and lost records: %s; the trace does not tell when, so any answer may be wrong",
			   tool_count(t->filled));
	if (t->malformed)
		tool_error("records of programs were malformed and left out: %s; the time around them is unknown",
			   tool_count(t->malformed));
	if (t->stopped_ns)
		tool_error("the session was stopped and started again: nothing was recorded for %.6f s, and the time around is unknown",
			   t->stopped_ns / 1e9);
	if (t->deep)
		tool_error("durations are left out, because more than %d others of their thread were open around them: %s",
			   ANALYSIS_DEPTH_MAX, tool_count(t->deep));
	if (t->crowded)
		tool_error("operations had %d newer ones of the same id open: %s; threads that worked on them may be missing; give operations that are open at once different ids",
			   ANALYSIS_SAME_ID_MAX, tool_count(t->crowded));
	if (t->cut)
		tool_error("the beginning of long operations was not kept in memory: %s; their time there is unknown; use a larger --history",
			   tool_count(t->cut));
	if (t->late)
		tool_error("records came too late to be put in order of time: %s; the answer is partial; %s",
			   tool_count(t->late),
			   source_is_stream(s->path) ?
			   "write the trace to a file, which can be read twice, or use a larger --window" :
			   "use a larger --window");
}

int source_status(const struct source *s)
{
	if (s->unreadable)
		return TOOL_USAGE;
	if (s->damaged)
		return TOOL_FAILED;
	return s->incomplete ? TOOL_INCOMPLETE : TOOL_OK;
}

void source_close(struct source *s)
{
	analysis_free(s->analysis);
	s->analysis = NULL;
}
