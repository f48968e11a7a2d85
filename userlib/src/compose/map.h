/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hash tables from 64-bit keys to pointers; see map.c. */
#ifndef COMPOSE_MAP_H
#define COMPOSE_MAP_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A hash table from 64-bit keys to pointers. Entries are never removed. */
struct atc_map {
	struct atc_entry {
		uint64_t key;
		void *value;		/* NULL: the entry is free */
	} *entries;
	size_t mask;
	size_t used;
};

void *atc_map_get(const struct atc_map *m, uint64_t key);
int atc_map_set(struct atc_map *m, uint64_t key, void *value);
/* Returns the value of @key. If there is none, allocates @size zero bytes. NULL: no memory. */
void *atc_map_make(struct atc_map *m, uint64_t key, size_t size);
void atc_map_free(struct atc_map *m, void (*destroy)(void *value));
uint64_t atc_mix(uint64_t x);

#define atc_map_each(m, e) \
	for (struct atc_entry *e = (m)->entries; e && e <= (m)->entries + (m)->mask; e++) \
		if (e->value)

#pragma GCC visibility pop

#endif /* COMPOSE_MAP_H */
