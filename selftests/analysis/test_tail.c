// SPDX-License-Identifier: GPL-2.0
/*
 * Traces of random machines: the file of record --slower-than must give the same answers about slow
 * operations as the whole trace.
 */
#include <linux/asynctrace_fxt.h>
#include <malloc.h>

#include "model.h"
#include "tailed.h"
#include "words.h"

static struct model model;

static uint64_t compared, skipped;

static void check_trace(const struct trace *t, uint64_t window)
{
	const uint64_t bound = rnd_below(model.ns), before = rnd_chance(50) ? 0 : rnd_below(100);
	const struct tail_counts counts = tailed_check(t, &(struct tailed_options){
		.slower_than = bound, .before = before, .window = window, .torn = true,
	}, &compared);

	skipped += counts.late || counts.hasty;
}

static void begin_file(struct trace *t)
{
	*t = (struct trace){ 0 };
	put_thread(t, PSEUDO, 0x70000000, "clock");
	put_event(t, ASYNCTRACE_FXT_INSTANT, T0, PSEUDO, "session start", 0);
	for (unsigned int i = 0; i < model.threads; i++)
		put_thread(t, TID(i), 100, "worker");
}

static void end_file(struct trace *t, uint64_t window)
{
	put_event(t, ASYNCTRACE_FXT_INSTANT, T0 + model.ns, PSEUDO, "trace end", 0);
	check_trace(t, window);
	trace_free(t);
	model_free(&model);
}

static void whole_round(void)
{
	const bool dense = rnd_chance(50);
	struct trace t;

	model_run(&model, dense, rnd_chance(50));
	begin_file(&t);
	model_file(&model, dense ? 1 : 1 + rnd_below(6), &t);
	end_file(&t, 1 << 30);
}

static void small_window_round(void)
{
	struct trace t;

	model_run(&model, false, rnd_chance(50));
	begin_file(&t);
	model_file(&model, 1 + model.ns / (1 + rnd_below(20)), &t);
	end_file(&t, 4096 << rnd_below(6));
}

static void loss_round(void)
{
	const bool dense = rnd_chance(50);
	size_t nr = 1 + rnd_below(3);
	struct trace t;

	model_run(&model, dense, rnd_chance(50));
	begin_file(&t);
	for (size_t i = 0; i < nr; i++) {
		unsigned int cpu = rnd_below(model.cpus), from = rnd_below(model.ns);
		unsigned int to = from + rnd_below(model.ns - from + 1);

		if (rnd_chance(30)) {
			put_provider_loss(&t, T0 + from, T0 + to, "server");
			continue;
		}
		model_lose(&model, cpu, from, to);
		put_kernel_loss(&t, T0 + from, T0 + to, cpu);
	}
	model_infer_switches(&model);
	model_file(&model, dense ? 1 : 1 + rnd_below(6), &t);
	end_file(&t, 1 << 30);
}

#define DEPTH_MAX	8

/* Open durations of a thread */
struct wild_thread {
	bool nests;		/* each is within the previous one */
	bool enters;		/* durations say what the thread works on */
	const char *names[DEPTH_MAX];
	unsigned int depth;
	uint64_t since;		/* time of the last begin or end of a duration */
};

static void put_wild_event(struct trace *t, struct wild_thread *w, uint32_t tid, uint64_t ns,
			   unsigned int type, uint64_t id)
{
	static const char *const names[] = { "a", "b", "" };
	const char *name = names[rnd_below(3)];
	const uint64_t from = w->nests ? w->since : T0;

	if (type == ASYNCTRACE_FXT_DURATION) {
		put_duration(t, from + rnd_below(ns - from + 1), ns, tid, name);
	} else if (type == ASYNCTRACE_FXT_DURATION_BEGIN && w->depth < DEPTH_MAX) {
		w->names[w->depth++] = name;
		put_event(t, type, ns, tid, name, 0);
		if (w->enters && rnd_chance(70))
			add_number(&t->of[t->nr - 1], "operation", ASYNCTRACE_FXT_ARG_UINT64, id);
	} else if (type == ASYNCTRACE_FXT_DURATION_END && w->depth) {
		w->depth--;
		put_event(t, type, ns, tid, w->nests ? w->names[w->depth] : name, 0);
		if (w->enters && rnd_chance(50))
			add_number(&t->of[t->nr - 1], "resumed", ASYNCTRACE_FXT_ARG_UINT64, id);
	} else if (type > ASYNCTRACE_FXT_DURATION) {
		put_event(t, type, ns, tid, name, id);
		if (w->enters && type == ASYNCTRACE_FXT_ASYNC_BEGIN)
			add_number(&t->of[t->nr - 1], "parent", ASYNCTRACE_FXT_ARG_UINT64, id + 1);
	}
	if (type <= ASYNCTRACE_FXT_DURATION)
		w->since = ns;
}

/* The thread exits in its open durations, and the next thread gets its id. */
static void put_wild_exit(struct trace *t, struct wild_thread *w, uint32_t tid, uint64_t ns)
{
	const unsigned int cpu = rnd_below(model.cpus);

	put_switch(t, ns, cpu, 0, tid, 0);
	put_switch(t, ns, cpu, tid, 0, EXITS);
	w->depth = 0;
	w->since = ns;
}

/*
 * Puts events of a program that begins, ends and reuses ids at random, of types from @first on.
 * @exits: percentage of exits
 */
static void put_wild(struct trace *t, unsigned int first, unsigned int exits)
{
	const uint64_t ids = 1 + rnd_below(6), step = 2 + rnd_below(40);
	const bool nests = rnd_chance(50), enters = rnd_chance(50);
	struct wild_thread threads[THREADS_MAX] = { 0 };

	for (unsigned int i = 0; i < THREADS_MAX; i++) {
		threads[i].since = T0;
		threads[i].nests = nests;
		threads[i].enters = enters;
	}
	for (uint64_t ns = T0; ns + 2 < T0 + model.ns; ns += rnd_below(step)) {
		unsigned int i = rnd_below(model.threads);

		/* Neither the thread nor the next one writes an event at the time of the exit. */
		if (exits && rnd_chance(exits)) {
			put_wild_exit(t, &threads[i], TID(i), ++ns);
			ns++;
			continue;
		}
		put_wild_event(t, &threads[i], TID(i), ns,
			       first + rnd_below(ASYNCTRACE_FXT_EVENT_TYPES - first),
			       rnd_below(ids));
	}
}

static void wild_round(void)
{
	const bool scheduled = rnd_chance(50);
	struct trace t;

	model_run(&model, scheduled, rnd_chance(50));
	begin_file(&t);
	if (scheduled)
		model_file(&model, 1, &t);
	/* Wild durations would not nest with those of the model, so do not mix them. */
	put_wild(&t, scheduled ? ASYNCTRACE_FXT_ASYNC_BEGIN : ASYNCTRACE_FXT_DURATION_BEGIN,
		 scheduled ? 0 : rnd_below(20));
	end_file(&t, rnd_chance(50) ? 1 << 30 : 4096 << rnd_below(6));
}

/* --- long traces ------------------------------------------------------------------------ */

#define LIVES		200000
#define LIVE_TIDS	20000

static ssize_t drop_output(void *arg, const void *buf, size_t len)
{
	return len;
}

/*
 * Writes the records of a thread that begins, works on an operation and exits. Some operations and
 * durations have no end, and half of the operations have unique names.
 */
static void live(struct words *w, unsigned int i)
{
	const uint32_t tid = 1000 + i % LIVE_TIDS;
	const uint64_t ns = T0 + 1000ULL * i;
	char name[32], thread[32];
	struct trace t = { 0 };

	snprintf(name, sizeof(name), i % 2 ? "req" : "req %u", i);
	snprintf(thread, sizeof(thread), "thread %u", i % 7);
	put_thread(&t, tid, 100, thread);
	put_wakeup(&t, ns, 0, tid, 0);
	put_switch(&t, ns + 10, 0, 0, tid, 0);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, ns + 20, tid, "main", 0);
	put_event(&t, ASYNCTRACE_FXT_ASYNC_BEGIN, ns + 30, tid, name, i);
	put_event(&t, ASYNCTRACE_FXT_FLOW_STEP, ns + 40, tid, "step", i / 2);
	if (i % 5)
		put_event(&t, ASYNCTRACE_FXT_ASYNC_END, ns + 100 + (i % 101 ? 0 : 700), tid, name,
			  i);
	if (i % 3)
		put_event(&t, ASYNCTRACE_FXT_DURATION_END, ns + 850, tid, "main", 0);
	put_switch(&t, ns + 900, 0, tid, 0, EXITS);
	for (size_t k = 0; k < t.nr; k++)
		put_record(w, &t.of[k]);
	trace_free(&t);
}

static void memory_does_not_grow_with_time(void **state)
{
	const struct tail_bound bound = { .type = "*", .ns = 500, .text = "*>500ns" };
	struct tail *t = tail_new(&(struct tail_options){
		.bounds = &bound, .nr_bounds = 1, .window = 1 << 20, .write = drop_output,
	});
	struct words w = { 0 };
	size_t early = 0;	/* stays 0 under ASan, which reports no sizes */

	assert_non_null(t);
	put_head(&w);
	put_process(&w, 100, "server");
	for (unsigned int i = 0; i < LIVES; i++) {
		live(&w, i);
		tail_push(t, w.of, w.nr);
		w.nr = 0;
		if (i == LIVES / 2)
			early = mallinfo2().uordblks;
	}
	print_message("%zu bytes after one half, %zu at the end\n", early, mallinfo2().uordblks);
	assert_true(mallinfo2().uordblks <= early + early / 4);
	assert_int_equal(tail_finish(t), 0);
	assert_true(tail_counts(t)->operations > LIVES / 200);
	tail_free(t);
	free(w.of);
}

/* --- a part of a part --------------------------------------------------------------------- */

static void put_part(struct trace *t, uint64_t ns, uint32_t tid, uint64_t id, uint64_t parent)
{
	BEGINS(t, T0 + ns, tid, id);
	add_number(&t->of[t->nr - 1], "parent", ASYNCTRACE_FXT_ARG_UINT64, parent);
}

/*
 * Operation 3 is a part of 2, which has ended and is a part of 1. Only 1 is slow. Thread 2 did not
 * work on it, so the thread's records are left out.
 */
static void ended_part_is_kept_for_its_parts(void **state)
{
	const struct tailed_options options = { .slower_than = 45, .window = 1 << 20 };
	struct trace t = { 0 };

	put_thread(&t, PSEUDO, 0x70000000, "clock");
	put_event(&t, ASYNCTRACE_FXT_INSTANT, T0, PSEUDO, "session start", 0);
	put_thread(&t, 1, 100, "worker");
	put_switch(&t, T0 + 1, 0, 0, 1, 0);
	put_thread(&t, 2, 100, "another");
	put_part(&t, 10, 1, 1, 0);
	put_part(&t, 12, 2, 2, 1);
	put_part(&t, 14, 1, 3, 2);
	ENDS(&t, T0 + 16, 2, 2);
	put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, T0 + 20, 1, "scope", 0);
	add_number(&t.of[t.nr - 1], "operation", ASYNCTRACE_FXT_ARG_UINT64, 3);
	put_event(&t, ASYNCTRACE_FXT_DURATION_END, T0 + 30, 1, "scope", 0);
	add_number(&t.of[t.nr - 1], "resumed", ASYNCTRACE_FXT_ARG_UINT64, 0);
	ENDS(&t, T0 + 40, 1, 3);
	ENDS(&t, T0 + 60, 1, 1);
	put_switch(&t, T0 + 90, 0, 1, 0, SLEEPS);
	put_event(&t, ASYNCTRACE_FXT_INSTANT, T0 + 100, PSEUDO, "trace end", 0);
	compared = 0;
	tailed_check(&t, &options, &compared);
	assert_int_equal(compared, 1);
	compared = 0;
	trace_free(&t);
}

/* --- an exit ------------------------------------------------------------------------------ */

/*
 * Thread 1 exits while it works on operation 7, which stays open, and another thread gets its id.
 * The second time, thread 1 has entered the operation.
 */
static void exit_that_blocks_is_kept(void **state)
{
	const struct tailed_options options = { .slower_than = 45, .window = 1 << 20 };

	for (int i = 0; i < 2; i++) {
		struct trace t = { 0 };

		put_thread(&t, PSEUDO, 0x70000000, "clock");
		put_event(&t, ASYNCTRACE_FXT_INSTANT, T0, PSEUDO, "session start", 0);
		put_thread(&t, 1, 100, "worker");
		put_switch(&t, T0 + 1, 0, 0, 1, 0);
		BEGINS(&t, T0 + 10, 1, 7);
		put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, T0 + 20, 1, "scope", 0);
		if (i)
			add_number(&t.of[t.nr - 1], "operation", ASYNCTRACE_FXT_ARG_UINT64, 7);
		STEPS(&t, T0 + 25, 1, 7);
		put_event(&t, ASYNCTRACE_FXT_DURATION_BEGIN, T0 + 26, 1, "within", 0);
		put_switch(&t, T0 + 30, 0, 1, 0, EXITS);
		put_wakeup(&t, T0 + 40, 0, 1, 0);
		put_switch(&t, T0 + 41, 0, 0, 1, 0);
		put_duration(&t, T0 + 50, T0 + 60, 1, "next");
		put_switch(&t, T0 + 90, 0, 1, 0, SLEEPS);
		put_event(&t, ASYNCTRACE_FXT_INSTANT, T0 + 100, PSEUDO, "trace end", 0);
		compared = 0;
		tailed_check(&t, &options, &compared);
		assert_int_equal(compared, 1);
		compared = 0;
		trace_free(&t);
	}
}

/* --- the tests -------------------------------------------------------------------------- */

static void rounds(void (*one)(void))
{
	const uint64_t nr = model_rounds(&model, one);

	print_message("%llu operations compared, %llu traces late or hasty\n",
		      (unsigned long long)compared, (unsigned long long)skipped);
	/* By chance, a few rounds may have no slow operation: require one after 100 rounds. */
	assert_true(nr < 100 || compared);
	compared = 0;
	skipped = 0;
}

static void slow_operations_keep_their_answers(void **state)
{
	rounds(whole_round);
}

static void small_window_keeps_or_counts(void **state)
{
	rounds(small_window_round);
}

static void losses_keep_the_answers(void **state)
{
	rounds(loss_round);
}

static void wild_events_keep_the_answers(void **state)
{
	rounds(wild_round);
}

static int end_rounds(void **state)
{
	model_end_rounds(&model);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(slow_operations_keep_their_answers, end_rounds),
		cmocka_unit_test_teardown(small_window_keeps_or_counts, end_rounds),
		cmocka_unit_test_teardown(losses_keep_the_answers, end_rounds),
		cmocka_unit_test_teardown(wild_events_keep_the_answers, end_rounds),
		cmocka_unit_test(ended_part_is_kept_for_its_parts),
		cmocka_unit_test(exit_that_blocks_is_kept),
		cmocka_unit_test(memory_does_not_grow_with_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
