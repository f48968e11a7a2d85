// SPDX-License-Identifier: GPL-2.0-or-later
/* A hash table with linear probing, arrays that grow, and sparse arrays */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "table.h"

/*
 * Limit of the entries that fxt_make() probes. In a table that is two thirds full, chains of
 * ordinary keys are shorter. Longer ones mean that somebody chose keys that collide.
 */
#define PROBES_MAX	512

uint64_t fxt_hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0xd6e8feb86659fd93ULL;

	h = (h ^ h >> 32) + b;
	h *= 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h ^= h >> 32;
	return h ? h : 1;
}

/* Returns the place of a key for a secret that nobody can choose keys for. */
static size_t secret_place(const struct fxt_table *t, uint64_t key)
{
	const unsigned __int128 p = (unsigned __int128)(key ^ t->secret[0]) * t->secret[1];

	return ((uint64_t)p ^ (uint64_t)(p >> 64)) & t->mask;
}

static size_t place(const struct fxt_table *t, uint64_t key)
{
	return t->secret ? secret_place(t, key) : (key * 0x9e3779b97f4a7c15ULL >> 16) & t->mask;
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

static bool rebuild(struct fxt_table *t, size_t mask, const uint64_t *secret)
{
	struct fxt_table other = { .mask = mask, .used = t->used, .secret = secret };

	other.entries = calloc(mask + 1, sizeof(*other.entries));
	if (!other.entries)
		return false;
	fxt_each(t, e)
		*look(&other, e->key) = *e;
	free(t->entries);
	*t = other;
	return true;
}

static bool grow(struct fxt_table *t)
{
	return rebuild(t, t->entries ? t->mask * 2 + 1 : 63, t->secret);
}

/*
 * Arranges the entries by a secret of this process. An ordinary table has none, so that the order
 * of fxt_each() is the same in each run.
 */
static void scatter(struct fxt_table *t)
{
	static uint64_t secret[2];

	/* The kernel gives each process 16 random bytes. */
	memcpy(secret, (const void *)getauxval(AT_RANDOM), sizeof(secret));
	secret[1] |= 1;
	/* Without memory, the table stays as it is, which is slow. */
	rebuild(t, t->mask, secret);
}

struct fxt_entry *fxt_make(struct fxt_table *t, uint64_t key)
{
	struct fxt_entry *e;

	if ((!t->entries || (t->used + 1) * 3 > (t->mask + 1) * 2) && !grow(t))
		return NULL;
	e = look(t, key);
	if (e->key)
		return e;
	if (!t->secret && ((e - t->entries - place(t, key)) & t->mask) > PROBES_MAX) {
		scatter(t);
		e = look(t, key);
	}
	t->used++;
	e->key = key;
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
	void **at = &s->root;

	while (!s->bits || index >> s->bits) {
		void **above = s->root ? calloc(FXT_FAN, sizeof(*above)) : NULL;

		if (s->root && !above)
			return NULL;
		if (above)
			*above = s->root;
		s->root = above;
		s->bits += FXT_FAN_BITS;
	}
	for (unsigned int shift = s->bits - FXT_FAN_BITS;; shift -= FXT_FAN_BITS) {
		const unsigned int i = index >> shift & (FXT_FAN - 1);

		if (!*at)
			*at = calloc(FXT_FAN, shift ? sizeof(*at) : size);
		if (!*at)
			return NULL;
		if (!shift)
			return (char *)*at + i * size;
		at = (void **)*at + i;
	}
}

/* Calls @fn for the elements below @node, which has indexes of @bits bits, and frees it. */
static void free_node(void **node, unsigned int bits, size_t size, void (*fn)(void *element))
{
	for (unsigned int i = 0; node && i < FXT_FAN; i++) {
		if (bits > FXT_FAN_BITS)
			free_node(node[i], bits - FXT_FAN_BITS, size, fn);
		else if (fn)
			fn((char *)node + i * size);
	}
	free(node);
}

void fxt_sparse_clear(struct fxt_sparse *s, size_t size, void (*fn)(void *element))
{
	free_node(s->root, s->bits, size, fn);
	*s = (struct fxt_sparse){ 0 };
}

void fxt_sparse_free(struct fxt_sparse *s)
{
	fxt_sparse_clear(s, 0, NULL);
}
