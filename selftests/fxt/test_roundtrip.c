// SPDX-License-Identifier: GPL-2.0
/*
 * The composer's input comes out of the file: random streams of chunks with numbered events,
 * compared field by field
 */
#include <math.h>
#include <stdio.h>

#include "stream.h"

#define PROVIDERS	3
#define RINGS		3
#define THREADS		20
#define STRINGS		40
#define CHUNKS		60
#define TEXTS		12

/* The expected event in the file, by its number */
struct expected {
	struct event e;
	uint32_t provider, ring;
	bool seen;
};

static struct expected *expected;
static size_t nr_expected, room_expected;

static char names[PROVIDERS + 1][STRINGS + 1][24];
static const char *const texts[TEXTS] = {
	"", "a", "seven77", "eight888", "nine99999", "\xc3\xa9t\xc3\xa9", "\xe2\x82\xac 5",
	"\xf0\x9f\x90\xa7", "tab\there", "quote\"back\\slash", "a somewhat longer text, in line",
	"0123456789abcdef",
};

static uint64_t three(uint64_t ticks)
{
	return ticks / 3;
}

static struct ref random_ref(void)
{
	if (rnd_chance(60))
		return IDX(1 + rnd_below(STRINGS));
	return rnd_chance(10) ? (struct ref){ 0 } : TXT(texts[rnd_below(TEXTS)]);
}

static struct arg random_arg(bool number)
{
	struct arg a = {
		.type = number ? 1 + rnd_below(5) : rnd_below(ASYNCTRACE_FXT_ARG_TYPES),
		.name = random_ref(), .value = rnd(), .text = random_ref(),
	};

	if (a.type == ASYNCTRACE_FXT_ARG_INT32 || a.type == ASYNCTRACE_FXT_ARG_UINT32)
		a.value &= 0xffffffff;
	return a;
}

static void random_event(struct event *e, uint64_t *ticks, uint64_t number)
{
	memset(e, 0, sizeof(*e));
	*ticks += rnd_below(4);
	e->type = rnd_below(ASYNCTRACE_FXT_EVENT_TYPES);
	e->ticks = *ticks;
	e->slot = 1 + rnd_below(THREADS);
	e->category = random_ref();
	e->name = random_ref();
	e->extra = rnd_chance(80) ? rnd() >> 24 : rnd();
	e->nargs = 1 + rnd_below(ASYNCTRACE_FXT_ARGS_MAX);
	e->args[0] = ARG_U64(IDX(1), number);
	for (unsigned int i = 1; i < e->nargs; i++)
		e->args[i] = random_arg(e->type == ASYNCTRACE_FXT_COUNTER);
	if (e->type == ASYNCTRACE_FXT_DURATION) {
		*ticks += rnd_below(50);
		e->extra = *ticks;
	}
}

static const char *text_of(const struct expected *x, struct ref r)
{
	return r.index ? names[x->provider][r.index] : r.text ? r.text : "";
}

static void same_text(const struct expected *x, const struct fxt_text *t, struct ref r)
{
	const char *want = text_of(x, r);

	assert_int_equal(t->len, strlen(want));
	assert_memory_equal(t->s, want, t->len);
}

static void same_arg(const struct expected *x, const struct fxt_arg *a, const struct arg *want)
{
	assert_int_equal(a->type, want->type);
	same_text(x, &a->name, want->name);
	switch (want->type) {
	case ASYNCTRACE_FXT_ARG_NULL:
		break;
	case ASYNCTRACE_FXT_ARG_INT32:
		assert_int_equal(a->i, (int32_t)want->value);
		break;
	case ASYNCTRACE_FXT_ARG_BOOL:
		assert_int_equal(a->u, want->value & 1);
		break;
	case ASYNCTRACE_FXT_ARG_STRING:
		same_text(x, &a->text, want->text);
		break;
	default:
		assert_true(a->u == want->value);
	}
}

static uint64_t salt_of(uint32_t provider)
{
	return 0x1000 + provider;
}

/*
 * The composer puts the provider's salt above the id of an async event. An id that has no room for
 * the salt is replaced. Ids of other events are unchanged.
 */
static void same_id(const struct expected *x, uint64_t id)
{
	uint64_t salt = salt_of(x->provider);

	if (x->e.type < ASYNCTRACE_FXT_ASYNC_BEGIN || x->e.type > ASYNCTRACE_FXT_ASYNC_END)
		assert_true(id == x->e.extra);
	else if (x->e.extra >> 44 == 0)
		assert_true(id == (x->e.extra | salt << 44));
	else
		assert_int_equal(id >> 44, salt);
}

/*
 * Compares times. Ends are exact. A begin is exact, or 1 to 8 ns earlier if a sibling began at
 * the same time.
 */
static void same_times(const struct expected *x, const struct fxt_record *rec,
		       uint64_t (*ns)(uint64_t))
{
	uint64_t begin = ns ? ns(x->e.ticks) : x->e.ticks;

	if (x->e.type != ASYNCTRACE_FXT_DURATION) {
		assert_true(rec->ns == begin);
		return;
	}
	assert_true(rec->ns <= begin && rec->ns + 8 >= begin);
	assert_true(rec->end_ns == (ns ? ns(x->e.extra) : x->e.extra));
}

static void compare(struct stream *s)
{
	uint64_t last[PROVIDERS + 1][RINGS] = { { 0 } }, found = 0;
	struct file f;

	file_open(&f, s->path);
	while (file_next(&f)) {
		const struct fxt_record *rec = &f.rec;
		struct expected *x;

		if (rec->kind != FXT_EVENT || rec->provider < 2)
			continue;
		assert_true(rec->nargs && rec->args[0].u < nr_expected);
		x = &expected[rec->args[0].u];
		assert_false(x->seen);
		x->seen = true;
		found++;
		assert_int_equal(rec->provider, x->provider + 1);
		assert_int_equal(rec->number, x->e.type);
		assert_int_equal(rec->thread.pid, 1000 * x->provider);
		assert_int_equal(rec->thread.tid, 1000 * x->provider + x->e.slot);
		same_text(x, &rec->category, x->e.category);
		same_text(x, &rec->name, x->e.name);
		assert_int_equal(rec->nargs, x->e.nargs);
		for (unsigned int i = 0; i < rec->nargs; i++)
			same_arg(x, &rec->args[i], &x->e.args[i]);
		same_times(x, rec, s->ns);
		if (rec->number == ASYNCTRACE_FXT_COUNTER || rec->number > ASYNCTRACE_FXT_DURATION)
			same_id(x, rec->id);
		/* Only durations may change their place in the ring's order. */
		if (rec->number != ASYNCTRACE_FXT_DURATION) {
			assert_true(rec->args[0].u >= last[x->provider][x->ring]);
			last[x->provider][x->ring] = rec->args[0].u;
		}
	}
	file_close(&f);
	assert_int_equal(found, nr_expected);
}

static void introduce(struct stream *s)
{
	struct words b = { 0 };
	char text[32];

	for (uint32_t p = 1; p <= PROVIDERS; p++) {
		snprintf(text, sizeof(text), "provider-%u", p);
		give_provider(s, p, 1000 * p, salt_of(p), text);
		for (int t = 1; t <= THREADS; t++) {
			snprintf(text, sizeof(text), "thread-%d", t);
			give_thread(s, p, t, 1000 * p, 1000 * p + t, text);
		}
		for (unsigned int i = 1; i <= STRINGS; i++) {
			snprintf(names[p][i], sizeof(names[p][i]), "name %u of %u", i, p);
			put_string(&b, i, names[p][i], strlen(names[p][i]));
		}
		give_strings(s, p, &b);
		b.nr = 0;
	}
	words_free(&b);
}

static void random_stream(struct stream *s)
{
	uint64_t ticks[PROVIDERS + 1][RINGS];
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	introduce(s);
	for (uint32_t p = 1; p <= PROVIDERS; p++)
		for (uint32_t r = 0; r < RINGS; r++)
			ticks[p][r] = s->ticks;
	nr_expected = 0;
	for (int i = 0; i < CHUNKS; i++) {
		uint32_t p = 1 + rnd_below(PROVIDERS), r = rnd_below(RINGS);

		for (size_t n = rnd_below(200); n; n--) {
			struct expected *x;

			if (nr_expected == room_expected) {
				room_expected = 2 * room_expected + 64;
				expected = realloc(expected, room_expected * sizeof(*expected));
				assert_non_null(expected);
			}
			x = &expected[nr_expected];
			*x = (struct expected){ .provider = p, .ring = r };
			random_event(&x->e, &ticks[p][r], nr_expected++);
			put_event(&b, &x->e);
		}
		if (ticks[p][r] > s->ticks)
			s->ticks = ticks[p][r];
		s->ticks += 3 * rnd_below(100);
		/* The clock is a straight line on which the pairs lie. */
		s->ticks += s->ns ? (3 - s->ticks % 3) % 3 : 0;
		give_events(s, p, r, &b);
	}
	words_free(&b);
}

static void run(uint64_t (*ns)(uint64_t))
{
	const struct at_compose_stats *st;
	struct stream s;

	stream_open(&s);
	s.ns = ns;
	s.ticks = 3000000;
	random_stream(&s);
	stream_finish(&s);
	compare(&s);
	st = at_compose_stats(s.c);
	assert_int_equal(st->total.delivered, nr_expected);
	assert_int_equal(st->total.events, nr_expected);
	assert_int_equal(st->total.malformed, 0);
	assert_int_equal(st->protocol, 0);
	assert_int_equal(st->nr_providers, PROVIDERS + 1);
	stream_close(&s);
}

static void test_every_field_comes_back(void **unused)
{
	for (int i = 0; i < 20; i++)
		run(NULL);
}

static void test_every_field_comes_back_with_a_counter(void **unused)
{
	for (int i = 0; i < 20; i++)
		run(three);
}

/* Two composers make equal files of equal chunks: no byte depends on an address. */
static void test_same_chunks_same_file(void **unused)
{
	uint64_t seed = rnd();
	struct file a, b;
	struct stream s[2];

	for (int i = 0; i < 2; i++) {
		rnd_seed(seed);
		stream_open(&s[i]);
		random_stream(&s[i]);
		stream_finish(&s[i]);
	}
	file_open(&a, s[0].path);
	file_open(&b, s[1].path);
	while (file_next(&a)) {
		assert_true(file_next(&b));
		assert_int_equal(a.rec.offset, b.rec.offset);
		assert_int_equal(a.rec.words, b.rec.words);
		assert_int_equal(a.rec.kind, b.rec.kind);
	}
	assert_false(file_next(&b));
	file_close(&a);
	file_close(&b);
	stream_close(&s[0]);
	stream_close(&s[1]);
}

/* Ids that the library made are unchanged. Different ids of a program stay different. */
static void test_async_ids_are_global(void **unused)
{
	static const uint64_t ids[] = {
		0, 1, (1ULL << 44) - 1, 7ULL << 44 | 5, 8ULL << 44 | 5, ~0ULL, 1ULL << 44,
	};
	uint64_t got[sizeof(ids) / sizeof(ids[0])];
	struct words b = { 0 };
	struct stream s;
	struct file f;
	size_t n = 0;

	stream_simple(&s);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (unsigned int type = ASYNCTRACE_FXT_ASYNC_BEGIN;
		     type <= ASYNCTRACE_FXT_ASYNC_END; type++)
			put_event(&b, &(struct event){ type, s.ticks, 1, IDX(1), IDX(2), ids[i], 0,
						       { } });
	give_events(&s, 1, 0, &b);
	stream_finish(&s);
	file_open(&f, s.path);
	for (; file_event(&f, 2); n++) {
		if (n % 3 == 0)
			got[n / 3] = f.rec.id;
		assert_true(f.rec.id == got[n / 3]);
	}
	file_close(&f);
	assert_int_equal(n, 3 * sizeof(ids) / sizeof(ids[0]));
	assert_true(got[0] == 7ULL << 44);
	assert_true(got[1] == (7ULL << 44 | 1));
	assert_true(got[2] == (7ULL << 44 | ((1ULL << 44) - 1)));
	assert_true(got[3] == ids[3]);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(got[i] >> 44, 7);
		for (size_t j = 0; j < i; j++)
			assert_true(got[i] != got[j]);
	}
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* One flow in two processes: begin and end in the first, @steps in both. */
static void one_flow(uint64_t id, unsigned int steps)
{
	static const unsigned int types[] = {
		ASYNCTRACE_FXT_FLOW_BEGIN, ASYNCTRACE_FXT_FLOW_STEP, ASYNCTRACE_FXT_FLOW_END,
	};
	unsigned int got[3] = { 0 }, order = 0;
	uint64_t pids = 0;
	struct stream s;
	struct file f;

	stream_simple(&s);
	give_provider(&s, 2, 200, 9, "other");
	give_thread(&s, 2, 1, 200, 201, "other");
	for (unsigned int i = 0; i < steps + 2; i++) {
		const uint32_t provider = i == 0 || i == steps + 1 ? 1 : 1 + i % 2;
		const unsigned int type = types[i == 0 ? 0 : i == steps + 1 ? 2 : 1];
		const struct ref cat = TXT("flows"), name = TXT("request");
		struct words b = { 0 };

		put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION_BEGIN, s.ticks, 1, cat,
					       TXT("around"), 0, 0, { } });
		put_event(&b, &(struct event){ type, s.ticks + 1, 1, cat, name, id, 0, { } });
		put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION_END, s.ticks + 2, 1, cat,
					       TXT("around"), 0, 0, { } });
		s.ticks += 10;
		give_events(&s, provider, 0, &b);
		words_free(&b);
	}
	stream_finish(&s);
	assert_clean(s.path, -1);
	file_open(&f, s.path);
	while (file_next(&f)) {
		if (f.rec.kind != FXT_EVENT || f.rec.number < ASYNCTRACE_FXT_FLOW_BEGIN)
			continue;
		assert_true(f.rec.id == id);
		assert_true(fxt_text_is(&f.rec.name, "request"));
		got[f.rec.number - ASYNCTRACE_FXT_FLOW_BEGIN]++;
		assert_true(f.rec.number >= order);
		order = f.rec.number;
		pids |= f.rec.thread.pid == 100 ? 1 : f.rec.thread.pid == 200 ? 2 : 4;
	}
	file_close(&f);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[1], steps);
	assert_int_equal(got[2], 1);
	assert_int_equal(pids, steps ? 3 : 1);
	stream_close(&s);
}

static void test_A11_flow_keeps_its_id_in_two_processes(void **unused)
{
	static const uint64_t ids[] = {
		1, (1ULL << 44) - 1, 7ULL << 44 | 5, 9ULL << 44 | 5, 1ULL << 63, ~0ULL,
	};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		one_flow(ids[i], 0);
		one_flow(ids[i], 1);
		one_flow(ids[i], 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_comes_back),
		cmocka_unit_test(test_every_field_comes_back_with_a_counter),
		cmocka_unit_test(test_same_chunks_same_file),
		cmocka_unit_test(test_async_ids_are_global),
		cmocka_unit_test(test_A11_flow_keeps_its_id_in_two_processes),
	};

	test_random_init();
	return cmocka_run_group_tests_name("round trip", tests, NULL, NULL);
}
