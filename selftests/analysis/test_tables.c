// SPDX-License-Identifier: GPL-2.0
/* Rows of threads, wakeups and waits, compared with the model for each nanosecond and record */
#include "model.h"

static struct model model;
static bool lossy;
static size_t nr_wakeups, nr_waits, nr_threads;

static int index_of(const struct analysis_thread *t)
{
	return t ? (int)(t->tid - TID(0)) : NOBODY;
}

/* --- threads ------------------------------------------------------------------------ */

struct counts {
	uint64_t voluntary, preempted, migrations, wakeups, wakes;
};

static uint64_t arg_of(const struct fxt_record *rec, const char *name)
{
	const struct fxt_arg *arg = fxt_arg(rec, name);

	return arg ? arg->u : 0;
}

/* Returns the counts of thread @tid, by the records that were not lost. */
static struct counts count_records(uint32_t tid)
{
	struct counts c = { 0 };
	unsigned int last = CPUS_MAX;

	for (size_t i = 0; i < model.nr_recs; i++) {
		const struct fxt_record *rec = &model.recs[i].rec;

		if (rec->kind == FXT_WAKEUP) {
			c.wakeups += rec->in == tid;
			c.wakes += arg_of(rec, "waker") == tid;
		}
		if (rec->kind != FXT_SWITCH || fxt_arg(rec, "inferred") ||
		    (rec->out != tid && rec->in != tid))
			continue;
		if (rec->out == tid)
			*(arg_of(rec, "state") ? &c.voluntary : &c.preempted) += 1;
		else
			c.migrations += last != CPUS_MAX && last != rec->cpu;
		last = rec->cpu;
	}
	return c;
}

/* Returns the time from which the records show all states of thread @t. */
static uint64_t known_from(int t)
{
	const uint64_t ns = model_followed_at(&model, t);

	/* A thread whose first record is a wakeup was created then. */
	return ns == T0 + model.first[t] && model.unsure[t] ? T0 + model.unsure[t] : ns;
}

static int on_thread(void *arg, const struct analysis_thread_row *row)
{
	const int t = index_of(row->thread);
	const uint64_t known = known_from(t) - T0;
	const struct counts c = count_records(row->thread->tid);
	uint64_t want[ANALYSIS_STATES] = { 0 }, states = 0, reasons = 0;

	nr_threads++;
	/* Before a thread is followed, only running is known, and only after its first record. */
	for (uint64_t ns = row->from - T0; ns < row->to - T0; ns++)
		want[ns >= known ? (model_is_unsure(&model, t, ns) ? ANALYSIS_UNKNOWN :
				    model.state[t][ns]) :
		     model.state[t][ns] == ANALYSIS_RUNNING && ns >= model.first[t] ?
		     ANALYSIS_RUNNING : ANALYSIS_UNKNOWN]++;
	for (int s = 0; s < ANALYSIS_STATES; s++) {
		states += row->ns[s];
		if (s != ANALYSIS_UNKNOWN && lossy)
			assert_true(row->ns[s] <= want[s]);
		else if (!lossy)
			assert_int_equal(row->ns[s], want[s]);
	}
	for (int i = 0; i < ANALYSIS_REASONS; i++)
		reasons += row->reason_ns[i];
	assert_int_equal(states + row->exited_ns, row->to - row->from);
	assert_int_equal(reasons, states + row->exited_ns);
	assert_true(row->inferred_ns <= states);
	assert_int_equal(row->voluntary, c.voluntary);
	assert_int_equal(row->preempted, c.preempted);
	assert_int_equal(row->migrations, c.migrations);
	assert_int_equal(row->wakeups, c.wakeups);
	assert_int_equal(row->wakes, c.wakes);
	return 0;
}

/* --- waits --------------------------------------------------------------------------- */

/* The trace shows which thread has @cpu only from the first switch on @cpu on. */
static bool is_told(unsigned int cpu, unsigned int ns)
{
	for (size_t i = 0; i < model.nr_recs; i++)
		if (model.recs[i].rec.kind == FXT_SWITCH && model.recs[i].rec.cpu == cpu &&
		    model.recs[i].rec.ns <= T0 + ns)
			return true;
	return false;
}

static bool is_occupant(const struct analysis_interval *part, unsigned int cpu, unsigned int ns)
{
	const int who = model.occupant[cpu][ns];

	if (part->other_kind == ANALYSIS_OTHER_NONE)
		return lossy || !is_told(cpu, ns);
	return part->other_kind == (who == NOBODY ? ANALYSIS_OTHER_IDLE : ANALYSIS_OTHER_THREAD) &&
	       index_of(part->other) == who;
}

static int on_wait(void *arg, const struct analysis_wait *wait)
{
	const int t = index_of(wait->thread);
	uint64_t at = wait->from;

	nr_waits++;
	if (!lossy)
		assert_int_equal(wait->exact, wait->from >= known_from(t));
	for (uint64_t ns = wait->from - T0; ns < wait->to - T0; ns++)
		assert_int_equal(model.state[t][ns], ANALYSIS_RUNNABLE);
	assert_int_equal(model.state[t][wait->to - T0], ANALYSIS_RUNNING);
	assert_int_equal(model.occupant[wait->cpu][wait->to - T0], t);
	for (size_t i = 0; i < wait->nr_parts; i++) {
		const struct analysis_interval *part = &wait->parts[i];

		assert_int_equal(part->from, at);
		for (; at < part->to; at++)
			assert_true(is_occupant(part, wait->cpu, at - T0));
	}
	assert_int_equal(at, wait->to);
	return 0;
}

/* Returns how often a thread ran after it was runnable. */
static size_t waits_in_model(void)
{
	size_t nr = 0;

	for (unsigned int t = 0; t < model.threads; t++)
		for (unsigned int ns = 1; ns < model.ns; ns++)
			nr += model.state[t][ns] == ANALYSIS_RUNNING &&
			      model.state[t][ns - 1] == ANALYSIS_RUNNABLE;
	return nr;
}

/* --- wakeups --------------------------------------------------------------------------- */

static bool is_recorded(const struct analysis_wakeup *w)
{
	const uint32_t waker = w->waker ? w->waker->tid : 0;

	for (size_t i = 0; i < model.nr_recs; i++) {
		const struct fxt_record *rec = &model.recs[i].rec;

		if (rec->kind == FXT_WAKEUP && rec->ns == w->ns && rec->in == w->woken->tid &&
		    rec->cpu == w->cpu && arg_of(rec, "waker") == waker)
			return true;
	}
	return false;
}

static bool works(const struct analysis_thread *t, const struct analysis_id *id, uint64_t ns)
{
	for (size_t i = 0; i < model.nr_ops; i++)
		if (model.ops[i].id == id->id && !strcmp(model.ops[i].name, id->name) &&
		    (model_works(&model, i, index_of(t), ns - T0) ||
		     model_works(&model, i, index_of(t), ns - T0 - 1)))
			return true;
	return false;
}

static int on_wakeup(void *arg, const struct analysis_wakeup *w)
{
	const int t = index_of(w->woken);
	unsigned int ns = w->ns - T0;

	nr_wakeups++;
	assert_true(is_recorded(w));
	assert_true(!w->waker == (w->waker_kind == ANALYSIS_OTHER_INTERRUPT));
	if (w->waker_id)
		assert_true(works(w->waker, w->waker_id, w->ns));
	if (w->woken_id)
		assert_true(works(w->woken, w->woken_id, w->ns));
	if (w->slept || !lossy)
		assert_int_equal(w->slept, model.state[t][ns - 1] == ANALYSIS_BLOCKED &&
				 (lossy || !model_is_unsure(&model, t, ns - 1)));
	if (w->awake)
		assert_true(!w->slept && model.state[t][ns - 1] != ANALYSIS_BLOCKED &&
			    (lossy || !model_is_unsure(&model, t, ns - 1)));
	/* Without losses, records show whether the thread slept, except before its first switch. */
	assert_true(lossy || w->slept || w->awake || ns <= model.first[t]);
	assert_true(w->slept || !w->ran);
	if (!lossy && w->ran)
		assert_int_equal(w->exact, w->ns >= known_from(t));
	while (ns < model.ns && model.state[t][ns] == ANALYSIS_RUNNABLE)
		ns++;
	if (w->ran)
		assert_int_equal(w->latency_ns, ns - (w->ns - T0));
	else
		assert_true(lossy || !w->slept || ns == model.ns);
	return 0;
}

/* --- rounds ------------------------------------------------------------------------------- */

static void analyse_tables(const struct trace *t)
{
	struct analysis_options opts = { .totals_only = rnd_chance(50) };
	struct analysis_sink sink = { .thread = on_thread, .wakeup = on_wakeup, .wait = on_wait };
	size_t records = 0;

	nr_wakeups = nr_waits = nr_threads = 0;
	analysis_free(analyse_into(t, &opts, &sink));
	for (size_t i = 0; i < model.nr_recs; i++)
		records += model.recs[i].rec.kind == FXT_WAKEUP;
	assert_int_equal(nr_wakeups, records);
}

static void schedule_round(void)
{
	struct trace t = { 0 };
	size_t told = 0;

	lossy = false;
	model_run(&model, false, false);
	put_clock(&t, T0);
	model_file(&model, 1 + rnd_below(6), &t);
	put_clock(&t, T0 + model.ns);
	analyse_tables(&t);
	assert_int_equal(nr_waits, waits_in_model());
	for (unsigned int i = 0; i < model.threads; i++) {
		const struct counts c = count_records(TID(i));

		told += model.first[i] != model.ns || c.wakes || c.wakeups;
	}
	assert_int_equal(nr_threads, told);
	trace_free(&t);
}

static void loss_round(void)
{
	unsigned int cpu, from, to;
	struct trace t = { 0 };

	lossy = true;
	model_run(&model, false, false);
	cpu = rnd_below(model.cpus);
	from = rnd_below(model.ns);
	to = from + rnd_below(model.ns - from + 1);
	model_lose(&model, cpu, from, to);
	if (rnd_chance(50))
		model_infer_switches(&model);
	put_clock(&t, T0);
	put_kernel_loss(&t, T0 + from, T0 + to, cpu);
	model_file(&model, 1 + rnd_below(6), &t);
	put_clock(&t, T0 + model.ns);
	analyse_tables(&t);
	trace_free(&t);
}

static void tables_equal_the_model(void **state)
{
	model_rounds(&model, schedule_round);
}

static void tables_with_losses_are_never_wrong(void **state)
{
	model_rounds(&model, loss_round);
}

static int end_rounds(void **state)
{
	model_end_rounds(&model);
	return 0;
}

/* --- traces made by hand --------------------------------------------------------------------- */

static int keep_thread(void *arg, const struct analysis_thread_row *row)
{
	if (row->thread->tid == 7)
		*(struct analysis_thread_row *)arg = *row;
	return 0;
}

static struct analysis_thread_row thread_7(struct trace *t)
{
	struct analysis_thread_row row = { 0 };
	struct analysis_sink sink = { .thread = keep_thread, .arg = &row };
	struct analysis *a = analyse_into(t, NULL, &sink);

	assert_non_null(row.thread);
	analysis_free(a);
	trace_free(t);
	return row;
}

static void exited_thread_is_in_no_state(void **state)
{
	struct trace t = { 0 };
	struct analysis_thread_row row;

	put_clock(&t, 0);
	put_switch(&t, 10, 0, 0, 7, 0);
	put_switch(&t, 30, 0, 7, 0, EXITS);
	put_clock(&t, 100);
	row = thread_7(&t);
	assert_int_equal(row.ns[ANALYSIS_RUNNABLE], 0);
	assert_int_equal(row.ns[ANALYSIS_RUNNING], 20);
	assert_int_equal(row.ns[ANALYSIS_BLOCKED], 0);
	assert_int_equal(row.exited_ns, 70);
	assert_int_equal(row.inferred_ns, 0);
}

static void reasons_divide_the_states(void **state)
{
	struct trace t = { 0 };
	struct analysis_thread_row row;

	put_clock(&t, 0);
	put_switch(&t, 0, 0, 0, 7, 0);
	put_switch(&t, 10, 0, 7, 8, PREEMPTED);
	put_switch(&t, 30, 0, 8, 7, SLEEPS);
	put_switch(&t, 40, 0, 7, 0, SLEEPS_ON_DISK);
	put_wakeup(&t, 45, 1, 7, 0);
	put_switch(&t, 48, 1, 0, 7, 0);
	put_switch(&t, 50, 1, 7, 0, SLEEPS);
	put_clock(&t, 100);
	row = thread_7(&t);
	assert_int_equal(row.reason_ns[ANALYSIS_PREEMPTED], 20);
	assert_int_equal(row.reason_ns[ANALYSIS_WOKEN], 3);
	assert_int_equal(row.reason_ns[ANALYSIS_DISK], 5);
	assert_int_equal(row.reason_ns[ANALYSIS_SLEEP], 50);
	assert_int_equal(row.migrations, 1);
}

struct part_sum {
	uint64_t known, all;
};

static int add_parts(void *arg, const struct analysis_wait *wait)
{
	struct part_sum *sum = arg;

	for (size_t i = 0; i < wait->nr_parts && wait->thread->tid == 7; i++) {
		const uint64_t ns = wait->parts[i].to - wait->parts[i].from;

		sum->all += ns;
		if (wait->parts[i].other_kind == ANALYSIS_OTHER_THREAD)
			sum->known += ns;
	}
	return 0;
}

/*
 * The engine forgets what no open operation needs. A long wait needs the threads that had the CPU.
 */
static void long_wait_is_divided_whole(void **state)
{
	enum { SWITCHES = 50000 };
	struct trace t = { 0 };
	struct part_sum sum = { 0 };
	struct analysis_options opts = { .window = 16 };
	struct analysis_sink sink = { .wait = add_parts, .arg = &sum };

	put_switch(&t, 1, 0, 0, 7, 0);
	put_switch(&t, 10, 0, 7, 8, PREEMPTED);
	for (unsigned int i = 0; i < SWITCHES; i++)
		put_switch(&t, 11 + i, 0, 8 + i % 2, 9 - i % 2, SLEEPS);
	put_switch(&t, 11 + SWITCHES, 0, 8, 7, SLEEPS);
	analysis_free(analyse_into(&t, &opts, &sink));
	assert_int_equal(sum.all, SWITCHES + 1);
	assert_int_equal(sum.known, sum.all);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(tables_equal_the_model, end_rounds),
		cmocka_unit_test_teardown(tables_with_losses_are_never_wrong, end_rounds),
		cmocka_unit_test(exited_thread_is_in_no_state),
		cmocka_unit_test(reasons_divide_the_states),
		cmocka_unit_test(long_wait_is_divided_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
