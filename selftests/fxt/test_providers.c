// SPDX-License-Identifier: GPL-2.0
/*
 * A trace may have any number of providers. Each has its own tables and counts, also if it gets the
 * id that another one had.
 */
#include "fxt/fxt.h"
#include "stream.h"

#define MANY	100000

static uint64_t metadata(unsigned int type, uint64_t id)
{
	return ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) | type << 16 | id << 20;
}

static struct fxt_record next(struct fxt_reader *r)
{
	struct fxt_record rec;

	assert_int_equal(fxt_next(r, &rec), 1);
	return rec;
}

static void push(struct fxt_reader *r, const uint64_t *words, size_t nr)
{
	assert_int_equal(fxt_push(r, words, nr), 0);
}

static void count_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	++*(unsigned int *)arg;
}

/*
 * If the time of a lookup grew with the number of providers, the test would exceed its limit of CPU
 * time (selftests/limit).
 */
static void providers_many_are_found_again(void **state)
{
	struct fxt_reader *r = fxt_open_pushed();
	unsigned int breaches = 0;

	assert_non_null(r);
	fxt_on_breach(r, count_breach, &breaches);
	for (uint64_t i = 0; i < MANY; i++) {
		push(r, (uint64_t[]){ metadata(ASYNCTRACE_FXT_META_PROVIDER, 7 * i) }, 1);
		assert_int_equal(next(r).kind, FXT_PROVIDER_INFO);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		push(r, (uint64_t[]){ metadata(ASYNCTRACE_FXT_META_SECTION, 7 * i) }, 1);
		assert_int_equal(next(r).provider, 7 * i);
	}
	assert_int_equal(breaches, 0);
	fxt_close(r);
}

static void provider_again_loses_its_tables(void **state)
{
	const uint64_t words[] = {
		metadata(ASYNCTRACE_FXT_META_PROVIDER, 1),
		ASYNCTRACE_FXT_STRING_HEAD(0x7fff, 1), 'x',
		ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_THREAD, 3) | 255ULL << 16, 10, 11,
		metadata(ASYNCTRACE_FXT_META_PROVIDER, 1),
		ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 4, 0, 0, 0x7fff), 5, 10, 11,
		ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 2, 0, 0, 0) | 255ULL << 24, 5,
	};
	struct fxt_reader *r = fxt_open_pushed();

	assert_non_null(r);
	push(r, words, sizeof(words) / sizeof(words[0]));
	for (int i = 0; i < 4; i++)
		assert_false(next(r).damaged);
	assert_true(next(r).damaged);
	assert_true(next(r).damaged);
	fxt_close(r);
}

/* --- ids that are used again ---------------------------------------------------------- */

#define ID	7

static const struct asynctrace_provider_info older = {
	.id = ID, .pid = 100, .salt = 5, .serial = 1, .name = "older",
}, newer = {
	.id = ID, .pid = 200, .salt = 6, .serial = 1048575, .name = "newer",
};

/* Gives @nr events of slot 1 to ring 0. */
static void give_instants(struct stream *s, struct ref category, unsigned int nr)
{
	struct words b = { 0 };

	for (unsigned int i = 0; i < nr; i++)
		put_event(&b, &(struct event){
			ASYNCTRACE_FXT_INSTANT, ++s->ticks, 1, category, TXT("n"), 0, 0, { },
		});
	give_events(s, ID, 0, &b);
	words_free(&b);
}

static void give_category(struct stream *s, const char *text)
{
	struct words b = { 0 };

	put_string(&b, 1, text, strlen(text));
	give_strings(s, ID, &b);
	words_free(&b);
}

/* The provider of @info registers, and its rings begin with counts of 0. */
static void join(struct stream *s, const struct asynctrace_provider_info *info)
{
	memset(s->rings[info->id], 0, sizeof(s->rings[info->id]));
	give_info(s, info);
}

static void leave(struct stream *s, struct asynctrace_provider_info info)
{
	info.flags |= ASYNCTRACE_PROVIDER_F_GONE;
	give_info(s, &info);
}

static void open_two_generations(struct stream *s)
{
	stream_open(s);
	give_clock(s, ASYNCTRACE_MOMENT_START);
	join(s, &older);
	give_thread(s, ID, 1, 100, 101, "older");
	give_category(s, "older category");
	lose(s, ID, 0, 20, 300);
	give_instants(s, IDX(1), 3);
	leave(s, older);
	join(s, &newer);
}

static void id_used_again_is_of_a_new_provider(void **state)
{
	const struct at_compose_stats *st;
	struct stream s;
	struct file f;

	open_two_generations(&s);
	/* The slot and the string of the earlier provider are unknown. */
	give_instants(&s, TXT("c"), 1);
	give_thread(&s, ID, 1, 200, 201, "newer");
	give_instants(&s, IDX(1), 1);
	give_category(&s, "newer category");
	lose(&s, ID, 0, 0, 1);
	give_instants(&s, IDX(1), 2);
	/* Another report of the provider does not make it new. */
	leave(&s, newer);
	give_instants(&s, IDX(1), 1);
	stream_finish(&s);

	file_open(&f, s.path);
	for (unsigned int i = 0; i < 6; i++) {
		const bool is_newer = i >= 3;

		assert_true(file_event(&f, 2 + is_newer));
		assert_int_equal(f.rec.thread.tid, is_newer ? 201 : 101);
		assert_true(fxt_text_is(&f.rec.category, is_newer ? "newer category" :
								    "older category"));
	}
	file_close(&f);
	assert_clean(s.path, -1);

	st = at_compose_stats(s.c);
	assert_int_equal(st->nr_providers, 3);
	assert_int_equal(st->nr_rings, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const struct asynctrace_provider_info *info = i ? &newer : &older;
		const struct at_compose_provider *p = &st->providers[1 + i];

		assert_int_equal(p->id, ID);
		assert_int_equal(p->serial, info->serial);
		assert_string_equal(p->name, info->name);
		assert_int_equal(p->pid, info->pid);
		assert_int_equal(p->threads, 1);
		assert_int_equal(p->counts.delivered, 3);
		assert_int_equal(p->counts.malformed, i ? 2 : 0);
		assert_int_equal(p->counts.overwritten, i ? 0 : 20);
		assert_int_equal(p->counts.dropped, i ? 1 : 300);
		assert_int_equal(st->rings[i].provider, ID);
		assert_int_equal(st->rings[i].serial, info->serial);
		assert_memory_equal(&st->rings[i].counts, &p->counts, sizeof(p->counts));
	}
	assert_int_equal(st->total.delivered, 6);
	assert_int_equal(st->total.overwritten, 20);
	assert_int_equal(st->total.dropped, 301);
	stream_close(&s);
}

/* The caller knows only the id of the ring's provider. */
static void left_out_records_may_be_of_each_provider(void **state)
{
	const struct at_compose_counts four = { .events = 4 }, one = { .events = 1 };
	const struct at_compose_stats *st;
	struct stream s;

	open_two_generations(&s);
	give_thread(&s, ID, 1, 200, 201, "newer");
	give_instants(&s, TXT("c"), 3);
	assert_int_equal(at_compose_left_out(s.c, ID, 0, &four, &one), 0);
	assert_int_equal(at_compose_left_out(s.c, ID, 0, &one, &one), -EINVAL);
	assert_int_equal(at_compose_left_out(s.c, ID, 1, &one, &one), -EINVAL);
	st = at_compose_stats(s.c);
	assert_int_equal(st->total.filtered, 4);
	assert_int_equal(st->total.unwritten, 1);
	assert_int_equal(st->total.delivered, 1);
	assert_int_equal(st->total.events, 1);
	for (size_t i = 1; i < st->nr_providers; i++) {
		const struct at_compose_counts *n = &st->providers[i].counts;

		assert_int_equal(n->delivered + n->filtered + n->unwritten, 3);
		assert_int_equal(n->delivered, n->events);
	}
	stream_finish(&s);
	stream_close(&s);
}

#define IDS		5
#define GENERATIONS	2
#define RINGS		4

/* Providers and rings appear in descending order, and each ring reports its losses twice. */
static void sums_of_each_provider_are_exact(void **state)
{
	uint64_t dropped[IDS][GENERATIONS] = { 0 }, all = 0;
	const struct at_compose_stats *st;
	struct stream s;

	stream_open(&s);
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	for (unsigned int i = 0; i < IDS * GENERATIONS; i++) {
		const unsigned int id = IDS - i % IDS;

		join(&s, &(struct asynctrace_provider_info){
			.id = id, .pid = 100 + i, .salt = 1 + i, .serial = 1 + i,
		});
		for (unsigned int report = 0; report < 2 * RINGS; report++) {
			const uint64_t n = 1 + rnd_below(1000);

			lose(&s, id, RINGS - 1 - report % RINGS, 0, n);
			give_events(&s, id, RINGS - 1 - report % RINGS, &(struct words){ 0 });
			dropped[id - 1][i / IDS] += n;
			all += n;
		}
	}
	stream_finish(&s);
	st = at_compose_stats(s.c);
	assert_int_equal(st->nr_providers, 1 + IDS * GENERATIONS);
	assert_int_equal(st->nr_rings, IDS * GENERATIONS * RINGS);
	assert_int_equal(st->total.dropped, all);
	for (unsigned int i = 0; i < IDS * GENERATIONS; i++) {
		const struct at_compose_provider *p = &st->providers[1 + i];
		uint64_t of_rings = 0;

		assert_int_equal(p->id, 1 + i / GENERATIONS);
		assert_int_equal((p->serial - 1) / IDS, i % GENERATIONS);
		assert_int_equal(p->counts.dropped, dropped[i / GENERATIONS][i % GENERATIONS]);
		for (unsigned int k = 0; k < RINGS; k++) {
			const struct at_compose_ring *ring = &st->rings[RINGS * i + k];

			assert_int_equal(ring->provider, p->id);
			assert_int_equal(ring->serial, p->serial);
			assert_int_equal(ring->ring, k);
			of_rings += ring->counts.dropped;
		}
		assert_int_equal(p->counts.dropped, of_rings);
	}
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(providers_many_are_found_again),
		cmocka_unit_test(provider_again_loses_its_tables),
		cmocka_unit_test(id_used_again_is_of_a_new_provider),
		cmocka_unit_test(left_out_records_may_be_of_each_provider),
		cmocka_unit_test(sums_of_each_provider_are_exact),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
