// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Markers of lost records.
 *
 * A loss since a ring's previous chunk is in the file twice. Readers that know the format find the
 * buffer-filled record. Users see a duration on a pseudo thread, from the previous chunk to this
 * one. Each ring has a separate pseudo thread, so that losses of two providers on one CPU do not
 * overlap. The argument "tracepoints" tells losses of the kernel's tracepoints from losses of its
 * scheduling records.
 */
#include <string.h>

#include "composer.h"

static bool is_of_tracepoints(const struct atc_ring *r)
{
	return r->flags & ASYNCTRACE_COMPOSE_RING_TRACEPOINTS;
}

static void losses_thread(struct at_compose *c, struct atc_ring *r)
{
	const struct atc_provider *p = r->provider;
	char name[sizeof(p->name) + 48];
	const char *end = name + sizeof(name);
	char *at = name;

	/* snprintf(3) is not async-signal-safe, and a signal handler may compose. */
	if (r->flags & ASYNCTRACE_CHUNK_F_FALLBACK) {
		at = atc_text_put(at, end, "fallback");
	} else {
		const bool tracepoints = is_of_tracepoints(r);

		at = atc_text_put(at, end, "cpu-");
		at = atc_text_put_number(at, end, tracepoints ? r->index & UINT16_MAX : r->index);
		if (tracepoints)
			at = atc_text_put(at, end, " tracepoint");
	}
	at = atc_text_put(at, end, " losses");
	if (p != c->kernel) {
		at = atc_text_put(at, end, " of ");
		atc_text_put(at, end, p->name);
	}
	r->losses = c->next_losses++;
	atc_introduce_pseudo(c);
	atc_thread_record(c, ATC_KOID_PROCESS, r->losses, name);
}

static size_t count_arg(uint64_t *w, unsigned int name, uint64_t n)
{
	w[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, name, 0);
	w[1] = n;
	return 2;
}

static void marker(struct at_compose *c, struct atc_ring *r, uint64_t end,
		   uint64_t dropped, uint64_t overwritten, uint64_t malformed)
{
	const bool tracepoints = is_of_tracepoints(r);
	struct atc_provider *p = r->provider;
	size_t len = strlen(p->name), words = 4;
	uint64_t *w;

	if (!r->losses)
		losses_thread(c, r);
	if (p->in_file != c->file)
		atc_provider_introduce(c, p);
	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	*w = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
	     ASYNCTRACE_FXT_META_EVENT << 16 | (uint64_t)p->file_id << 20;
	atc_out_done(&c->out, 1);

	w = atc_out_record(&c->out);
	w[1] = r->chunk_ns;
	w[2] = ATC_KOID_PROCESS;
	w[3] = r->losses;
	words += count_arg(w + words, ATC_STR_DROPPED, dropped);
	words += count_arg(w + words, ATC_STR_OVERWRITTEN, overwritten);
	words += count_arg(w + words, ATC_STR_MALFORMED, malformed);
	w[words] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_STRING,
				      1 + ASYNCTRACE_FXT_TEXT_WORDS(len), ATC_STR_PROVIDER,
				      len ? ASYNCTRACE_FXT_INLINE | len : 0);
	if (len) {
		w[words + ASYNCTRACE_FXT_TEXT_WORDS(len)] = 0;
		memcpy(w + words + 1, p->name, len);
	}
	words += 1 + ASYNCTRACE_FXT_TEXT_WORDS(len);
	if (tracepoints)
		w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_BOOL, 1, ATC_STR_TRACEPOINTS, 1);
	w[words++] = end;
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_DURATION, words, 4 + tracepoints,
					 ATC_STR_ASYNCTRACE, ATC_STR_LOST);
	atc_out_done(&c->out, words);
}

void atc_loss(struct at_compose *c, struct atc_ring *r, const struct asynctrace_chunk *chunk,
	      uint64_t malformed)
{
	uint64_t dropped = 0, overwritten = 0;
	uint64_t now = chunk->boottime;

	if (!r->chunk_ns)
		r->chunk_ns = atc_clock_start(&c->clock);
	if (now < r->chunk_ns)
		now = r->chunk_ns;
	/* A hostile provider may decrease its counts, so subtract only if they have grown. */
	if (chunk->dropped > r->counts.dropped)
		dropped = chunk->dropped - r->counts.dropped;
	if (chunk->overwritten > r->counts.overwritten)
		overwritten = chunk->overwritten - r->counts.overwritten;
	r->counts.dropped = chunk->dropped;
	r->counts.overwritten = chunk->overwritten;
	r->counts.malformed += malformed;
	if (r->provider == c->kernel && !is_of_tracepoints(r) &&
	    (dropped || overwritten || malformed))
		c->sched_lost_until = now;
	/*
	 * Overwritten records are older than all records left in the ring, so end the marker at the
	 * first record that is left.
	 */
	if (overwritten && !dropped && !malformed && r->first_ns >= r->chunk_ns &&
	    r->first_ns < now)
		marker(c, r, r->first_ns, dropped, overwritten, malformed);
	else if (dropped || overwritten || malformed)
		marker(c, r, now, dropped, overwritten, malformed);
	r->chunk_ns = now;
}
