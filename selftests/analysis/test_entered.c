// SPDX-License-Identifier: GPL-2.0
/* Operations that threads enter: a thread works on the operation that its records name. */
#include "build.h"

#define U64	ASYNCTRACE_FXT_ARG_UINT64

static void add_last(struct trace *t, const char *key, uint64_t value)
{
	add_number(&t->of[t->nr - 1], key, U64, value);
}

/* Puts the record with which the library begins an operation; asynctrace(5) describes it. */
static void begins(struct trace *t, uint64_t ns, uint32_t tid, uint64_t id, uint64_t parent)
{
	BEGINS(t, ns, tid, id);
	add_last(t, "parent", parent);
}

static void region(struct trace *t, uint64_t ns, uint32_t tid, const char *name, uint64_t id)
{
	put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, ns, tid, name, 0);
	add_last(t, "operation", id);
}

static void region_ends(struct trace *t, uint64_t ns, uint32_t tid, const char *name)
{
	put_event(t, ASYNCTRACE_FXT_DURATION_END, ns, tid, name, 0);
}

#define enters	region

static void leaves(struct trace *t, uint64_t ns, uint32_t tid, const char *name, uint64_t resumed)
{
	region_ends(t, ns, tid, name);
	add_last(t, "resumed", resumed);
}

/* Threads 1 and 2 run from 1 on. */
static void start(struct trace *t)
{
	put_clock(t, 0);
	put_switch(t, 1, 0, 0, 1, 0);
	put_switch(t, 1, 1, 0, 2, 0);
}

static void scopes_are_exact(void **state)
{
	struct trace t = { 0 };

	start(&t);
	/*
	 * The only work on the operation is thread 2's scope. The durations of thread 1 do not
	 * count, although they contain the operation's begin and end.
	 */
	put_duration(&t, 5, 90, 1, "accept");
	begins(&t, 10, 1, 1, 0);
	enters(&t, 30, 2, "work", 1);
	leaves(&t, 50, 2, "work", 0);
	put_duration(&t, 60, 80, 1, "finish");
	ENDS(&t, 70, 1, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	put_switch(&t, 100, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-70: 10-30 queued t2, 30-50 running t2, 50-70 queued t1 | "
			"10-30 queued t2, 30-50 running t2, 50-70 queued t1", NULL);
}

static void scopes_nest(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 1, 1, 0);
	begins(&t, 10, 1, 2, 1);
	enters(&t, 20, 1, "outer", 1);
	region(&t, 25, 1, "region", 1);
	region_ends(&t, 28, 1, "region");
	enters(&t, 30, 1, "inner", 2);
	region(&t, 35, 1, "region", 2);
	region_ends(&t, 38, 1, "region");
	leaves(&t, 40, 1, "inner", 1);
	leaves(&t, 50, 1, "outer", 0);
	ENDS(&t, 60, 1, 2);
	ENDS(&t, 60, 1, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 2 10-60: 10-20 queued t1, 20-30 queued t1 on req 1, 30-40 running t1, "
			"40-50 queued t1 on req 1, 50-60 queued t1 | 10-20 queued t1, "
			"20-30 queued t1 on req 1, 30-40 running t1, 40-50 queued t1 on req 1, "
			"50-60 queued t1",
		    "req 1 10-60: 10-20 queued t1, 20-30 running t1, 30-40 queued t1 on part req 2, "
			"40-50 running t1, 50-60 queued t1 | 10-20 queued t1, 20-30 running t1, "
			"30-40 queued t1 on part req 2, 40-50 running t1, 50-60 queued t1", NULL);
}

/* Operation 3 is a part of 2, which is a part of 1 and has ended. 4 is no part of another one. */
static void parts_of_parts_are_parts(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 1, 1, 0);
	begins(&t, 10, 1, 2, 1);
	begins(&t, 10, 1, 3, 2);
	ENDS(&t, 12, 1, 2);
	begins(&t, 15, 1, 4, 0);
	enters(&t, 20, 1, "part", 3);
	leaves(&t, 30, 1, "part", 0);
	enters(&t, 40, 1, "other", 4);
	leaves(&t, 50, 1, "other", 0);
	ENDS(&t, 60, 1, 1);
	ENDS(&t, 70, 1, 3);
	ENDS(&t, 70, 1, 4);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 2 10-12: 10-12 queued t1 | 10-12 queued t1",
		    "req 1 10-60: 10-20 queued t1, 20-30 queued t1 on part req 3, "
			"30-40 queued t1, 40-50 queued t1 on req 4, 50-60 queued t1 | "
			"10-20 queued t1, 20-30 queued t1 on part req 3, 30-40 queued t1, "
			"40-50 queued t1 on req 4, 50-60 queued t1",
		    "req 3 10-70: 10-20 queued t1, 20-30 running t1, 30-40 queued t1, "
			"40-50 queued t1 on req 4, 50-70 queued t1 | 10-20 queued t1, "
			"20-30 running t1, 30-40 queued t1, 40-50 queued t1 on req 4, "
			"50-70 queued t1",
		    "req 4 15-70: 15-20 queued t1, 20-30 queued t1 on req 3, 30-40 queued t1, "
			"40-50 running t1, 50-70 queued t1 | 15-20 queued t1, "
			"20-30 queued t1 on req 3, 30-40 queued t1, 40-50 running t1, "
			"50-70 queued t1", NULL);
}

/* The trace began while thread 1 was in two scopes. */
static void region_shows_the_scope_around_it(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 2, 1, 0);
	region(&t, 20, 1, "region", 1);
	region_ends(&t, 30, 1, "region");
	leaves(&t, 40, 1, "lost begin", 0);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	put_switch(&t, 100, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-20 queued t1, 20-40 running t1, 40-60 queued t2 | "
			"10-20 queued t1, 20-40 running t1, 40-60 queued t2", NULL);
}

static void resumed_operation_is_worked_on(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 2, 1, 0);
	leaves(&t, 20, 1, "lost begin", 1);
	leaves(&t, 40, 1, "lost begin", 0);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	put_switch(&t, 100, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-20 queued t1, 20-40 running t1, 40-60 queued t2 | "
			"10-20 queued t1, 20-40 running t1, 40-60 queued t2", NULL);
}

/* After the region, thread 1 does not work on the operation of the scope again. */
static void loss_may_hide_the_end_of_a_scope(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 5, 2, 1, 0);
	enters(&t, 10, 1, "scope", 1);
	put_provider_loss(&t, 20, 30, "server");
	region(&t, 40, 1, "region", 0);
	region_ends(&t, 50, 1, "region");
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	put_switch(&t, 100, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 5-60: 5-10 unknown/records were lost, "
			"10-40 unknown/records were lost t1, 40-60 queued t2 | "
			"5-10 unknown/records were lost, 10-40 unknown/records were lost t1, "
			"40-60 queued t2", NULL);
}

/*
 * A program may give the argument "operation" to a duration of its own. The duration's end lacks
 * the argument "resumed", and must restore the operation from before the duration.
 */
static void end_restores_what_was_before(void **state)
{
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 2, 1, 0);
	begins(&t, 10, 2, 2, 0);
	enters(&t, 20, 1, "scope", 1);
	region(&t, 30, 1, "of another", 2);
	region_ends(&t, 40, 1, "of another");
	leaves(&t, 50, 1, "scope", 0);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-20 queued t1, 20-30 running t1, 30-40 queued t1 on req 2, "
			"40-50 running t1, 50-60 queued t2 | 10-20 queued t1, 20-30 running t1, "
			"30-40 queued t1 on req 2, 40-50 running t1, 50-60 queued t2",
		    "req 2 10-100 open: 10-20 queued t1, 20-30 queued t1 on req 1, 30-40 running t1, "
			"40-100 queued |", NULL);
}

/* If siglongjmp() leaves a scope, the library writes the scope's end without a name. */
static void jump_leaves_no_scope_open(void **state)
{
	struct trace t = { 0 };
	struct analysis_totals totals;
	struct rows rows;

	start(&t);
	begins(&t, 10, 2, 1, 0);
	begins(&t, 10, 2, 2, 0);
	enters(&t, 20, 1, "scope", 1);
	enters(&t, 30, 1, "left", 2);
	region(&t, 30, 1, "left", 2);
	region_ends(&t, 40, 1, "");
	region_ends(&t, 40, 1, "");
	leaves(&t, 40, 1, "scope", 0);
	ENDS(&t, 60, 2, 1);
	ENDS(&t, 60, 2, 2);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	rows = analyse(&t, NULL, &totals);
	assert_int_equal(rows.nr, 2);
	assert_string_equal(rows.of[0], "req 1 10-60: 10-20 queued t1, 20-30 running t1, "
			    "30-60 queued t2 | 10-20 queued t1, 20-30 running t1, 30-60 queued t2");
	assert_int_equal(totals.orphans, 0);
	rows_free(&rows);
	trace_free(&t);
}

static void entries_beyond_one_ids_limit_are_counted(void **state)
{
	const unsigned int nr = ANALYSIS_SAME_ID_MAX + 3;
	struct analysis_totals totals;
	struct trace t = { 0 };
	struct rows rows;

	start(&t);
	for (unsigned int i = 0; i < nr; i++)
		begins(&t, 10 + i, 1, 1, 0);
	enters(&t, 200, 2, "work", 1);
	leaves(&t, 300, 2, "work", 0);
	for (unsigned int i = 0; i < nr; i++)
		ENDS(&t, 400 + i, 1, 1);
	put_switch(&t, 600, 1, 2, 0, SLEEPS);
	rows = analyse(&t, NULL, &totals);
	assert_int_equal(rows.nr, nr);
	assert_int_equal(rows_without(&rows, "200-300 running t2"), 3);
	assert_int_equal(totals.crowded, 3);
	rows_free(&rows);
	trace_free(&t);
}

/* If programs do not say what their threads work on, durations show it. */
static void without_scopes_durations_tell(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_duration(&t, 5, 30, 1, "accept");
	begins(&t, 10, 1, 1, 0);
	ENDS(&t, 60, 2, 1);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-30 running t1, 30-60 queued t2 | "
			"10-30 running t1, 30-60 queued t2", NULL);
}

/* Another process enters the operation. Its own operations are not affected. */
static void operation_of_another_process_is_entered(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_duration(&t, 5, 30, 1, "accept");
	begins(&t, 10, 1, 1, 0);
	begins(&t, 10, 1, 2, 0);
	enters(&t, 40, 2, "other process", 1);
	t.of[t.nr - 1].thread.pid = 200;
	leaves(&t, 50, 2, "other process", 0);
	t.of[t.nr - 1].thread.pid = 200;
	ENDS(&t, 60, 1, 1);
	ENDS(&t, 60, 1, 2);
	put_switch(&t, 100, 0, 1, 0, SLEEPS);
	put_switch(&t, 100, 1, 2, 0, SLEEPS);
	expect_rows(&t, "req 1 10-60: 10-40 queued t2, 40-50 running t2, 50-60 queued t1 | "
			"10-40 queued t2, 40-50 running t2, 50-60 queued t1",
		    "req 2 10-60: 10-30 running t1, 30-60 queued t1 | "
			"10-30 running t1, 30-60 queued t1", NULL);
}

/* The second time, the switch has the operation, too. */
static void exited_thread_works_on_nothing(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct trace t = { 0 };

		start(&t);
		begins(&t, 10, 2, 1, 0);
		enters(&t, 20, 1, "scope", 1);
		put_switch(&t, 30, 0, 1, 0, EXITS);
		if (i)
			add_cell(&t, "outgoing_operation", 1);
		put_switch(&t, 40, 0, 0, 1, 0);
		put_switch(&t, 50, 0, 1, 0, SLEEPS);
		ENDS(&t, 60, 2, 1);
		put_switch(&t, 100, 1, 2, 0, SLEEPS);
		expect_rows(&t, "req 1 10-60: 10-20 queued t1, 20-30 running t1, 30-60 queued t2 | "
				"10-20 queued t1, 20-30 running t1, 30-60 queued t2", NULL);
	}
}

/* The second time, a duration suggests later work, which does not count. */
static void exit_in_a_scope_blocks_the_operation(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct trace t = { 0 };

		start(&t);
		begins(&t, 10, 2, 1, 0);
		enters(&t, 20, 1, "scope", 1);
		put_switch(&t, 30, 0, 1, 0, EXITS);
		if (i)
			put_duration(&t, 40, 50, 2, "other");
		if (i)
			STEPS(&t, 45, 2, 1);
		put_switch(&t, 100, 1, 2, 0, SLEEPS);
		expect_rows(&t, "req 1 10-100 open: 10-20 queued t1, 20-30 running t1, "
				"30-100 blocked/exited t1 in scope |", NULL);
	}
}

static int keep_parent(void *arg, const struct analysis_operation *op)
{
	((uint64_t *)arg)[op->id.id] = op->parent;
	return 0;
}

static void rows_have_their_parents(void **state)
{
	uint64_t parents[5] = { 9, 9, 9, 9, 9 };
	const struct analysis_sink sink = { .operation = keep_parent, .arg = parents };
	const struct analysis_options opts = { 0 };
	struct trace t = { 0 };

	start(&t);
	begins(&t, 10, 1, 1, 0);
	begins(&t, 10, 1, 2, 1);
	begins(&t, 10, 1, 3, 2);
	BEGINS(&t, 10, 1, 4);
	ENDS(&t, 20, 1, 2);
	put_clock(&t, 100);
	analysis_free(analyse_into(&t, &opts, &sink));
	assert_int_equal(parents[1], 0);
	assert_int_equal(parents[2], 1);
	assert_int_equal(parents[3], 2);
	assert_int_equal(parents[4], 0);
	trace_free(&t);
}

/* Copies the name of the part of @op that is open to @arg. */
static int keep_open_part(void *arg, const struct analysis_operation *op)
{
	snprintf(arg, 32, "%s %d", op->open_part ? op->open_part->name : "none",
		 op->open_part ? (int)op->open_part->id : 0);
	return 0;
}

static void newest_open_part_is_told(void **state)
{
	const struct analysis_sink sink = { 0 };
	const struct analysis_options opts = { 0 };
	struct analysis *a = analysis_new(&opts, &sink);
	struct trace t = { 0 };
	char seen[32];

	assert_non_null(a);
	start(&t);
	begins(&t, 10, 1, 1, 0);
	begins(&t, 20, 1, 2, 1);
	begins(&t, 30, 1, 3, 2);
	begins(&t, 40, 1, 4, 2);
	begins(&t, 40, 1, 5, 0);
	ENDS(&t, 50, 1, 4);
	feed(a, &t);
	assert_int_equal(analysis_settle(a, 60), 0);
	for (unsigned int id = 1; id <= 3; id += 2) {
		const struct analysis_operation which = { .id.id = id, .begin = 10 * id };

		assert_int_equal(analysis_peek(a, &which, 60, keep_open_part, seen), 0);
		assert_string_equal(seen, id == 1 ? "req 3" : "none 0");
	}
	analysis_free(a);
	trace_free(&t);
}

/* --- rows of scopes and of moments ---------------------------------------------------- */

/* Rows as text, one after the other */
static char rows[1024];

static int keep_region(void *arg, const struct analysis_region *g)
{
	(void)arg;
	snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s %llu: %llu-%llu self %llu depth %u%s%s; ",
		 g->name, (unsigned long long)g->operation, (unsigned long long)g->from,
		 (unsigned long long)g->to, (unsigned long long)g->self_ns, g->depth,
		 g->same_from == UINT64_MAX ? "" : " inner", g->complete ? "" : " open");
	return 0;
}

static int keep_note(void *arg, const struct analysis_note *n)
{
	(void)arg;
	snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%d %s of %llu: %s %llu; ", n->kind,
		 n->name, (unsigned long long)n->operation, n->text, (unsigned long long)n->cause);
	return 0;
}

static void expect_text(struct trace *t, const char *text)
{
	const struct analysis_sink sink = { .region = keep_region, .note = keep_note };
	const struct analysis_options opts = { 0 };

	*rows = '\0';
	analysis_free(analyse_into(t, &opts, &sink));
	assert_string_equal(rows, text);
	trace_free(t);
}

static void g83_self_time_leaves_out_inner_regions(void **state)
{
	struct trace t = { 0 };

	start(&t);
	enters(&t, 10, 1, "a", 1);
	region(&t, 20, 1, "b", 1);
	region(&t, 22, 1, "c", 1);
	region_ends(&t, 25, 1, "c");
	region_ends(&t, 30, 1, "b");
	enters(&t, 40, 1, "a", 2);
	/* Self time leaves out inner scopes, but not other durations. */
	put_duration(&t, 42, 44, 1, "duration");
	leaves(&t, 50, 1, "a", 1);
	leaves(&t, 70, 1, "a", 0);
	put_clock(&t, 100);
	expect_text(&t, "c 1: 22-25 self 3 depth 2; b 1: 20-30 self 7 depth 1; "
			"a 2: 40-50 self 10 depth 0 inner; a 1: 10-70 self 40 depth 0; ");
}

static void g44_open_regions_last_to_the_end(void **state)
{
	struct trace t = { 0 };

	start(&t);
	region(&t, 10, 1, "outer", 0);
	region(&t, 30, 1, "inner", 0);
	put_clock(&t, 100);
	expect_text(&t, "inner 0: 30-100 self 70 depth 1 open; outer 0: 10-100 self 20 depth 0 open; ");
}

static void g44_open_region_lasts_to_its_threads_end(void **state)
{
	struct trace t = { 0 };

	start(&t);
	region(&t, 10, 1, "unended", 0);
	region(&t, 20, 2, "longer", 0);
	put_switch(&t, 30, 0, 1, 0, EXITS);
	/* Another thread with the same number is not within the region. */
	put_switch(&t, 40, 0, 0, 1, 0);
	region(&t, 50, 1, "another", 0);
	region_ends(&t, 60, 1, "another");
	put_clock(&t, 100);
	expect_text(&t, "unended 0: 10-30 self 20 depth 0 open; another 0: 50-60 self 10 depth 0; "
		    "longer 0: 20-100 self 80 depth 0 open; ");
}

static void g50_moments_of_operations_have_rows(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 10, 1, "log", 0);
	add_text(&t.of[t.nr - 1], "message", "text");
	add_last(&t, "operation", 5);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 11, 1, "other", 0);
	add_last(&t, "operation", 6);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 12, 1, "follows from", 0);
	add_last(&t, "cause", 7);
	add_last(&t, "operation", 6);
	/*
	 * An instant event without a numeric argument "operation" is the program's own, and gets no
	 * row.
	 */
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 13, 1, "log", 0);
	add_text(&t.of[t.nr - 1], "message", "text");
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 14, 1, "log", 0);
	add_text(&t.of[t.nr - 1], "operation", "text");
	expect_text(&t, "0 log of 5: text 0; 1 other of 6:  0; 2 follows from of 6:  7; ");
}

/* The track of a CPU's idle task is a pseudo thread. Programs write nothing on such tracks. */
static void G31_interrupt_of_idle_cpu_has_a_row(void **state)
{
	struct trace t = { 0 };

	start(&t);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 10, PSEUDO, "complete", 0);
	add_last(&t, "operation", 5);
	t.of[t.nr - 1].provider = FXT_KERNEL_PROVIDER;
	t.of[t.nr - 1].category = (struct fxt_text){ .s = "driver", .len = 6 };
	put_event(&t, ASYNCTRACE_FXT_INSTANT, 11, PSEUDO, "program's", 0);
	add_last(&t, "operation", 5);
	expect_text(&t, "1 complete of 5:  0; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_are_exact),
		cmocka_unit_test(scopes_nest),
		cmocka_unit_test(parts_of_parts_are_parts),
		cmocka_unit_test(G31_interrupt_of_idle_cpu_has_a_row),
		cmocka_unit_test(region_shows_the_scope_around_it),
		cmocka_unit_test(resumed_operation_is_worked_on),
		cmocka_unit_test(loss_may_hide_the_end_of_a_scope),
		cmocka_unit_test(end_restores_what_was_before),
		cmocka_unit_test(jump_leaves_no_scope_open),
		cmocka_unit_test(entries_beyond_one_ids_limit_are_counted),
		cmocka_unit_test(without_scopes_durations_tell),
		cmocka_unit_test(operation_of_another_process_is_entered),
		cmocka_unit_test(exited_thread_works_on_nothing),
		cmocka_unit_test(exit_in_a_scope_blocks_the_operation),
		cmocka_unit_test(rows_have_their_parents),
		cmocka_unit_test(newest_open_part_is_told),
		cmocka_unit_test(g83_self_time_leaves_out_inner_regions),
		cmocka_unit_test(g44_open_regions_last_to_the_end),
		cmocka_unit_test(g44_open_region_lasts_to_its_threads_end),
		cmocka_unit_test(g50_moments_of_operations_have_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
