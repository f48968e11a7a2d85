// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of logs: logs, log-groups */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "id.h"
#include "what.h"

static int add_log(void *arg, const struct analysis_note *note)
{
	return note->kind == ANALYSIS_NOTE_LOG ?
	       forest_note(((struct report *)arg)->data, note) : 0;
}

static void free_forest(void *data)
{
	forest_free(data);
}

static bool is_chosen(const struct report *r, const struct analysis_note *n)
{
	return source_in_time(&r->source, n->ns) &&
	       (!r->log_text || strstr(n->text, r->log_text) || strstr(n->category, r->log_text));
}

/* --- logs ------------------------------------------------------------------------------ */

static const struct sheet_column logs_columns[] = {
	COLUMN("at_ns", "AT ms", SHEET_NS),
	COLUMN("id", "OPERATION", SHEET_TEXT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("category", "CATEGORY", SHEET_TEXT),
	COLUMN("message", "MESSAGE", SHEET_TEXT),
};

static int by_time(const void *a, const void *b)
{
	const struct forest_node *x = a, *y = b;

	return (x->note.ns > y->note.ns) - (x->note.ns < y->note.ns);
}

static void fill_logs(struct report *r)
{
	const uint64_t begin = analysis_totals(r->source.analysis)->begin;
	struct forest *f = r->data;
	char number[ID_TEXT];

	if (f->nr)
		qsort(f->of, f->nr, sizeof(*f->of), by_time);
	for (size_t i = 0; i < f->nr; i++) {
		const struct analysis_note *n = &f->of[i].note;
		const struct analysis_id id = { .id = n->operation };

		if (!is_chosen(r, n))
			continue;
		sheet_row(&r->sheet);
		sheet_number(&r->sheet, n->ns - begin);
		sheet_text(&r->sheet, n->operation ? id_text(&id, number) : "");
		sheet_text(&r->sheet,
			   analysis_thread_at(r->source.analysis, n->tid, n->ns)->name);
		sheet_text(&r->sheet, n->category);
		sheet_text(&r->sheet, n->text);
	}
}

/* --- log-groups -------------------------------------------------------------------------- */

static const struct sheet_column groups_columns[] = {
	COLUMN("count", "COUNT", SHEET_COUNT),
	COLUMN("operations", "OPERATIONS", SHEET_COUNT),
	COLUMN("threads", "THREADS", SHEET_COUNT),
	COLUMN("first_ns", "FIRST ms", SHEET_NS),
	COLUMN("last_ns", "LAST ms", SHEET_NS),
	COLUMN("category", "CATEGORY", SHEET_TEXT),
	COLUMN("message", "MESSAGE", SHEET_TEXT),
};

/* Logs with one category and one message */
struct group {
	const char *category, *text;
	uint64_t count, operations, threads;
	uint64_t first, last;
};

struct groups {
	struct group *of;
	size_t nr, room;
	struct fxt_table index;		/* .a index + 1 */
	struct fxt_table members;	/* operations and threads of each group */
};

/*
 * Returns the group of a log. Makes the group if there is none. The key is the addresses of
 * category and text, because the analysis stores each text once. NULL: no memory
 */
static struct group *group_of(struct groups *g, const struct analysis_note *n)
{
	const uint64_t hash = fxt_hash((uintptr_t)n->category, (uintptr_t)n->text);
	struct fxt_entry *e = fxt_make(&g->index, hash);

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&g->of, g->nr, &g->room, sizeof(*g->of)))
			return NULL;
		g->of[g->nr++] = (struct group){
			.category = n->category, .text = n->text, .first = n->ns, .last = n->ns,
		};
		e->a = g->nr;
	}
	return &g->of[e->a - 1];
}

/* Counts @member in *@count, unless the group @index has it already. Returns 0 or -ENOMEM. */
static int count_member(struct groups *g, size_t index, unsigned int kind, uint64_t member,
			uint64_t *count)
{
	struct fxt_entry *e = fxt_make(&g->members, fxt_hash(fxt_hash(index, kind), member));

	if (!e)
		return -ENOMEM;
	*count += !e->a;
	e->a = 1;
	return 0;
}

static int add_to_group(const struct report *r, struct groups *g, const struct analysis_note *n)
{
	const struct analysis_thread *thread;
	struct group *group = group_of(g, n);
	int err;

	if (!group)
		return -ENOMEM;
	group->count++;
	if (n->ns < group->first)
		group->first = n->ns;
	if (n->ns > group->last)
		group->last = n->ns;
	thread = analysis_thread_at(r->source.analysis, n->tid, n->ns);
	err = count_member(g, group - g->of, 0, analysis_thread_key(thread), &group->threads);
	return err || !n->operation ? err :
	       count_member(g, group - g->of, 1, n->operation, &group->operations);
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int order;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	order = strcmp(x->category, y->category);
	return order ? order : strcmp(x->text, y->text);
}

static void fill_groups(struct report *r)
{
	const uint64_t begin = analysis_totals(r->source.analysis)->begin;
	const struct forest *f = r->data;
	struct groups g = { 0 };

	for (size_t i = 0; i < f->nr && !r->sheet.failed; i++)
		if (is_chosen(r, &f->of[i].note))
			r->sheet.failed = add_to_group(r, &g, &f->of[i].note);
	if (g.nr)
		qsort(g.of, g.nr, sizeof(*g.of), by_count);
	for (size_t i = 0; i < g.nr && !r->sheet.failed; i++) {
		const struct group *group = &g.of[i];

		sheet_row(&r->sheet);
		sheet_number(&r->sheet, group->count);
		sheet_number(&r->sheet, group->operations);
		sheet_number(&r->sheet, group->threads);
		sheet_number(&r->sheet, group->first - begin);
		sheet_number(&r->sheet, group->last - begin);
		sheet_text(&r->sheet, group->category);
		sheet_text(&r->sheet, group->text);
	}
	free(g.of);
	fxt_table_free(&g.index);
	fxt_table_free(&g.members);
}

#define LOGS(n, f, c) { \
	.name = (n), .rows.note = add_log, .timed = true, .many = true, .takes_log = true, \
	.data_size = sizeof(struct forest), .fill = (f), .free = free_forest, COLUMNS(c) \
}

const struct what whats_logs[] = {
	LOGS("logs", fill_logs, logs_columns),
	LOGS("log-groups", fill_groups, groups_columns),
	{ }
};
