// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats a snapshot as lines of text */
#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "fxt/utf8.h"
#include "lines.h"
#include "tool.h"

size_t lines_fit(const char *text, int width, int *columns)
{
	size_t at = 0, left = strlen(text);

	*columns = 0;
	while (left) {
		uint32_t code;
		const size_t n = fxt_char(text + at, left, &code);
		int w = n ? wcwidth(code) : 1;

		/* A character that cannot be printed is shown as '?'. */
		if (w < 0)
			w = 1;
		if (*columns + w > width)
			break;
		*columns += w;
		at += n ? n : 1;
		left -= n ? n : 1;
	}
	return at;
}

/* Prints exactly @width columns of @text. '~' ends a text that is too long. */
static void print_cell(FILE *f, const char *text, int width)
{
	int columns;
	size_t bytes = lines_fit(text, width, &columns);

	if (text[bytes]) {
		bytes = lines_fit(text, width - 1, &columns);
		fprintf(f, "%.*s~", (int)bytes, text);
		columns++;
	} else {
		fputs(text, f);
	}
	fprintf(f, "%*s", width - columns, "");
}

/* Prints milliseconds in at most 8 columns. */
static void print_ms(FILE *f, uint64_t ns)
{
	const double ms = ns / 1e6;

	fprintf(f, " %8.*f", ms < 9999.9995 ? 3 : ms < 999999.95 ? 1 : 0, ms);
}

static void print_share(FILE *f, double share)
{
	const double percent = 100 * share;

	if (percent >= 99.95)
		fputs("  100", f);
	else
		fprintf(f, " %4.1f", percent);
}

/* --- the head ------------------------------------------------------------------------ */

void lines_head(FILE *f, const struct snapshot *s, const struct view *v, const char *source,
		int line)
{
	const double share = snapshot_share(s);

	if (!line) {
		fprintf(f, "asynctrace top: %s", tool_text(source));
		if (s->ended)
			fputs(", ended", f);
		else
			fprintf(f, ", %.1f s delay", s->delay / 1e9);
		fprintf(f, ", %s, by %s", v->since_start ? "since the start" : "last 10 s",
			view_sort_name(v->sort));
		if (v->filter[0])
			fprintf(f, ", only '%s'", tool_text(v->filter));
		return;
	}
	/* Never round up to 100 %: that would hide a single record that was not analysed. */
	fprintf(f, "%s records", tool_count(s->counts.delivered));
	if (!s->ended)
		fprintf(f, ", %s/s", tool_count(s->record_rate));
	if (share == 1)
		fputs(", all analysed", f);
	else
		fprintf(f, ", %.1f %% analysed of %s", share >= 0.9995 ? 99.9 : 100 * share,
			tool_count(snapshot_attempted(s)));
}

void lines_warning(FILE *f, const struct snapshot *s)
{
	const struct at_compose_counts *c = &s->counts;
	const uint64_t lost = snapshot_attempted(s) - c->delivered;
	const char *before = "";

	if (lost || s->losses) {
		fprintf(f, "LOST %s records (%s dropped, %s overwritten, %s malformed",
			tool_count(lost), tool_count(c->dropped), tool_count(c->overwritten),
			tool_count(c->malformed));
		if (c->cleared)
			fprintf(f, ", %s cleared by a later start", tool_count(c->cleared));
		if (c->unwritten)
			fprintf(f, ", %s not analysed", tool_count(c->unwritten));
		fputs("): unknown time", f);
		before = "; ";
	}
	if (s->late) {
		fprintf(f, "%sPARTIAL: %s records came too late", before, tool_count(s->late));
		before = "; ";
	}
	if (s->restarts) {
		fprintf(f, "%sRESTARTED %u times: --memory was too small", before, s->restarts);
		before = "; ";
	}
	if (s->damaged || s->incomplete)
		fprintf(f, "%s%s", before, s->damaged ? "the trace is DAMAGED" :
			"the END of the trace is missing");
}

/* --- types ----------------------------------------------------------------------------- */

void lines_types_title(FILE *f, int width)
{
	print_cell(f, "TYPE", width);
	fprintf(f, " %8s %8s %8s %8s %4s %4s %4s %4s %4s", "RATE/s", "P50 ms", "P99 ms", "MAX ms",
		"RUN%", "WAIT", "BLCK", "QUEU", "UNKN");
}

void lines_type(FILE *f, const struct view *v, const struct type_row *row, int width)
{
	static const enum analysis_state order[] = {
		ANALYSIS_RUNNING, ANALYSIS_RUNNABLE, ANALYSIS_BLOCKED, ANALYSIS_QUEUED,
		ANALYSIS_UNKNOWN,
	};
	const struct numbers *n = view_numbers(v, row);
	char type[TYPE_TEXT_SIZE];

	print_cell(f, tool_text(top_type_text(row->type, type)), width);
	fprintf(f, " %8.*f", row->rate < 99999.95 ? 1 : 0, row->rate);
	if (!n->count) {
		fprintf(f, " %8s %8s %8s %4s %4s %4s %4s %4s", "-", "-", "-", "-", "-", "-", "-", "-");
		return;
	}
	print_ms(f, n->p50);
	print_ms(f, n->p99);
	print_ms(f, n->max);
	for (size_t i = 0; i < ANALYSIS_STATES; i++)
		print_share(f, view_share(n, order[i]));
}

/* --- open operations --------------------------------------------------------------------- */

void lines_open_title(FILE *f, const struct snapshot *s, const struct view *v)
{
	fprintf(f, "OPEN: %s", tool_count(s->nr_open + s->more_open));
	if (s->more_open)
		fprintf(f, ", %s of them not listed", tool_count(s->more_open));
	if (v->nr_open != s->nr_open)
		fprintf(f, ", %s of the filter", tool_count(v->nr_open));
	fputs(", the oldest first", f);
}

void lines_open(FILE *f, const struct open_operation *op, uint64_t age, int width)
{
	char type[TYPE_TEXT_SIZE];

	print_cell(f, tool_text(top_type_text(op->type, type)), width);
	print_ms(f, age);
	fprintf(f, " ms  0x%-16" PRIx64 " %s/%" PRIu32, op->id,
		op->type->provider[0] ? tool_text(op->type->provider) : "process", op->pid);
}
