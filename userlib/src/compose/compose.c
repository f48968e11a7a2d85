// SPDX-License-Identifier: LGPL-2.1-or-later
/* Makes and ends a composer, which takes chunks and hands their payload to the other files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "added.h"
#include "composer.h"

/* Limit of a payload. The largest chunk is a sub-buffer or a durable ring, both smaller. */
#define PAYLOAD_MAX	(16 * 1024 * 1024)

static bool options_valid(const struct at_compose_options *opts)
{
	return opts->size >= sizeof(*opts) && (opts->write || opts->fd >= 0) &&
	       !(opts->flags & ~ASYNCTRACE_COMPOSE_CONTINUED);
}

struct at_compose *at_compose_new(const struct at_compose_options *opts)
{
	struct at_compose *c;

	if (!opts || !options_valid(opts)) {
		errno = EINVAL;
		return NULL;
	}
	c = atc_calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->file = 1;
	c->continued = opts->flags & ASYNCTRACE_COMPOSE_CONTINUED;
	c->next_losses = ATC_KOID_LOSSES;
	c->next_virtual = ATC_KOID_VIRTUAL;
	c->kernel = atc_provider_new(c, 0);
	if (!c->kernel || atc_out_init(&c->out, opts)) {
		at_compose_free(c);
		errno = ENOMEM;
		return NULL;
	}
	strcpy(c->kernel->name, "asynctrace-kernel");
	atc_head(c);
	return c;
}

static void free_task(void *v)
{
	struct atc_task *t = v;

	atc_free(t->nodes);
	atc_free(t->state);
	atc_free(t);
}

void at_compose_free(struct at_compose *c)
{
	if (!c)
		return;
	atc_map_free(&c->providers, atc_provider_destroy);
	atc_map_free(&c->rings, atc_free);
	atc_map_free(&c->tasks, free_task);
	atc_map_free(&c->processes, atc_free);
	atc_map_free(&c->texts, atc_free);
	atc_free(c->salts.entries);
	atc_clock_free(&c->clock);
	atc_free(c->pauses.of);
	atc_free(c->items.of);
	atc_free(c->items.tasks);
	atc_free(c->stat_providers);
	atc_free(c->stat_rings);
	atc_free(c->copy);
	atc_out_free(&c->out);
	atc_free(c);
}

static int take_clock_chunk(struct at_compose *c, const struct asynctrace_clock_pair *p, size_t nr)
{
	static const unsigned int names[] = {
		[ASYNCTRACE_MOMENT_START] = ATC_STR_START,
		[ASYNCTRACE_MOMENT_STOP] = ATC_STR_STOP,
		[ASYNCTRACE_MOMENT_RESUME] = ATC_STR_RESUME,
	};

	for (; nr; nr--, p++) {
		ssize_t s = atc_clock_pair(&c->clock, p->segment, p->ticks, p->boottime);
		unsigned int name = 0;

		if (s < 0)
			return s;
		/* The file needs the stop, because readers take no start without a stop. */
		if (c->begun && atc_pauses_lack_stop(&c->pauses, p->what))
			atc_clock_record(c, ATC_STR_STOP, c->pair.boottime, &c->pair);
		if (atc_pauses_take(&c->pauses, p->what, p->boottime))
			return -ENOMEM;
		if (p->what < sizeof(names) / sizeof(names[0]))
			name = names[p->what];
		if (!c->started)
			name = ATC_STR_START;
		c->started = true;
		c->pair = *p;
		/*
		 * A file that continues a session begins with the record of begin_file(), which
		 * needs the last pair. Write no other clock record before it.
		 */
		if (c->continued && !c->begun)
			continue;
		c->begun = true;
		if (name)
			atc_clock_record(c, name, p->boottime, p);
	}
	return 0;
}

/* Writes the beginning of a file that continues a session, unless it has been written. */
static int begin_file(struct at_compose *c)
{
	if (c->begun || !c->started)
		return 0;
	c->begun = true;
	atc_continued_record(c, &c->pair);
	atc_states_begin(c);
	return atc_sched_begin(c);
}

static int take_name_chunk(struct at_compose *c, const struct asynctrace_task_name *t, size_t nr)
{
	int err = 0;

	for (; nr && !err; nr--, t++)
		err = atc_task_name(c, t->tid, t->pid, t->comm);
	return err;
}

static int records(struct at_compose *c, const struct asynctrace_chunk *h,
		   struct atc_ring *r, const uint64_t *words, uint64_t *good)
{
	struct atc_context x = { .ring = r, .ticks = h->ticks, .limit = h->records };
	size_t nr = h->flags & ASYNCTRACE_CHUNK_F_BROKEN ? 0 : h->bytes / 8;
	ssize_t segment;

	if (begin_file(c))
		return -ENOMEM;
	segment = atc_clock_pair(&c->clock, h->segment, h->ticks, h->boottime);
	if (segment < 0)
		return segment;
	x.segment = segment;
	return r->provider == c->kernel ? atc_sched(c, &x, words, nr, good) :
					  atc_events(c, &x, words, nr, good);
}

static int take_ring_chunk(struct at_compose *c, const struct asynctrace_chunk *h,
			   struct atc_provider *p, const uint64_t *words)
{
	struct atc_ring *r = atc_ring(c, p, h->ring);
	uint64_t good = 0;
	int err;

	if (!r)
		return -ENOMEM;
	/* Before the first clock pair, ticks cannot be converted. */
	if (!c->started)
		return -EPROTO;
	r->flags |= h->flags & (ASYNCTRACE_CHUNK_F_FALLBACK | ASYNCTRACE_CHUNK_F_LAST);
	if (p == c->kernel &&
	    (h->overwritten > r->counts.overwritten || h->cleared > r->counts.cleared)) {
		atc_sched_lost(c, r);
		c->sched_lost_until = h->boottime;
	}
	/* A start cleared these records on request, so the file has no marker for them. */
	r->counts.cleared = h->cleared;
	if (p == c->kernel && h->dropped > r->counts.dropped)
		r->lossy = true;
	r->first_ns = 0;
	err = records(c, h, r, words, &good);
	if (r->first_ns && (!p->recorded_since || r->first_ns < p->recorded_since))
		p->recorded_since = r->first_ns;
	r->counts.bytes += h->bytes;
	/* After an error, the rest of the chunk was not checked. Count it as unwritten. */
	if (err) {
		r->counts.unwritten += h->records - good;
		r->lossy = true;
	}
	atc_loss(c, r, h, err ? 0 : h->records - good);
	return err;
}

/* Does the payload consist of whole elements of @size bytes? *@nr: their number. */
static bool count_items(const struct asynctrace_chunk *h, size_t size, size_t *nr)
{
	*nr = h->bytes / size;
	return h->bytes % size == 0;
}

/*
 * Takes the sums over providers that ended before the caller began to read the session. Only the
 * statistics count their records, because the file has none of them.
 */
static int take_ended_chunk(struct at_compose *c, const struct asynctrace_chunk *h,
			    const struct asynctrace_ended *ended)
{
	c->ended = (struct at_compose_ended){
		.providers = ended->providers,
		.counts = {
			.delivered = h->delivered,
			.overwritten = h->overwritten,
			.dropped = h->dropped,
			.cleared = h->cleared,
		},
		.sched_dropped = ended->sched_dropped,
		.names_dropped = ended->names_dropped,
	};
	return 0;
}

static int take_chunk(struct at_compose *c, const struct asynctrace_chunk *h, const void *payload)
{
	struct atc_provider *p = atc_provider(c, h->provider);
	ssize_t good;
	size_t nr;

	switch (h->kind) {
	case ASYNCTRACE_CHUNK_CLOCK:
		if (!count_items(h, sizeof(struct asynctrace_clock_pair), &nr))
			return -EPROTO;
		return take_clock_chunk(c, payload, nr);
	case ASYNCTRACE_CHUNK_PROVIDER:
		if (!count_items(h, sizeof(struct asynctrace_provider_info), &nr) || nr != 1)
			return -EPROTO;
		return atc_provider_info(c, payload);
	case ASYNCTRACE_CHUNK_NAMES:
		if (!count_items(h, sizeof(struct asynctrace_task_name), &nr))
			return -EPROTO;
		return take_name_chunk(c, payload, nr);
	case ASYNCTRACE_CHUNK_THREADS:
		if (!p || p == c->kernel || !count_items(h, sizeof(struct asynctrace_thread), &nr))
			return -EPROTO;
		return atc_provider_threads(c, p, payload, nr);
	case ASYNCTRACE_CHUNK_STRINGS:
		if (!p || p == c->kernel || !count_items(h, 8, &nr))
			return -EPROTO;
		if (p->names != h->records)
			memset(p->strings, 0, sizeof(p->strings));
		p->names = h->records;
		good = atc_provider_strings(c, p, payload, nr);
		return good < 0 ? good : 0;
	case ASYNCTRACE_CHUNK_EVENTS:
		if (!p || p == c->kernel || !count_items(h, 8, &nr))
			return -EPROTO;
		return take_ring_chunk(c, h, p, payload);
	case ASYNCTRACE_CHUNK_SCHED:
		if (h->provider || h->ring > UINT16_MAX || !count_items(h, 8, &nr))
			return -EPROTO;
		return take_ring_chunk(c, h, c->kernel, payload);
	case ASYNCTRACE_CHUNK_ENDED:
		if (h->provider || !count_items(h, sizeof(struct asynctrace_ended), &nr) || nr != 1)
			return -EPROTO;
		return take_ended_chunk(c, h, payload);
	default:
		return 0;	/* unknown kind, of a later version */
	}
}

/* Makes an aligned copy that no other thread writes to. */
static int copy_payload(struct at_compose *c, const void *payload, size_t bytes)
{
	if (bytes > c->copy_bytes) {
		void *p = atc_realloc(c->copy, bytes);

		if (!p)
			return -ENOMEM;
		c->copy = p;
		c->copy_bytes = bytes;
	}
	if (bytes)
		memcpy(c->copy, payload, bytes);
	return 0;
}

int at_compose_chunk(struct at_compose *c, const struct asynctrace_chunk *chunk,
		     const void *payload)
{
	struct asynctrace_chunk h;
	int err;

	memcpy(&h, chunk, sizeof(h));
	if (h.size < sizeof(h) || h.bytes > PAYLOAD_MAX) {
		c->protocol++;
		return -EPROTO;
	}
	err = copy_payload(c, payload, h.bytes);
	if (!err)
		err = take_chunk(c, &h, c->copy);
	if (err == -EPROTO)
		c->protocol++;
	return c->out.error ? c->out.error : err;
}

int at_compose_flush(struct at_compose *c)
{
	return atc_out_flush(&c->out);
}

/* Writes the end of the file. @goes_on: the session continues in another file. */
static int end_file(struct at_compose *c, bool goes_on)
{
	int err = begin_file(c), more;

	atc_sched_finish(c);
	more = atc_names_finish(c, goes_on);
	/* Write the mark also if the session was not started: readers look for it in each file. */
	if (goes_on)
		atc_continues_record(c);
	else
		atc_clock_record(c, ATC_STR_END, atc_clock_end(&c->clock), NULL);
	return err ? err : more;
}

int at_compose_finish(struct at_compose *c)
{
	int err = 0;

	if (!c->finished && !c->out.error) {
		c->finished = true;
		err = end_file(c, false);
	}
	return atc_out_shut(&c->out) ? c->out.error : err;
}

int at_compose_next(struct at_compose *c, const struct at_compose_options *opts)
{
	int err;

	if (c->finished || (opts && !options_valid(opts)))
		return -EINVAL;
	if (c->out.error)
		return c->out.error;
	err = end_file(c, true);
	if (atc_out_next(&c->out, opts))
		return c->out.error;
	if (!opts) {
		c->finished = true;
		atc_out_shut(&c->out);
		return err;
	}
	c->file++;
	c->continued |= c->started;
	c->begun = false;
	c->section = NULL;
	c->pseudo = false;
	c->other = false;
	c->next_losses = ATC_KOID_LOSSES;
	atc_map_each(&c->rings, e)
		((struct atc_ring *)e->value)->losses = 0;
	atc_head(c);
	return err ? err : begin_file(c);
}

uint64_t at_compose_written(const struct at_compose *c)
{
	return c->out.flushed + c->out.used * 8;
}
