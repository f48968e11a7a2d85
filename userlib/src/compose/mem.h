/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of composers, from malloc(3) or from an arena; see mem.c */
#ifndef COMPOSE_MEM_H
#define COMPOSE_MEM_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/**
 * struct atc_arena - memory that is allocated piece by piece and freed all at once
 * @start: address of the mapping
 * @bytes: size of the mapping
 * @used: allocated bytes
 */
struct atc_arena {
	char *start;
	size_t bytes;
	size_t used;
};

/*
 * Maps an arena. The kernel allocates pages when they are touched. Returns 0 or a negative errno.
 */
int atc_arena_init(struct atc_arena *a, size_t bytes);
/* Frees all allocations of the arena. Async-signal-safe. */
void atc_arena_reset(struct atc_arena *a);
void atc_arena_free(struct atc_arena *a);
/*
 * Makes the calling thread allocate from @a; NULL: from malloc(3). Returns the arena used before.
 * Async-signal-safe.
 */
struct atc_arena *atc_arena_use(struct atc_arena *a);

/* Like malloc(3), calloc(3) and realloc(3). Async-signal-safe while an arena is in use. */
void *atc_malloc(size_t bytes);
void *atc_calloc(size_t n, size_t bytes);
void *atc_realloc(void *old, size_t bytes);
/* Returns all but the first @bytes of @p to the arena. @p must be the last allocation. */
void atc_shrink(void *p, size_t bytes);
/* Like free(3), but does nothing while an arena is in use. */
void atc_free(void *p);

#pragma GCC visibility pop

#endif /* COMPOSE_MEM_H */
