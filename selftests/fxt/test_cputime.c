// SPDX-License-Identifier: GPL-2.0
/* CPU times of durations, against a model that knows when each thread had a CPU */
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cputime/cputime.h"
#include "cputime/off_time.h"
#include "times.h"

static ssize_t to_file(void *arg, const void *buf, size_t len)
{
	return write(*(int *)arg, buf, len);
}

/* Number of words of the file after each round */
static size_t words[TIMES_ROUNDS];

static void note_words(struct times *m, int round)
{
	assert_int_equal(at_compose_flush(m->s.c), 0);
	words[round] = lseek(m->s.fd, 0, SEEK_END) / 8;
}

/* Gives a session to a composer. Returns the words of the file. */
static struct words run(struct times *m, bool losing)
{
	*m = (struct times){ .round = note_words };
	stream_open(&m->s);
	times_run(m, losing);
	return stream_words(&m->s);
}

/*
 * Computes CPU times of the trace @b. @in_rounds: pushes its words in the rounds in which they were
 * written; otherwise pushes all at once. Returns the number of durations with a known time.
 */
static uint64_t add_times(struct times *m, const struct words *b, bool in_rounds)
{
	int fd = memfd_create("times", MFD_CLOEXEC);
	struct cputime_options o = { .write = to_file, .arg = &fd };
	struct cputime *c = cputime_new(&o);
	struct times_seen seen = { 0 };
	uint64_t until;
	size_t done = 0;
	char path[32];

	assert_non_null(c);
	for (int r = 0; in_rounds && r < TIMES_ROUNDS; r++) {
		assert_int_equal(cputime_push(c, b->w + done, words[r] - done), 0);
		done = words[r];
		/* A recorder may have read all records, or only those from before this round. */
		until = r % 2 ? m->rounds[r] : m->rounds[r] - TIMES_STEPS;
		assert_int_equal(cputime_settle(c, until, false), 0);
	}
	assert_int_equal(cputime_push(c, b->w + done, b->nr - done), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), cputime_written(c));
	assert_int_equal(cputime_written(c), b->nr * 8 + cputime_added(c));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	times_compare(m, path, &seen);
	assert_int_equal(seen.durations, m->durations);
	assert_int_equal(seen.known, cputime_known(c));
	assert_int_equal(m->durations - seen.known, cputime_unknown(c));
	cputime_free(c);
	close(fd);
	return seen.known;
}

static void times_equal_the_model(void **unused)
{
	static struct times m;
	struct words b;

	for (int i = 0; i < 10; i++) {
		b = run(&m, false);
		assert_int_equal(add_times(&m, &b, false), m.durations);
		assert_int_equal(add_times(&m, &b, true), m.durations);
		words_free(&b);
		times_free(&m);
	}
}

/* A time may be missing near a loss, but it is never wrong. */
static void times_are_right_or_unknown_after_losses(void **unused)
{
	uint64_t known = 0, all = 0;
	static struct times m;
	struct words b;

	for (int i = 0; i < 20; i++) {
		b = run(&m, true);
		known += add_times(&m, &b, i % 2);
		all += m.durations;
		words_free(&b);
		times_free(&m);
	}
	assert_true(known > all / 2 && known < all);
}

/*
 * Returns durations of slot 1, thread 101, which has no switch unless @switches. @tracepoints_lost:
 * events of the kernel's tracepoints were lost all the time.
 */
static struct words special(bool switches, bool tracepoints_lost)
{
	struct event full = { ASYNCTRACE_FXT_DURATION, 0, 1, IDX(1), IDX(2), 0, 15, { } };
	struct words b = { 0 }, sched = { 0 };
	struct stream s;

	stream_simple(&s);
	/* This duration began before the session. */
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION, s.ticks - 10, 1, IDX(1), TXT("old"),
				       s.ticks + 10, 0, { } });
	s.ticks += 100;
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION_END, s.ticks, 1, IDX(1), TXT("end"), 0,
				       0, { } });
	for (int i = 0; i < 15; i++)
		full.args[i] = ARG_U64(IDX(3), i);
	full.ticks = s.ticks;
	full.extra = s.ticks + 10;
	put_event(&b, &full);
	s.ticks += 100;
	put_event(&b, &(struct event){ ASYNCTRACE_FXT_DURATION, s.ticks, 1, IDX(1), TXT("good"),
				       s.ticks + 20, 0, { } });
	s.ticks += 100;
	if (switches) {
		put_switch(&sched, 0, s.ticks, 101, 0, 3);
		give_sched(&s, 0, &sched);
	}
	give_events(&s, 1, 0, &b);
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	if (tracepoints_lost)
		assert_int_equal(at_compose_tracepoint_counts(s.c, 0, 1, 2, 0), 0);
	words_free(&b);
	words_free(&sched);
	return stream_words(&s);
}

/* Returns the names of the durations with a time. */
static const char *names_with_time(bool switches, bool missed, bool tracepoints_lost)
{
	int fd = memfd_create("times", MFD_CLOEXEC);
	struct cputime_options o = { .write = to_file, .arg = &fd };
	struct cputime *c = cputime_new(&o);
	struct words b = special(switches, tracepoints_lost);
	static char names[256];
	struct file f;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*names = '\0';
	assert_non_null(c);
	assert_int_equal(cputime_push(c, b.w, b.nr), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, missed), 0);
	for (file_open(&f, path); file_event(&f, 2);)
		if (fxt_arg(&f.rec, "cpu_ns"))
			sprintf(names + strlen(names), "%.*s %llu ", (int)f.rec.name.len, f.rec.name.s,
				(unsigned long long)fxt_arg(&f.rec, "cpu_ns")->u);
	file_close(&f);
	cputime_free(c);
	close(fd);
	words_free(&b);
	return names;
}

static void time_is_left_out_if_it_is_not_known(void **unused)
{
	assert_string_equal(names_with_time(false, false, false), "good 20 ");
	assert_string_equal(names_with_time(true, false, false), "good 20 ");
	assert_string_equal(names_with_time(true, false, true), "good 20 ");
	/* The thread may have left its CPU without a record. */
	assert_string_equal(names_with_time(false, true, false), "");
	assert_string_equal(names_with_time(true, true, false), "");
}

/* Takes at most 100 bytes a call, often a part of a record. Fails after *@arg calls. */
static ssize_t fails_later(void *arg, const void *buf, size_t len)
{
	return --*(int *)arg < 0 ? -ENOSPC : len < 100 ? (ssize_t)len : 100;
}

static void failure_of_writing_is_reported(void **unused)
{
	struct words b = special(false, false);
	int writes = 3;
	struct cputime_options o = { .write = fails_later, .arg = &writes };
	struct cputime *c = cputime_new(&o);

	assert_non_null(c);
	assert_int_equal(cputime_push(c, b.w, b.nr), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), -ENOSPC);
	assert_int_equal(cputime_push(c, b.w, b.nr), -ENOSPC);
	/* 300 bytes were taken, and they end within a record, which does not count. */
	assert_in_range(cputime_written(c), 200, 296);
	cputime_free(c);
	writes = 100;
	c = cputime_new(&o);
	assert_int_equal(cputime_push(c, b.w, b.nr), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), 0);
	assert_int_equal(cputime_written(c), b.nr * 8 + cputime_added(c));
	cputime_free(c);
	words_free(&b);
}

/* --- a history that is too long ------------------------------------------------- */

#define LONG_THREADS	3
#define LONG_TURNS	400

/*
 * Returns how long a thread had a CPU between @from and @to. The thread must have a CPU at both
 * times. @at: times at which it left its CPU and got one again, in turns
 */
static uint64_t time_on_cpu(const uint64_t *at, size_t nr, uint64_t from, uint64_t to)
{
	uint64_t sum = to - from;

	for (size_t i = 0; i + 1 < nr; i += 2)
		if (at[i] >= from && at[i + 1] <= to)
			sum -= at[i + 1] - at[i];
	return sum;
}

static void a_long_history_forgets_and_stays_exact(void **unused)
{
	struct history h = { .kept_max = 64 };
	uint64_t at[LONG_THREADS][LONG_TURNS], ns = 1000, on;
	size_t nr[LONG_THREADS] = { 0 }, known = 0, unknown = 0;

	for (int i = 0; i < LONG_THREADS * LONG_TURNS / 2; i++) {
		const uint32_t tid = rnd_below(LONG_THREADS);

		if (nr[tid] == LONG_TURNS)
			continue;
		ns += 1 + rnd_below(1000);
		assert_int_equal(history_turn(&h, ns, tid, nr[tid] % 2), 0);
		at[tid][nr[tid]++] = ns;
		if (rnd_chance(20))
			assert_int_equal(history_settle(&h, ns), 0);
	}
	assert_int_equal(history_settle(&h, ns), 0);
	for (uint32_t tid = 0; tid < LONG_THREADS; tid++) {
		/*
		 * Check all pairs of moments at which the thread leaves its CPU. It is on the CPU
		 * until then.
		 */
		for (size_t i = 0; i < nr[tid]; i += 2) {
			for (size_t j = i; j < nr[tid]; j += 2) {
				const uint64_t from = at[tid][i], to = at[tid][j];

				if (!history_on_cpu(&h, tid, from, to, false, &on)) {
					unknown++;
					continue;
				}
				assert_int_equal(on, time_on_cpu(at[tid], nr[tid], from, to));
				known++;
			}
		}
	}
	assert_true(known > 0 && unknown > 0);
	history_free(&h);
	(void)unused;
}

/* --- threads that end ------------------------------------------------------------- */

static ssize_t to_nowhere(void *arg, const void *buf, size_t len)
{
	(void)arg, (void)buf;
	return len;
}

/* Puts a switch of the file from @out to @in. @out has ended if it is not 0. */
static void put_turn(struct words *b, uint64_t ns, uint32_t out, uint32_t in)
{
	words_push(b, ASYNCTRACE_FXT_SWITCH_HEAD(4, 0, 0, out ? ASYNCTRACE_FXT_STATE_DEAD : 0));
	words_push(b, ns);
	words_push(b, out);
	words_push(b, in);
}

static void put_mark(struct words *b, uint64_t ns, uint32_t tid, unsigned int type)
{
	words_push(b, ASYNCTRACE_FXT_EVENT_HEAD(type, 4, 0, 0, 0));
	words_push(b, ns);
	words_push(b, 100);
	words_push(b, tid);
}

static void push_all(struct cputime *c, struct words *b, uint64_t ns)
{
	assert_int_equal(cputime_push(c, b->w, b->nr), 0);
	assert_int_equal(cputime_settle(c, ns, false), 0);
	b->nr = 0;
}

static void memory_of_ended_threads_is_freed(void **unused)
{
	struct cputime_options o = { .write = to_nowhere };
	struct cputime *c = cputime_new(&o);
	const uint32_t threads = 30000;
	struct words b = { 0 };
	size_t before = 0;
	uint64_t ns = 0;

	assert_non_null(c);
	words_push(&b, ASYNCTRACE_FXT_MAGIC);
	for (uint32_t tid = 1; tid <= threads; tid++) {
		put_turn(&b, ns += 10, 0, tid);
		put_mark(&b, ns += 10, tid, ASYNCTRACE_FXT_DURATION_BEGIN);
		/* Some threads end within a duration. */
		if (tid % 3)
			put_mark(&b, ns += 10, tid, ASYNCTRACE_FXT_DURATION_END);
		put_turn(&b, ns += 10, tid, 0);
		if (tid % 1000 == 0)
			push_all(c, &b, ns);
		if (tid == threads / 2)
			before = mallinfo2().uordblks;
	}
	assert_int_equal(cputime_known(c), threads / 3 * 2);
	assert_int_equal(cputime_unknown(c), 0);
	/* Under ASan, this function returns 0. */
	assert_true(mallinfo2().uordblks <= before + 65536);
	cputime_free(c);
	words_free(&b);
	(void)unused;
}

static void thread_does_not_end_durations_of_an_ended_one(void **unused)
{
	struct cputime_options o = { .write = to_nowhere };
	struct cputime *c = cputime_new(&o);
	struct words b = { 0 };

	assert_non_null(c);
	words_push(&b, ASYNCTRACE_FXT_MAGIC);
	put_turn(&b, 10, 0, 7);
	put_mark(&b, 20, 7, ASYNCTRACE_FXT_DURATION_BEGIN);
	put_turn(&b, 30, 7, 0);
	push_all(c, &b, 30);
	put_turn(&b, 40, 0, 7);
	put_mark(&b, 50, 7, ASYNCTRACE_FXT_DURATION_END);
	put_mark(&b, 60, 7, ASYNCTRACE_FXT_DURATION_BEGIN);
	put_mark(&b, 70, 7, ASYNCTRACE_FXT_DURATION_END);
	push_all(c, &b, 70);
	assert_int_equal(cputime_unknown(c), 1);
	assert_int_equal(cputime_known(c), 1);
	cputime_free(c);
	words_free(&b);
	(void)unused;
}

/* The new thread has the id of the ended one, and both turns are settled before the end is told. */
static void history_of_a_later_thread_is_kept(void **unused)
{
	struct history h = { 0 };
	uint64_t ns;

	assert_int_equal(history_turn(&h, 10, 7, true), 0);
	assert_int_equal(history_turn(&h, 30, 7, false), 0);
	assert_int_equal(history_turn(&h, 50, 7, true), 0);
	assert_int_equal(history_turn(&h, 60, 7, false), 0);
	assert_int_equal(history_turn(&h, 65, 7, true), 0);
	assert_int_equal(history_settle(&h, 70), 0);
	history_ended(&h, 7, 30);
	assert_true(history_on_cpu(&h, 7, 55, 70, false, &ns));
	assert_int_equal(ns, 10);
	assert_int_equal(history_turn(&h, 80, 7, false), 0);
	assert_int_equal(history_settle(&h, 80), 0);
	history_ended(&h, 7, 80);
	assert_int_equal(h.threads.used, 0);
	assert_int_equal(h.kept, 0);
	history_free(&h);
	(void)unused;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_equal_the_model),
		cmocka_unit_test(times_are_right_or_unknown_after_losses),
		cmocka_unit_test(time_is_left_out_if_it_is_not_known),
		cmocka_unit_test(failure_of_writing_is_reported),
		cmocka_unit_test(a_long_history_forgets_and_stays_exact),
		cmocka_unit_test(memory_of_ended_threads_is_freed),
		cmocka_unit_test(thread_does_not_end_durations_of_an_ended_one),
		cmocka_unit_test(history_of_a_later_thread_is_kept),
	};

	test_random_init();
	return cmocka_run_group_tests_name("cputime", tests, NULL, NULL);
}
