// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage by KCOV (Documentation/dev-tools/kcov.rst). Only the module is built for it.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fuzz.h"

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_TRACE_PC	0
#define WORDS		(1 << 15)

struct area {
	int fd;
	uint64_t *words;	/* a count, then this number of code addresses */
};

struct signal *cover_signal;
static struct area own, children;

static void open_area(struct area *a)
{
	a->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (a->fd < 0)
		err(1, "/sys/kernel/debug/kcov: this needs the debug kernel");
	if (ioctl(a->fd, KCOV_INIT_TRACE, WORDS))
		err(1, "KCOV_INIT_TRACE");
	a->words = mmap(NULL, WORDS * sizeof(*a->words), PROT_READ | PROT_WRITE, MAP_SHARED,
			a->fd, 0);
	if (a->words == MAP_FAILED)
		err(1, "mapping KCOV's buffer");
}

void cover_init(void)
{
	open_area(&own);
	open_area(&children);
	if (ioctl(own.fd, KCOV_ENABLE, KCOV_TRACE_PC))
		err(1, "KCOV_ENABLE");
}

static bool mark(uint8_t *map, uint64_t key, size_t size)
{
	key *= 0x9e3779b97f4a7c15ULL;
	key = key >> 40 & (size * 8 - 1);
	if (map[key / 8] & 1 << key % 8)
		return false;
	map[key / 8] |= 1 << key % 8;
	return true;
}

static void collect(struct area *a, unsigned int key)
{
	uint64_t count = __atomic_load_n(&a->words[0], __ATOMIC_RELAXED);
	struct signal *s = cover_signal;

	if (count >= WORDS - 1) {
		count = WORDS - 1;
		s->truncated++;
	}
	for (uint64_t i = 1; i <= count; i++) {
		s->points += mark(s->point_map, a->words[i], sizeof(s->point_map));
		s->pairs += mark(s->pair_map, a->words[i] * 256 + key, sizeof(s->pair_map));
	}
}

void cover_begin(void)
{
	__atomic_store_n(&own.words[0], 0, __ATOMIC_RELAXED);
}

void cover_end(unsigned int key)
{
	collect(&own, key);
}

void cover_child(void)
{
	__atomic_store_n(&children.words[0], 0, __ATOMIC_RELAXED);
	/* If another child uses the buffer, its coverage is counted instead. */
	(void)!ioctl(children.fd, KCOV_ENABLE, KCOV_TRACE_PC);
}

void cover_children(void)
{
	collect(&children, 255);
	__atomic_store_n(&children.words[0], 0, __ATOMIC_RELAXED);
}
