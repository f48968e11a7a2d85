// SPDX-License-Identifier: LGPL-2.1-or-later
/* The memory of an in-process trace's rings, with the module's layout */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/internal.h"
#include "inproc.h"

#define AT_DEFAULT_RING	(1u << 20)
#define AT_ROUND_UP(x, to)	(((x) + (to) - 1) / (to) * (to))

static uint32_t generations = AT_GENERATION_FIRST;

uint32_t at_new_generation(void)
{
	if (++generations >= AT_GENERATION_BESIDE)
		generations = AT_GENERATION_FIRST + 1;
	return generations;
}

#ifdef __x86_64__
static bool file_has(const char *path, const char *word)
{
	char buf[256] = " ", *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf + 1, sizeof(buf) - 3);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	buf[n + 1] = ' ';
	for (at = buf; *at; at++)
		if (*at == '\n')
			*at = ' ';
	return strstr(buf, word);
}
#endif

/*
 * Chooses the counter if it can be trusted and read, otherwise CLOCK_BOOTTIME. The kernel removes
 * the TSC from available_clocksource when it finds that the TSC cannot be trusted.
 */
static uint32_t find_clock(void)
{
	if (at_counter_forbidden())
		return ASYNCTRACE_CLOCK_BOOTTIME;
#ifdef __x86_64__
	if (!file_has("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		      " tsc "))
		return ASYNCTRACE_CLOCK_BOOTTIME;
#endif
	return ASYNCTRACE_CLOCK_COUNTER;
}

/* Returns one more than the highest possible CPU number of this machine. */
static uint32_t count_cpus(void)
{
	char buf[256] = "";
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	char *last = buf + strlen(buf);
	long cpus;

	if (fd >= 0)
		close(fd);
	if (n <= 0) {
		cpus = sysconf(_SC_NPROCESSORS_CONF);
		return cpus > 0 ? cpus : 1;
	}
	while (last > buf && last[-1] != '-' && last[-1] != ',')
		last--;
	return strtoul(last, NULL, 10) + 1;
}

static uint64_t power_of_two(uint64_t x)
{
	uint64_t p = 1;

	while (p < x)
		p <<= 1;
	return p;
}

uint64_t at_ring_size(const struct at_trace_options *options)
{
	return options->ring_size ? power_of_two(options->ring_size) : AT_DEFAULT_RING;
}

int at_shape_init(struct at_shape *shape, const struct at_trace_options *options)
{
	uint64_t sub = options->sub_size, ring;

	if (options->ring_size > ASYNCTRACE_RING_MAX)
		return -EINVAL;
	ring = at_ring_size(options);
	if (ring < ASYNCTRACE_RING_MIN)
		return -EINVAL;
	if (!sub) {
		/* Small sub-buffers waste less of a circular ring, large ones cost less time. */
		sub = ring / 16;
		if (sub < ASYNCTRACE_SUBBUF_MIN)
			sub = ASYNCTRACE_SUBBUF_MIN;
		if (sub > ASYNCTRACE_SUBBUF_MAX)
			sub = ASYNCTRACE_SUBBUF_MAX;
	}
	if (sub & (sub - 1) || sub < ASYNCTRACE_SUBBUF_MIN || sub > ASYNCTRACE_SUBBUF_MAX ||
	    ring / sub < ASYNCTRACE_SUBBUFS_MIN)
		return -EINVAL;
	shape->mode = options->mode ?: ASYNCTRACE_MODE_STREAMING;
	if (shape->mode < ASYNCTRACE_MODE_ONESHOT || shape->mode > ASYNCTRACE_MODE_STREAMING)
		return -EINVAL;
	shape->sub_words = sub / 8;
	shape->nsub = ring / sub;
	shape->nr_rings = count_cpus();
	shape->clock = find_clock();
	return 0;
}

int at_categories_check(const char *categories, const char **wrong, size_t *n)
{
	const char *from = categories ?: "", *star;
	size_t count = 0;

	for (; *from; from += *n + (from[*n] == ',')) {
		*wrong = from;
		*n = strcspn(from, ",");
		if (*n > ASYNCTRACE_CATEGORY_MAX)
			return -ENAMETOOLONG;
		if (*n == 1 && *from == '-')
			return -EINVAL;
		star = memchr(from, '*', *n);
		if (star && star != from + *n - 1)
			return -EILSEQ;
		count += !!*n;
	}
	*n = count;
	return count > ASYNCTRACE_CATEGORIES_MAX ? -E2BIG : 0;
}

/* at_categories_check() must have accepted @categories. */
static void put_categories(struct at_area *a, const char *categories)
{
	struct asynctrace_categories *list = (void *)((char *)a->control + a->control->categories);
	const char *from = categories ?: "";

	while (*from) {
		size_t n = strcspn(from, ",");

		if (n) {
			memcpy(list->text + list->bytes, from, n);
			list->bytes += n + 1;
			list->count++;
		}
		from += n + (from[n] == ',');
	}
}

/* Computes the layout: control area, headers, durable ring, rings, as in linux/asynctrace.h. */
static void lay_out(const struct at_shape *s, struct asynctrace_control *c)
{
	const uint64_t page = at_page_size(), rings = (uint64_t)s->nr_rings + 1;

	c->sub_mask = s->sub_words - 1;
	c->ring_mask = s->sub_words * s->nsub - 1;
	c->clock = s->clock;
	c->nr_rings = s->nr_rings;
	c->limits = AT_ROUND_UP(sizeof(*c), ASYNCTRACE_LINE);
	c->categories = AT_ROUND_UP(c->limits + rings * sizeof(uint64_t), ASYNCTRACE_LINE);
	c->control_size = AT_ROUND_UP(c->categories + sizeof(struct asynctrace_categories) +
				      ASYNCTRACE_CATEGORIES_MAX * (ASYNCTRACE_CATEGORY_MAX + 1),
				      page);
	c->headers = 0;
	c->durable = AT_ROUND_UP(rings * ASYNCTRACE_LINE, page);
	c->durable_words = (ASYNCTRACE_DURABLE_SIZE - ASYNCTRACE_LINE) / 8;
	c->rings = AT_ROUND_UP(c->durable + ASYNCTRACE_DURABLE_SIZE, page);
	c->ring_stride = AT_ROUND_UP((uint64_t)s->sub_words * s->nsub * 8, page);
	c->rw_offset = c->control_size;
	c->rw_size = c->rings + rings * c->ring_stride;
	c->magic = ASYNCTRACE_CONTROL_MAGIC;
	c->abi = ASYNCTRACE_ABI_VERSION;
	c->size = sizeof(*c);
	c->provider = 1;
	c->salt = at_salt();
	/* A generation of its own prevents names of another area from being used: see names.c. */
	c->durable_generation = at_new_generation();
}

/*
 * Maps the shared memory at @from a second time, at @to, or anywhere if @to is NULL. By system
 * call, because sanitizers and valgrind do not support this use of mremap(2).
 */
static void *map_again(const void *from, size_t bytes, void *to)
{
	return (void *)syscall(SYS_mremap, from, 0, bytes,
			       MREMAP_MAYMOVE | (to ? MREMAP_FIXED : 0), to);
}

/*
 * Maps anonymous memory, to which RLIMIT_FSIZE does not apply. If the kernel does not overcommit
 * memory and has too little of it, mmap() fails here. A memfd would instead raise SIGBUS at some
 * later record.
 */
static char *map_anonymous(size_t bytes)
{
	char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *again;

	if (all == MAP_FAILED)
		return all;
	again = map_again(all, at_page_size(), NULL);
	if (again != MAP_FAILED) {
		munmap(again, at_page_size());
		return all;
	}
	munmap(all, bytes);
	errno = EOPNOTSUPP;
	return MAP_FAILED;
}

/* For valgrind, which cannot map anonymous memory twice. */
static char *map_memfd(size_t bytes, int *fd)
{
	struct at_quiet quiet;
	char *all = MAP_FAILED;
	int err = 0;

	*fd = memfd_create("asynctrace", MFD_CLOEXEC);
	if (*fd < 0)
		return all;
	at_quiet_begin(&quiet);
	if (ftruncate(*fd, bytes))
		err = errno;
	at_quiet_end(&quiet);
	if (!err) {
		all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		err = errno;
	}
	if (all == MAP_FAILED) {
		close(*fd);
		*fd = -1;
		errno = err;
	}
	return all;
}

uint64_t at_area_limit(const struct at_shape *shape, uint32_t ring, uint64_t taken)
{
	const uint64_t positions = (ring == shape->nr_rings ? ASYNCTRACE_FALLBACK_POS_MASK :
				    ASYNCTRACE_POS_MASK) + 1;
	const uint64_t last = positions - shape->sub_words;
	const uint64_t limit = taken + (uint64_t)shape->sub_words * shape->nsub;

	return shape->mode == ASYNCTRACE_MODE_CIRCULAR || limit > last ? last : limit;
}

int at_area_create(struct at_area *a, const struct at_shape *shape, const char *categories)
{
	struct asynctrace_control c = { 0 };
	uint64_t *limits;
	char *all;

	memset(a, 0, sizeof(*a));
	lay_out(shape, &c);
	a->fd = -1;
	a->shape = *shape;
	a->control_size = c.control_size;
	a->rw_size = c.rw_size;
	all = map_anonymous(a->control_size + a->rw_size);
	if (all == MAP_FAILED && errno == EOPNOTSUPP)
		all = map_memfd(a->control_size + a->rw_size, &a->fd);
	if (all == MAP_FAILED)
		return -errno;
	a->control = (void *)all;
	a->rw = all + a->control_size;
	*a->control = c;
	limits = (uint64_t *)((char *)a->control + c.limits);
	for (uint32_t i = 0; i <= shape->nr_rings; i++)
		limits[i] = at_area_limit(shape, i, 0);
	((struct asynctrace_ring_header *)(a->rw + c.durable))->position =
		(uint64_t)c.durable_generation << ASYNCTRACE_DURABLE_GEN_SHIFT;
	put_categories(a, categories);
	return 0;
}

void at_area_destroy(struct at_area *a)
{
	munmap(a->control, a->control_size + a->rw_size);
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

void at_area_gate(struct at_area *a, uint32_t generation)
{
	struct asynctrace_ring_header *fallback =
		(void *)(a->rw + a->control->headers +
			 (uint64_t)a->shape.nr_rings * ASYNCTRACE_LINE);

	if (generation) {
		a->control->run = generation;
		__atomic_store_n(&fallback->position,
				 (uint64_t)generation << ASYNCTRACE_FALLBACK_TAG_SHIFT &
				 ASYNCTRACE_FALLBACK_TAG_MASK, __ATOMIC_RELAXED);
		__atomic_store_n(&fallback->dropped,
				 (uint64_t)generation << ASYNCTRACE_FALLBACK_DROPS_SHIFT,
				 __ATOMIC_RELAXED);
	}
	__atomic_store_n(&a->control->gate, generation, __ATOMIC_SEQ_CST);
}

void at_area_hold(struct at_area *a)
{
	__atomic_store_n(&a->control->gate, ASYNCTRACE_GATE_ATTACH, __ATOMIC_SEQ_CST);
}

/*
 * Addresses at which this process's writers see the area. Reused but never unmapped: see struct
 * at_hot.
 */
static struct {
	char *rw;
	size_t rw_size;
	char *control;
	size_t control_size;
} attached;

/* Maps @bytes at @offset of the area's memory, at @to, or anywhere if @to is NULL. */
static void *map_part(const struct at_area *a, void *to, size_t bytes, int prot, off_t offset)
{
	void *p;

	if (a->fd >= 0)
		return at_mmap(to, bytes, prot, MAP_SHARED | (to ? MAP_FIXED : 0), a->fd, offset);
	p = map_again((char *)a->control + offset, bytes, to);
	if (p != MAP_FAILED && !(prot & PROT_WRITE) && syscall(SYS_mprotect, p, bytes, prot))
		return MAP_FAILED;
	return p;
}

static int attach_part(const struct at_area *a, char **addr, size_t *had, size_t bytes,
		       int prot, off_t offset)
{
	const bool reuse = *addr && *had >= bytes;
	void *p = map_part(a, reuse ? *addr : NULL, bytes, prot, offset);

	if (p == MAP_FAILED)
		return -errno;
	if (!reuse)
		*had = bytes;
	*addr = p;
	return 0;
}

static int show_gate(const struct at_area *a)
{
	int err = at_gate_prepare();

	if (err)
		return err;
	return map_part(a, &at_gate_, at_page_size(), PROT_READ, 0) == MAP_FAILED ? -errno : 0;
}

int at_area_attach(struct at_area *a, uint32_t gate)
{
	int err;

	a->control->gate = gate;
	err = at_gate_reset(gate);
	if (err)
		return err;
	err = attach_part(a, &attached.control, &attached.control_size, a->control_size,
			  PROT_READ, 0);
	if (!err)
		err = attach_part(a, &attached.rw, &attached.rw_size, a->rw_size,
				  PROT_READ | PROT_WRITE, a->control_size);
	if (!err) {
		at_backend_set(ASYNCTRACE_BACKEND_INPROCESS, attached.rw, attached.control);
		err = show_gate(a);
	}
	if (err) {
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		at_area_detach();
	}
	return err;
}

void at_area_detach(void)
{
	if (attached.rw)
		at_void_map(attached.rw, attached.rw_size);
	if (attached.control)
		at_void_map(attached.control, attached.control_size);
}
