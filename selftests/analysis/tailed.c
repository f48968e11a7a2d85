// SPDX-License-Identifier: GPL-2.0
/* Compares a whole trace with the part that record --slower-than keeps of it */
#include <linux/asynctrace_fxt.h>

#include "../fxt/random.h"
#include "report/explain.h"
#include "tailed.h"
#include "words.h"

/* --- answers -------------------------------------------------------------------------- */

struct answers {
	struct rows rows;
	uint64_t slower_than;
	struct analysis_totals totals;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_answer(void *arg, const struct analysis_operation *op)
{
	struct answers *answers = arg;
	struct rows *r = &answers->rows;
	char *text;
	size_t len;
	FILE *f;

	if (op->end - op->begin <= answers->slower_than)
		return 0;
	if (r->nr == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->of = realloc(r->of, r->room * sizeof(*r->of));
		assert_non_null(r->of);
	}
	f = open_memstream(&text, &len);
	assert_non_null(f);
	explain_sentence(f, op);
	explain_json(f, op, true, NULL);
	fclose(f);
	r->of[r->nr++] = text;
	return 0;
}

static struct answers answers_of(const uint64_t *words, size_t nr, uint64_t slower_than)
{
	struct answers answers = { .slower_than = slower_than };
	struct analysis_sink sink = { .operation = add_answer, .arg = &answers };
	struct analysis *a = analysis_new(&(struct analysis_options){ 0 }, &sink);
	struct fxt_reader *r = fxt_open_pushed();
	struct fxt_record rec;

	assert_non_null(a);
	assert_non_null(r);
	assert_int_equal(fxt_push(r, words, nr), 0);
	while (fxt_next(r, &rec) > 0) {
		assert_false(rec.damaged);
		assert_int_equal(analysis_record(a, &rec), 0);
	}
	assert_int_equal(analysis_finish(a), 0);
	answers.totals = *analysis_totals(a);
	analysis_free(a);
	fxt_close(r);
	if (answers.rows.nr)
		qsort(answers.rows.of, answers.rows.nr, sizeof(char *), by_text);
	return answers;
}

/* --- the filter -------------------------------------------------------------------------- */

struct tailed {
	struct words file;
	bool torn;
	struct tail_counts counts;
	struct tail_left filtered, unwritten;
};

static ssize_t take_output(void *arg, const void *buf, size_t len)
{
	struct tailed *tailed = arg;
	/* Sometimes take fewer bytes, as write(2) may do. */
	size_t n = tailed->torn && rnd_chance(20) ? 8 * (1 + rnd_below(len / 8)) : len;

	memcpy(more_words(&tailed->file, n / 8), buf, n);
	return n;
}

static struct tailed tail_of(const struct words *in, const struct tailed_options *o)
{
	const struct tail_bound bound = { .type = "*", .ns = o->slower_than, .text = "*>1ns" };
	struct tailed tailed = { .torn = o->torn };
	struct tail *t = tail_new(&(struct tail_options){
		.bounds = &bound, .nr_bounds = 1, .before = o->before, .window = o->window,
		.write = take_output, .arg = &tailed,
	});
	const struct tail_source *sources;
	size_t at = 0, nr;

	assert_non_null(t);
	while (at < in->nr) {
		size_t n = 0, records = o->torn ? 1 + rnd_below(50) : SIZE_MAX;

		while (at + n < in->nr && records--)
			n += ASYNCTRACE_FXT_WORDS(in->of[at + n]);
		assert_int_equal(tail_push(t, in->of + at, n), n);
		at += n;
	}
	assert_int_equal(tail_finish(t), 0);
	assert_int_equal(tail_written(t), tailed.file.nr * 8);
	tailed.counts = *tail_counts(t);
	sources = tail_sources(t, &nr);
	for (size_t i = 0; i < nr; i++) {
		tailed.filtered.events += sources[i].filtered.events;
		tailed.filtered.switches += sources[i].filtered.switches;
		tailed.filtered.wakeups += sources[i].filtered.wakeups;
		tailed.unwritten.events += sources[i].unwritten.events;
	}
	tail_free(t);
	return tailed;
}

/* Each record of a ring must be in the file or counted as filtered. */
static void check_ledger(const struct words *in, struct tailed *tailed)
{
	count_words(&tailed->file);
	assert_int_equal(tailed->file.events + tailed->filtered.events, in->events);
	assert_int_equal(tailed->file.switches + tailed->filtered.switches, in->switches);
	assert_int_equal(tailed->file.wakeups + tailed->filtered.wakeups, in->wakeups);
}

static void dump(const char *name, const struct words *w)
{
	const char *dir = getenv("TAIL_DUMP");
	char path[4096];
	FILE *f;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(w->of, 8, w->nr, f);
	fclose(f);
}

/* Fails if @part breaks a rule that @whole keeps. @whole may have losses. */
static void check_valid(const struct words *part, const struct words *whole)
{
	struct fxt_check *check = check_of(part), *other = check_of(whole);

	for (int rule = 0; rule < FXT_RULE_COUNT; rule++) {
		const struct fxt_finding *f = &fxt_findings(check)[rule];

		if (!f->count || fxt_findings(other)[rule].count || fxt_excused(check, rule, false))
			continue;
		dump("part.fxt", part);
		print_message("%s: %llu, first at byte %llu: %s\n", fxt_rules[rule].name,
			      (unsigned long long)f->count, (unsigned long long)f->offset,
			      f->detail);
		fail();
	}
	fxt_check_free(check);
	fxt_check_free(other);
}

/* Each answer of the file, @part, must be one of @whole's. */
static void compare(const struct answers *part, const struct answers *whole,
		    const struct words *file, const struct words *in)
{
	for (size_t i = 0, k = 0; i < part->rows.nr; i++) {
		while (k < whole->rows.nr && strcmp(whole->rows.of[k], part->rows.of[i]) < 0)
			k++;
		if (k < whole->rows.nr && !strcmp(whole->rows.of[k], part->rows.of[i]))
			continue;
		dump("whole.fxt", in);
		dump("part.fxt", file);
		/* print_message() would cut a text of 1,024 bytes. */
		printf("the file's answer\n%sis not among those of the whole trace:\n", part->rows.of[i]);
		for (k = 0; k < whole->rows.nr; k++)
			printf("%s", whole->rows.of[k]);
		fail();
	}
}

struct tail_counts tailed_check(const struct trace *t, const struct tailed_options *o,
				uint64_t *compared)
{
	struct words in = words_of(t);
	struct tailed tailed = tail_of(&in, o);
	struct answers whole = answers_of(in.of, in.nr, o->slower_than);
	struct answers part = answers_of(tailed.file.of, tailed.file.nr, 0);

	check_ledger(&in, &tailed);
	assert_true(part.totals.selection);
	assert_int_equal(part.totals.late, 0);
	if (!tailed.counts.late) {
		assert_int_equal(part.rows.nr + tailed.counts.left_out, whole.rows.nr);
		assert_int_equal(part.rows.nr, tailed.counts.operations);
	}
	if (!tailed.counts.late && !tailed.counts.hasty) {
		compare(&part, &whole, &tailed.file, &in);
		*compared += part.rows.nr;
	}
	check_valid(&tailed.file, &in);
	rows_free(&whole.rows);
	rows_free(&part.rows);
	free(in.of);
	free(tailed.file.of);
	return tailed.counts;
}
