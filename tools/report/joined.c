// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the events of the kernel's tracepoints that have the id of an operation */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fxt/names.h"
#include "fxt/print.h"
#include "fxt/table.h"
#include "joined.h"
#include "tool.h"

#define OPERATION	"operation"

/**
 * struct reading - the reading of a file
 * @to: gets the events
 * @ids: the operations' ids
 * @threads: .a: number of the thread's name in @names + 1, by thread id + 1
 * @names: names of threads
 */
struct reading {
	struct joined *to;
	struct fxt_table ids;
	struct fxt_table threads;
	struct fxt_names names;
};

static int take_thread(struct reading *r, const struct fxt_record *rec)
{
	const uint32_t name = fxt_name(&r->names, rec->name.s, rec->name.len);
	struct fxt_entry *e = fxt_make(&r->threads, rec->id + 1);

	if (!e || name == UINT32_MAX)
		return -ENOMEM;
	e->a = (uint64_t)name + 1;
	return 0;
}

static void print_name(FILE *f, const struct fxt_text *t)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)t->len, t->s);
	fputs(tool_text(text), f);
}

static void print_text(FILE *f, const struct reading *r, const struct fxt_record *rec)
{
	const struct fxt_entry *e = fxt_find(&r->threads, rec->thread.tid + 1);
	const uint64_t id = fxt_arg(rec, OPERATION)->u;

	print_name(f, &rec->category);
	fputc(':', f);
	print_name(f, &rec->name);
	for (unsigned int i = 0; i < rec->nargs; i++) {
		const struct fxt_arg *a = &rec->args[i];

		/*
		 * Skip the argument with the operation's id, and the field that the id was read
		 * from.
		 */
		if (a->type == ASYNCTRACE_FXT_ARG_UINT64 && a->u == id)
			continue;
		fputc(' ', f);
		print_name(f, &a->name);
		fputc('=', f);
		fxt_print_value(f, a);
	}
	/* The recorder names the track of an idle task after its CPU. */
	fprintf(f, ", on %s", e ? tool_text(r->names.of[e->a - 1]) : "thread");
	if (rec->thread.tid <= FXT_TID_REAL_MAX)
		fprintf(f, "/%" PRIu64, rec->thread.tid);
}

/* Returns what @print prints, without the newline at its end; NULL: no memory. */
static char *printed(void (*print)(FILE *f, const struct reading *r, const struct fxt_record *rec),
		     const struct reading *r, const struct fxt_record *rec)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(f, r, rec);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	if (size && text[size - 1] == '\n')
		text[size - 1] = 0;
	return text;
}

static void print_json(FILE *f, const struct reading *r, const struct fxt_record *rec)
{
	(void)r;
	fxt_print_record_json(f, rec, false);
}

static int take_event(struct reading *r, const struct fxt_record *rec)
{
	const struct fxt_arg *id = fxt_arg(rec, OPERATION);
	struct joined *j = r->to;
	struct joined_event *e;

	if (!id || id->type != ASYNCTRACE_FXT_ARG_UINT64 || !fxt_find(&r->ids, id->u))
		return 0;
	if (!more_room(&j->of, j->nr, &j->room, sizeof(*j->of)))
		return -ENOMEM;
	e = &j->of[j->nr++];
	*e = (struct joined_event){
		.id = id->u, .ns = rec->ns, .text = printed(print_text, r, rec),
		.json = printed(print_json, r, rec),
	};
	return e->text && e->json ? 0 : -ENOMEM;
}

static int take_record(struct reading *r, const struct fxt_record *rec)
{
	if (rec->damaged)
		return 0;
	if (rec->kind == FXT_OBJECT && rec->number == ASYNCTRACE_FXT_OBJ_THREAD)
		return take_thread(r, rec);
	return fxt_is_tracepoint(rec) ? take_event(r, rec) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct joined_event *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int read_file(struct reading *r, const char *path)
{
	struct fxt_record rec;
	struct fxt_reader *reader;
	int err, got;

	reader = fxt_open(path, &err);
	if (!reader)
		return err;
	err = 0;
	while (!err && (got = fxt_next(reader, &rec)) > 0)
		err = take_record(r, &rec);
	fxt_close(reader);
	return err ? err : got;
}

int joined_read(struct joined *j, const char *path, struct analysis_operation *const *ops,
		size_t nr)
{
	struct reading r = { .to = j };
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		if (!ops[i]->id.key && ops[i]->id.id && !fxt_make(&r.ids, ops[i]->id.id))
			err = -ENOMEM;
	if (!err)
		err = read_file(&r, path);
	if (j->nr)
		qsort(j->of, j->nr, sizeof(*j->of), by_time);
	fxt_table_free(&r.ids);
	fxt_table_free(&r.threads);
	fxt_names_free(&r.names);
	return err;
}

const struct joined_event *joined_of(const struct joined *j, const struct analysis_id *id,
				     size_t *nr)
{
	size_t low = 0, high = id->key ? 0 : j->nr, end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (j->of[middle].id < id->id)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; !id->key && end < j->nr && j->of[end].id == id->id; end++)
		;
	*nr = end - low;
	return j->of + low;
}

void joined_free(struct joined *j)
{
	for (size_t i = 0; i < j->nr; i++) {
		free(j->of[i].text);
		free(j->of[i].json);
	}
	free(j->of);
	*j = (struct joined){ 0 };
}
