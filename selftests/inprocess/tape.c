// SPDX-License-Identifier: GPL-2.0
/* Keeps a trace of this process, or of a forked one, in memory and checks it */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tape.h"

static pthread_mutex_t say = PTHREAD_MUTEX_INITIALIZER;

bool check_(bool ok, const char *file, int line, const char *cond, const char *fmt, ...)
{
	char why[200];
	va_list ap;

	if (ok)
		return true;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&say);
	ktap_fail("%s:%d: not so: %s%s", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line,
		  cond, why);
	pthread_mutex_unlock(&say);
	return false;
}

long scale(const char *env, long otherwise)
{
	const char *s = getenv(env);

	return s && *s ? strtol(s, NULL, 0) : otherwise;
}

/* --- parsing records ------------------------------------------------------------------- */

static const uint64_t *text(struct tape *t, uint32_t ref, const uint64_t *at, const char **s,
			    uint32_t *len)
{
	static const char empty[] = "";

	*s = empty;
	*len = 0;
	if (ref & ASYNCTRACE_FXT_INLINE) {
		*len = ref & 0x7fff;
		*s = (const char *)at;
		/* Bytes beyond the text must be 0. */
		if (*len % 8 && at[*len / 8] >> *len % 8 * 8)
			t->unpadded++;
		return at + ASYNCTRACE_FXT_TEXT_WORDS(*len);
	}
	if (!ref)
		return at;
	if (!t->strings[ref])
		t->unnamed++;
	else {
		*s = t->strings[ref];
		*len = t->string_len[ref];
	}
	return at;
}

/* Returns false if the words are no record that a provider may write. */
static bool take_apart(struct tape *t, uint32_t ring, const uint64_t *w, struct tape_event *ev)
{
	const uint64_t *end = w + ASYNCTRACE_FXT_WORDS(w[0]), *at = w + 3;
	const uint32_t ncat = w[0] >> 32 & 0xffff, nname = w[0] >> 48;

	*ev = (struct tape_event){ .raw = w, .ring = ring, .type = w[0] >> 16 & 0xf,
				   .words = ASYNCTRACE_FXT_WORDS(w[0]), .time = w[1],
				   .slot = (uint32_t)w[2], .nargs = w[0] >> 20 & 0xf };
	if (ASYNCTRACE_FXT_TYPE(w[0]) == ASYNCTRACE_FXT_BLOB ||
	    ASYNCTRACE_FXT_TYPE(w[0]) == ASYNCTRACE_FXT_LARGE ||
	    ASYNCTRACE_FXT_TYPE(w[0]) == ASYNCTRACE_FXT_KERNELOBJ ||
	    (w[0] >> 24 & 0xff) == ASYNCTRACE_FXT_RING_VIRTUAL) {
		ev->type = TAPE_SPECIAL;
		ev->nargs = 0;
		return !(w[2] >> 32);
	}
	if (ASYNCTRACE_FXT_TYPE(w[0]) != ASYNCTRACE_FXT_EVENT || w[0] >> 24 & 0xff || w[2] >> 32 ||
	    ev->type >= ASYNCTRACE_FXT_EVENT_TYPES)
		return false;
	at = text(t, ncat, at, &ev->category, &ev->category_len);
	at = text(t, nname, at, &ev->name, &ev->name_len);
	for (uint32_t i = 0; i < ev->nargs; i++) {
		struct tape_arg *a = &ev->args[i];
		const uint64_t *next = at + ASYNCTRACE_FXT_WORDS(at[0]);
		const uint64_t head = *at;

		if (next > end || next == at)
			return false;
		a->type = head & 0xf;
		at = text(t, head >> 16 & 0xffff, at + 1, &a->name, &a->name_len);
		switch (a->type) {
		case ASYNCTRACE_FXT_ARG_NULL:
			break;
		case ASYNCTRACE_FXT_ARG_INT32:
		case ASYNCTRACE_FXT_ARG_UINT32:
		case ASYNCTRACE_FXT_ARG_BOOL:
			a->value = head >> 32;
			break;
		case ASYNCTRACE_FXT_ARG_STRING: {
			uint32_t len;

			at = text(t, head >> 32 & 0xffff, at, &a->text, &len);
			a->value = len;
			break;
		}
		default:
			a->value = *at++;
		}
		if (at != next)
			return false;
	}
	switch (ev->type) {
	case ASYNCTRACE_FXT_COUNTER:
	case ASYNCTRACE_FXT_DURATION ... ASYNCTRACE_FXT_FLOW_END:
		ev->id = *at++;
	}
	return at == end;
}

static void take_events(struct tape *t, const struct asynctrace_chunk *c, const uint64_t *w)
{
	const uint64_t *end = w + c->bytes / 8;
	struct tape_event ev;
	uint64_t n = 0;

	t->words += c->bytes / 8;
	for (; w < end; w += ASYNCTRACE_FXT_WORDS(w[0]), n++) {
		uint32_t words = ASYNCTRACE_FXT_WORDS(w[0]);
		uint64_t stamp;

		if (words < 3 || words > end - w || !take_apart(t, c->ring, w, &ev)) {
			t->torn++;
			break;
		}
		if (ev.slot >= 1u << 16 || !t->slots[ev.slot])
			t->strangers++;
		stamp = ev.type == ASYNCTRACE_FXT_DURATION ? ev.id : ev.time;
		if (stamp < t->last[c->ring])
			t->backwards++;
		t->last[c->ring] = stamp;
		if (t->fn)
			t->fn(&ev, t->arg);
	}
	t->events += n;
	if (n != c->records)
		t->miscounted++;
}

static void take_strings(struct tape *t, const struct asynctrace_chunk *c, const uint64_t *w)
{
	uint64_t *to = t->string_words + c->sequence, *end = to + c->bytes / 8;

	memcpy(to, w, c->bytes);
	for (; to < end; to += ASYNCTRACE_FXT_WORDS(*to)) {
		uint32_t index = *to >> 16 & 0x7fff;

		if (ASYNCTRACE_FXT_TYPE(*to) != ASYNCTRACE_FXT_STRING || !index ||
		    t->strings[index] || ASYNCTRACE_FXT_WORDS(*to) > end - to) {
			t->torn++;
			return;
		}
		t->strings[index] = (const char *)(to + 1);
		t->string_len[index] = *to >> 32 & 0x7fff;
	}
}

static int take(void *arg, const struct asynctrace_chunk *c, const void *payload)
{
	struct tape *t = arg;
	const struct asynctrace_thread *th = payload;

	if (!c)
		return 0;
	switch (c->kind) {
	case ASYNCTRACE_CHUNK_EVENTS:
		take_events(t, c, payload);
		break;
	case ASYNCTRACE_CHUNK_STRINGS:
		take_strings(t, c, payload);
		break;
	case ASYNCTRACE_CHUNK_THREADS:
		for (uint32_t i = 0; i < c->bytes / sizeof(*th); i++)
			if (th[i].slot < 1u << 16)
				t->slots[th[i].slot] = 1;
		break;
	}
	return 0;
}

/* --- running a trace ---------------------------------------------------------------------- */

static void *need(void *p)
{
	if (!p) {
		perror("tape");
		exit(2);
	}
	return p;
}

void tape_new(struct tape *t, const struct tape_options *o, tape_fn fn, void *arg)
{
	const struct at_trace_options to = { .size = sizeof(to), .mode = o->mode,
					     .ring_size = o->ring_size, .sub_size = o->sub_size };
	struct at_shape shape;
	int err;

	*t = (struct tape){ .fn = fn, .arg = arg };
	err = at_shape_init(&shape, &to);
	if (!err)
		err = at_slots_init();
	at_rseq_init();
	if (!at_membarrier_init())
		shape.nr_rings = 0;
	if (o->no_cpu_rings)
		shape.nr_rings = 0;
	/*
	 * These tests need no correct time, so they use the counter also where it is not trusted.
	 */
	shape.clock = o->boottime ? ASYNCTRACE_CLOCK_BOOTTIME : ASYNCTRACE_CLOCK_COUNTER;
	if (!err)
		err = at_area_create(&t->area, &shape, o->categories);
	if (err) {
		fprintf(stderr, "tape: %s\n", strerror(-err));
		exit(2);
	}
	t->last = need(calloc(shape.nr_rings + 1, sizeof(*t->last)));
	t->strings = need(calloc(1 << 15, sizeof(*t->strings)));
	t->string_len = need(calloc(1 << 15, sizeof(*t->string_len)));
	t->string_words = need(malloc(ASYNCTRACE_DURABLE_SIZE));
	t->slots = need(calloc(1, 1 << 16));
	if (o->sink)
		err = at_drain_init(&t->drain, &t->area, "tape", o->sink, o->sink_arg);
	else
		err = at_drain_init(&t->drain, &t->area, "tape", take, t);
	if (err)
		exit(2);
}

void tape_attach(struct tape *t)
{
	at_backend_lock();
	if (at_area_attach(&t->area, ASYNCTRACE_GATE_OFF))
		exit(2);
	at_backend_unlock();
}

void tape_gate(struct tape *t, bool open)
{
	at_area_gate(&t->area, open ? at_new_generation() : 0);
}

void tape_roll(struct tape *t)
{
	if (at_drain_start(&t->drain))
		exit(2);
	at_drain_go(&t->drain);
}

static uint64_t sum_of_lines(const struct tape *t)
{
	const struct asynctrace_ring_header *line =
		(const void *)(t->area.rw + t->area.control->headers);
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= t->area.shape.nr_rings; i++)
		sum += __atomic_load_n(&line[i].position, __ATOMIC_ACQUIRE) +
		       __atomic_load_n(&line[i].dropped, __ATOMIC_ACQUIRE);
	return sum;
}

void tape_end(struct tape *t, bool attached)
{
	uint64_t sum;

	at_area_gate(&t->area, 0);
	if (attached)
		check(at_writers_quiesce());
	sum = sum_of_lines(t);
	if (t->linger) {
		usleep(3000);
		check(sum == sum_of_lines(t), "a writer wrote after the end");
	}
	if (t->drain.thread)
		at_drain_stop(&t->drain);
	at_drain_round(&t->drain, true);
	t->result.size = sizeof(t->result);
	at_drain_result(&t->drain, &t->result);
	if (attached) {
		at_backend_lock();
		at_gate_reset(ASYNCTRACE_GATE_OFF);
		at_backend_set(ASYNCTRACE_BACKEND_NONE, NULL, NULL);
		at_area_detach();
		at_backend_unlock();
	}
}

void tape_free(struct tape *t)
{
	at_drain_free(&t->drain);
	at_area_destroy(&t->area);
	free(t->last);
	free(t->strings);
	free(t->string_len);
	free(t->string_words);
	free(t->slots);
}

void tape_check(const struct tape *t)
{
	check(!t->torn, "%llu torn", (unsigned long long)t->torn);
	check(!t->miscounted, "%llu miscounted", (unsigned long long)t->miscounted);
	check(!t->backwards, "%llu backwards", (unsigned long long)t->backwards);
	check(!t->unpadded, "%llu texts are not padded with zeros", (unsigned long long)t->unpadded);
	check(!t->unnamed, "%llu unnamed", (unsigned long long)t->unnamed);
	check(!t->strangers, "%llu strangers", (unsigned long long)t->strangers);
	check(t->events == t->result.delivered, "%llu events, %llu delivered",
	      (unsigned long long)t->events, (unsigned long long)t->result.delivered);
	for (uint32_t i = 0; i <= t->area.shape.nr_rings; i++)
		check(!t->drain.readers[i].broken, "ring %u: %llu broken heads", i,
		      (unsigned long long)t->drain.readers[i].broken);
}
