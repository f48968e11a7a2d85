// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds up the time of many operations by its cause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blame.h"
#include "reasons.h"

/*
 * Interns @text: equal texts get the same pointer, which is valid until blame_free(). Returns
 * NULL if there is no memory.
 */
static const char *keep(struct blame *b, const char *text)
{
	uint32_t n = fxt_name(&b->names, text, strlen(text));

	return n == UINT32_MAX ? NULL : b->names.of[n];
}

/* Interns the concatenation of the texts. Allocates, because names have any length. */
static const char *keep_joined(struct blame *b, const char *first, const char *middle,
			       const char *last)
{
	const char *kept;
	char *text;

	if (asprintf(&text, "%s%s%s", first, middle, last) < 0)
		return NULL;
	kept = keep(b, text);
	free(text);
	return kept;
}

/* Describes the other party of @row in words, interned. */
static const char *keep_other(struct blame *b, const struct analysis_interval *row)
{
	const struct analysis_id *id = row->other_id;

	switch (row->other_kind) {
	case ANALYSIS_OTHER_THREAD:
		return keep_joined(b, row->other->name[0] ? row->other->name : "thread",
				   id ? ", working on " : "", id ? id->name : "");
	case ANALYSIS_OTHER_IDLE:
		return keep(b, "idle CPU");
	case ANALYSIS_OTHER_INTERRUPT:
		return keep(b, "interrupt");
	case ANALYSIS_OTHER_HIDDEN:
		return keep(b, "hidden task");
	default:
		break;
	}
	return id ? keep_joined(b, "working on ", id->name, row->part ? ", a part" : "") :
		    keep(b, "");
}

/* Describes why @row is in its state, interned. */
static const char *keep_reason(struct blame *b, const struct analysis_interval *row)
{
	const char *reason = reason_of(row);

	return row->cgroup ? keep_joined(b, reason, reason[0] ? ", " : "", "CPU quota") :
			     keep(b, reason);
}

static int add(struct blame *b, const char *type, const struct analysis_interval *row)
{
	struct blame_row r = {
		.type = type, .state = row->state, .reason = keep_reason(b, row),
		.thread = keep(b, row->thread ? row->thread->name : ""),
		.duration = keep(b, row->duration),
		.other = keep_other(b, row),
	};
	struct fxt_entry *e;
	uint64_t hash;

	if (!r.reason || !r.thread || !r.duration || !r.other)
		return -ENOMEM;
	hash = fxt_hash((uintptr_t)r.type, r.state);
	hash = fxt_hash(hash, (uintptr_t)r.reason);
	hash = fxt_hash(hash, (uintptr_t)r.thread);
	hash = fxt_hash(hash, (uintptr_t)r.duration);
	hash = fxt_hash(hash, (uintptr_t)r.other);
	e = fxt_make(&b->index, hash);
	if (!e)
		return -ENOMEM;
	if (!e->a) {
		if (!more_room(&b->of, b->nr, &b->room, sizeof(*b->of)))
			return -ENOMEM;
		b->of[b->nr] = r;
		e->a = ++b->nr;
	}
	b->of[e->a - 1].ns += row->to - row->from;
	b->of[e->a - 1].count += row->joined ? row->joined : 1;
	b->ns += row->to - row->from;
	return 0;
}

int blame_add(struct blame *b, const struct analysis_operation *op,
	      const struct analysis_interval *rows, size_t nr, unsigned int states)
{
	const char *category = op->id.category;
	const char *type = keep_joined(b, category, category[0] ? "/" : "", op->id.name);
	int err = 0;

	if (!type)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++)
		if (states & 1u << rows[i].state)
			err = add(b, type, &rows[i]);
	return err;
}

static int by_ns(const void *a, const void *b)
{
	const struct blame_row *x = a, *y = b;
	int order;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	order = strcmp(x->type, y->type);
	if (!order)
		order = strcmp(x->thread, y->thread);
	if (!order)
		order = strcmp(x->reason, y->reason);
	return order ? order : strcmp(x->other, y->other);
}

void blame_sort(struct blame *b)
{
	if (b->nr)
		qsort(b->of, b->nr, sizeof(*b->of), by_ns);
}

size_t blame_frames(const struct blame_row *row, const char *frames[BLAME_FRAMES])
{
	const char *const all[BLAME_FRAMES] = {
		row->type, analysis_state_name(row->state), row->reason, row->thread, row->duration,
		row->other,
	};
	size_t nr = 0;

	for (size_t i = 0; i < BLAME_FRAMES; i++)
		if (all[i][0])
			frames[nr++] = all[i];
	return nr;
}

void blame_free(struct blame *b)
{
	free(b->of);
	fxt_table_free(&b->index);
	fxt_names_free(&b->names);
	*b = (struct blame){ 0 };
}
