// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of open operations */
#include <errno.h>
#include <stdlib.h>

#include "open.h"

static bool allocate(struct open_table *t)
{
	if (!t->of) {
		t->of = calloc(OPEN_MAX, sizeof(*t->of));
		t->early = calloc(EARLY_MAX, sizeof(*t->early));
		if (t->of)
			open_clear(t);
	}
	return t->of && t->early;
}

void open_clear(struct open_table *t)
{
	for (struct open_operation *op = t->oldest; op; op = op->newer)
		op->type->open--;
	fxt_table_free(&t->index);
	fxt_table_free(&t->early_index);
	t->index = t->early_index = (struct fxt_table){ 0 };
	t->oldest = t->newest = t->free = NULL;
	t->nr = t->nr_early = 0;
	t->more = 0;
	for (size_t i = OPEN_MAX; t->of && i; i--) {
		t->of[i - 1].newer = t->free;
		t->free = &t->of[i - 1];
	}
}

void open_free(struct open_table *t)
{
	open_clear(t);
	free(t->of);
	free(t->early);
	*t = (struct open_table){ 0 };
}

/* --- ends that were read before their begins -------------------------------------- */

static int remember_end(struct open_table *t, uint64_t key, uint64_t ns)
{
	const size_t at = t->nr_early % EARLY_MAX;
	struct fxt_entry *e;

	if (t->nr_early >= EARLY_MAX) {
		e = fxt_find(&t->early_index, t->early[at].key);
		if (e && e->a == at + 1)
			fxt_remove(&t->early_index, e);
	}
	e = fxt_make(&t->early_index, key);
	if (!e)
		return -ENOMEM;
	e->a = at + 1;
	t->early[at].key = key;
	t->early[at].ns = ns;
	t->nr_early++;
	return 0;
}

/*
 * Returns true if the end of the operation that begins at @ns has been read, and forgets that
 * end.
 */
static bool take_end(struct open_table *t, uint64_t key, uint64_t ns)
{
	struct fxt_entry *e = fxt_find(&t->early_index, key);

	if (!e || t->early[e->a - 1].ns < ns)
		return false;
	fxt_remove(&t->early_index, e);
	return true;
}

/* --- the table ---------------------------------------------------------------------- */

/*
 * Inserts @op in order of begins. Searches from the newest, because rings are read often and few
 * operations come late.
 */
static void link_by_age(struct open_table *t, struct open_operation *op)
{
	struct open_operation *older = t->newest;

	while (older && older->begin > op->begin)
		older = older->older;
	op->older = older;
	op->newer = older ? older->newer : t->oldest;
	if (op->older)
		op->older->newer = op;
	else
		t->oldest = op;
	if (op->newer)
		op->newer->older = op;
	else
		t->newest = op;
}

int open_begin(struct open_table *t, const struct open_operation *begun)
{
	struct open_operation *op;
	struct fxt_entry *e;

	if (!allocate(t))
		return -ENOMEM;
	if (take_end(t, begun->key, begun->begin))
		return 0;
	if (!t->free) {
		t->more++;
		return 0;
	}
	e = fxt_make(&t->index, begun->key);
	if (!e)
		return -ENOMEM;
	op = t->free;
	t->free = op->newer;
	*op = *begun;
	op->same_key = (struct open_operation *)(uintptr_t)e->a;
	e->a = (uintptr_t)op;
	op->type->open++;
	link_by_age(t, op);
	t->nr++;
	return 0;
}

int open_end(struct open_table *t, uint64_t key, uint64_t ns)
{
	struct fxt_entry *e = fxt_find(&t->index, key);
	struct open_operation *op = e ? (struct open_operation *)(uintptr_t)e->a : NULL;

	if (!allocate(t))
		return -ENOMEM;
	if (!op || op->begin > ns) {
		/* The end may belong to an operation that had no room in the table. */
		if (t->more) {
			t->more--;
			return 0;
		}
		return remember_end(t, key, ns);
	}
	e->a = (uintptr_t)op->same_key;
	if (!e->a)
		fxt_remove(&t->index, e);
	if (op->older)
		op->older->newer = op->newer;
	else
		t->oldest = op->newer;
	if (op->newer)
		op->newer->older = op->older;
	else
		t->newest = op->older;
	op->type->open--;
	op->newer = t->free;
	t->free = op;
	t->nr--;
	return 0;
}
