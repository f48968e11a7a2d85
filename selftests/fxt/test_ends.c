// SPDX-License-Identifier: GPL-2.0
/*
 * Ends without a name, of scopes that siglongjmp(3) left: in the file they have the names of
 * their begins, because viewers drop an end of another name
 */
#include <stdio.h>

#include "stream.h"

#define T	1000000
#define NO_NAME	((struct ref){ 0 })
#define BEGIN	ASYNCTRACE_FXT_DURATION_BEGIN
#define END	ASYNCTRACE_FXT_DURATION_END

struct step {
	unsigned int type;
	struct ref name;
	const char *want;	/* expected name; its category is "cat", or "" if the name is "" */
	uint32_t provider;	/* 0: the first */
	bool chunk;		/* the step begins a new chunk */
};

static void put_step(struct words *b, const struct step *s, uint64_t ticks)
{
	const bool none = !s->name.index && !s->name.text;

	put_event(b, &(struct event){ s->type, ticks, 1, none ? NO_NAME : IDX(1), s->name, 0, 0,
				      { } });
}

/* Writes the steps. In the file, the event of each must have the name .want. @clean: no finding */
static void run(const struct step *steps, size_t n, bool clean)
{
	struct words b = { 0 }, strings = { 0 };
	struct stream s;
	struct file f;
	size_t seen = 0;

	stream_simple(&s);
	put_string(&strings, 1, "cat", 3);
	put_string(&strings, 2, "other", 5);
	give_provider(&s, 2, 100, 8, "second");
	give_thread(&s, 2, 1, 100, 101, "thread");
	give_strings(&s, 2, &strings);
	for (size_t i = 0; i < n; i++) {
		const uint32_t provider = steps[i].provider ?: 1;

		put_step(&b, &steps[i], T + 10 * i);
		s.ticks = T + 10 * i;
		if (i + 1 == n || steps[i + 1].chunk || (steps[i + 1].provider ?: 1) != provider)
			give_events(&s, provider, 0, &b);
	}
	stream_finish(&s);
	file_open(&f, s.path);
	while (file_next(&f)) {
		size_t i;

		if (f.rec.kind != FXT_EVENT || f.rec.ns < T ||
		    (f.rec.number != BEGIN && f.rec.number != END))
			continue;
		i = (f.rec.ns - T) / 10;
		assert_true(i < n);
		assert_int_equal(f.rec.number, steps[i].type);
		assert_string_equal(f.rec.name.s, steps[i].want);
		assert_string_equal(f.rec.category.s, *steps[i].want ? "cat" : "");
		seen++;
	}
	assert_int_equal(seen, n);
	file_close(&f);
	if (clean)
		assert_clean(s.path, -1);
	else
		assert_true(findings(s.path, FXT_RULE_DURATION_NAME) ||
			    findings(s.path, FXT_RULE_DURATION_ORPHAN));
	stream_close(&s);
	words_free(&b);
	words_free(&strings);
}

#define RUN(clean, ...) \
	do { \
		const struct step steps[] = { __VA_ARGS__ }; \
		run(steps, sizeof(steps) / sizeof(steps[0]), clean); \
	} while (0)

static void H8_unnamed_end_gets_its_begins_name(void **unused)
{
	RUN(true, { BEGIN, IDX(2), "work", 0, false }, { BEGIN, IDX(3), "n", 0, false },
	    { END, NO_NAME, "n", 0, false }, { END, NO_NAME, "work", 0, false });
	/* The begins are in an earlier chunk. */
	RUN(true, { BEGIN, IDX(2), "work", 0, false }, { BEGIN, IDX(3), "n", 0, false },
	    { END, NO_NAME, "n", 0, true }, { END, IDX(2), "work", 0, true });
	RUN(true, { BEGIN, IDX(2), "work", 0, false }, { BEGIN, IDX(3), "n", 0, false },
	    { END, IDX(3), "n", 0, false }, { END, NO_NAME, "work", 0, false });
}

static void H8_unnamed_end_without_a_begin_stays(void **unused)
{
	RUN(false, { END, NO_NAME, "", 0, false });
	RUN(false, { BEGIN, IDX(2), "work", 0, false }, { END, NO_NAME, "work", 0, false },
	    { END, NO_NAME, "", 0, false });
}

/* If the begin's name is inline, or in another provider's string table, the end gets no name. */
static void H8_names_of_other_tables_are_not_taken(void **unused)
{
	RUN(true, { BEGIN, TXT("inline"), "inline", 0, false }, { END, NO_NAME, "", 0, false });
	RUN(true, { BEGIN, IDX(2), "work", 0, false }, { END, NO_NAME, "", 2, false });
}

static void named_end_keeps_its_name(void **unused)
{
	RUN(false, { BEGIN, IDX(2), "work", 0, false }, { END, IDX(3), "n", 0, false });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(H8_unnamed_end_gets_its_begins_name),
		cmocka_unit_test(H8_unnamed_end_without_a_begin_stays),
		cmocka_unit_test(H8_names_of_other_tables_are_not_taken),
		cmocka_unit_test(named_end_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
