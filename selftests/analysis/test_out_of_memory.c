// SPDX-License-Identifier: GPL-2.0
/*
 * record --slower-than without memory: whichever allocation fails first, the records taken so far
 * are a file of whole records, each record is counted once, and nothing crashes
 */
#include <errno.h>
#include <linux/asynctrace_fxt.h>
#include <time.h>

#include "model.h"
#include "tail/tail.h"
#include "words.h"

/* The linker's --wrap puts these functions in the place of the allocator's. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *p, size_t size);

static struct model model;
static bool counting;
static uint64_t allocations, fails_at, fails_until;

static bool fails(void)
{
	if (!counting)
		return false;
	allocations++;
	return allocations >= fails_at && allocations < fails_until;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static ssize_t take_output(void *arg, const void *buf, size_t len)
{
	const bool was = counting;

	counting = false;
	memcpy(more_words(arg, len / 8), buf, len);
	counting = was;
	return len;
}

static void put_long_string(struct words *w, unsigned int index)
{
	const size_t len = 16384, words = 1 + ASYNCTRACE_FXT_TEXT_WORDS(len);
	uint64_t *to = more_words(w, words);

	memset(to + 1, 'x', len);
	to[0] = ASYNCTRACE_FXT_STRING_HEAD(index, len);
}

/*
 * Puts an event of a new thread. Its two names fit into the string table, but one record cannot
 * have both of them inline.
 */
static void put_large_event(struct words *w)
{
	uint64_t *to;

	*more_words(w, 1) = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
			    ASYNCTRACE_FXT_META_SECTION << 16 | 2ULL << 20;
	put_long_string(w, 100);
	put_long_string(w, 101);
	to = more_words(w, 4);
	to[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_DURATION_BEGIN, 4, 0, 100, 101);
	to[1] = T0 + model.ns;
	to[2] = 100;
	to[3] = 5000;
}

static struct words random_words(void)
{
	struct trace t = { 0 };
	struct words w;

	model_run(&model, false, true);
	put_thread(&t, PSEUDO, 0x70000000, "clock");
	put_event(&t, ASYNCTRACE_FXT_INSTANT, T0, PSEUDO, "session start", 0);
	for (unsigned int i = 0; i < model.threads; i++)
		put_thread(&t, TID(i), 100, "worker");
	model_file(&model, 1 + model.ns / (1 + rnd_below(20)), &t);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, T0 + model.ns, PSEUDO, "trace end", 0);
	w = words_of(&t);
	put_large_event(&w);
	trace_free(&t);
	model_free(&model);
	return w;
}

/*
 * Pushes words in pieces, as the composer does, until the filter does not take all of a piece.
 * Returns the number of words taken.
 */
static size_t push(struct tail *t, const struct words *in)
{
	size_t at = 0;

	while (at < in->nr) {
		size_t n = 0, left = in->nr - at;

		while (n < left && n < 500)
			n += ASYNCTRACE_FXT_WORDS(in->of[at + n]);
		left = tail_push(t, in->of + at, n);
		at += left;
		if (left < n)
			break;
	}
	return at;
}

/* Fails if @part breaks a rule that @whole keeps, except the rule about its missing end. */
static void check_valid(const struct words *part, const struct words *whole)
{
	struct fxt_check *check = check_of(part), *other = check_of(whole);

	for (int rule = 0; rule < FXT_RULE_COUNT; rule++) {
		const struct fxt_finding *f = &fxt_findings(check)[rule];

		if (!f->count || fxt_findings(other)[rule].count ||
		    fxt_excused(check, rule, false) ||
		    rule == FXT_RULE_NO_END)
			continue;
		print_message("%s: %llu, first at byte %llu: %s\n", fxt_rules[rule].name,
			      (unsigned long long)f->count, (unsigned long long)f->offset,
			      f->detail);
		fail();
	}
	fxt_check_free(check);
	fxt_check_free(other);
}

/*
 * Filters @in while the allocations from number @first up to, but not including, @last fail.
 * Returns true if the filter needed none of these allocations.
 */
static bool runs_out(const struct words *in, uint64_t window, uint64_t first, uint64_t last)
{
	const struct tail_bound bound = { .type = "*", .ns = 50, .text = "*>50ns" };
	struct words file = { 0 }, taken = *in;
	const struct tail_source *sources;
	struct tail_left filtered = { 0 }, unwritten = { 0 };
	struct tail *t;
	size_t nr;
	int err;

	allocations = 0;
	fails_at = first;
	fails_until = last;
	counting = true;
	t = tail_new(&(struct tail_options){
		.bounds = &bound, .nr_bounds = 1, .before = 20, .window = window,
		.write = take_output, .arg = &file,
	});
	if (!t) {
		counting = false;
		return false;
	}
	taken.nr = push(t, in);
	err = tail_finish(t);
	sources = tail_sources(t, &nr);
	counting = false;
	assert_true(err == 0 || err == -ENOMEM);
	assert_true(err || taken.nr == in->nr);
	assert_int_equal(tail_written(t), file.nr * 8);
	for (size_t i = 0; i < nr; i++) {
		filtered.events += sources[i].filtered.events;
		filtered.switches += sources[i].filtered.switches;
		filtered.wakeups += sources[i].filtered.wakeups;
		unwritten.events += sources[i].unwritten.events;
		unwritten.switches += sources[i].unwritten.switches;
		unwritten.wakeups += sources[i].unwritten.wakeups;
	}
	tail_free(t);
	count_words(&file);
	count_words(&taken);
	assert_int_equal(file.events + filtered.events + unwritten.events, taken.events);
	assert_int_equal(file.switches + filtered.switches + unwritten.switches, taken.switches);
	assert_int_equal(file.wakeups + filtered.wakeups + unwritten.wakeups, taken.wakeups);
	assert_true(err || !(unwritten.events || unwritten.switches || unwritten.wakeups));
	if (file.nr)
		check_valid(&file, in);
	free(file.of);
	return !err;
}

static void each_failed_allocation_is_counted(void **state)
{
	const uint64_t seed = time(NULL);
	const char *nr = getenv("ANALYSIS_ROUNDS");
	const uint64_t rounds = nr ? strtoull(nr, NULL, 0) / 100 + 1 : 10;

	print_message("seed: %llu\n", (unsigned long long)seed);
	rnd_seed(seed);
	for (uint64_t i = 0; i < rounds; i++) {
		const uint64_t window = 4096 << rnd_below(6);
		struct words in = random_words();

		assert_true(runs_out(&in, window, UINT64_MAX, UINT64_MAX));
		for (uint64_t n = 1, all = allocations; n <= all; n += 1 + rnd_below(3)) {
			runs_out(&in, window, n, n + 1);
			runs_out(&in, window, n, UINT64_MAX);
		}
		free(in.of);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failed_allocation_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
