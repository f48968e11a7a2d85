// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints snapshots without a screen, as text or JSON */
#include <inttypes.h>
#include <string.h>

#include "fxt/print.h"
#include "lines.h"
#include "plain.h"
#include "tool.h"

/* Limit of open operations that are printed */
#define OPEN_LISTED	10

/* --- text ------------------------------------------------------------------------- */

static int type_width(const struct view *v)
{
	int width = 4;

	for (size_t i = 0; i < v->nr_types; i++) {
		char type[TYPE_TEXT_SIZE];
		int columns;

		lines_fit(tool_text(top_type_text(v->types[i]->type, type)), LINES_NAME_MAX,
			  &columns);
		if (columns > width)
			width = columns;
	}
	return width;
}

static void newline(FILE *f)
{
	fputc('\n', f);
}

void plain_text(FILE *f, const struct snapshot *s, const struct view *v, const char *source)
{
	const int width = type_width(v);

	for (int i = 0; i < 2; i++) {
		lines_head(f, s, v, source, i);
		newline(f);
	}
	if (s->late || s->losses || s->restarts || s->damaged || s->incomplete ||
	    snapshot_share(s) != 1) {
		lines_warning(f, s);
		newline(f);
	}
	lines_types_title(f, width);
	newline(f);
	for (size_t i = 0; i < v->nr_types; i++) {
		lines_type(f, v, v->types[i], width);
		newline(f);
	}
	lines_open_title(f, s, v);
	newline(f);
	for (size_t i = 0; i < v->nr_open && i < OPEN_LISTED; i++) {
		lines_open(f, &s->open[v->open[i]], s->ages[v->open[i]], width);
		newline(f);
	}
	newline(f);
}

/* --- JSON ---------------------------------------------------------------------------- */

static void json_type(FILE *f, const struct top_type *t)
{
	char type[TYPE_TEXT_SIZE];

	fxt_print_json_member(f, "type", top_type_text(t, type));
	fputc(',', f);
	fxt_print_json_member(f, "provider", t->provider);
}

/* Latencies and shares of no operation are null. */
static void json_numbers(FILE *f, const struct numbers *n)
{
	fprintf(f, "\"count\":%" PRIu64, n->count);
	if (n->count)
		fprintf(f, ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64,
			n->p50, n->p99, n->max);
	else
		fputs(",\"p50_ns\":null,\"p99_ns\":null,\"max_ns\":null", f);
	for (int i = 0; i < ANALYSIS_STATES; i++) {
		fprintf(f, ",\"%s\":", analysis_state_name(i));
		if (n->sum_ns)
			fprintf(f, "%.6f", view_share(n, i));
		else
			fputs("null", f);
	}
}

static void json_types(FILE *f, const struct view *v)
{
	fputs(",\"types\":[", f);
	for (size_t i = 0; i < v->nr_types; i++) {
		fputs(i ? ",{" : "{", f);
		json_type(f, v->types[i]->type);
		fprintf(f, ",\"rate\":%.6g,\"open\":%" PRIu64 ",", v->types[i]->rate,
			v->types[i]->open);
		json_numbers(f, &v->types[i]->all);
		fputs(",\"recent\":{", f);
		json_numbers(f, &v->types[i]->recent);
		fputs("}}", f);
	}
	fputc(']', f);
}

static void json_open(FILE *f, const struct snapshot *s, const struct view *v)
{
	fprintf(f, ",\"open_count\":%" PRIu64 ",\"open_unlisted\":%" PRIu64 ",\"open\":[",
		s->nr_open + s->more_open, s->more_open);
	for (size_t i = 0; i < v->nr_open; i++) {
		const struct open_operation *op = &s->open[v->open[i]];

		fputs(i ? ",{" : "{", f);
		json_type(f, op->type);
		fprintf(f, ",\"id\":\"0x%" PRIx64 "\",\"pid\":%" PRIu32 ",\"begin_ns\":%" PRIu64
			",\"age_ns\":%" PRIu64 "}", op->id, op->pid, op->begin, s->ages[v->open[i]]);
	}
	fputc(']', f);
}

static const char *bool_text(bool b)
{
	return b ? "true" : "false";
}

void plain_json(FILE *f, const struct snapshot *s, const struct view *v, const char *source)
{
	const struct at_compose_counts *c = &s->counts;

	fputc('{', f);
	fxt_print_json_member(f, "source", source);
	fprintf(f, ",\"settled_ns\":%" PRIu64 ",\"delay_ns\":%" PRIu64 ",\"interval_ns\":%" PRIu64
		",\"ended\":%s,\"damaged\":%s,\"incomplete\":%s", s->settled, s->delay, s->interval,
		bool_text(s->ended), bool_text(s->damaged), bool_text(s->incomplete));
	fprintf(f, ",\"attempted\":%" PRIu64 ",\"analysed\":%" PRIu64 ",\"dropped\":%" PRIu64
		",\"overwritten\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"cleared\":%" PRIu64
		",\"unwritten\":%" PRIu64, snapshot_attempted(s), c->delivered, c->dropped,
		c->overwritten, c->malformed, c->cleared, c->unwritten);
	fprintf(f, ",\"losses\":%" PRIu64 ",\"late\":%" PRIu64 ",\"restarts\":%u", s->losses, s->late,
		s->restarts);
	json_types(f, v);
	json_open(f, s, v);
	fputs("}\n", f);
}
