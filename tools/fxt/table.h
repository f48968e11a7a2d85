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
	const uint64_t *secret;	/* two words that decide the places of keys; NULL: none */
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
 * An array for indexes of a provider's tables: a tree whose nodes have FXT_FAN children or
 * elements. It is only as high as the largest index needs. So its memory depends on the indexes
 * that are used, because a trace may have many providers that define one string each. An array
 * filled with zeros is valid and empty.
 */
#define FXT_FAN_BITS	4
#define FXT_FAN		(1u << FXT_FAN_BITS)

struct fxt_sparse {
	void *root;		/* NULL: there is no element */
	unsigned int bits;	/* of the indexes that fit into the tree */
};

/* Returns element @index of @size bytes, or NULL if its node does not exist. */
static inline void *fxt_element(const struct fxt_sparse *s, unsigned int index, size_t size)
{
	void *node = index >> s->bits ? NULL : s->root;

	for (unsigned int shift = s->bits; node && shift > FXT_FAN_BITS;) {
		shift -= FXT_FAN_BITS;
		node = ((void **)node)[index >> shift & (FXT_FAN - 1)];
	}
	return node ? (char *)node + (index & (FXT_FAN - 1)) * size : NULL;
}

/*
 * Returns element @index of @size bytes. If its node does not exist, makes it with elements of
 * zeros. Returns NULL if there is no memory.
 */
void *fxt_make_element(struct fxt_sparse *s, unsigned int index, size_t size);
/* Calls @fn for each element that exists, of @size bytes, and empties the array. */
void fxt_sparse_clear(struct fxt_sparse *s, size_t size, void (*fn)(void *element));
/* Empties the array. */
void fxt_sparse_free(struct fxt_sparse *s);

/*
 * Visits all entries. Their order is the same in each run, unless keys were chosen to collide: see
 * .secret.
 */
#define fxt_each(t, e) \
	for (struct fxt_entry *e = (t)->entries; e && e <= (t)->entries + (t)->mask; e++) \
		if (e->key)

#endif /* FXT_TABLE_H */
