// SPDX-License-Identifier: GPL-2.0
/*
 * Losses: the composer counts them exactly, and the file shows them twice, as a duration and as a
 * provider event. Also tests switches that the composer infers.
 */
#include <stdio.h>

#include "stream.h"

struct lost {
	uint64_t dropped, overwritten, malformed, markers, events;
};

/* Adds up the losses of each provider that the file shows. */
static void read_losses(const char *path, struct lost *of)
{
	struct file f;

	memset(of, 0, 4 * sizeof(*of));
	for (file_open(&f, path); file_next(&f);) {
		const struct fxt_record *rec = &f.rec;
		const struct fxt_arg *a;
		struct lost *l;

		if (rec->kind == FXT_PROVIDER_EVENT) {
			assert_int_equal(rec->number, 0);
			of[rec->id - 1].events++;
		}
		if (rec->kind != FXT_EVENT || !fxt_text_is(&rec->name, "lost records"))
			continue;
		assert_int_equal(rec->number, ASYNCTRACE_FXT_DURATION);
		assert_true(fxt_text_is(&rec->category, "asynctrace"));
		assert_int_equal(rec->provider, 1);
		a = fxt_arg(rec, "provider");
		assert_non_null(a);
		l = &of[fxt_text_is(&a->text, "simple") ? 1 : fxt_text_is(&a->text, "other") ? 2 : 0];
		l->markers++;
		assert_int_equal(rec->args[0].type, ASYNCTRACE_FXT_ARG_UINT64);
		l->dropped += fxt_arg(rec, "dropped")->u;
		l->overwritten += fxt_arg(rec, "overwritten")->u;
		l->malformed += fxt_arg(rec, "malformed")->u;
	}
	file_close(&f);
}

/*
 * With random losses on many rings, the composer's counts add up to the records that were
 * attempted, and the file shows the same losses.
 */
static void test_the_law(void **unused)
{
	for (int round = 0; round < 30; round++) {
		uint64_t attempted[3] = { 0 }, lossy[3] = { 0 }, cleared[3] = { 0 };
		const struct at_compose_stats *st;
		struct words b = { 0 };
		struct lost of[4];
		struct stream s;

		stream_simple(&s);
		give_provider(&s, 2, 200, 8, "other");
		give_thread(&s, 2, 1, 200, 201, "t");
		for (int i = 0; i < 60; i++) {
			uint32_t p = rnd_below(3), ring = rnd_below(3);
			uint64_t n = rnd_below(20), dropped = 0, overwritten = 0, wrong = 0;

			for (uint64_t k = 0; k < n; k++) {
				size_t at = b.nr;

				if (p)
					put_event(&b, &(struct event){ 0, s.ticks, 1, TXT("c"),
								       TXT("n"), 0, 0, { } });
				else
					put_wakeup(&b, ring, s.ticks, 101, 100);
				if (rnd_chance(5)) {
					b.w[at] ^= 3;	/* a type that this ring cannot have */
					wrong++;
				}
			}
			if (rnd_chance(20))
				dropped = rnd_below(1000);
			if (rnd_chance(20))
				overwritten = rnd_below(1000);
			lose(&s, p, ring, overwritten, dropped);
			attempted[p] += n + dropped + overwritten;
			/* Records cleared by a start: attempted, but the file shows no loss. */
			if (rnd_chance(20)) {
				uint64_t gone = rnd_below(1000);

				s.rings[p][ring].cleared += gone;
				cleared[p] += gone;
				attempted[p] += gone;
			}
			lossy[p] += dropped || overwritten || wrong;
			s.ticks += 1 + rnd_below(1000);
			if (p)
				give_events(&s, p, ring, &b);
			else
				give_sched(&s, ring, &b);
		}
		stream_finish(&s);
		st = at_compose_stats(s.c);
		read_losses(s.path, of);
		for (size_t i = 0; i < st->nr_providers; i++) {
			const struct at_compose_counts *n = &st->providers[i].counts;

			assert_int_equal(n->delivered + n->malformed + n->overwritten + n->dropped +
					 n->cleared, attempted[i]);
			assert_int_equal(n->cleared, cleared[i]);
			assert_int_equal(of[i].dropped, n->dropped);
			assert_int_equal(of[i].overwritten, n->overwritten);
			assert_int_equal(of[i].malformed, n->malformed);
			assert_int_equal(of[i].markers, lossy[i]);
			assert_int_equal(of[i].events, lossy[i]);
		}
		assert_int_equal(st->total.delivered + st->total.malformed + st->total.overwritten +
				 st->total.dropped + st->total.cleared,
				 attempted[0] + attempted[1] + attempted[2]);
		assert_clean(s.path, FXT_RULE_UNSCHEDULED, -1);
		stream_close(&s);
		words_free(&b);
	}
}

/* Each report of a provider has the records dropped so far, so the last report counts. */
static void test_kernel_drops_are_reported_for_providers(void **unused)
{
	struct asynctrace_provider_info info = {
		.id = 1, .pid = 100, .salt = 7, .name = "simple", .sched_dropped = 3,
	};
	const struct at_compose_stats *st;
	struct stream s;

	stream_simple(&s);
	give_provider(&s, 2, 200, 8, "other");
	give_info(&s, &info);
	info.sched_dropped = 5;
	info.names_dropped = 2;
	give_info(&s, &info);
	st = at_compose_stats(s.c);
	assert_int_equal(st->nr_providers, 3);
	assert_int_equal(st->providers[1].sched_dropped, 5);
	assert_int_equal(st->providers[1].names_dropped, 2);
	assert_int_equal(st->providers[2].sched_dropped, 0);
	assert_int_equal(st->providers[2].names_dropped, 0);
	/* The total has only the drops that chunks of rings report. */
	assert_int_equal(st->total.dropped, 0);
	stream_finish(&s);
	stream_close(&s);
}

/* The file has nothing of these providers; only the statistics count them. */
static void test_providers_that_ended_before_are_counted(void **unused)
{
	const struct asynctrace_ended ended = {
		.providers = 3, .sched_dropped = 5, .names_dropped = 2,
	};
	struct asynctrace_chunk h = {
		.kind = ASYNCTRACE_CHUNK_ENDED, .bytes = sizeof(ended), .delivered = 40,
		.overwritten = 30, .dropped = 20, .cleared = 10,
	};
	const struct at_compose_stats *st;
	struct stream s;

	stream_simple(&s);
	assert_int_equal(give(&s, &h, &ended), 0);
	st = at_compose_stats(s.c);
	assert_int_equal(st->nr_providers, 2);
	assert_int_equal(st->ended.providers, 3);
	assert_int_equal(st->ended.counts.delivered, 40);
	assert_int_equal(st->ended.sched_dropped, 5);
	assert_int_equal(st->ended.names_dropped, 2);
	assert_int_equal(st->total.delivered, 0);
	assert_int_equal(st->total.overwritten, 30);
	assert_int_equal(st->total.dropped, 20);
	assert_int_equal(st->total.cleared, 10);
	stream_finish(&s);
	stream_close(&s);
}

/*
 * A marker lasts from the ring's previous chunk to this one; to the first remaining record if
 * records were overwritten. Each ring has a thread for markers.
 */
static void test_markers_say_when_and_where(void **unused)
{
	uint64_t begin[4], end[4], tid[4];
	struct words b = { 0 };
	struct stream s;
	struct file f;
	int n = 0;

	stream_simple(&s);
	lose(&s, 1, 2, 5, 0);
	s.ticks = 1000500;
	give_events(&s, 1, 2, &b);
	s.ticks = 1000700;
	give_events(&s, 1, 2, &b);
	lose(&s, 1, 2, 0, 5);
	s.ticks = 1000900;
	give_events(&s, 1, 2, &b);
	lose(&s, 0, 2, 0, 1);
	s.ticks = 1000950;
	give_sched(&s, 2, &b);
	/* Overwritten records are older than the remaining ones. */
	lose(&s, 1, 2, 3, 0);
	s.ticks = 1001100;
	put_event(&b, &(struct event){ 0, 1001050, 1, IDX(1), IDX(2), 0, 0, { } });
	put_event(&b, &(struct event){ 0, 1001060, 1, IDX(1), IDX(2), 0, 0, { } });
	give_events(&s, 1, 2, &b);
	stream_finish(&s);
	for (file_open(&f, s.path); file_next(&f);) {
		if (f.rec.kind == FXT_OBJECT && f.rec.id == 0x70000003)
			assert_true(fxt_text_is(&f.rec.name, "cpu-2 losses of simple"));
		if (f.rec.kind == FXT_OBJECT && f.rec.id == 0x70000004)
			assert_true(fxt_text_is(&f.rec.name, "cpu-2 losses"));
		if (f.rec.kind != FXT_EVENT || f.rec.number != ASYNCTRACE_FXT_DURATION)
			continue;
		begin[n] = f.rec.ns;
		end[n] = f.rec.end_ns;
		tid[n++] = f.rec.thread.tid;
	}
	file_close(&f);
	assert_int_equal(n, 4);
	assert_true(begin[0] == 1000000 && end[0] == 1000500);
	assert_true(begin[1] == 1000700 && end[1] == 1000900);
	assert_true(begin[2] == 1000000 && end[2] == 1000950);
	assert_true(begin[3] == 1000900 && end[3] == 1001050 && tid[3] == tid[0]);
	assert_true(tid[0] == 0x70000003 && tid[1] == tid[0] && tid[2] == 0x70000004);
	stream_close(&s);
	words_free(&b);
}

/* A provider may claim any number: sums must not overflow. */
static void test_claims_without_measure(void **unused)
{
	const struct asynctrace_ended ended = { .providers = 1 };
	struct asynctrace_chunk h = {
		.kind = ASYNCTRACE_CHUNK_ENDED, .bytes = sizeof(ended), .overwritten = 1,
		.dropped = 1, .cleared = 1,
	};
	struct words b = { 0 };
	struct stream s;

	stream_simple(&s);
	s.rings[1][0].dropped = ~0ULL;
	s.rings[1][1].dropped = ~0ULL;
	give_events(&s, 1, 0, &b);
	give_events(&s, 1, 1, &b);
	s.rings[1][1].dropped = 3;		/* decreases */
	give_events(&s, 1, 1, &b);
	assert_int_equal(give(&s, &h, &ended), 0);
	stream_finish(&s);
	assert_true(at_compose_stats(s.c)->total.dropped == ~0ULL);
	assert_int_equal(ring_counts(s.c, 1, 1)->dropped, 3);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* --- inferred switches ----------------------------------------------------------------- */

struct want {
	uint64_t ns, out, in;
	bool inferred;
};

static void assert_switches(const char *path, const struct want *want, size_t nr)
{
	struct file f;
	size_t n = 0;

	for (file_open(&f, path); file_next(&f);) {
		const struct fxt_arg *a = fxt_arg(&f.rec, "inferred");

		if (f.rec.kind != FXT_SWITCH)
			continue;
		assert_true(n < nr);
		if (f.rec.ns != want[n].ns || f.rec.out != want[n].out || f.rec.in != want[n].in ||
		    want[n].inferred != (a && a->u))
			fail_msg("switch %zu: %llu: %llu -> %llu", n, (unsigned long long)f.rec.ns,
				 (unsigned long long)f.rec.out, (unsigned long long)f.rec.in);
		n++;
	}
	file_close(&f);
	assert_int_equal(n, nr);
}

static void open_sched(struct stream *s)
{
	stream_simple(s);
	for (int i = 1; i <= 5; i++)
		give_name(s, 100, 100 + i, "t");
	s->ticks = 1000;
}

#define T	1000000

static void test_unrecorded_switches_become_other(void **unused)
{
	static const struct want want[] = {
		{ T + 10, 101, 102, false },
		{ T + 11, 102, ASYNCTRACE_TID_OTHER_ON(3), true },
		{ T + 20, ASYNCTRACE_TID_OTHER_ON(3), 103, true },
		{ T + 20, 103, 101, false },
		{ T + 30, 101, 0, false },
		{ T + 40, 0, 104, true },		/* idle until then, as far as known */
		{ T + 40, 104, 101, false },
		{ T + 50, 101, 102, false },
		{ T + 51, 102, 0, true },
		{ T + 60, 0, 101, false },
	};
	struct words b = { 0 };
	struct stream s;

	open_sched(&s);
	put_switch(&b, 3, T + 10, 101, 102, 3);
	put_switch(&b, 3, T + 20, 103, 101, 3);
	put_switch(&b, 3, T + 30, 101, 0, 3);
	put_switch(&b, 3, T + 40, 104, 101, 3);
	put_switch(&b, 3, T + 50, 101, 102, 3);
	put_switch(&b, 3, T + 60, 0, 101, 0);
	s.ticks = T + 100;
	give_sched(&s, 3, &b);
	stream_finish(&s);
	assert_switches(s.path, want, sizeof(want) / sizeof(want[0]));
	assert_int_equal(at_compose_stats(s.c)->inferred, 4);
	assert_int_equal(at_compose_stats(s.c)->total.switches, 6);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

static void give_clock_at(struct stream *s, uint64_t ticks, uint32_t what)
{
	s->ticks = ticks;
	give_clock(s, what);
}

/*
 * A session is stopped and started twice. Records of CPU 4's first run arrive after the second
 * start.
 */
static void test_no_thread_runs_while_stopped(void **unused)
{
	static const struct want want[] = {
		{ T + 10, 101, 102, false },
		{ T + 20, 0, 103, false },
		{ T + 110, 103, 0, true },		/* the record came after the stop */
		{ T + 310, 0, 103, true },
		{ T + 310, 103, 101, false },
		{ T + 100, 102, 0, true },
		{ T + 210, 0, 102, true },		/* the same thread, which may have slept */
		{ T + 210, 102, 104, false },
		{ T + 250, 104, 0, true },
		{ T + 320, 0, 105, false },
	};
	struct words b = { 0 };
	struct stream s;

	open_sched(&s);
	put_switch(&b, 3, T + 10, 101, 102, 3);
	s.ticks = T + 50;
	give_sched(&s, 3, &b);
	give_clock_at(&s, T + 100, ASYNCTRACE_MOMENT_STOP);
	give_clock_at(&s, T + 150, ASYNCTRACE_MOMENT_RUNNING);
	give_clock_at(&s, T + 200, ASYNCTRACE_MOMENT_START);
	give_clock_at(&s, T + 250, ASYNCTRACE_MOMENT_RUNNING);
	give_clock_at(&s, T + 300, ASYNCTRACE_MOMENT_START);	/* the stop before it is missing */
	s.ticks = T + 400;
	put_switch(&b, 4, T + 20, 0, 103, 3);
	put_wakeup(&b, 4, T + 110, 101, 0);
	put_switch(&b, 4, T + 310, 103, 101, 3);
	give_sched(&s, 4, &b);
	put_switch(&b, 3, T + 210, 102, 104, 3);
	put_switch(&b, 3, T + 320, 0, 105, 3);
	give_sched(&s, 3, &b);
	stream_finish(&s);
	assert_switches(s.path, want, sizeof(want) / sizeof(want[0]));
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/*
 * The kernel drops moments of a full log, and readers need a stop to find the pause. The session
 * ran at least until the last clock pair before the start.
 */
static void missing_stop_is_written_before_a_start(void **unused)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} want[] = {
		{ "session start", 1000000 },
		{ "session stop", T + 100 },
		{ "session start", T + 200 },
		{ "session stop", T + 250 },
		{ "session start", T + 300 },
		{ "trace end", T + 300 },
	};
	struct stream s;
	struct file f;
	size_t n = 0;

	stream_simple(&s);
	give_clock_at(&s, T + 50, ASYNCTRACE_MOMENT_RUNNING);
	give_clock_at(&s, T + 100, ASYNCTRACE_MOMENT_STOP);
	give_clock_at(&s, T + 200, ASYNCTRACE_MOMENT_START);
	give_clock_at(&s, T + 250, ASYNCTRACE_MOMENT_RUNNING);
	give_clock_at(&s, T + 300, ASYNCTRACE_MOMENT_START);
	stream_finish(&s);
	for (file_open(&f, s.path); file_event(&f, 1); n++) {
		assert_true(n < sizeof(want) / sizeof(want[0]));
		assert_true(fxt_text_is(&f.rec.name, want[n].name));
		assert_int_equal(f.rec.ns, want[n].ns);
	}
	file_close(&f);
	assert_int_equal(n, sizeof(want) / sizeof(want[0]));
	assert_clean(s.path, -1);
	stream_close(&s);
}

/* The first record of a CPU after a pause may be a wakeup. */
static void wakeup_after_a_pause_shows_the_pause(void **unused)
{
	static const struct want want[] = {
		{ T + 10, 101, 102, false },
		{ T + 100, 102, 0, true },
		{ T + 230, 0, 102, true },
		{ T + 230, 102, 104, false },
	};
	struct words b = { 0 };
	struct stream s;

	open_sched(&s);
	put_switch(&b, 3, T + 10, 101, 102, 3);
	s.ticks = T + 100;
	give_sched(&s, 3, &b);
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	give_clock_at(&s, T + 200, ASYNCTRACE_MOMENT_START);
	put_wakeup(&b, 3, T + 210, 103, 0);
	put_wakeup(&b, 3, T + 220, 105, 0);
	put_switch(&b, 3, T + 230, 102, 104, 3);
	s.ticks = T + 300;
	give_sched(&s, 3, &b);
	stream_finish(&s);
	assert_switches(s.path, want, sizeof(want) / sizeof(want[0]));
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

static void test_no_thread_runs_through_a_loss(void **unused)
{
	static const struct want want[] = {
		{ T + 10, 101, 102, false },
		{ T + 12, 102, 0, true },		/* time of the last record */
		{ T + 300, 0, 103, true },
		{ T + 300, 103, 101, false },
		/* Records were dropped, and the next record contradicts the previous one. */
		{ T + 300, 101, 0, true },
		{ T + 500, 0, 104, true },
		{ T + 500, 104, 102, false },
		/* Records were dropped after the last record. */
		{ T + 500, 102, 0, true },
	};
	struct words b = { 0 };
	struct stream s;

	open_sched(&s);
	put_switch(&b, 0, T + 10, 101, 102, 3);
	put_wakeup(&b, 0, T + 12, 101, 102);
	s.ticks = T + 200;
	give_sched(&s, 0, &b);
	lose(&s, 0, 0, 7, 0);
	put_switch(&b, 0, T + 300, 103, 101, 3);
	s.ticks = T + 400;
	give_sched(&s, 0, &b);
	lose(&s, 0, 0, 0, 9);
	put_switch(&b, 0, T + 500, 104, 102, 3);
	s.ticks = T + 600;
	give_sched(&s, 0, &b);
	lose(&s, 0, 0, 0, 2);
	s.ticks = T + 700;
	give_sched(&s, 0, &b);
	stream_finish(&s);
	assert_switches(s.path, want, sizeof(want) / sizeof(want[0]));
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

/* Records of the kernel are checked, too. */
static void test_impossible_scheduling_is_malformed(void **unused)
{
	static const struct {
		size_t word;
		uint64_t flip;
	} wrong[] = {
		{ 0, 3 },			/* type 11 */
		{ 0, 1ULL << 62 },		/* subtype 5 */
		{ 0, 1ULL << 60 },		/* subtype 0 */
		{ 0, 1ULL << 20 },		/* another CPU */
		{ 0, 5ULL << 36 },		/* state 6 */
		{ 0, 1ULL << 40 },		/* reserved */
		{ 0, 1ULL << 16 },		/* one more argument */
		{ 0, 1ULL << 4 },		/* one more word */
		{ 1, 1ULL << 40 },		/* after the chunk */
		{ 1, T },			/* before the session */
		{ 2, 1ULL << 31 },		/* no thread id */
		{ 3, 1ULL << 63 },
		{ 4, 2 },			/* a weight that is no int32 */
		{ 5, 0x4000ULL << 16 },		/* an unknown name */
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct words b = { 0 };
		struct stream s;

		open_sched(&s);
		s.ticks = T + 100;
		put_switch(&b, 0, T + 10, 101, 102, 3);
		b.w[wrong[i].word] ^= wrong[i].flip;
		give_sched(&s, 0, &b);
		stream_finish(&s);
		if (ring_counts(s.c, 0, 0)->malformed != 1)
			fail_msg("record %zu is accepted", i);
		assert_switches(s.path, NULL, 0);
		assert_clean(s.path, -1);
		stream_close(&s);
		words_free(&b);
	}
}

/*
 * Viewers recognize the idle task by a weight argument. Its name differs between wakeups and
 * switches.
 */
static void test_wakeup_of_idle_without_its_weight(void **unused)
{
	static const unsigned int names[] = {
		ASYNCTRACE_FXT_STR_OUTGOING, ASYNCTRACE_FXT_STR_INCOMING,
	};

	for (size_t i = 0; i < 2; i++) {
		struct words b = { 0 };
		struct stream s;

		open_sched(&s);
		s.ticks = T + 100;
		put_wakeup(&b, 0, T + 10, 0, 101);
		b.w[3] ^= (uint64_t)(names[i] ^ ASYNCTRACE_FXT_STR_WEIGHT) << 16;
		give_sched(&s, 0, &b);
		stream_finish(&s);
		assert_int_equal(ring_counts(s.c, 0, 0)->malformed, 1);
		assert_clean(s.path, -1);
		stream_close(&s);
		words_free(&b);
	}
}

static void test_switch_from_idle_without_its_weight(void **unused)
{
	struct words b = { 0 };
	struct stream s;

	open_sched(&s);
	s.ticks = T + 100;
	put_switch(&b, 0, T + 10, 0, 101, 0);
	b.w[4] ^= (uint64_t)(ASYNCTRACE_FXT_STR_OUTGOING ^ ASYNCTRACE_FXT_STR_WEIGHT) << 16;
	give_sched(&s, 0, &b);
	stream_finish(&s);
	assert_int_equal(ring_counts(s.c, 0, 0)->malformed, 1);
	assert_switches(s.path, NULL, 0);
	assert_clean(s.path, -1);
	stream_close(&s);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_law),
		cmocka_unit_test(test_kernel_drops_are_reported_for_providers),
		cmocka_unit_test(test_providers_that_ended_before_are_counted),
		cmocka_unit_test(test_markers_say_when_and_where),
		cmocka_unit_test(test_claims_without_measure),
		cmocka_unit_test(test_unrecorded_switches_become_other),
		cmocka_unit_test(test_no_thread_runs_while_stopped),
		cmocka_unit_test(missing_stop_is_written_before_a_start),
		cmocka_unit_test(wakeup_after_a_pause_shows_the_pause),
		cmocka_unit_test(test_no_thread_runs_through_a_loss),
		cmocka_unit_test(test_impossible_scheduling_is_malformed),
		cmocka_unit_test(test_wakeup_of_idle_without_its_weight),
		cmocka_unit_test(test_switch_from_idle_without_its_weight),
	};

	test_random_init();
	return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
