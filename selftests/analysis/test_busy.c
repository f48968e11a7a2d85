// SPDX-License-Identifier: GPL-2.0
/*
 * With the option .grouped, the analysis adds up what a thread worked on while operations waited
 * for it. Tests that reports get the same sums as from all intervals, and that the time does not
 * grow with the square of the number of operations.
 */
#include "model.h"
#include "report/blame.h"

#define ALL_STATES	((1u << ANALYSIS_STATES) - 1)
#define MANY		100000

/* Sums of asynctrace report blame and critical */
struct causes {
	struct blame blame, critical;
	uint64_t intervals, joined;
};

static int add_causes(void *arg, const struct analysis_operation *op)
{
	struct causes *c = arg;

	check_row(op);
	for (size_t i = 0; i < op->nr_intervals; i++)
		c->joined += op->intervals[i].joined > 1;
	c->intervals += op->nr_intervals;
	assert_int_equal(blame_add(&c->blame, op, op->intervals, op->nr_intervals, ALL_STATES), 0);
	assert_int_equal(blame_add(&c->critical, op, op->path, op->nr_path, ALL_STATES), 0);
	return 0;
}

static struct causes causes_of(const struct trace *t, struct analysis_options opts)
{
	struct causes c = { 0 };
	const struct analysis_sink sink = { .operation = add_causes, .arg = &c };

	analysis_free(analyse_into(t, &opts, &sink));
	return c;
}

static void causes_free(struct causes *c)
{
	blame_free(&c->blame);
	blame_free(&c->critical);
}

/* --- random programs ----------------------------------------------------------------- */

static struct model model;
static uint64_t joined;

static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
static size_t nr_names;		/* of this round */

/* Returns the row of @b with the same cause as @row, or NULL. */
static const struct blame_row *row_like(const struct blame *b, const struct blame_row *row)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct blame_row *of = &b->of[i];

		if (of->state == row->state && !strcmp(of->type, row->type) &&
		    !strcmp(of->reason, row->reason) && !strcmp(of->thread, row->thread) &&
		    !strcmp(of->duration, row->duration) && !strcmp(of->other, row->other))
			return of;
	}
	return NULL;
}

static void same_sums(const struct blame *x, const struct blame *y)
{
	assert_int_equal(x->nr, y->nr);
	for (size_t i = 0; i < x->nr; i++) {
		const struct blame_row *row = row_like(y, &x->of[i]);

		assert_non_null(row);
		assert_int_equal(row->ns, x->of[i].ns);
		assert_int_equal(row->count, x->of[i].count);
	}
}

static void compare(const struct trace *t)
{
	/* Small windows make records late, and small histories are forgotten. */
	struct analysis_options opts = {
		.window = rnd_chance(50) ? 0 : 1 + rnd_below(20),
		.history = rnd_chance(50) ? 0 : 50 + rnd_below(500),
	};
	struct causes each, grouped;

	each = causes_of(t, opts);
	opts.grouped = true;
	grouped = causes_of(t, opts);
	same_sums(&each.blame, &grouped.blame);
	same_sums(&each.critical, &grouped.critical);
	assert_true(grouped.intervals <= each.intervals);
	joined += grouped.joined;
	causes_free(&each);
	causes_free(&grouped);
}

static void put_number(struct trace *t, const char *key, uint64_t value)
{
	add_number(&t->of[t->nr - 1], key, ASYNCTRACE_FXT_ARG_UINT64, value);
}

/* Puts a random event of the thread @tid at @ns. @enters: scopes say what the thread works on */
static void put_random(struct trace *t, uint64_t ns, uint32_t tid, uint64_t id, bool enters)
{
	const char *name = names[id % nr_names];

	switch (rnd_below(enters ? 12 : 8)) {
	case 0 ... 2:
		put_event(t, ASYNCTRACE_FXT_ASYNC_BEGIN, ns, tid, name, id);
		if (rnd_chance(50))
			put_number(t, "parent", rnd_below(id + 1));
		break;
	case 3:
		put_event(t, ASYNCTRACE_FXT_ASYNC_INSTANT, ns, tid, name, id);
		break;
	case 4 ... 5:
		put_event(t, ASYNCTRACE_FXT_ASYNC_END, ns, tid, name, id);
		break;
	case 6:
		put_duration(t, ns - rnd_below(20), ns + rnd_below(20), tid, "work");
		break;
	case 7:
		put_event(t, rnd_chance(50) ? ASYNCTRACE_FXT_DURATION_BEGIN :
			  ASYNCTRACE_FXT_DURATION_END, ns, tid, "step", 0);
		break;
	case 8 ... 9:
		put_event(t, ASYNCTRACE_FXT_DURATION_BEGIN, ns, tid, "scope", 0);
		put_number(t, "operation", id);
		break;
	default:
		put_event(t, ASYNCTRACE_FXT_DURATION_END, ns, tid, "scope", 0);
		put_number(t, "resumed", rnd_chance(50) ? 0 : id);
	}
}

static void random_round(void)
{
	const uint64_t ids = 5 + rnd_below(30), threads = 1 + rnd_below(3);
	const bool enters = rnd_chance(50), lossy = rnd_chance(30);
	struct trace t = { 0 };
	uint64_t ns = T0;

	nr_names = 1 + rnd_below(sizeof(names) / sizeof(names[0]));
	put_clock(&t, T0 - 100);
	for (unsigned int i = 0; i < 200; i++, ns += rnd_below(6)) {
		/* A loss that may come late */
		if (lossy && rnd_chance(2)) {
			const uint64_t from = ns - rnd_below(60);

			put_provider_loss(&t, from, from + rnd_below(50), "server");
		}
		put_random(&t, ns, TID(rnd_below(threads)), rnd_below(ids), enters);
		/* An event that comes late */
		if (rnd_chance(5))
			put_random(&t, ns - rnd_below(60), TID(rnd_below(threads)),
				   rnd_below(ids), enters);
	}
	put_clock(&t, ns);
	compare(&t);
	trace_free(&t);
}

static void sums_are_those_of_all_intervals(void **state)
{
	model_rounds(&model, random_round);
	assert_true(joined);
}

/* Machines with scheduling records */
static void machine_round(void)
{
	struct trace t = { 0 };

	model_run(&model, false, rnd_chance(50));
	put_clock(&t, T0);
	model_file(&model, 1 + rnd_below(6), &t);
	compare(&t);
	trace_free(&t);
}

static void sums_of_machines_are_the_same(void **state)
{
	model_rounds(&model, machine_round);
}

/* Also after a failure */
static int end_rounds(void **state)
{
	model_end_rounds(&model);
	return 0;
}

/* --- many ------------------------------------------------------------------------------ */

/* One thread serves operations that all wait from the begin, from @first on. */
static void many_wait(int64_t first, int64_t step)
{
	struct trace t = { 0 };
	struct causes c;

	for (int64_t i = 0; i < MANY; i++)
		put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 10 + i, 1, names[i % 3], i);
	for (int64_t i = 0, k = first; i < MANY; i++, k += step) {
		put_duration(&t, 100 * (MANY + i), 100 * (MANY + i) + 90, 2, "work");
		put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 100 * (MANY + i) + 80, 2, names[k % 3], k);
	}
	c = causes_of(&t, (struct analysis_options){ .grouped = true });
	/* Each type waited for no work and for work on each of the types, and was worked on. */
	assert_int_equal(c.blame.nr, 15);
	assert_int_equal(c.critical.nr, 15);
	causes_free(&c);
	trace_free(&t);
}

static void many_wait_and_the_first_is_served(void **state)
{
	many_wait(0, 1);
}

static void many_wait_and_the_last_is_served(void **state)
{
	many_wait(MANY - 1, -1);
}

/*
 * Returns the number of rows of @nr operations, each of which waits for the one before it, while
 * another operation goes on all the time. Each has a name of its own.
 */
static size_t rows_of_names(size_t nr)
{
	char (*of)[16] = calloc(nr + 1, sizeof(*of));
	struct trace t = { 0 };
	struct causes c;
	size_t rows;

	assert_non_null(of);
	for (size_t i = 0; i <= nr; i++)
		snprintf(of[i], sizeof(of[i]), "%zu", i);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 10, 1, of[nr], nr);
	for (size_t i = 0; i < nr; i++) {
		put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, 1000 + 100 * i, 1, of[i], i);
		put_duration(&t, 1000 + 100 * i + 50, 1000 + 100 * i + 140, 2, "work");
		put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 1000 + 100 * i + 130, 2, of[i], i);
	}
	put_event(&t, ASYNCTRACE_FXT_ASYNC_END, 1000 + 100 * nr, 1, of[nr], nr);
	c = causes_of(&t, (struct analysis_options){ .grouped = true });
	rows = c.blame.nr;
	causes_free(&c);
	trace_free(&t);
	free(of);
	return rows;
}

static void each_name_waits_for_the_name_before(void **state)
{
	const size_t ten = rows_of_names(10), each = rows_of_names(11) - ten;

	assert_int_not_equal(each, 0);
	assert_int_equal(rows_of_names(MANY), ten + (MANY - 10) * each);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(sums_are_those_of_all_intervals, end_rounds),
		cmocka_unit_test_teardown(sums_of_machines_are_the_same, end_rounds),
		cmocka_unit_test(many_wait_and_the_first_is_served),
		cmocka_unit_test(many_wait_and_the_last_is_served),
		cmocka_unit_test(each_name_waits_for_the_name_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
