// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory of composers, from malloc(3) or from an arena.
 *
 * A composer that a signal handler uses must not call malloc(3), because the interrupted code may
 * hold the lock of malloc(3). Such a composer takes all its memory from an arena that was mapped
 * before. The memory of an arena is freed all at once, when the arena is reset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mem.h"

/* Precedes each allocation, so that atc_realloc() knows how much to copy. */
struct header {
	size_t bytes;
	size_t unused;		/* keeps allocations aligned to 16 bytes */
};

/*
 * The arena that the calling thread allocates from. The initial-exec model avoids an allocation
 * of thread-local memory in a signal handler.
 */
static __thread struct atc_arena *current __attribute__((tls_model("initial-exec")));

static size_t round_up(size_t bytes)
{
	return (bytes + sizeof(struct header) - 1) & ~(sizeof(struct header) - 1);
}

int atc_arena_init(struct atc_arena *a, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*a = (struct atc_arena){ 0 };
	if (p == MAP_FAILED)
		return -errno;
	a->start = p;
	a->bytes = bytes;
	return 0;
}

void atc_arena_reset(struct atc_arena *a)
{
	/* Return the pages to the system. */
	madvise(a->start, a->bytes, MADV_DONTNEED);
	a->used = 0;
}

void atc_arena_free(struct atc_arena *a)
{
	munmap(a->start, a->bytes);
	*a = (struct atc_arena){ 0 };
}

struct atc_arena *atc_arena_use(struct atc_arena *a)
{
	struct atc_arena *before = current;

	current = a;
	return before;
}

static void *arena_take(struct atc_arena *a, size_t bytes)
{
	struct header *h;

	if (bytes > a->bytes || round_up(bytes) + sizeof(*h) > a->bytes - a->used) {
		errno = ENOMEM;
		return NULL;
	}
	h = (struct header *)(a->start + a->used);
	h->bytes = round_up(bytes);
	a->used += sizeof(*h) + h->bytes;
	return h + 1;
}

void *atc_malloc(size_t bytes)
{
	return current ? arena_take(current, bytes) : malloc(bytes);
}

void *atc_calloc(size_t n, size_t bytes)
{
	void *p;

	if (!current)
		return calloc(n, bytes);
	if (bytes && n > SIZE_MAX / bytes) {
		errno = ENOMEM;
		return NULL;
	}
	p = arena_take(current, n * bytes);
	/* Memory that atc_shrink() returned to the arena may not be zero. */
	return p ? memset(p, 0, n * bytes) : NULL;
}

void *atc_realloc(void *old, size_t bytes)
{
	struct atc_arena *a = current;
	struct header *h;
	void *p;

	if (!a)
		return realloc(old, bytes);
	if (!old)
		return arena_take(a, bytes);
	h = (struct header *)old - 1;
	if (bytes <= h->bytes)
		return old;
	/* The last allocation can grow in place. */
	if ((char *)old + h->bytes == a->start + a->used && bytes <= a->bytes &&
	    round_up(bytes) - h->bytes <= a->bytes - a->used) {
		a->used += round_up(bytes) - h->bytes;
		h->bytes = round_up(bytes);
		return old;
	}
	p = arena_take(a, bytes);
	if (p)
		memcpy(p, old, h->bytes);
	return p;
}

void atc_shrink(void *p, size_t bytes)
{
	struct header *h = (struct header *)p - 1;

	current->used -= h->bytes - round_up(bytes);
	h->bytes = round_up(bytes);
}

void atc_free(void *p)
{
	if (!current)
		free(p);
}
