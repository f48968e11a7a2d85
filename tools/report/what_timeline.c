// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report timeline: an operation as a picture for terminals. Each thread has a line. A
 * column of the picture is a part of the operation's time. Its character shows the state that
 * lasted longest in that part.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fxt/table.h"
#include "id.h"
#include "kept.h"
#include "reasons.h"
#include "terminal.h"
#include "tool.h"
#include "what.h"

#define LABEL	22
#define SEPARATOR	2	/* spaces between label and cells */
#define CELLS_MAX	76
#define CELLS_MIN	20

static const struct sheet_column columns[] = {
	COLUMN("id", "ID", SHEET_TEXT),
	COLUMN("type", "TYPE", SHEET_TEXT),
	COLUMN("from_ns", "FROM ms", SHEET_NS),
	COLUMN("to_ns", "TO ms", SHEET_NS),
	COLUMN("state", "STATE", SHEET_TEXT),
	COLUMN("reason", "REASON", SHEET_TEXT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("tid", "TID", SHEET_ID),
	COLUMN("duration", "IN", SHEET_TEXT),
	COLUMN("other", "OTHER", SHEET_TEXT),
	COLUMN("other_tid", "TID", SHEET_ID),
};

static int add(void *arg, const struct analysis_operation *op)
{
	struct report *r = arg;
	struct kept *k = r->data;

	k->max = SIZE_MAX;
	if (!id_is(&op->id, r->id))
		return 0;
	/* An operation that takes no time adds no interval to *k, but it was found. */
	r->found = true;
	return kept_add(k, op);
}

static int by_begin(const void *a, const void *b)
{
	const struct analysis_operation *x = *(struct analysis_operation *const *)a;
	const struct analysis_operation *y = *(struct analysis_operation *const *)b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void add_rows(struct sheet *s, const struct analysis_operation *op)
{
	char number[ID_TEXT];

	for (size_t i = 0; i < op->nr_intervals; i++) {
		const struct analysis_interval *row = &op->intervals[i];

		sheet_row(s);
		sheet_text(s, id_text(&op->id, number));
		sheet_type(s, op->id.category, op->id.name);
		sheet_number(s, row->from - op->begin);
		sheet_number(s, row->to - op->begin);
		sheet_text(s, analysis_state_name(row->state));
		sheet_text(s, reason_of(row));
		sheet_text(s, row->thread ? row->thread->name : "");
		sheet_number(s, row->thread ? row->thread->tid : 0);
		sheet_text(s, row->duration);
		sheet_text(s, row->other ? row->other->name : "");
		sheet_number(s, row->other ? row->other->tid : 0);
	}
}

static void fill(struct report *r)
{
	struct kept *k = r->data;

	if (k->nr)
		qsort(k->of, k->nr, sizeof(*k->of), by_begin);
	for (size_t i = 0; i < k->nr; i++)
		add_rows(&r->sheet, k->of[i]);
}

/* --- the picture ------------------------------------------------------------------ */

/* The time of each state in each cell. A line that does not belong to a thread has a title. */
struct line {
	const struct analysis_thread *thread;
	const char *title;
	uint64_t ns[CELLS_MAX][ANALYSIS_STATES];
};

struct lines {
	struct line *of;	/* in order of the first interval */
	size_t nr, room;
	struct fxt_table index;	/* analysis_thread_key(), or 1: no thread; .a: index in
					   @of, plus 1 */
};

/* Returns the number of cells that fit next to a label. */
static unsigned int cells_that_fit(void)
{
	const size_t width = terminal_width(stdout);

	if (width >= LABEL + SEPARATOR + CELLS_MAX)
		return CELLS_MAX;
	return width > LABEL + SEPARATOR + CELLS_MIN ? width - LABEL - SEPARATOR : CELLS_MIN;
}

/*
 * Returns the begin of cell @i of @cells. Divides first, because the operation's time times @cells
 * may exceed 64 bits.
 */
static uint64_t cell_begin(const struct analysis_operation *op, unsigned int i, unsigned int cells)
{
	const uint64_t ns = op->end - op->begin;

	return op->begin + ns / cells * i + ns % cells * i / cells;
}

static void add_interval(struct line *line, unsigned int cells, const struct analysis_operation *op,
			 const struct analysis_interval *row)
{
	for (unsigned int i = 0; i < cells; i++) {
		const uint64_t begin = cell_begin(op, i, cells), end = cell_begin(op, i + 1, cells);
		const uint64_t from = row->from > begin ? row->from : begin;
		const uint64_t to = row->to < end ? row->to : end;

		if (from < to)
			line->ns[i][row->state] += to - from;
	}
}

/* Returns the line of the thread that determines the state in @row. NULL: no memory */
static struct line *line_of(struct lines *l, const struct analysis_interval *row)
{
	const struct analysis_thread *t = row->state == ANALYSIS_QUEUED ? NULL : row->thread;
	struct fxt_entry *e = fxt_make(&l->index, t ? analysis_thread_key(t) : 1);

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
			return NULL;
		l->of[l->nr] = (struct line){ .thread = t, .title = "no thread" };
		e->a = ++l->nr;
	}
	return &l->of[e->a - 1];
}

static char mark_of(const uint64_t *ns)
{
	static const char marks[ANALYSIS_STATES] = {
		[ANALYSIS_RUNNING] = '#', [ANALYSIS_RUNNABLE] = 'r', [ANALYSIS_BLOCKED] = '.',
		[ANALYSIS_QUEUED] = 'q', [ANALYSIS_UNKNOWN] = '?',
	};
	uint64_t most = 0;
	char mark = ' ';

	for (int s = 0; s < ANALYSIS_STATES; s++) {
		if (ns[s] <= most)
			continue;
		most = ns[s];
		mark = marks[s];
	}
	return mark;
}

/* Returns the text to the left of @line, which the caller must free. NULL: no memory */
static char *label_of(const struct line *line)
{
	const struct analysis_thread *t = line->thread;
	char *label;

	if (asprintf(&label, t ? "%s/%" PRIu32 : "%s", tool_text(t ? t->name : line->title),
		     t ? t->tid : 0) < 0)
		return NULL;
	return label;
}

/* Returns the width of the labels: outside of a terminal, none is cut. */
static size_t label_width(const struct lines *l)
{
	size_t width = LABEL;

	for (size_t i = 0; i < l->nr && terminal_width(stdout) == SIZE_MAX; i++) {
		char *label = label_of(&l->of[i]);
		const size_t nr = label ? terminal_columns(label) : 0;

		width = nr > width ? nr : width;
		free(label);
	}
	return width;
}

static bool print_line(const struct line *line, size_t width, unsigned int cells)
{
	char *label = label_of(line);
	size_t used = cells;

	if (!label)
		return false;

	terminal_print_left(stdout, label, width);
	free(label);
	printf("%*s", SEPARATOR, "");
	while (used && mark_of(line->ns[used - 1]) == ' ')
		used--;
	for (size_t i = 0; i < used; i++)
		putchar(mark_of(line->ns[i]));
	putchar('\n');
	return true;
}

/* Returns false if there is no memory. */
static bool print_operation(const struct analysis_operation *op, unsigned int cells)
{
	struct line path = { .title = "critical path" };
	struct lines l = { 0 };
	bool enough = true;
	size_t width;

	for (size_t i = 0; i < op->nr_intervals && enough; i++) {
		struct line *line = line_of(&l, &op->intervals[i]);

		enough = line;
		if (line)
			add_interval(line, cells, op, &op->intervals[i]);
	}
	for (size_t i = 0; i < op->nr_path; i++)
		add_interval(&path, cells, op, &op->path[i]);
	width = label_width(&l);
	for (size_t i = 0; i < l.nr && enough; i++)
		enough = print_line(&l.of[i], width, cells);
	if (op->nr_path && enough)
		enough = print_line(&path, width, cells);
	free(l.of);
	fxt_table_free(&l.index);
	return enough;
}

static bool print_name(const struct analysis_id *id)
{
	char number[ID_TEXT], *text;

	if (asprintf(&text, "%s %s", tool_text(id->name), tool_text(id_text(id, number))) < 0)
		return false;
	terminal_print_cut(stdout, text, terminal_width(stdout));
	putchar('\n');
	free(text);
	return true;
}

static bool print(const struct report *r)
{
	const unsigned int cells = cells_that_fit();
	const struct kept *k = r->data;
	bool enough = true;

	for (size_t i = 0; i < k->nr && enough; i++) {
		const struct analysis_operation *op = k->of[i];
		const double ms = (op->end - op->begin) / 1e6;

		if (i)
			putchar('\n');
		if (!print_name(&op->id))
			return false;
		printf("%.3f ms%s, a column is %.6f ms\n", ms, op->complete ? "" : ", not ended",
		       ms / cells);
		printf("# running, r runnable, . blocked, q queued, ? unknown\n");
		enough = print_operation(op, cells);
	}
	return enough;
}

static void free_data(void *data)
{
	kept_free(data);
}

const struct what whats_timeline[] = {
	{ .name = "timeline", .rows.operation = add, .timed = true, .takes_id = true, .scheduled = true,
	  .data_size = sizeof(struct kept), .fill = fill, .print = print, .free = free_data,
	  COLUMNS(columns) },
	{ }
};
