// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks that are almost right, in any order: the composer must not crash, its accounting must be
 * exact, and the file must keep each rule of the format
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define PROVIDERS	4
#define RINGS		4

static uint64_t small_or_wild(uint64_t n)
{
	return rnd_chance(95) ? rnd_below(n) : rnd();
}

static void random_text(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		s[i] = rnd_chance(80) ? 'a' + rnd_below(26) : rnd();
}

static struct ref random_ref(void)
{
	static char text[4][600];
	char *s = text[rnd_below(4)];

	if (rnd_chance(50))
		return IDX(small_or_wild(30) & 0x7fff);
	random_text(s, 600);
	return (struct ref){ .text = s, .len = rnd_chance(98) ? 1 + rnd_below(20) :
							       1 + rnd_below(600) };
}

/* A blob, a large blob, a kernel object or an event of a virtual thread, almost right */
static void random_special(struct words *b, uint64_t ticks)
{
	const size_t at = b->nr, size = rnd_below(40), args = rnd_below(3);
	const uint64_t name = small_or_wild(30) & 0x7fff;
	char bytes[40];
	uint64_t head;

	random_text(bytes, sizeof(bytes));
	words_push(b, 0);
	words_push(b, ticks);
	words_push(b, small_or_wild(6) & 0xffffffff);
	switch (rnd_below(4)) {
	case 0:
		head = ASYNCTRACE_FXT_BLOB | name << 16 | size << 32 | small_or_wild(4) << 48;
		words_text(b, bytes, size);
		break;
	case 1:
		head = ASYNCTRACE_FXT_LARGE | small_or_wild(2) << 40;
		words_push(b, name | name << 16 | (uint64_t)args << 32);
		for (size_t i = 0; i < args; i++)
			words_push(b, ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, name, i));
		words_push(b, size);
		words_text(b, bytes, size);
		break;
	case 2:
		head = ASYNCTRACE_FXT_KERNELOBJ | small_or_wild(4) << 16 | name << 24 |
		       (uint64_t)args << 40;
		words_push(b, small_or_wild(6));
		words_push(b, small_or_wild(6));
		for (size_t i = 0; i < args; i++)
			words_push(b, ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, name, i));
		break;
	default:
		head = ASYNCTRACE_FXT_EVENT | small_or_wild(11) << 16 |
		       ASYNCTRACE_FXT_RING_VIRTUAL << 24 | name << 32 | name << 48;
		words_push(b, ticks - rnd_below(300));
		words_push(b, small_or_wild(5));
		words_push(b, name);
		if ((head >> 16 & 0xf) >= ASYNCTRACE_FXT_FLOW_BEGIN)
			words_push(b, 1);
	}
	b->w[at] = head | (uint64_t)(b->nr - at) << 4;
	b->records++;
}

static void random_records(struct words *b, uint64_t *ticks, bool sched, uint32_t ring)
{
	for (uint64_t n = rnd_below(60); n; n--) {
		struct event e = { .slot = small_or_wild(6) & 0xffffffff };

		*ticks += rnd_below(30);
		if (sched) {
			if (rnd_chance(50))
				put_switch(b, ring, *ticks, rnd_below(6), rnd_below(6),
					   rnd_below(6));
			else
				put_wakeup(b, ring, *ticks, rnd_below(6), rnd_below(6));
			continue;
		}
		if (rnd_chance(30)) {
			random_special(b, *ticks);
			continue;
		}
		e.type = rnd_below(11);
		e.ticks = *ticks;
		e.category = random_ref();
		e.name = random_ref();
		e.nargs = rnd_below(5);
		for (unsigned int i = 0; i < e.nargs; i++)
			e.args[i] =
				(struct arg){ rnd_below(10), random_ref(), rnd(), random_ref() };
		e.extra = e.type == ASYNCTRACE_FXT_DURATION ? *ticks : small_or_wild(100);
		if (e.type == ASYNCTRACE_FXT_DURATION)
			e.ticks -= rnd_below(200);
		put_event(b, &e);
	}
}

static void spoil(void *data, size_t bytes)
{
	if (!bytes || rnd_chance(40))
		return;
	for (uint64_t n = 1 + rnd_below(8); n; n--) {
		size_t i = rnd_below(bytes);

		if (rnd_chance(50))
			((unsigned char *)data)[i] ^= 1 << rnd_below(8);
		else
			((unsigned char *)data)[i] = rnd_chance(50) ? 0 : rnd();
	}
}

struct session {
	struct at_compose *c;
	uint64_t ticks[PROVIDERS][RINGS];
	uint64_t now, attempted[PROVIDERS];
	uint64_t lost[PROVIDERS][RINGS][2];
	uint32_t segment;
};

static void send(struct session *s, struct asynctrace_chunk *h, const void *payload, int *result)
{
	h->size = sizeof(*h);
	h->ticks = s->now;
	h->boottime = s->now + s->segment * 1000000;
	h->segment = s->segment;
	*result = at_compose_chunk(s->c, h, payload);
	fuzz_assert(*result == 0 || *result == -EPROTO);
}

static void trusted(struct session *s)
{
	struct asynctrace_chunk h = { .provider = rnd_below(PROVIDERS + 1) };
	union {
		struct asynctrace_provider_info info;
		struct asynctrace_clock_pair pair;
		struct asynctrace_thread thread;
		struct asynctrace_task_name name;
	} u;
	int result;

	memset(&u, 0, sizeof(u));
	switch (rnd_below(4)) {
	case 0:
		h.kind = ASYNCTRACE_CHUNK_PROVIDER;
		h.bytes = sizeof(u.info);
		u.info.id = rnd_below(PROVIDERS + 1);
		u.info.pid = rnd_below(6);
		u.info.salt = rnd_below(1 << 20);
		/* With another serial number, the id is of a new provider. */
		u.info.serial = rnd_chance(80) ? 0 : rnd_below(4);
		random_text(u.info.name, sizeof(u.info.name));
		break;
	case 1:
		h.kind = ASYNCTRACE_CHUNK_CLOCK;
		h.bytes = sizeof(u.pair);
		if (rnd_chance(10))
			s->segment++;
		u.pair.ticks = s->now - rnd_below(1000);
		u.pair.boottime = u.pair.ticks + s->segment * 1000000;
		u.pair.segment = s->segment;
		u.pair.what = rnd_below(5);
		break;
	case 2:
		h.kind = ASYNCTRACE_CHUNK_THREADS;
		h.bytes = sizeof(u.thread);
		u.thread.slot = rnd_below(6);
		u.thread.tid = rnd_below(6);
		u.thread.pid = rnd_below(6);
		random_text(u.thread.comm, sizeof(u.thread.comm));
		break;
	default:
		h.kind = ASYNCTRACE_CHUNK_NAMES;
		h.bytes = sizeof(u.name);
		u.name.tid = rnd_chance(90) ? (int)rnd_below(6) :
			ASYNCTRACE_TID_OTHER_ON(rnd_below(3));
		u.name.pid = rnd_below(6);
		random_text(u.name.comm, sizeof(u.name.comm));
	}
	if (rnd_chance(5))
		h.bytes = rnd_below(sizeof(u));
	send(s, &h, &u, &result);
}

static void untrusted(struct session *s)
{
	uint32_t p = rnd_below(PROVIDERS), ring = rnd_below(RINGS);
	struct asynctrace_chunk h = { .provider = p, .ring = ring };
	struct words b = { 0 };
	int result;

	if (rnd_chance(15)) {
		char text[40];

		h.kind = ASYNCTRACE_CHUNK_STRINGS;
		for (int i = 0; i < 10; i++) {
			random_text(text, sizeof(text));
			put_string(&b, small_or_wild(30) & 0x7fff, text, rnd_below(sizeof(text)));
		}
		h.bytes = b.nr * 8;
		spoil(b.w, h.bytes);
		send(s, &h, b.w, &result);
		words_free(&b);
		return;
	}
	h.kind = p ? ASYNCTRACE_CHUNK_EVENTS : ASYNCTRACE_CHUNK_SCHED;
	random_records(&b, &s->ticks[p][ring], !p, ring);
	if (s->now < s->ticks[p][ring] || rnd_chance(20))
		s->now = s->ticks[p][ring];
	if (rnd_chance(10))
		s->lost[p][ring][0] += rnd_below(100);
	if (rnd_chance(10))
		s->lost[p][ring][1] += rnd_below(100);
	h.bytes = b.nr * 8;
	h.records = rnd_chance(90) ? b.records : rnd_below(200);
	h.overwritten = s->lost[p][ring][0];
	h.dropped = s->lost[p][ring][1];
	h.flags = rnd_chance(3) ? ASYNCTRACE_CHUNK_F_BROKEN : 0;
	spoil(b.w, h.bytes);
	send(s, &h, b.w, &result);
	if (!result)
		s->attempted[p] += h.records;
	words_free(&b);
}

static void check_file(int fd)
{
	struct fxt_check *c = fxt_check_new(0);
	struct fxt_reader *r;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	fuzz_assert(r && c);
	fuzz_assert(fxt_check_all(c, r) == 0);
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		/*
		 * Skip rules about the trace as a whole that random records can break: for example,
		 * that a duration ends, or that times are within the session.
		 */
		if (i >= FXT_RULE_END_TIME && i != FXT_RULE_NO_THREAD && i != FXT_RULE_PHANTOM &&
		    i != FXT_RULE_NO_PROCESS && i != FXT_RULE_MAIN && i != FXT_RULE_SWITCH &&
		    i != FXT_RULE_CPU_TIME && i != FXT_RULE_END_TIME)
			continue;
		if (fxt_findings(c)[i].count)
			fprintf(stderr, "%s: %s\n", fxt_rules[i].name, fxt_findings(c)[i].detail);
		fuzz_assert(!fxt_findings(c)[i].count);
	}
	fxt_close(r);
	fxt_check_free(c);
}

static void one_round(void)
{
	struct at_compose_options o = { .size = sizeof(o), .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	struct session s = { .now = 10000000 };
	const struct at_compose_stats *st;

	s.c = at_compose_new(&o);
	fuzz_assert(s.c);
	for (int p = 0; p < PROVIDERS; p++)
		for (int r = 0; r < RINGS; r++)
			s.ticks[p][r] = s.now;
	for (int i = 0; i < 120; i++) {
		s.now += rnd_below(500);
		if (rnd_chance(i < 30 ? 80 : 30))
			trusted(&s);
		else
			untrusted(&s);
	}
	fuzz_assert(at_compose_finish(s.c) == 0);
	st = at_compose_stats(s.c);
	for (size_t i = 0; i < st->nr_providers; i++)
		if (st->providers[i].id < PROVIDERS)
			s.attempted[st->providers[i].id] -= st->providers[i].counts.delivered +
							    st->providers[i].counts.malformed;
	for (int p = 0; p < PROVIDERS; p++)
		fuzz_assert(!s.attempted[p]);
	at_compose_free(s.c);
	check_file(o.fd);
	close(o.fd);
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, one_round);
}
