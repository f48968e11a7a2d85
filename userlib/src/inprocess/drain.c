// SPDX-License-Identifier: LGPL-2.1-or-later
/* Makes chunks of rings, like those that read(2) of the module returns */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "compose/text.h"
#include "writer/internal.h"
#include "inproc.h"

#define AT_CLOCK_PERIOD_NS	1000000000ull
#define AT_FLUSH_PERIOD_NS	50000000ull
#define AT_THREADS_BATCH	32

static void emit_chunk(struct at_drain *d, struct asynctrace_chunk *c, const void *payload,
		       size_t bytes)
{
	if (__atomic_load_n(&d->pause, __ATOMIC_RELAXED)) {
		at_drain_leave(d);
		at_drain_enter(d);
	}
	if (d->error)
		return;
	c->size = sizeof(*c);
	c->bytes = bytes;
	at_clock_stamp(d->area, c);
	d->error = d->sink(d->arg, c, payload);
}

static void emit_clock(struct at_drain *d, uint32_t what)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_CLOCK };
	struct asynctrace_clock_pair pair;

	at_clock_pair_now(d->area, &pair);
	pair.what = what;
	d->clock_at = pair.boottime;
	emit_chunk(d, &c, &pair, sizeof(pair));
}

static void emit_provider(struct at_drain *d)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_PROVIDER, .provider = 1 };
	struct asynctrace_provider_info info = {
		.id = 1,
		.pid = getpid(),
		.uid = getuid(),
		.salt = d->area->control->salt,
	};

	memcpy(info.name, d->name, sizeof(d->name));
	emit_chunk(d, &c, &info, sizeof(info));
}

/* Names the process by its main thread. */
static void emit_process(struct at_drain *d)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_NAMES };
	struct asynctrace_task_name name = {
		.tid = getpid(),
		.pid = getpid(),
		.flags = ASYNCTRACE_TASK_F_PROVIDER,
	};
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name.comm, sizeof(name.comm));

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		memcpy(name.comm, d->name, sizeof(name.comm));
	name.comm[sizeof(name.comm) - 1] = '\0';
	name.comm[strcspn(name.comm, "\n")] = '\0';
	name.ticks = d->area->shape.clock == ASYNCTRACE_CLOCK_COUNTER ?
		     at_clock(0, ASYNCTRACE_CLOCK_COUNTER) : at_now_ns(CLOCK_BOOTTIME);
	emit_chunk(d, &c, &name, sizeof(name));
}

static void emit_live(void *arg, const struct asynctrace_task_name *names, size_t nr)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_NAMES };

	emit_chunk(arg, &c, names, nr * sizeof(*names));
}

static void emit_strings(struct at_drain *d)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_STRINGS, .provider = 1 };
	const struct asynctrace_ring_header *line =
		(const void *)(d->area->rw + d->area->control->durable);
	const uint64_t *data = (const void *)((const char *)line + ASYNCTRACE_LINE);
	uint32_t end = (uint32_t)__atomic_load_n(&line->position, __ATOMIC_ACQUIRE);

	if (end == d->strings)
		return;
	c.sequence = d->strings;
	emit_chunk(d, &c, &data[d->strings], (size_t)(end - d->strings) * 8);
	d->strings = end;
}

/* Reads the thread's present name. Returns false and changes nothing if the thread has ended. */
static bool refresh_comm(struct asynctrace_thread *t)
{
	char path[48], comm[ASYNCTRACE_COMM_LEN + 1] = "", *at;
	ssize_t n;
	int fd;

	/* snprintf(3) is not async-signal-safe, and a signal handler may call this. */
	at = atc_text_put(path, path + sizeof(path), "/proc/self/task/");
	at = atc_text_put_number(at, path + sizeof(path), t->tid);
	atc_text_put(at, path + sizeof(path), "/comm");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, comm, sizeof(comm) - 1);
	close(fd);
	if (n <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	comm[ASYNCTRACE_COMM_LEN - 1] = '\0';
	memcpy(t->comm, comm, sizeof(t->comm));
	return true;
}

/*
 * AT_NAMES_FIRST: the names that the threads had when they got their slots. AT_NAMES_PRESENT: the
 * present names of threads that live. AT_NAMES_LIVING: the same, without threads that have ended.
 */
enum names {
	AT_NAMES_FIRST,
	AT_NAMES_PRESENT,
	AT_NAMES_LIVING,
};

/*
 * Emits the threads of the slots from @from to @to, and skips slots that are not ready. Returns the
 * last slot before the first that is not ready.
 */
static uint32_t emit_threads(struct at_drain *d, uint32_t from, uint32_t to, enum names names)
{
	uint32_t whole = from - 1;
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_THREADS, .provider = 1 };
	struct asynctrace_thread batch[AT_THREADS_BATCH];
	uint32_t n = 0;

	for (uint32_t slot = from; slot <= to; slot++) {
		if (!at_slots_get(slot, &batch[n]))
			continue;
		if (whole == slot - 1)
			whole = slot;
		if (names != AT_NAMES_FIRST && !refresh_comm(&batch[n]) &&
		    names == AT_NAMES_LIVING)
			continue;
		if (++n == AT_THREADS_BATCH) {
			emit_chunk(d, &c, batch, sizeof(batch));
			n = 0;
		}
	}
	if (n)
		emit_chunk(d, &c, batch, n * sizeof(batch[0]));
	return whole;
}

/* Emits the threads of the records in @x that were not emitted before, with their present names. */
static void emit_used(struct at_drain *d, const struct at_extent *x)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_THREADS, .provider = 1 };
	const uint64_t *w = x->words, *end = w + x->nwords;
	struct asynctrace_thread t;
	uint64_t words;

	for (; w < end; w += words) {
		const uint32_t slot = end - w < 3 ? 0 : (uint32_t)w[2];

		words = ASYNCTRACE_FXT_WORDS(w[0]);
		/* A program that has crashed may have damaged its rings. */
		if (words < 3 || words > (uint64_t)(end - w) || slot > at_slots_last())
			break;
		if (d->used[slot / 64] >> slot % 64 & 1 || !at_slots_get(slot, &t))
			continue;
		d->used[slot / 64] |= 1ull << slot % 64;
		refresh_comm(&t);
		emit_chunk(d, &c, &t, sizeof(t));
	}
}

/* Emits all names that the records in @x may refer to. */
static void emit_names(struct at_drain *d, const struct at_extent *x)
{
	const uint32_t last = at_slots_last();

	emit_strings(d);
	if (d->used) {
		if (x)
			emit_used(d, x);
		return;
	}
	/*
	 * If a slot is not ready, its thread has not written yet. A later round emits the thread.
	 */
	if (last != d->threads)
		d->threads = emit_threads(d, d->threads + 1, last, AT_NAMES_FIRST);
}

static void emit_events(struct at_drain *d, const struct at_reader *rd, const struct at_extent *x,
			uint32_t flags)
{
	struct asynctrace_chunk c = {
		.kind = ASYNCTRACE_CHUNK_EVENTS,
		.flags = flags,
		.provider = 1,
		.ring = rd->ring,
		.sequence = x ? x->end - x->nwords : rd->next,
		.records = x ? x->records : 0,
		.delivered = rd->delivered + (x ? x->records : 0),
		/*
		 * The file lacks older records, too. Without a marker of their loss, an operation
		 * would seem to be open if its begin is in another ring, from which less was left
		 * out.
		 */
		.overwritten = rd->overwritten + rd->older,
		.dropped = at_reader_dropped(rd),
	};

	if (rd->ring == d->area->shape.nr_rings)
		c.flags |= ASYNCTRACE_CHUNK_F_FALLBACK;
	emit_chunk(d, &c, x ? x->words : NULL, x ? x->nwords * 8 : 0);
}

/*
 * The drain thread calls this between two extents, because only the limits keep writers out of an
 * extent that it reads.
 */
static void make_circular(struct at_drain *d)
{
	struct asynctrace_control *c = d->area->control;
	uint64_t *limits = (uint64_t *)((char *)c + c->limits);

	d->live = true;
	d->area->shape.mode = ASYNCTRACE_MODE_CIRCULAR;
	for (uint32_t i = 0; i <= d->area->shape.nr_rings; i++)
		__atomic_store_n(&limits[i], at_area_limit(&d->area->shape, i, 0),
				 __ATOMIC_RELEASE);
}

/* Emits the chunks that require all rings to have been read. */
static void emit_end(struct at_drain *d)
{
	emit_names(d, NULL);
	if (!d->used)
		emit_threads(d, 1, at_slots_last(), AT_NAMES_LIVING);
	for (uint32_t i = 0; i <= d->area->shape.nr_rings; i++) {
		if (d->readers[i].next || at_reader_dropped(&d->readers[i]))
			emit_events(d, &d->readers[i], NULL, ASYNCTRACE_CHUNK_F_LAST);
	}
	emit_clock(d, ASYNCTRACE_MOMENT_STOP);
}

/* Makes the rings circular if at_drain_share() has asked for it. */
static void answer_share(struct at_drain *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->share == AT_SHARE_ASKED) {
		make_circular(d);
		__atomic_store_n(&d->share, AT_SHARE_DONE, __ATOMIC_RELAXED);
		pthread_cond_signal(&d->paused);
	}
	pthread_mutex_unlock(&d->lock);
}

static bool next_extent(struct at_drain *d, struct at_reader *rd, struct at_extent *x)
{
	if (__atomic_load_n(&d->share, __ATOMIC_RELAXED) == AT_SHARE_ASKED)
		answer_share(d);
	return d->live ? at_reader_copy(rd, x, d->copy) : at_reader_next(rd, x);
}

void at_drain_round(struct at_drain *d, bool last)
{
	const bool reads = last || !d->at_end;
	const uint32_t nr = d->area->shape.nr_rings + 1;
	/* Limit the loop, because writers may fill a ring as fast as it is read. */
	const uint32_t max = last ? UINT32_MAX : d->area->shape.nsub + 1;
	struct at_extent x;

	d->busiest = 0;
	/* Leave out the drain thread. It has ended before the last round. */
	if (!d->listed)
		at_live_threads(emit_live, d, last ? 0 : syscall(SYS_gettid));
	d->listed = true;
	if (at_now_ns(CLOCK_BOOTTIME) - d->clock_at >= AT_CLOCK_PERIOD_NS)
		emit_clock(d, ASYNCTRACE_MOMENT_RUNNING);
	for (uint32_t i = 0; reads && i < nr; i++) {
		struct at_reader *rd = &d->readers[i];
		uint64_t words = 0;

		for (uint32_t n = 0; n < max && next_extent(d, rd, &x); n++) {
			emit_names(d, &x);
			if (x.nwords)
				emit_events(d, rd, &x, 0);
			at_reader_done(rd, &x);
			words += x.nwords;
		}
		if (words > d->busiest)
			d->busiest = words;
	}
	if (!last) {
		uint64_t now = at_now_ns(CLOCK_BOOTTIME);

		if (now - d->flushed_at >= AT_FLUSH_PERIOD_NS && !d->error) {
			d->error = d->sink(d->arg, NULL, NULL);
			d->flushed_at = now;
		}
		return;
	}
	emit_end(d);
}

int at_drain_init(struct at_drain *d, struct at_area *area, const char *name, at_sink sink,
		  void *arg)
{
	pthread_condattr_t attr;

	*d = (struct at_drain){ .area = area, .sink = sink, .arg = arg };
	d->at_end = area->shape.mode == ASYNCTRACE_MODE_CIRCULAR;
	memcpy(d->name, name, strnlen(name, ASYNCTRACE_NAME_MAX));
	d->readers = calloc(area->shape.nr_rings + 1, sizeof(*d->readers));
	if (!d->readers)
		return -ENOMEM;
	for (uint32_t i = 0; i <= area->shape.nr_rings; i++)
		at_reader_init(&d->readers[i], area, i);
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attr);
	pthread_cond_init(&d->paused, &attr);
	pthread_condattr_destroy(&attr);
	emit_provider(d);
	emit_clock(d, ASYNCTRACE_MOMENT_START);
	emit_process(d);
	/* Threads of earlier traces may have other names now. */
	d->threads = emit_threads(d, 1, at_slots_last(), AT_NAMES_PRESENT);
	return d->error;
}

int at_drain_once(struct at_drain *d, const struct asynctrace_clock_pair *began,
		  const struct at_taken *taken)
{
	struct asynctrace_chunk c = { .kind = ASYNCTRACE_CHUNK_CLOCK };

	emit_provider(d);
	emit_chunk(d, &c, began, sizeof(*began));
	emit_process(d);
	for (; taken; taken = taken->next) {
		emit_names(d, &taken->extent);
		emit_events(d, &taken->reader, &taken->extent, 0);
	}
	emit_end(d);
	return d->error;
}

void at_drain_free(struct at_drain *d)
{
	pthread_cond_destroy(&d->wake);
	pthread_cond_destroy(&d->paused);
	pthread_mutex_destroy(&d->lock);
	free(d->readers);
	free(d->copy);
}

int at_drain_live(struct at_drain *d)
{
	if (!d->copy)
		d->copy = malloc((size_t)d->area->shape.sub_words * 8);
	d->live = d->copy;
	return d->copy ? 0 : -ENOMEM;
}

void at_drain_result(const struct at_drain *d, struct at_trace_result *res)
{
	res->error = d->error;
	res->delivered = res->overwritten = res->dropped = 0;
	for (uint32_t i = 0; i <= d->area->shape.nr_rings; i++) {
		res->delivered += d->readers[i].delivered;
		res->overwritten += d->readers[i].overwritten;
		res->dropped += at_reader_dropped(&d->readers[i]);
	}
}
