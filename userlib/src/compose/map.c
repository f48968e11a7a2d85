// SPDX-License-Identifier: LGPL-2.1-or-later
/* Hash tables with open addressing: at most two thirds full, never shrinking. */
#include <errno.h>
#include <stdlib.h>

#include "composer.h"

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014), which is a bijection. */
uint64_t atc_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static struct atc_entry *find_entry(const struct atc_map *m, uint64_t key)
{
	size_t i = atc_mix(key) & m->mask;

	while (m->entries[i].value && m->entries[i].key != key)
		i = (i + 1) & m->mask;
	return &m->entries[i];
}

void *atc_map_get(const struct atc_map *m, uint64_t key)
{
	return m->entries ? find_entry(m, key)->value : NULL;
}

static int grow_map(struct atc_map *m)
{
	size_t mask = m->entries ? m->mask * 2 + 1 : 15;
	struct atc_map bigger = { .mask = mask, .used = m->used };

	bigger.entries = atc_calloc(mask + 1, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	atc_map_each(m, e)
		*find_entry(&bigger, e->key) = *e;
	atc_free(m->entries);
	*m = bigger;
	return 0;
}

int atc_map_set(struct atc_map *m, uint64_t key, void *value)
{
	struct atc_entry *e;

	if (!m->entries || (m->used + 1) * 3 > (m->mask + 1) * 2) {
		int err = grow_map(m);

		if (err)
			return err;
	}
	e = find_entry(m, key);
	if (!e->value)
		m->used++;
	e->key = key;
	e->value = value;
	return 0;
}

void *atc_map_make(struct atc_map *m, uint64_t key, size_t size)
{
	void *v = atc_map_get(m, key);

	if (v)
		return v;
	v = atc_calloc(1, size);
	if (v && atc_map_set(m, key, v)) {
		atc_free(v);
		return NULL;
	}
	return v;
}

void atc_map_free(struct atc_map *m, void (*destroy)(void *value))
{
	atc_map_each(m, e)
		destroy(e->value);
	atc_free(m->entries);
	*m = (struct atc_map){ 0 };
}
