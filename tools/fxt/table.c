// SPDX-License-Identifier: GPL-2.0-or-later
/* A hash table with linear probing, arrays that grow, and sparse arrays */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

uint64_t fxt_hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0xd6e8feb86659fd93ULL;

	h = (h ^ h >> 32) + b;
	h *= 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h ^= h >> 32;
	return h ? h : 1;
}

static size_t place(const struct fxt_table *t, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL >> 16) & t->mask;
}

static struct fxt_entry *look(const struct fxt_table *t, uint64_t key)
{
	size_t i = place(t, key);

	while (t->entries[i].key && t->entries[i].key != key)
		i = (i + 1) & t->mask;
	return &t->entries[i];
}

struct fxt_entry *fxt_find(const struct fxt_table *t, uint64_t key)
{
	struct fxt_entry *e = t->entries ? look(t, key) : NULL;

	return e && e->key ? e : NULL;
}

static bool grow(struct fxt_table *t)
{
	struct fxt_table bigger = {
		.mask = t->entries ? t->mask * 2 + 1 : 63,
		.used = t->used,
	};

	bigger.entries = calloc(bigger.mask + 1, sizeof(*bigger.entries));
	if (!bigger.entries)
		return false;
	fxt_each(t, e)
		*look(&bigger, e->key) = *e;
	free(t->entries);
	*t = bigger;
	return true;
}

struct fxt_entry *fxt_make(struct fxt_table *t, uint64_t key)
{
	struct fxt_entry *e;

	if ((!t->entries || (t->used + 1) * 3 > (t->mask + 1) * 2) && !grow(t))
		return NULL;
	e = look(t, key);
	if (!e->key) {
		t->used++;
		e->key = key;
	}
	return e;
}

/*
 * Backward-shift deletion: entries of the probe chain behind @e move up, so that no tombstones
 * are needed.
 */
void fxt_remove(struct fxt_table *t, struct fxt_entry *e)
{
	size_t hole = e - t->entries, i = hole;

	for (;;) {
		size_t home;

		i = (i + 1) & t->mask;
		if (!t->entries[i].key)
			break;
		home = place(t, t->entries[i].key);
		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			t->entries[hole] = t->entries[i];
			hole = i;
		}
	}
	memset(&t->entries[hole], 0, sizeof(*t->entries));
	t->used--;
}

void fxt_table_free(struct fxt_table *t)
{
	free(t->entries);
}

bool double_room(void *array, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *p;

	memcpy(&p, array, sizeof(p));
	p = realloc(p, more * size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof(p));
	*room = more;
	return true;
}

void *fxt_make_element(struct fxt_sparse *s, unsigned int index, size_t size)
{
	char **page;

	if (!s->pages)
		s->pages = calloc(FXT_PAGES, sizeof(*s->pages));
	if (!s->pages)
		return NULL;
	page = &s->pages[index / FXT_PAGE];
	if (!*page)
		*page = calloc(FXT_PAGE, size);
	return fxt_element(s, index, size);
}

void fxt_sparse_free(struct fxt_sparse *s)
{
	for (unsigned int i = 0; s->pages && i < FXT_PAGES; i++)
		free(s->pages[i]);
	free(s->pages);
	s->pages = NULL;
}
