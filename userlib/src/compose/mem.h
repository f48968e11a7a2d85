/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of composers: see mem.c
 */
#ifndef COMPOSE_MEM_H
#define COMPOSE_MEM_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/**
 * struct atc_arena - memory that is given out piece by piece and freed all at once
 * @start: of the mapping
 * @bytes: of the mapping
 * @used: of them, given out
 */
struct atc_arena {
	char *start;
	size_t bytes;
	size_t used;
};

/* Reserves addresses; pages come when they are touched. Returns 0 or a negative errno. */
int atc_arena_init(struct atc_arena *a, size_t bytes);
/* Frees all that was given out. Async-signal-safe. */
void atc_arena_reset(struct atc_arena *a);
void atc_arena_free(struct atc_arena *a);
/*
 * From now on the calling thread allocates from @a; NULL: from malloc(3). Returns the
 * arena before. Async-signal-safe.
 */
struct atc_arena *atc_arena_use(struct atc_arena *a);

/* As malloc(3), and async-signal-safe while an arena is in use. */
void *atc_malloc(size_t bytes);
void *atc_calloc(size_t n, size_t bytes);
void *atc_realloc(void *old, size_t bytes);
/* Gives back what is behind the first @bytes of @p, the last allocation from the arena. */
void atc_shrink(void *p, size_t bytes);
/* Does nothing while an arena is in use. */
void atc_free(void *p);

#pragma GCC visibility pop

#endif /* COMPOSE_MEM_H */
