// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of the parts of operations: tree, regions */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collections.h"
#include "fxt/table.h"
#include "forest.h"
#include "id.h"
#include "samples.h"
#include "what.h"

/*
 * Names of parts that are deeper are indented no further, because the spaces of a very deep tree
 * would need more memory than the trace.
 */
#define INDENTED_MAX	64

/* A struct filled with zeros is valid and empty. */
struct parts {
	struct forest forest;
	struct collections collections;
};

static struct parts *parts_of(void *arg)
{
	return ((struct report *)arg)->data;
}

static int add_operation(void *arg, const struct analysis_operation *op)
{
	return forest_operation(&parts_of(arg)->forest, op);
}

static int add_region(void *arg, const struct analysis_region *region)
{
	return forest_region(&parts_of(arg)->forest, region);
}

static int add_note(void *arg, const struct analysis_note *note)
{
	return forest_note(&parts_of(arg)->forest, note);
}

static int add_collection(void *arg, const struct fxt_record *rec)
{
	return collections_record(&parts_of(arg)->collections, rec);
}

static void free_parts(void *data)
{
	struct parts *d = data;

	forest_free(&d->forest);
	collections_free(&d->collections);
}

/* --- tree ---------------------------------------------------------------------------- */

static const struct sheet_column tree_columns[] = {
	COLUMN("at_ns", "AT ms", SHEET_NS),
	COLUMN("delta_ns", "+ ms", SHEET_NS_DIFF),
	COLUMN("ns", "TOOK ms", SHEET_NS),
	COLUMN("self_ns", "SELF ms", SHEET_NS),
	COLUMN("kind", "KIND", SHEET_TEXT),
	COLUMN("what", "WHAT", SHEET_TEXT),
	COLUMN("thread", "THREAD", SHEET_TEXT),
	COLUMN("id", "ID", SHEET_TEXT),
	COLUMN_OPTIONAL("depth", "DEPTH", SHEET_COUNT),
};

/* The parts of an operation: all before .next have their rows */
struct branch {
	struct forest_node *parts;
	size_t nr, next;
};

/* State of a report while it writes the rows of one tree */
struct tree {
	struct report *r;
	struct parts *d;
	/* The branches from the root to the next row. A tree may be too deep for recursion. */
	struct branch *branches;
	size_t depth, room;
	uint64_t begin;		/* begin of the root */
	uint64_t last;		/* time of the previous row, counted from .begin */
};

/*
 * Returns the part of the time of @op in which none of its child operations is open. Parts are in
 * order of their begins.
 */
static uint64_t self_of(const struct forest *f, const struct analysis_operation *op)
{
	uint64_t self = op->end - op->begin, covered = op->begin;
	size_t nr;
	const struct forest_node *parts = forest_parts(f, op->id.id, &nr);

	for (size_t i = 0; i < nr; i++) {
		uint64_t from = forest_begin(&parts[i]), to = forest_end(&parts[i]);

		if (parts[i].kind != FOREST_OPERATION)
			continue;
		if (from < covered)
			from = covered;
		if (to > op->end)
			to = op->end;
		if (from >= to)
			continue;
		self -= to - from;
		covered = to;
	}
	return self;
}

/* Begins a row and adds its times. The caller adds the cells from the column KIND on. */
static void begin_row(struct tree *t, uint64_t at, uint64_t ns, uint64_t self)
{
	struct sheet *s = &t->r->sheet;
	/*
	 * A part may have begun before its operation, on a thread that entered the operation
	 * early.
	 */
	const uint64_t since = at > t->begin ? at - t->begin : 0;

	sheet_row(s);
	sheet_number(s, since);
	/*
	 * The difference may be negative: a row may begin before the last row, because parts that
	 * ran at the same time stand below each other.
	 */
	sheet_diff(s, (int64_t)(since - t->last));
	sheet_number(s, ns);
	sheet_number(s, self);
	t->last = since;
}

/* Returns the number of spaces before the name of a part. */
static int indent(size_t depth)
{
	return 2 * (int)(depth < INDENTED_MAX ? depth : INDENTED_MAX);
}

static void name_row(struct sheet *s, size_t depth, const char *category, const char *name,
		     const char *more)
{
	sheet_textf(s, "%*s%s%s%s%s", indent(depth), "", category, *category ? "/" : "", name, more);
}

static void region_row(struct tree *t, const struct analysis_region *g, size_t depth)
{
	struct sheet *s = &t->r->sheet;

	begin_row(t, g->from, g->to - g->from, g->self_ns);
	sheet_text(s, "region");
	name_row(s, depth + g->depth, g->category, g->name, g->complete ? "" : " (does not end)");
	sheet_text(s, g->thread->name);
	sheet_text(s, "");
	sheet_number(s, depth + g->depth);
}

static void note_row(struct tree *t, const struct analysis_note *n, size_t depth)
{
	static const char *const kinds[] = {
		[ANALYSIS_NOTE_LOG] = "log", [ANALYSIS_NOTE_INSTANT] = "instant",
		[ANALYSIS_NOTE_FOLLOWS] = "follows",
	};
	const struct analysis_id cause = { .id = n->cause };
	struct sheet *s = &t->r->sheet;
	char number[ID_TEXT];

	begin_row(t, n->ns, 0, 0);
	sheet_text(s, kinds[n->kind]);
	if (n->kind == ANALYSIS_NOTE_LOG)
		sheet_textf(s, "%*s%s: %s", indent(depth), "", n->category, n->text);
	else
		name_row(s, depth, n->category, n->name, "");
	sheet_text(s, analysis_thread_at(t->r->source.analysis, n->tid, n->ns)->name);
	sheet_text(s, n->kind == ANALYSIS_NOTE_FOLLOWS ? id_text(&cause, number) : "");
	sheet_number(s, depth);
}

static void operation_row(struct tree *t, const struct analysis_operation *op)
{
	struct sheet *s = &t->r->sheet;
	char number[ID_TEXT];

	begin_row(t, op->begin, op->end - op->begin, self_of(&t->d->forest, op));
	sheet_text(s, "operation");
	name_row(s, t->depth, op->id.category, op->id.name, op->complete ? "" : " (does not end)");
	sheet_text(s, op->creator ? op->creator->name : "");
	sheet_text(s, id_text(&op->id, number));
	sheet_number(s, t->depth);
}

/* Adds a row of @op. The next rows are those of its parts. */
static void enter(struct tree *t, const struct analysis_operation *op)
{
	struct branch *b;

	operation_row(t, op);
	if (!more_room(&t->branches, t->depth, &t->room, sizeof(*t->branches))) {
		t->r->sheet.failed = true;
		return;
	}
	b = &t->branches[t->depth++];
	*b = (struct branch){ 0 };
	b->parts = forest_parts(&t->d->forest, op->id.id, &b->nr);
}

/*
 * Adds rows of @root, of all its parts, and of their parts. In a hostile file, an operation may be
 * its own ancestor: .shown ends that.
 */
static void operation_rows(struct tree *t, const struct analysis_operation *root)
{
	enter(t, root);
	while (t->depth && !t->r->sheet.failed) {
		struct branch *b = &t->branches[t->depth - 1];
		struct forest_node *n;

		if (b->next == b->nr) {
			t->depth--;
			continue;
		}
		n = &b->parts[b->next++];
		if (n->shown)
			continue;
		n->shown = true;
		if (n->kind == FOREST_REGION)
			region_row(t, &n->region, t->depth);
		else if (n->kind == FOREST_NOTE)
			note_row(t, &n->note, t->depth);
		else
			enter(t, &n->operation);
	}
	t->depth = 0;
}

/*
 * Adds rows of the garbage collections of the operation's process while the operation was open.
 * They may have stopped its threads, whichever thread collected. The column TOOK is the part
 * within the operation.
 */
static void collection_rows(struct tree *t, const struct analysis_operation *op)
{
	const struct collections *all = &t->d->collections;
	struct sheet *s = &t->r->sheet;

	for (size_t i = 0; i < all->nr; i++) {
		const struct collection *c = &all->of[i];
		const uint64_t from = c->from > op->begin ? c->from : op->begin;
		const uint64_t to = c->to < op->end ? c->to : op->end;
		const struct analysis_thread *thread;

		if (c->pid != op->id.pid || from >= to)
			continue;
		thread = analysis_thread_at(t->r->source.analysis, c->tid, c->from);
		begin_row(t, from, to - from, to - from);
		sheet_text(s, "collection");
		name_row(s, 1, "memory", c->type, c->complete ? "" : " (does not end)");
		sheet_text(s, thread ? thread->name : "");
		sheet_text(s, "");
		sheet_number(s, 1);
	}
}

/* Adds the trees of all operations with the report's id. Returns false if there is none. */
static bool trees(struct tree *t)
{
	struct forest *f = &t->d->forest;
	bool found = false;

	for (size_t i = 0; i < f->nr; i++) {
		struct forest_node *n = &f->of[i];

		if (n->kind != FOREST_OPERATION || n->shown || !id_is(&n->operation.id, t->r->id))
			continue;
		n->shown = true;
		found = true;
		t->begin = n->operation.begin;
		t->last = 0;
		operation_rows(t, &n->operation);
		collection_rows(t, &n->operation);
	}
	return found;
}

/* Adds the tree of an operation whose begin was lost, if it has parts. */
static void lost_tree(struct tree *t)
{
	struct analysis_operation lost = {
		.id = { .category = "", .name = "?" }, .complete = true,
	};
	const struct forest_node *parts;
	size_t nr;

	if (!id_parse(t->r->id, &lost.id.id) || !lost.id.id)
		return;
	parts = forest_parts(&t->d->forest, lost.id.id, &nr);
	if (!nr)
		return;
	t->begin = lost.begin = lost.end = forest_begin(parts);
	operation_rows(t, &lost);
}

static void fill_tree(struct report *r)
{
	struct parts *d = r->data;
	struct tree t = { .r = r, .d = d };

	forest_sort(&d->forest);
	collections_pair(&d->collections, analysis_totals(r->source.analysis)->end);
	if (!trees(&t))
		lost_tree(&t);
	free(t.branches);
}

/* --- regions ------------------------------------------------------------------------- */

static const struct sheet_column regions_columns[] = {
	COLUMN("region", "REGION", SHEET_TEXT),
	COLUMN_OPTIONAL("place", "PLACE", SHEET_TEXT),
	COLUMN("count", "COUNT", SHEET_COUNT),
	COLUMN("unfinished", "OPEN", SHEET_COUNT),
	COLUMN("total_ns", "TOTAL ms", SHEET_NS),
	COLUMN("self_ns", "SELF ms", SHEET_NS),
	COLUMN("p50_ns", "P50", SHEET_NS),
	COLUMN("p90_ns", "P90", SHEET_NS),
	COLUMN("p99_ns", "P99", SHEET_NS),
	COLUMN("max_ns", "MAX", SHEET_NS),
};

struct kind {
	const char *category, *name, *place;
	struct samples lengths;		/* lengths of complete regions */
	uint64_t unfinished;
	unsigned __int128 total_ns, self_ns;
};

/* A struct filled with zeros is valid and empty. */
struct regions {
	struct kind *of;
	size_t nr, room;
	struct fxt_table index;
};

/*
 * Returns the kind of a region. Addresses are the key, because the analysis stores each text
 * once.
 */
static struct kind *kind_of(struct regions *d, const struct analysis_region *region)
{
	const uint64_t type = fxt_hash((uintptr_t)region->category, (uintptr_t)region->name);
	struct fxt_entry *e = fxt_make(&d->index, fxt_hash(type, (uintptr_t)region->place));

	if (!e)
		return NULL;
	if (!e->a) {
		if (!more_room(&d->of, d->nr, &d->room, sizeof(*d->of)))
			return NULL;
		d->of[d->nr++] = (struct kind){
			.category = region->category, .name = region->name, .place = region->place,
		};
		e->a = d->nr;
	}
	return &d->of[e->a - 1];
}

static int count_region(void *arg, const struct analysis_region *region)
{
	struct report *r = arg;
	struct kind *k = kind_of(r->data, region);

	if (!k)
		return -ENOMEM;
	/*
	 * Do not add the time of a region within a region of the same kind: the outer region
	 * contains it, unless that one began before --from.
	 */
	if (region->same_from == UINT64_MAX || !source_in_time(&r->source, region->same_from))
		k->total_ns += region->to - region->from;
	k->self_ns += region->self_ns;
	if (!region->complete) {
		k->unfinished++;
		return 0;
	}
	return samples_add(&k->lengths, region->to - region->from);
}

static int by_self(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	int order;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	order = strcmp(x->category, y->category);
	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->place, y->place);
}

static void fill_regions(struct report *r)
{
	static const double percentiles[] = { 50, 90, 99, 100 };
	struct regions *d = r->data;

	if (d->nr)
		qsort(d->of, d->nr, sizeof(*d->of), by_self);
	for (size_t i = 0; i < d->nr; i++) {
		struct kind *k = &d->of[i];

		samples_sort(&k->lengths);
		sheet_row(&r->sheet);
		sheet_type(&r->sheet, k->category, k->name);
		sheet_text(&r->sheet, k->place);
		sheet_number(&r->sheet, k->lengths.nr);
		sheet_number(&r->sheet, k->unfinished);
		sheet_sum(&r->sheet, k->total_ns);
		sheet_sum(&r->sheet, k->self_ns);
		for (size_t p = 0; p < sizeof(percentiles) / sizeof(percentiles[0]); p++)
			sheet_percentile(&r->sheet, &k->lengths, percentiles[p]);
	}
}

static void free_regions(void *data)
{
	struct regions *d = data;

	for (size_t i = 0; i < d->nr; i++)
		samples_free(&d->of[i].lengths);
	free(d->of);
	fxt_table_free(&d->index);
}

const struct what whats_operations[] = {
	{ .name = "tree",
	  .rows = { .operation = add_operation, .region = add_region, .note = add_note },
	  .record = add_collection,
	  .totals_only = true, .whole = true, .takes_id = true, .data_size = sizeof(struct parts),
	  .fill = fill_tree, .free = free_parts, COLUMNS(tree_columns) },
	{ .name = "regions", .rows.region = count_region, .timed = true,
	  .data_size = sizeof(struct regions), .fill = fill_regions, .free = free_regions,
	  COLUMNS(regions_columns) },
	{ }
};
