// SPDX-License-Identifier: GPL-2.0
/* Turns of threads: from the end of one sleep to the end of the next */
#include "model.h"

static struct model model;
static bool lossy;
static uint64_t ends[THREADS_MAX], running[THREADS_MAX], last_woken;
static size_t nr_woken, nr_slept;

static int index_of(const struct analysis_thread *t)
{
	return t->tid - TID(0);
}

/* --- random machines ---------------------------------------------------------------- */

static bool is_woken_by(const struct analysis_turn *turn)
{
	const uint32_t waker = turn->waker ? turn->waker->tid : 0;

	for (size_t i = 0; i < model.nr_recs; i++) {
		const struct fxt_record *rec = &model.recs[i].rec;
		const struct fxt_arg *arg = fxt_arg(rec, "waker");

		if (rec->kind == FXT_WAKEUP && rec->ns == turn->to &&
		    rec->in == turn->thread->tid &&
		    (arg ? arg->u : 0) == waker)
			return true;
	}
	return false;
}

/* Returns how long @t ran between @from and @to, as far as the records show it. */
static uint64_t ran(int t, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (uint64_t ns = from; ns < to && ns < T0 + model.ns; ns++)
		sum += model.state[t][ns - T0] == ANALYSIS_RUNNING &&
		       !model_is_unsure(&model, t, ns - T0);
	return sum;
}

static int on_turn(void *arg, const struct analysis_turn *turn)
{
	const int t = index_of(turn->thread);

	assert_true(turn->from <= turn->sleep && turn->sleep <= turn->to);
	if (ends[t])
		assert_int_equal(turn->from, ends[t]);
	ends[t] = turn->to;
	running[t] += turn->running_ns;
	assert_true(turn->running_ns <= ran(t, turn->from, turn->sleep));
	if (turn->reason == ANALYSIS_NO_REASON)
		assert_int_equal(turn->to, T0 + model.ns);
	for (uint64_t ns = turn->sleep; turn->woken && ns < turn->to; ns++)
		assert_true(lossy || model.state[t][ns - T0] == ANALYSIS_BLOCKED);
	if (!turn->woken)
		return 0;
	assert_true(is_woken_by(turn));
	assert_true(turn->to >= last_woken);
	last_woken = turn->to;
	nr_woken++;
	return 0;
}

static int on_wakeup(void *arg, const struct analysis_wakeup *w)
{
	nr_slept += w->slept;
	return 0;
}

static int on_thread(void *arg, const struct analysis_thread_row *row)
{
	const int t = index_of(row->thread);
	const uint64_t followed = model_followed_at(&model, t);

	/* Turns may include running time before row->from, which the row leaves out. */
	if (lossy)
		assert_true(running[t] <= row->ns[ANALYSIS_RUNNING] + row->from - T0);
	else if (row->thread->followed && row->from < row->to)
		assert_int_equal(running[t], ran(t, followed > row->from ? followed : row->from,
						 T0 + model.ns));
	else
		assert_int_equal(running[t], 0);
	return 0;
}

static void one_round(bool losses)
{
	struct analysis_sink sink = { .thread = on_thread, .wakeup = on_wakeup, .turn = on_turn };
	unsigned int from, to, cpu;
	struct trace t = { 0 };

	lossy = losses;
	memset(ends, 0, sizeof(ends));
	memset(running, 0, sizeof(running));
	last_woken = nr_woken = nr_slept = 0;
	model_run(&model, false, false);
	put_clock(&t, T0);
	if (losses) {
		cpu = rnd_below(model.cpus);
		from = rnd_below(model.ns);
		to = from + rnd_below(model.ns - from + 1);
		model_lose(&model, cpu, from, to);
		put_kernel_loss(&t, T0 + from, T0 + to, cpu);
	}
	model_file(&model, 1 + rnd_below(6), &t);
	put_clock(&t, T0 + model.ns);
	analysis_free(analyse_into(&t, NULL, &sink));
	assert_int_equal(nr_woken, nr_slept);
	trace_free(&t);
}

static void whole_round(void)
{
	one_round(false);
}

static void loss_round(void)
{
	one_round(true);
}

static void turns_tile_each_threads_life(void **state)
{
	model_rounds(&model, whole_round);
}

static void turns_with_losses_are_never_longer(void **state)
{
	model_rounds(&model, loss_round);
}

static int end_rounds(void **state)
{
	model_end_rounds(&model);
	return 0;
}

/* --- one by one ----------------------------------------------------------------------- */

struct turns {
	struct analysis_turn of[8];
	uint64_t ids[8];	/* 0: no operation */
	size_t nr;
};

static int add_turn(void *arg, const struct analysis_turn *turn)
{
	struct turns *turns = arg;

	if (turn->thread->tid != 7)
		return 0;
	assert_true(turns->nr < 8);
	turns->ids[turns->nr] = turn->id ? turn->id->id : 0;
	turns->of[turns->nr++] = *turn;
	return 0;
}

static struct turns turns_of_7(struct trace *t)
{
	struct turns turns = { 0 };
	struct analysis_sink sink = { .turn = add_turn, .arg = &turns };

	analysis_free(analyse_into(t, NULL, &sink));
	trace_free(t);
	return turns;
}

static void turn_goes_on_while_it_is_preempted(void **state)
{
	struct trace t = { 0 };
	struct turns turns;

	put_clock(&t, 0);
	put_switch(&t, 10, 0, 0, 7, 0);
	put_switch(&t, 20, 0, 7, 8, PREEMPTED);
	put_switch(&t, 30, 0, 8, 7, SLEEPS);
	put_switch(&t, 45, 0, 7, 0, SLEEPS);
	put_wakeup(&t, 60, 0, 7, 8);
	put_switch(&t, 70, 0, 0, 7, 0);
	put_clock(&t, 100);
	turns = turns_of_7(&t);
	assert_int_equal(turns.nr, 2);
	assert_int_equal(turns.of[0].running_ns, 25);
	assert_int_equal(turns.of[0].sleep, 45);
	assert_int_equal(turns.of[0].reason, ANALYSIS_SLEEP);
	assert_true(turns.of[0].woken && turns.of[0].waker_kind == ANALYSIS_OTHER_THREAD);
	assert_int_equal(turns.of[1].from, 60);
	assert_int_equal(turns.of[1].running_ns, 30);
	assert_int_equal(turns.of[1].reason, ANALYSIS_NO_REASON);
	assert_false(turns.of[1].woken);
}

/* The wakeup came before the record that the thread left its CPU: it did not sleep. */
static void wakeup_before_the_switch_is_no_sleep(void **state)
{
	struct trace t = { 0 };
	struct turns turns;

	put_clock(&t, 0);
	put_switch(&t, 10, 0, 0, 7, 0);
	put_wakeup(&t, 20, 0, 7, 8);
	put_switch(&t, 25, 0, 7, 8, SLEEPS);
	put_switch(&t, 30, 0, 8, 7, SLEEPS);
	put_clock(&t, 100);
	turns = turns_of_7(&t);
	assert_int_equal(turns.nr, 1);
	assert_int_equal(turns.of[0].running_ns, 15 + 70);
}

static void turn_names_the_operation_of_its_events(void **state)
{
	struct trace t = { 0 };
	struct turns turns;

	put_clock(&t, 0);
	put_switch(&t, 10, 0, 0, 7, 0);
	put_duration(&t, 12, 75, 7, "work");
	BEGINS(&t, 15, 7, 3);
	put_switch(&t, 20, 0, 7, 0, SLEEPS);
	/* Thread 7 works on operation 3 until the operation ends, so more turns have its id. */
	put_wakeup(&t, 40, 0, 7, 0);
	put_switch(&t, 50, 0, 0, 7, 0);
	put_switch(&t, 60, 0, 7, 0, SLEEPS);
	put_wakeup(&t, 70, 0, 7, 0);
	put_switch(&t, 71, 0, 0, 7, 0);
	ENDS(&t, 73, 7, 3);
	put_switch(&t, 80, 0, 7, 0, SLEEPS);
	put_wakeup(&t, 90, 0, 7, 0);
	put_switch(&t, 91, 0, 0, 7, 0);
	put_clock(&t, 100);
	turns = turns_of_7(&t);
	assert_int_equal(turns.nr, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(turns.ids[i], i < 3 ? 3 : 0);
}

/*
 * The trace follows thread 7 from its first event on, at 60. Before that, it may have slept without
 * a record, so its running time does not count.
 */
static void unfollowed_thread_runs_no_time(void **state)
{
	struct trace t = { 0 };
	struct turns turns;

	put_clock(&t, 0);
	put_switch(&t, 10, 0, 8, 7, PREEMPTED);
	put_switch(&t, 40, 0, 7, 8, PREEMPTED);
	put_switch(&t, 50, 0, 8, 7, PREEMPTED);
	BEGINS(&t, 60, 7, 1);
	put_clock(&t, 100);
	turns = turns_of_7(&t);
	assert_int_equal(turns.nr, 1);
	assert_int_equal(turns.of[0].running_ns, 40);
}

struct begun {
	uint64_t last;
	size_t nr;
};

static int on_begin(void *arg, const struct analysis_begin *begin)
{
	struct begun *b = arg;

	assert_true(begin->ns >= b->last);
	assert_int_equal(begin->thread->tid, 7);
	assert_string_equal(begin->id.name, "req");
	b->last = begin->ns;
	b->nr++;
	return 0;
}

static void begins_come_in_order_of_time(void **state)
{
	struct begun begun = { 0 };
	struct analysis_sink sink = { .begin = on_begin, .arg = &begun };
	struct trace t = { 0 };

	put_clock(&t, 0);
	BEGINS(&t, 50, 7, 1);
	BEGINS(&t, 10, 7, 2);
	ENDS(&t, 60, 7, 2);
	BEGINS(&t, 30, 7, 3);
	analysis_free(analyse_into(&t, NULL, &sink));
	assert_int_equal(begun.nr, 3);
	trace_free(&t);
}

static int keep_intervals(void *arg, const struct analysis_operation *op)
{
	assert_int_equal(op->nr_path, 0);
	assert_int_equal(op->nr_intervals > 0, !op->complete);
	*(int *)arg += op->complete ? 1 : 10;
	return 0;
}

static void totals_have_intervals_of_open_operations(void **state)
{
	const struct analysis_options opts = { .totals_only = true };
	int seen = 0;
	struct analysis_sink sink = { .operation = keep_intervals, .arg = &seen };
	struct trace t = { 0 };

	put_clock(&t, 0);
	put_duration(&t, 5, 90, 7, "work");
	BEGINS(&t, 10, 7, 1);
	BEGINS(&t, 20, 7, 2);
	ENDS(&t, 30, 7, 2);
	put_clock(&t, 100);
	analysis_free(analyse_into(&t, &opts, &sink));
	assert_int_equal(seen, 11);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(turns_tile_each_threads_life, end_rounds),
		cmocka_unit_test_teardown(turns_with_losses_are_never_longer, end_rounds),
		cmocka_unit_test(turn_goes_on_while_it_is_preempted),
		cmocka_unit_test(wakeup_before_the_switch_is_no_sleep),
		cmocka_unit_test(turn_names_the_operation_of_its_events),
		cmocka_unit_test(unfollowed_thread_runs_no_time),
		cmocka_unit_test(begins_come_in_order_of_time),
		cmocka_unit_test(totals_have_intervals_of_open_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
