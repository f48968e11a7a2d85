// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record --slower-than: options and summary */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/record.h"
#include "report/choose.h"
#include "tool.h"

#define WINDOW_DEFAULT	(64ULL << 20)
#define WINDOW_MAX	(8ULL << 30)	/* words have 32-bit numbers */
#define BEFORE_MAX	3600000000000ULL

/* Parses a bound such as "http/request>50ms". */
bool record_take_slower(struct recorder *r, const char *text)
{
	struct record_slow *s = &r->opt.slow;
	const char *time = strrchr(text, '>');
	size_t len = time ? (size_t)(time - text) : 0;
	struct tail_bound *b = &s->bounds[s->nr];

	if (s->nr == RECORD_BOUNDS_MAX) {
		tool_error("--slower-than can be given at most %d times", RECORD_BOUNDS_MAX);
		return false;
	}
	if (!len || len >= sizeof(s->types[0]) || !choose_time(time + 1, &b->ns)) {
		tool_error("'%s' does not define slow operations: write TYPE>TIME in quotes, such as 'http/request>50ms' or '*>1s'; TYPE has 1 to %zu bytes, and TIME is from 0ns to below " CHOOSE_TIME_LIMIT ", in ns, us, ms or s",
			   tool_text(text), sizeof(s->types[0]) - 1);
		return false;
	}
	memcpy(s->types[s->nr], text, len);
	s->types[s->nr][len] = '\0';
	b->type = s->types[s->nr++];
	b->text = text;
	return true;
}

bool record_take_before(struct recorder *r, const char *text)
{
	r->opt.slow.has_before = true;
	if (choose_time(text, &r->out.slow.before) && r->out.slow.before <= BEFORE_MAX)
		return true;
	tool_error("--before takes a time from 0ns to %llus, in ns, us, ms or s, such as 10ms or 1.5s, not '%s'",
		   BEFORE_MAX / 1000000000, tool_text(text));
	return false;
}

bool record_take_window(struct recorder *r, const char *text)
{
	if (tool_parse_size(text, &r->out.slow.window) && r->out.slow.window >= TAIL_WINDOW_MIN &&
	    r->out.slow.window <= WINDOW_MAX)
		return true;
	tool_error("--window takes a size from %s to %s, not '%s'", tool_short_size(TAIL_WINDOW_MIN),
		   tool_short_size(WINDOW_MAX), tool_text(text));
	return false;
}

bool record_check_slower(struct recorder *r)
{
	struct tail_options *o = &r->out.slow;

	if (!r->opt.slow.nr && (r->opt.slow.has_before || o->window)) {
		tool_error("%s applies to the records that --slower-than keeps: add --slower-than TYPE>TIME",
			   o->window ? "--window" : "--before");
		return false;
	}
	if (!r->opt.slow.nr)
		return true;
	if (r->out.numbered || r->out.max_size) {
		tool_error("--slower-than and %s exclude each other: the size of the file is known too late; --slower-than with a longer time makes a smaller file",
			   r->out.numbered ? "--rotate" : "--max-size");
		return false;
	}
	if (r->opt.snapshots) {
		tool_error("--slower-than and --trigger ALERT:snapshot exclude each other: a snapshot has all records; drop one of them");
		return false;
	}
	o->bounds = r->opt.slow.bounds;
	o->nr_bounds = r->opt.slow.nr;
	if (!o->window)
		o->window = WINDOW_DEFAULT;
	return true;
}

void record_slow_json(const struct recorder *r, struct json_doc *j)
{
	const struct tail_counts *c = r->out.tail ? tail_counts(r->out.tail) : NULL;

	if (!c)
		return;
	doc_object(j, "slow");
	doc_array(j, "bounds");
	for (size_t i = 0; i < r->opt.slow.nr; i++)
		doc_string(j, NULL, r->opt.slow.bounds[i].text);
	doc_close(j);
	doc_number(j, "before_ns", r->out.slow.before);
	doc_number(j, "window", r->out.slow.window);
	doc_number(j, "operations", c->operations);
	doc_number(j, "incomplete", c->incomplete);
	doc_number(j, "left_out", c->left_out);
	doc_number(j, "long_names", c->long_names);
	doc_number(j, "hasty", c->hasty);
	doc_number(j, "late", c->late);
	doc_number(j, "unnamed", c->unnamed);
	doc_number(j, "trimmed", c->trimmed);
	doc_close(j);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void record_slow_summary(const struct recorder *r, uint64_t filtered)
{
	const struct tail_counts *c = r->out.tail ? tail_counts(r->out.tail) : NULL;
	uint64_t old;

	if (!c)
		return;
	old = c->left_out - c->long_names;
	fprintf(stderr, "  %s slow operation%s", tool_count(c->operations), plural(c->operations));
	for (size_t i = 0; i < r->opt.slow.nr; i++)
		fprintf(stderr, "%s%s", i ? ", " : " (", tool_text(r->opt.slow.bounds[i].text));
	fprintf(stderr, "); %s record%s that they do not need %s filtered out.\n",
		tool_count(filtered), plural(filtered), filtered == 1 ? "was" : "were");
	if (c->incomplete)
		fprintf(stderr, "  %s of them had not ended.\n", tool_count(c->incomplete));
	if (old)
		fprintf(stderr, "  %s slow operation%s began before the oldest records in memory, and %s left out; use a larger --window.\n",
			tool_count(old), plural(old), old == 1 ? "was" : "were");
	if (c->long_names)
		fprintf(stderr, "  %s slow operation%s %s left out, because category and name do not fit into a record; use shorter names.\n",
			tool_count(c->long_names), plural(c->long_names),
			c->long_names == 1 ? "was" : "were");
	if (c->hasty)
		fprintf(stderr, "  %s slow operation%s may lack records, because the window was too small or names were too long; use a larger --window or shorter names.\n",
			tool_count(c->hasty), plural(c->hasty));
	if (c->late)
		fprintf(stderr, "  %s record%s came too late to be sorted: the file may lack records; use a larger --window.\n",
			tool_count(c->late), plural(c->late));
	if (c->unnamed)
		fprintf(stderr, "  There was no room for %s more different names: operations may have been mixed up; use a larger --window.\n",
			tool_count(c->unnamed));
	if (c->trimmed)
		fprintf(stderr, "  %s argument%s did not fit behind %s names, and %s left out.\n",
			tool_count(c->trimmed), plural(c->trimmed), c->trimmed == 1 ? "its event's" : "their events'",
			c->trimmed == 1 ? "was" : "were");
}
