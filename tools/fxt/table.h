/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table from 64-bit keys to values of 16 bytes, whose key may be a hash; arrays. */
#ifndef FXT_TABLE_H
#define FXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_entry {
	uint64_t key;		/* 0: free */
	uint64_t a, b;
};

/* Starts as zeros. */
struct fxt_table {
	struct fxt_entry *entries;
	size_t mask, used;
};

/* The entry of @key, or NULL. Valid until the next fxt_make() or fxt_remove(). */
struct fxt_entry *fxt_find(const struct fxt_table *t, uint64_t key);
/* The entry of @key; if there is none, a new one with zero values. NULL: no memory. */
struct fxt_entry *fxt_make(struct fxt_table *t, uint64_t key);
void fxt_remove(struct fxt_table *t, struct fxt_entry *e);
void fxt_table_free(struct fxt_table *t);
/* A key of two numbers; never 0 */
uint64_t fxt_hash(uint64_t a, uint64_t b);

/* For more_room() */
bool double_room(void *array, size_t *room, size_t size);

/*
 * Room for one more of @size bytes behind the @nr of an array. @array points to the pointer
 * to it. False: no memory
 */
static inline bool more_room(void *array, size_t nr, size_t *room, size_t size)
{
	return nr < *room || double_room(array, room, size);
}

#define fxt_each(t, e) \
	for (struct fxt_entry *e = (t)->entries; e && e <= (t)->entries + (t)->mask; e++) \
		if (e->key)

#endif /* FXT_TABLE_H */
