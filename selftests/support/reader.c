// SPDX-License-Identifier: GPL-2.0
/*
 * Reads chunks and parses the records in them
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"
#include "reader.h"

KTAP_PRINTF(2, 3) static void bad(struct rd *rd, const char *why, ...)
{
	va_list ap;

	va_start(ap, why);
	if (!rd->malformed++)
		vsnprintf(rd->first, sizeof(rd->first), why, ap);
	va_end(ap);
}

void rd_open(struct rd *rd, int fd, void (*event)(const struct rd_event *, void *), void *arg)
{
	memset(rd, 0, sizeof(*rd));
	rd->fd = fd;
	rd->event = event;
	rd->arg = arg;
	rd->buf = malloc(ASYNCTRACE_READ_MIN);
	must(rd->buf);
}

void rd_close(struct rd *rd)
{
	for (uint32_t i = 0; i < rd->nr_providers; i++)
		free(rd->provider[i]);
	free(rd->buf);
	close(rd->fd);
}

struct rd_provider *rd_provider(struct rd *rd, uint32_t id)
{
	for (uint32_t i = 0; i < rd->nr_providers; i++)
		if (rd->provider[i]->id == id)
			return rd->provider[i];
	return NULL;
}

static struct rd_ring *ring_of(struct rd *rd, const struct asynctrace_chunk *c)
{
	struct rd_ring *r;

	for (r = rd->ring; r < rd->ring + rd->nr_rings; r++)
		if (r->provider == c->provider && r->ring == c->ring && r->kind == c->kind)
			return r;
	must(rd->nr_rings < RD_RINGS);
	rd->nr_rings++;
	memset(r, 0, sizeof(*r));
	r->provider = c->provider;
	r->ring = c->ring;
	r->kind = c->kind;
	r->fallback = c->flags & ASYNCTRACE_CHUNK_F_FALLBACK;
	if (rd->second)
		r->before = c->delivered - c->records;
	return r;
}

static void take_provider(struct rd *rd, const struct asynctrace_chunk *c, const void *payload)
{
	const struct asynctrace_provider_info *info = payload;
	struct rd_provider *p = rd_provider(rd, c->provider);

	if (c->bytes != sizeof(*info) || info->id != c->provider) {
		bad(rd, "a provider chunk of %u bytes", c->bytes);
		return;
	}
	if (!p) {
		must(rd->nr_providers < RD_PROVIDERS);
		p = calloc(1, sizeof(*p));
		must(p);
		rd->provider[rd->nr_providers++] = p;
	}
	p->id = info->id;
	p->pid = info->pid;
	p->flags = info->flags;
	p->sched_dropped = info->sched_dropped;
	p->names_dropped = info->names_dropped;
	p->salt = info->salt;
	memcpy(p->name, info->name, sizeof(p->name));
}

static void take_threads(struct rd *rd, const struct asynctrace_chunk *c, const void *payload)
{
	struct rd_provider *p = rd_provider(rd, c->provider);
	const struct asynctrace_thread *t = payload;

	if (!p || c->bytes != c->records * sizeof(*t)) {
		bad(rd, "threads of provider %u, %u bytes", c->provider, c->bytes);
		return;
	}
	for (uint64_t i = 0; i < c->records; i++) {
		if (t[i].slot && t[i].slot < RD_THREADS)
			p->tid[t[i].slot] = t[i].tid;
		else
			bad(rd, "a thread of slot %u", t[i].slot);
	}
}

static void take_strings(struct rd *rd, const struct asynctrace_chunk *c, const uint64_t *w)
{
	struct rd_provider *p = rd_provider(rd, c->provider);
	const uint64_t *end = w + c->bytes / 8;

	if (p && c->records != p->generation) {
		p->generation = c->records;
		p->generations++;
		p->words = 0;
		p->names = 0;
	}
	if (!p || !c->records || c->bytes % 8 || c->sequence != p->words) {
		bad(rd, "strings of provider %u from %llu", c->provider, c->sequence);
		return;
	}
	p->words += c->bytes / 8;
	while (w < end) {
		const uint32_t n = ASYNCTRACE_FXT_WORDS(*w), bytes = *w >> 32 & 0x7fff;
		const uint32_t index = *w >> 16 & 0x7fff;

		if (ASYNCTRACE_FXT_TYPE(*w) != ASYNCTRACE_FXT_STRING || !n || w + n > end ||
		    n != 1 + ASYNCTRACE_FXT_TEXT_WORDS(bytes) || index != p->names + 1 ||
		    index >= RD_NAMES || bytes >= sizeof(p->text[0])) {
			bad(rd, "a string record 0x%llx", (unsigned long long)*w);
			return;
		}
		memcpy(p->text[index], w + 1, bytes);
		p->text[index][bytes] = 0;
		p->names = index;
		w += n;
	}
}

/* Resolves a string reference: inline text at *@at, or an entry of the table. */
static bool text_of(struct rd *rd, struct rd_provider *p, uint32_t ref, const uint64_t **at,
		    const uint64_t *end, const char **text, uint32_t *bytes)
{
	if (ref & ASYNCTRACE_FXT_INLINE) {
		*bytes = ref & 0x7fff;
		*text = (const char *)*at;
		*at += ASYNCTRACE_FXT_TEXT_WORDS(*bytes);
		/* Bytes between the text and the next word are 0. */
		return *at <= end && (!(*bytes % 8) || !((*at)[-1] >> *bytes % 8 * 8));
	}
	if (ref > p->names) {
		bad(rd, "string %u is used, %u are known", ref, p->names);
		return false;
	}
	*text = p->text[ref];
	*bytes = strlen(*text);
	return true;
}

static bool parse_args(struct rd *rd, struct rd_provider *p, struct rd_event *ev,
		       const uint64_t **at, const uint64_t *end)
{
	for (uint32_t i = 0; i < ev->nargs; i++) {
		const uint64_t *arg = *at;
		const uint32_t n = ASYNCTRACE_FXT_WORDS(*arg);
		struct rd_arg ignored, *a = i < RD_ARGS ? &ev->arg[i] : &ignored;
		const char *name;
		uint32_t bytes;

		if (!n || arg + n > end)
			return false;
		*at = arg + 1;
		if (!text_of(rd, p, *arg >> 16 & 0xffff, at, arg + n, &name, &bytes) || !bytes)
			return false;
		a->type = *arg & 0xf;
		switch (a->type) {
		case ASYNCTRACE_FXT_ARG_NULL:
			break;
		case ASYNCTRACE_FXT_ARG_BOOL:
		case ASYNCTRACE_FXT_ARG_INT32:
		case ASYNCTRACE_FXT_ARG_UINT32:
			a->value = *arg >> 32;
			break;
		case ASYNCTRACE_FXT_ARG_INT64:
		case ASYNCTRACE_FXT_ARG_UINT64:
		case ASYNCTRACE_FXT_ARG_DOUBLE:
		case ASYNCTRACE_FXT_ARG_POINTER:
		case ASYNCTRACE_FXT_ARG_KOID:
			a->value = *(*at)++;
			break;
		case ASYNCTRACE_FXT_ARG_STRING:
			if (!text_of(rd, p, *arg >> 32 & 0xffff, at, arg + n, &a->text, &a->bytes))
				return false;
			break;
		default:
			return false;
		}
		if (*at != arg + n)
			return false;
	}
	return true;
}

static bool has_extra(uint32_t type)
{
	return type == ASYNCTRACE_FXT_COUNTER || type >= ASYNCTRACE_FXT_DURATION;
}

static bool parse_event(struct rd *rd, struct rd_provider *p, struct rd_event *ev,
			const uint64_t *w, const uint64_t *end)
{
	const uint64_t *at = w + 3;
	const char *text;
	uint32_t bytes;

	if (end - w < 3)
		return false;
	ev->words = end - w;
	ev->type = *w >> 16 & 0xf;
	ev->nargs = *w >> 20 & 0xf;
	ev->ticks = w[1];
	ev->slot = w[2];
	if (ev->type >= ASYNCTRACE_FXT_EVENT_TYPES || *w >> 24 & 0xff || w[2] >> 32 || !ev->slot)
		return false;
	if (!text_of(rd, p, *w >> 32 & 0xffff, &at, end, &text, &bytes))
		return false;
	if (!text_of(rd, p, *w >> 48, &at, end, &text, &bytes) || bytes >= sizeof(ev->name))
		return false;
	memcpy(ev->name, text, bytes);
	ev->name[bytes] = 0;
	if (!parse_args(rd, p, ev, &at, end))
		return false;
	if (has_extra(ev->type))
		ev->extra = *at++;
	/* The last word of a complete duration is its end time, and publishes the record. */
	ev->begin = ev->ticks;
	if (ev->type == ASYNCTRACE_FXT_DURATION)
		ev->ticks = ev->extra;
	return at == end;
}

static void take_events(struct rd *rd, struct rd_ring *r, const struct asynctrace_chunk *c,
			const uint64_t *w)
{
	const uint64_t *end = w + c->bytes / 8;
	struct rd_provider *p = rd_provider(rd, c->provider);
	struct rd_event ev;
	uint64_t n = 0;

	if (!p || c->bytes % 8) {
		bad(rd, "events of provider %u, %u bytes", c->provider, c->bytes);
		return;
	}
	for (; w < end; w += ASYNCTRACE_FXT_WORDS(*w), n++) {
		const uint32_t words = ASYNCTRACE_FXT_WORDS(*w);

		memset(&ev, 0, sizeof(ev));
		ev.provider = c->provider;
		ev.ring = c->ring;
		if (ASYNCTRACE_FXT_TYPE(*w) != ASYNCTRACE_FXT_EVENT || !words ||
		    w + words > end || !parse_event(rd, p, &ev, w, w + words)) {
			bad(rd, "ring %u at %llu, record %llu of %llu: 0x%llx", c->ring,
			    (unsigned long long)(c->sequence + (c->bytes / 8 - (end - w))),
			    (unsigned long long)n, c->records, (unsigned long long)*w);
			break;
		}
		if (ev.slot >= RD_THREADS || !p->tid[ev.slot])
			bad(rd, "ring %u: no thread has slot %u", c->ring, ev.slot);
		if (ev.ticks < r->ticks)
			r->backwards++;
		r->ticks = ev.ticks;
		if (rd->event)
			rd->event(&ev, rd->arg);
	}
	r->parsed += n;
	if (n != c->records)
		bad(rd, "ring %u at %llu: %llu records, of %llu", c->ring, c->sequence,
		    (unsigned long long)n, c->records);
}

/* Checks that scheduling records are whole and as many as the chunk claims. */
static void take_sched(struct rd *rd, struct rd_ring *r, const struct asynctrace_chunk *c,
		       const uint64_t *w)
{
	const uint64_t *end = w + c->bytes / 8;
	uint64_t n = 0;

	for (; w < end; w += ASYNCTRACE_FXT_WORDS(*w), n++) {
		const uint32_t words = ASYNCTRACE_FXT_WORDS(*w), what = *w >> 60;

		if (ASYNCTRACE_FXT_TYPE(*w) != ASYNCTRACE_FXT_SCHED || !words || w + words > end ||
		    (what == ASYNCTRACE_FXT_SCHED_SWITCH ? (*w >> 20 & 0xffff) != c->ring :
		     what != ASYNCTRACE_FXT_SCHED_WAKEUP)) {
			bad(rd, "kernel ring %u, record %llu of %llu: 0x%llx", c->ring,
			    (unsigned long long)n, c->records, (unsigned long long)*w);
			break;
		}
		if (w[1] < r->ticks)
			r->backwards++;
		r->ticks = w[1];
		if (rd->record)
			rd->record(ASYNCTRACE_CHUNK_SCHED, w, rd->record_arg);
	}
	r->parsed += n;
	if (n != c->records)
		bad(rd, "kernel ring %u: %llu records, of %llu", c->ring, (unsigned long long)n,
		    c->records);
}

static void take_ring(struct rd *rd, const struct asynctrace_chunk *c, const void *payload)
{
	struct rd_ring *r = ring_of(rd, c);

	r->claimed += c->records;
	if (c->delivered != r->before + r->claimed)
		bad(rd, "ring %u: %llu delivered, but %llu were read", c->ring, c->delivered,
		    (unsigned long long)(r->before + r->claimed));
	if (c->overwritten < r->overwritten)
		bad(rd, "ring %u: overwritten decreases", c->ring);
	if (c->cleared < r->cleared)
		bad(rd, "ring %u: cleared decreases", c->ring);
	r->cleared = c->cleared;
	r->delivered = c->delivered;
	r->overwritten = c->overwritten;
	r->dropped = c->dropped;
	r->last = c->flags & ASYNCTRACE_CHUNK_F_LAST;
	if (c->flags & ASYNCTRACE_CHUNK_F_BROKEN) {
		r->broken++;
		bad(rd, "ring %u at %llu: no framing", c->ring, c->sequence);
	} else if (c->kind == ASYNCTRACE_CHUNK_EVENTS) {
		take_events(rd, r, c, payload);
	} else if (c->kind == ASYNCTRACE_CHUNK_SCHED) {
		take_sched(rd, r, c, payload);
	} else if (c->bytes != c->records * sizeof(struct asynctrace_task_name)) {
		bad(rd, "names of ring %u: %llu in %u bytes", c->ring, c->records, c->bytes);
	} else {
		const struct asynctrace_task_name *name = payload;

		r->parsed += c->records;
		for (uint64_t i = 0; rd->record && i < c->records; i++)
			rd->record(ASYNCTRACE_CHUNK_NAMES, name + i, rd->record_arg);
	}
}

static void take_ended(struct rd *rd, const struct asynctrace_chunk *c, const void *payload)
{
	const struct asynctrace_ended *ended = payload;

	if (c->bytes != sizeof(*ended) || c->provider || !ended->providers ||
	    rd->ended.providers) {
		bad(rd, "ended providers: %u bytes", c->bytes);
		return;
	}
	rd->ended = *ended;
	rd->ended_sum = *c;
}

void rd_take(struct rd *rd, const struct asynctrace_chunk *c, const void *payload)
{
	rd->chunks++;
	switch (c->kind) {
	case ASYNCTRACE_CHUNK_PROVIDER:
		take_provider(rd, c, payload);
		break;
	case ASYNCTRACE_CHUNK_THREADS:
		take_threads(rd, c, payload);
		break;
	case ASYNCTRACE_CHUNK_STRINGS:
		take_strings(rd, c, payload);
		break;
	case ASYNCTRACE_CHUNK_EVENTS:
	case ASYNCTRACE_CHUNK_SCHED:
	case ASYNCTRACE_CHUNK_NAMES:
		take_ring(rd, c, payload);
		break;
	case ASYNCTRACE_CHUNK_CLOCK:
		break;
	case ASYNCTRACE_CHUNK_ENDED:
		take_ended(rd, c, payload);
		break;
	default:
		bad(rd, "a chunk of kind %u", c->kind);
	}
}

unsigned int rd_read(struct rd *rd, unsigned int max)
{
	struct asynctrace_chunk c;
	unsigned int n;

	for (n = 0; n < max; n++) {
		ssize_t ret;

		if (rd->before)
			rd->before(rd);
		ret = read(rd->fd, rd->buf, ASYNCTRACE_READ_MIN);
		if (ret < 0 && errno == EINTR)
			continue;
		if (!ret || (ret < 0 && errno == EAGAIN))
			break;
		must(ret >= (ssize_t)sizeof(c));
		memcpy(&c, rd->buf, sizeof(c));
		if (c.size != sizeof(c) || c.bytes != ret - sizeof(c))
			bad(rd, "a chunk of %zd bytes: %u + %u", ret, c.size, c.bytes);
		rd_take(rd, &c, rd->buf + sizeof(c));
	}
	return n;
}

void rd_drain(struct rd *rd)
{
	while (rd_read(rd, 1000) == 1000)
		;
}

struct rd_ring rd_sum(const struct rd *rd, uint32_t kind, uint32_t provider)
{
	struct rd_ring sum = { .kind = kind, .provider = provider, .last = true };

	for (uint32_t i = 0; i < rd->nr_rings; i++) {
		const struct rd_ring *r = &rd->ring[i];

		if (r->kind != kind || (provider && r->provider != provider))
			continue;
		sum.delivered += r->delivered;
		sum.overwritten += r->overwritten;
		sum.cleared += r->cleared;
		sum.dropped += r->dropped;
		sum.parsed += r->parsed;
		sum.claimed += r->claimed;
		sum.before += r->before;
		sum.broken += r->broken;
		sum.backwards += r->backwards;
		sum.fallback |= r->fallback && r->claimed;
		sum.last &= r->last;
	}
	return sum;
}
