// SPDX-License-Identifier: GPL-2.0
/* Random machines: for each nanosecond the engine must say the truth or "unknown". */
#include "model.h"

static struct model model;
/*
 * True if records or events are missing. The engine may then say "unknown", and need not name the
 * other party of a state, such as the waker.
 */
static bool lossy;
static uint64_t second_readings, told_parties;

#define must(x) do { \
	if (!(x)) { \
		char *text_ = row_text(op); \
		print_message("%s\nof \"%s\"\n", #x, text_); \
		free(text_); \
		fail(); \
	} \
} while (0)

static int thread_index(const struct analysis_thread *t)
{
	return t ? (int)(t->tid - TID(0)) : NOBODY;
}

/* Did @t work on the operation @i in a duration whose record was lost after the time @ns? */
static bool is_lost_after(unsigned int i, int t, uint64_t ns)
{
	for (size_t k = 0; k < model.nr_works; k++) {
		const struct model_duration *d = &model.durations[model.works[k].duration];

		if (model.works[k].op == i && d->thread == t && d->lost != UINT_MAX &&
		    T0 + d->lost > ns)
			return true;
	}
	return false;
}

/*
 * May a row of @op say that @t works on an operation with the id @id at @ns? The engine goes by
 * durations until a scheduling record shows a thread on that operation. If a loss after the row
 * took the innermost duration around an event, the engine may have used an outer one instead.
 */
static bool works_on_id(const struct analysis_operation *op, int t, const struct analysis_id *id,
			unsigned int ns)
{
	for (size_t i = 0; i < model.nr_ops; i++)
		if (model.ops[i].id == id->id && !strcmp(model.ops[i].name, id->name) &&
		    (model_works(&model, i, t, ns) || model_is_vague(&model, i) ||
		     model_is_around(&model, i, t, ns) || is_lost_after(i, t, op->end)))
			return true;
	return false;
}

/*
 * Returns the id of the operation that the engine must give for @t at @ns. The last record at or
 * before @ns shows this operation, which must be open from that record until after @until.
 * 0: none, or not certain
 */
static uint64_t told_id(int t, unsigned int ns, unsigned int until)
{
	const struct model_proof *last = NULL;

	for (size_t i = 0; i < model.nr_proofs; i++)
		if (model.proofs[i].thread == t && model.proofs[i].ns <= ns)
			last = &model.proofs[i];
	for (size_t i = 0; last && last->id && i < model.nr_ops; i++)
		if (model.ops[i].id == last->id && model.ops[i].begin < last->ns &&
		    model.ops[i].end > until && !model_is_vague(&model, i))
			return last->id;
	return 0;
}

/*
 * Checks which operation the other party of @row works on, if scheduling records show the
 * operation.
 */
static void check_cell(const struct analysis_operation *op, const struct analysis_interval *row,
		       unsigned int ns, unsigned int until)
{
	const int t = thread_index(row->other);
	const uint64_t id = row->other_kind == ANALYSIS_OTHER_THREAD ? told_id(t, ns, until) : 0;

	if (!id)
		return;
	must(row->other_id && row->other_id->id == id);
	told_parties++;
}

static void check_other(const struct analysis_operation *op, const struct analysis_interval *row,
			int want)
{
	if (lossy && row->other_kind == ANALYSIS_OTHER_NONE)
		return;
	if (want == UNTOLD)
		must(row->other_kind == ANALYSIS_OTHER_NONE);
	else if (want == NOBODY)
		must(row->other_kind == (row->state == ANALYSIS_BLOCKED ? ANALYSIS_OTHER_INTERRUPT :
					 ANALYSIS_OTHER_IDLE));
	else
		must(row->other_kind == ANALYSIS_OTHER_THREAD && thread_index(row->other) == want);
}

/* Checks the state that @row gives its thread at @ns. */
static void check_thread(const struct analysis_operation *op, const struct analysis_interval *row,
			 unsigned int ns)
{
	int t = thread_index(row->thread), cpu;
	bool told = ns >= model.first[t] && !model.late[t][ns];

	if (row->state == ANALYSIS_UNKNOWN) {
		must(lossy || model_is_unsure(&model, t, ns));
		return;
	}
	must(model.state[t][ns] == row->state);
	if (!lossy)
		must(row->inferred == !told);
	if (!row->inferred)
		must(model.reason[t][ns] == row->reason);
	if (row->state == ANALYSIS_BLOCKED)
		must(!strcmp(row->in, row->inferred ? "" : model.in[t][ns]));
	/* The record that names the other party came after the operation's end: do not check it. */
	if (T0 + model.wake_at[t][ns] >= op->end)
		return;
	if (row->state == ANALYSIS_BLOCKED) {
		check_other(op, row, model.waker[t][ns]);
		check_cell(op, row, model.wake_at[t][ns], model.wake_at[t][ns]);
		if (row->other_id)
			must(works_on_id(op, thread_index(row->other), row->other_id,
					 model.wake_at[t][ns]) ||
			     works_on_id(op, thread_index(row->other), row->other_id,
					 model.wake_at[t][ns] - 1));
	} else if (row->state == ANALYSIS_RUNNABLE) {
		cpu = model.got[t][ns];
		if (cpu >= 0) {
			bool seen = false;

			for (size_t i = 0; i < model.nr_recs && !seen; i++)
				seen = model.recs[i].rec.kind == FXT_SWITCH &&
				       model.recs[i].rec.cpu == (unsigned int)cpu &&
				       model.recs[i].rec.ns <= T0 + ns;
			check_other(op, row, seen ? model.occupant[cpu][ns] : UNTOLD);
			check_cell(op, row, row->from - T0, row->to - T0);
		}
		if (row->other_id)
			must(works_on_id(op, thread_index(row->other), row->other_id,
					 row->from - T0));
	}
}

/* Is @thread the next one that enters the operation, at or after @ns? */
static bool enters_next(unsigned int op, const struct analysis_thread *thread, unsigned int ns)
{
	const struct model_operation *o = &model.ops[op];

	for (; ns < o->end; ns++) {
		bool any = false;

		for (unsigned int t = 0; t < model.threads; t++) {
			if (!model_works(&model, op, t, ns))
				continue;
			if (thread_index(thread) == (int)t)
				return true;
			any = true;
		}
		if (any)
			return false;
	}
	return o->ended ? thread_index(thread) == o->end_thread : !thread;
}

/*
 * Is @thread the next one that works on the operation, at or after @ns? Work of no length may count
 * or not.
 */
static bool is_next(unsigned int op, const struct analysis_thread *thread, unsigned int ns)
{
	const struct model_operation *o = &model.ops[op];
	unsigned int first = UINT32_MAX, of_thread = UINT32_MAX;

	if (model_is_entered(&model, op))
		return enters_next(op, thread, ns);
	for (size_t i = 0; i < model.nr_works; i++) {
		const struct model_duration *d = &model.durations[model.works[i].duration];
		unsigned int from = d->begin > o->begin ? d->begin : o->begin;
		unsigned int to = d->end < o->end ? d->end : o->end;

		if (model.works[i].op != op || from < ns)
			continue;
		if (from < to && from < first)
			first = from;
		if (thread_index(thread) == d->thread && from < of_thread)
			of_thread = from;
	}
	if (of_thread != UINT32_MAX)
		return of_thread <= first;
	if (first != UINT32_MAX)
		return false;
	return o->ended ? thread_index(thread) == o->end_thread : !thread;
}

static void check_intervals(const struct analysis_operation *op, unsigned int index)
{
	for (size_t i = 0; i < op->nr_intervals; i++) {
		const struct analysis_interval *row = &op->intervals[i];

		for (uint64_t at = row->from; at < row->to; at++) {
			unsigned int ns = at - T0;

			if (lossy && row->state == ANALYSIS_UNKNOWN)
				continue;
			must(row->state == model_state(&model, index, ns));
			if (row->state == ANALYSIS_QUEUED) {
				must(is_next(index, row->thread, ns));
				must(!row->other_id ||
				     works_on_id(op, thread_index(row->thread), row->other_id, ns));
			} else {
				must(row->thread);
				must(model_works(&model, index, thread_index(row->thread), ns));
				check_thread(op, row, ns);
			}
		}
	}
}

static void check_path(const struct analysis_operation *op, unsigned int index)
{
	for (size_t i = 0; i < op->nr_path; i++) {
		const struct analysis_interval *row = &op->path[i];

		for (uint64_t at = row->from; at < row->to; at++) {
			if (row->state != ANALYSIS_QUEUED) {
				if (row->thread)
					check_thread(op, row, at - T0);
				continue;
			}
			for (unsigned int t = 0; t < model.threads; t++)
				must(!model_works(&model, index, t, at - T0));
		}
	}
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	struct model_operation *o;
	size_t i;

	for (i = 0; i < model.nr_ops; i++) {
		o = &model.ops[i];
		if (!o->seen && o->id == op->id.id && !strcmp(o->name, op->id.name) &&
		    T0 + o->begin == op->begin && T0 + o->end == op->end &&
		    o->ended == op->complete)
			break;
	}
	must(i < model.nr_ops);
	model.ops[i].seen = true;
	check_row(op);
	if (!model_is_vague(&model, i)) {
		check_intervals(op, i);
		check_path(op, i);
	}
	return rows_add(arg, op);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Analyses @t. If @settle is true, calls analysis_settle() now and then. If records came late,
 * analyses @t once more.
 */
static struct rows run(const struct trace *t, size_t window, bool settle)
{
	struct analysis_options opts = { .window = window };
	struct rows rows = { 0 };
	uint64_t late;
	struct analysis_sink sink = { .operation = window || settle ? rows_add : on_operation,
				      .arg = &rows };
	struct analysis *a = analysis_new(&opts, &sink), *again;

	assert_non_null(a);
	for (size_t i = 0; i < t->nr; i++) {
		if (settle && rnd_chance(20)) {
			uint64_t ns = UINT64_MAX;

			for (size_t k = i; k < t->nr; k++)
				if (t->of[k].kind != FXT_OBJECT && t->of[k].ns < ns)
					ns = t->of[k].ns;
			assert_int_equal(analysis_settle(a, ns), 0);
		}
		assert_int_equal(analysis_record(a, &t->of[i]), 0);
	}
	assert_int_equal(analysis_finish(a), 0);
	late = analysis_totals(a)->late;
	again = analysis_again(a);
	assert_int_equal(!!again, !!late);
	if (again) {
		second_readings++;
		a = again;
		rows_free(&rows);
		feed(a, t);
		assert_int_equal(analysis_finish(a), 0);
	}
	assert_int_equal(analysis_totals(a)->late, 0);
	analysis_free(a);
	if (rows.nr)
		qsort(rows.of, rows.nr, sizeof(*rows.of), by_text);
	return rows;
}

static void expect_same(const struct rows *x, struct rows *y)
{
	assert_int_equal(x->nr, y->nr);
	for (size_t i = 0; i < x->nr; i++)
		assert_string_equal(x->of[i], y->of[i]);
	rows_free(y);
}

static void check_file(const struct trace *t)
{
	struct rows rows, again;

	rows = run(t, 0, false);
	for (size_t i = 0; i < model.nr_ops; i++)
		assert_true(model.ops[i].seen);
	again = run(t, 0, true);
	expect_same(&rows, &again);
	again = run(t, 16 + rnd_below(200), false);
	expect_same(&rows, &again);
	rows_free(&rows);
}

static void begin_file(struct trace *t)
{
	*t = (struct trace){ 0 };
	put_clock(t, T0);
}

static void end_file(struct trace *t)
{
	put_clock(t, T0 + model.ns);
	check_file(t);
	trace_free(t);
	model_free(&model);
}

static void schedule_round(void)
{
	const bool dense = rnd_chance(50);
	struct trace t;

	lossy = false;
	model_run(&model, dense, rnd_chance(50));
	begin_file(&t);
	model_file(&model, dense ? 1 : 1 + rnd_below(6), &t);
	end_file(&t);
}

static void kernel_loss_round(void)
{
	const bool dense = rnd_chance(50);
	struct {
		unsigned int cpu, from, to;
	} losses[3];
	size_t nr = 1 + rnd_below(3);
	struct trace t;

	lossy = true;
	model_run(&model, dense, rnd_chance(50));
	begin_file(&t);
	for (size_t i = 0; i < nr; i++) {
		losses[i].cpu = rnd_below(model.cpus);
		losses[i].from = rnd_below(model.ns);
		losses[i].to = losses[i].from + rnd_below(model.ns - losses[i].from + 1);
		model_lose(&model, losses[i].cpu, losses[i].from, losses[i].to);
	}
	if (rnd_chance(50))
		model_infer_switches(&model);
	for (size_t i = 0; i < nr; i++)
		if (rnd_chance(50))
			put_kernel_loss(&t, T0 + losses[i].from, T0 + losses[i].to, losses[i].cpu);
		else
			losses[i].cpu += CPUS_MAX;
	model_file(&model, dense ? 1 : 1 + rnd_below(6), &t);
	for (size_t i = 0; i < nr; i++)
		if (losses[i].cpu >= CPUS_MAX)
			put_kernel_loss(&t, T0 + losses[i].from, T0 + losses[i].to,
					losses[i].cpu - CPUS_MAX);
	end_file(&t);
}

/* Runs a machine whose provider has losses. A loss may have taken records of durations. */
static void provider_loss_round(void)
{
	const bool dense = rnd_chance(50);
	struct trace t;

	lossy = true;
	model_run(&model, dense, rnd_chance(50));
	begin_file(&t);
	for (size_t i = 1 + rnd_below(3); i; i--) {
		unsigned int from = rnd_below(model.ns);
		unsigned int to = from + rnd_below(model.ns - from + 1);

		model_lose_durations(&model, from, to);
		put_provider_loss(&t, T0 + from, T0 + to, "server");
	}
	model_file(&model, dense ? 1 : 1 + rnd_below(6), &t);
	end_file(&t);
}

static void rounds(void (*one)(void))
{
	if (model_rounds(&model, one) > 100)
		assert_true(second_readings);
	second_readings = 0;
}

static void schedules_equal_the_model(void **state)
{
	const char *rounds_text = getenv("ANALYSIS_ROUNDS");

	told_parties = 0;
	rounds(schedule_round);
	print_message("%llu times the records told what the other party worked on\n",
		      (unsigned long long)told_parties);
	/*
	 * A small number of machines may by chance have no other party with an operation, so
	 * require one only after many rounds.
	 */
	assert_true(getenv("ANALYSIS_SEED") || (rounds_text && atoi(rounds_text) < 1000) ||
		    told_parties);
}

static void kernel_loss_is_unknown_never_wrong(void **state)
{
	rounds(kernel_loss_round);
}

static void provider_loss_is_unknown_never_wrong(void **state)
{
	rounds(provider_loss_round);
}

static int print_seed(void **state)
{
	model_end_rounds(&model);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(schedules_equal_the_model, print_seed),
		cmocka_unit_test_teardown(kernel_loss_is_unknown_never_wrong, print_seed),
		cmocka_unit_test_teardown(provider_loss_is_unknown_never_wrong, print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
