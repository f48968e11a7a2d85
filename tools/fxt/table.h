/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table with 64-bit keys and 16-byte values, arrays that grow, and sparse arrays. Keys that
 * are hashes of the real key are not compared further: a collision of 64 bits is accepted.
 */
#ifndef FXT_TABLE_H
#define FXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_entry {
	uint64_t key;		/* 0: the entry is free */
	uint64_t a, b;
};

/* A table filled with zeros is valid and empty. */
struct fxt_table {
	struct fxt_entry *entries;
	size_t mask, used;
};

/* Returns the entry of @key, or NULL. It is valid until the next fxt_make() or fxt_remove(). */
struct fxt_entry *fxt_find(const struct fxt_table *t, uint64_t key);
/*
 * Returns the entry of @key. If there is none, makes one with zero values. Returns NULL if
 * there is no memory.
 */
struct fxt_entry *fxt_make(struct fxt_table *t, uint64_t key);
void fxt_remove(struct fxt_table *t, struct fxt_entry *e);
void fxt_table_free(struct fxt_table *t);
/* Returns a hash of two numbers, which is never 0 and so can be a key. */
uint64_t fxt_hash(uint64_t a, uint64_t b);

/* Slow path of more_room() */
bool double_room(void *array, size_t *room, size_t size);

/*
 * Makes room for element @nr of an array. @array points to the array's pointer, @size is the
 * size of an element in bytes. Returns false if there is no memory.
 */
static inline bool more_room(void *array, size_t nr, size_t *room, size_t size)
{
	return nr < *room || double_room(array, room, size);
}

/*
 * An array for indexes of a provider's string table. Memory depends on the indexes that are used,
 * because a trace may have many providers that define one string each. An array filled with zeros
 * is valid and empty.
 */
#define FXT_PAGE	128u	/* elements of a page */
#define FXT_PAGES	256u

struct fxt_sparse {
	char **pages;		/* FXT_PAGES, or NULL; pages without an element are NULL */
};

/* Returns element @index of @size bytes, or NULL if its page does not exist. */
static inline void *fxt_element(const struct fxt_sparse *s, unsigned int index, size_t size)
{
	char *page = s->pages ? s->pages[index / FXT_PAGE] : NULL;

	return page ? page + index % FXT_PAGE * size : NULL;
}

/*
 * Returns element @index of @size bytes. If its page does not exist, makes it with elements of
 * zeros. Returns NULL if there is no memory.
 */
void *fxt_make_element(struct fxt_sparse *s, unsigned int index, size_t size);
/* Empties the array. */
void fxt_sparse_free(struct fxt_sparse *s);

#define fxt_each(t, e) \
	for (struct fxt_entry *e = (t)->entries; e && e <= (t)->entries + (t)->mask; e++) \
		if (e->key)

#endif /* FXT_TABLE_H */
