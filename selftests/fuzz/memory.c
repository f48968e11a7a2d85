// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on mappings of the device and on their contents
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#include "execute.h"

#define PAGE	4096UL

static bool control(int fd, struct asynctrace_control *c)
{
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return false;
	memcpy(c, at, sizeof(*c));
	munmap(at, PAGE);
	return true;
}

static void map(const struct op *op, struct map *m)
{
	int fd = env.fds[op->cmd % FDS];
	struct asynctrace_control c = { 0 };
	uint64_t offset = op->a, size = op->b;
	void *at;

	if (m->at || !control(fd, &c))
		return;
	if (op->a < 2) {
		offset = op->a ? c.rw_offset : 0;
		size = size ? size : op->a ? c.rw_size : c.control_size;
	}
	at = mmap(NULL, size ? size : PAGE, op->c & 7,
		  op->cut & MAP_PRIVATE ? MAP_PRIVATE : MAP_SHARED,
		  fd, offset & ~(PAGE - 1));
	if (at == MAP_FAILED)
		return;
	m->at = at;
	m->size = size ? size : PAGE;
	m->rw = op->a == 1;
	m->geometry.gate = c.gate;
	m->geometry.headers = c.headers;
	m->geometry.rings = c.rings;
	m->geometry.stride = c.ring_stride;
	m->geometry.durable = c.durable;
	m->geometry.nr_rings = c.nr_rings;
}

/* Reads the gate and the place of the rings again, which may have changed since the mapping. */
static void look_again(struct map *m)
{
	struct asynctrace_control c;

	for (unsigned int i = 0; i < FDS; i++) {
		if (env.fds[i] < 0 || !env.providers[i] || !control(env.fds[i], &c))
			continue;
		m->geometry.gate = c.gate;
		m->geometry.headers = c.headers;
		m->geometry.rings = c.rings;
		m->geometry.stride = c.ring_stride;
		m->geometry.nr_rings = c.nr_rings;
		return;
	}
}

/* Returns the word at the byte offset @at, rounded down, or NULL beyond the mapping's end. */
static volatile uint64_t *word(struct map *m, uint64_t at)
{
	at &= ~7ULL;
	return m->size >= 8 && at <= m->size - 8 ? (volatile uint64_t *)(m->at + at) : NULL;
}

static void put(struct map *m, uint64_t at, uint64_t value)
{
	volatile uint64_t *w = word(m, at);

	if (w)
		*w = value;
}

static void scribble(const struct op *op, struct map *m)
{
	struct rng r = { op->a };

	for (uint64_t i = 0; i < op->c % 16; i++) {
		uint64_t ring = below(&r, m->geometry.nr_rings + 2), at;

		switch (below(&r, 5)) {
		case 0:		/* a position, or another word of a ring's line */
			at = m->geometry.headers + ring * ASYNCTRACE_LINE + below(&r, 3) * 8;
			break;
		case 1:		/* the begin of a sub-buffer */
			at = m->geometry.rings + ring * m->geometry.stride +
			     below(&r, 4) * ASYNCTRACE_SUBBUF_MIN + below(&r, 8) * 8;
			break;
		case 2:
			at = m->geometry.durable + below(&r, 24) * 8;
			break;
		case 3:
			at = below(&r, m->size);
			break;
		default:	/* a page of the ring, touched or not */
			at = m->geometry.rings + ring * m->geometry.stride + below(&r, 64) * PAGE;
		}
		put(m, at, one_in(&r, 3) ? rnd(&r) >> below(&r, 64) : op->b);
	}
}

/* Writes records that are valid or almost. */
static void records(const struct op *op, struct map *m)
{
	const uint64_t head = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 5, 0,
							ASYNCTRACE_FXT_INLINE | 1,
							ASYNCTRACE_FXT_INLINE | 1);
	uint64_t base, at = ASYNCTRACE_SUBBUF_WORDS, count = op->b % 100;
	struct rng r = { op->c };

	look_again(m);
	base = m->geometry.rings + (op->a % (m->geometry.nr_rings + 1)) * m->geometry.stride;
	put(m, base, ASYNCTRACE_SUBBUF_MAGIC | (uint64_t)m->geometry.gate << 32);
	for (unsigned int i = 1; i < 4; i++)
		put(m, base + i * 8, 0);
	for (uint64_t i = 0; i < count; i++) {
		put(m, base + at++ * 8, op->c ? head ^ 1ULL << below(&r, 64) : head);
		put(m, base + at++ * 8, rnd(&r));
		put(m, base + at++ * 8, 1 + below(&r, 3));
		put(m, base + at++ * 8, 'c');
		put(m, base + at++ * 8, 'n');
	}
	put(m, m->geometry.headers + op->a % (m->geometry.nr_rings + 1) * ASYNCTRACE_LINE,
	    at | count << ASYNCTRACE_POS_BITS);
}

/*
 * Chooses pages of the mapping: op->b pages from page op->a on. An op->a beyond the mapping becomes
 * 0. If op->b is 0 or too large, takes all pages up to the end. Returns false if there is no page.
 */
static bool part(const struct op *op, struct map *m, char **at, size_t *size)
{
	size_t pages = m->size / PAGE, from = op->a < pages ? op->a : 0;
	size_t count = op->b && op->b < pages - from ? op->b : pages - from;

	*at = m->at + from * PAGE;
	*size = count * PAGE;
	return *size;
}

void memory_op(const struct op *op)
{
	struct map *m = &env.maps[op->slot % MAPS];
	size_t size;
	char *at;

	if (op->kind == OP_MMAP) {
		map(op, m);
		return;
	}
	if (!m->at)
		return;
	if (op->kind == OP_SCRIBBLE) {
		scribble(op, m);
		return;
	}
	if (op->kind == OP_WRITE) {
		records(op, m);
		return;
	}
	if (!part(op, m, &at, &size))
		return;
	switch (op->kind) {
	case OP_MUNMAP:
		munmap(at, size);
		if (size == m->size)
			m->at = NULL;
		break;
	case OP_MREMAP:
		/* Only a whole mapping may move, because @m has only one address. */
		if (at == m->at && size == m->size) {
			at = mremap(at, size, op->c & 1 ? size : size / 2 + PAGE, MREMAP_MAYMOVE);
			if (at != MAP_FAILED) {
				m->at = at;
				m->size = op->c & 1 ? size : (size / 2 + PAGE) & ~(PAGE - 1);
			}
		} else {
			mremap(at, size, size + PAGE, 0);
		}
		break;
	case OP_MPROTECT:
		mprotect(at, size, op->c & 7);
		break;
	case OP_MADVISE:
		madvise(at, size, op->c);
		break;
	}
}
