// SPDX-License-Identifier: GPL-2.0
/* CPU times of durations, against a model that knows when each thread had a CPU */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cputime/cputime.h"
#include "stream.h"

#define CPUS	3
#define THREADS	6
#define DEPTH	8
#define ROUNDS	20
#define STEPS	400

/* A thread of the model, with slot number + 1 and id 1000 + number */
struct thread {
	int cpu;		/* -1: none */
	uint64_t ran, since;	/* time on CPUs until .since */
	struct {
		uint64_t begin, ran;
		bool complete;
	} open[DEPTH];
	int depth;
};

struct model {
	struct stream s;
	struct words events[CPUS], switches[CPUS];
	struct thread threads[THREADS];
	int on[CPUS];		/* the thread, -1: idle */
	uint64_t durations;
	uint64_t rounds[ROUNDS + 1];	/* times of their ends */
	size_t words[ROUNDS + 1];	/* of the file until then */
	uint64_t lost_from[ROUNDS * CPUS], lost_to[ROUNDS * CPUS];
	size_t nr_losses;
};

static uint64_t ran(const struct model *m, const struct thread *t)
{
	return t->ran + (t->cpu < 0 ? 0 : m->s.ticks - t->since);
}

/* Switches @cpu to @next, -1: idle. @lose: the record is lost. */
static void run_next(struct model *m, int cpu, int next, bool lose)
{
	const int old = m->on[cpu];
	struct thread *t;

	if (old >= 0) {
		t = &m->threads[old];
		t->ran = ran(m, t);
		t->cpu = -1;
	}
	m->on[cpu] = next;
	if (next >= 0) {
		t = &m->threads[next];
		t->cpu = cpu;
		t->since = m->s.ticks;
	}
	if (!lose)
		put_switch(&m->switches[cpu], cpu, m->s.ticks, old < 0 ? 0 : 1000 + old,
			   next < 0 ? 0 : 1000 + next, old < 0 ? 0 : 3);
}

/* The thread begins or ends a duration. The record has the time that the model expects. */
static void work(struct model *m, int number)
{
	struct thread *t = &m->threads[number];
	struct words *b = &m->events[t->cpu];
	struct event e = { 0, m->s.ticks, number + 1, IDX(1), IDX(2), m->s.ticks, 0, { } };

	if (t->depth == DEPTH || (t->depth && rnd_below(2))) {
		t->depth--;
		e.nargs = 1;
		e.args[0] = ARG_U64(TXT("want"), ran(m, t) - t->open[t->depth].ran);
		e.type = ASYNCTRACE_FXT_DURATION_END;
		if (t->open[t->depth].complete) {
			e.type = ASYNCTRACE_FXT_DURATION;
			e.ticks = t->open[t->depth].begin;
		}
		put_event(b, &e);
		m->durations++;
		return;
	}
	t->open[t->depth].begin = m->s.ticks;
	t->open[t->depth].ran = ran(m, t);
	t->open[t->depth].complete = rnd_below(2);
	if (!t->open[t->depth++].complete) {
		e.type = ASYNCTRACE_FXT_DURATION_BEGIN;
		put_event(b, &e);
	}
}

static void step(struct model *m, bool losing)
{
	const int cpu = rnd_below(CPUS), number = m->on[cpu];

	m->s.ticks += 1 + rnd_below(50);
	if (number >= 0 && rnd_below(3)) {
		work(m, number);
		return;
	}
	for (int tries = 0; tries < 4; tries++) {
		const int next = (int)rnd_below(THREADS + 1) - 1;

		if (next == number || (next >= 0 && m->threads[next].cpu >= 0))
			continue;
		if (losing && !rnd_below(10)) {
			run_next(m, cpu, next, true);
			lose(&m->s, 0, cpu, 0, 1);
		} else {
			run_next(m, cpu, next, false);
		}
		return;
	}
}

/* Reads all rings, in any order. */
static void read_rings(struct model *m, uint64_t since)
{
	const unsigned int first = rnd_below(2 * CPUS);

	for (unsigned int i = 0; i < 2 * CPUS; i++) {
		const unsigned int ring = (first + i) % (2 * CPUS);
		uint64_t before = at_compose_stats(m->s.c)->total.dropped;

		if (ring < CPUS)
			give_events(&m->s, 1, ring, &m->events[ring]);
		else
			give_sched(&m->s, ring - CPUS, &m->switches[ring - CPUS]);
		if (at_compose_stats(m->s.c)->total.dropped == before)
			continue;
		m->lost_from[m->nr_losses] = since;
		m->lost_to[m->nr_losses++] = m->s.ticks;
	}
}

static void model_run(struct model *m, bool losing)
{
	*m = (struct model){ 0 };
	stream_simple(&m->s);
	for (int i = 0; i < THREADS; i++) {
		m->threads[i].cpu = -1;
		give_thread(&m->s, 1, i + 1, 100, 1000 + i, "worker");
	}
	for (int i = 0; i < CPUS; i++) {
		m->on[i] = -1;
		m->s.ticks++;
		run_next(m, i, i, false);
	}
	for (int r = 0; r < ROUNDS; r++) {
		const uint64_t since = m->s.ticks;

		for (int i = 0; i < STEPS; i++)
			step(m, losing && r % 4 == 1);
		m->s.ticks++;
		m->rounds[r] = m->s.ticks;
		read_rings(m, r ? m->rounds[r - 1] : since);
		assert_int_equal(at_compose_flush(m->s.c), 0);
		m->words[r] = lseek(m->s.fd, 0, SEEK_END) / 8;
	}
	give_clock(&m->s, ASYNCTRACE_MOMENT_STOP);
}

static ssize_t to_file(void *arg, const void *buf, size_t len)
{
	return write(*(int *)arg, buf, len);
}

static bool in_loss(const struct model *m, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < m->nr_losses; i++)
		if (m->lost_from[i] <= to && m->lost_to[i] >= from)
			return true;
	return false;
}

/* Compares the file with the model. Returns the number of durations with their time. */
static uint64_t compare(const struct model *m, const char *path)
{
	uint64_t known = 0, seen = 0, without = 0;
	struct file f;

	for (file_open(&f, path); file_event(&f, 2);) {
		const struct fxt_arg *want = fxt_arg(&f.rec, "want"), *got = fxt_arg(&f.rec, "cpu_ns");

		assert_true(want || !got);
		if (!want)
			continue;
		seen++;
		known += !!got;
		if (got)
			assert_int_equal(got->u, want->u);
		/* The begin of other durations is not in this record. */
		else if (f.rec.number == ASYNCTRACE_FXT_DURATION)
			without += !in_loss(m, f.rec.ns, f.rec.end_ns);
	}
	file_close(&f);
	assert_int_equal(seen, m->durations);
	assert_int_equal(without, 0);
	return known;
}

/* Pushes the words of the file in rounds, or all at once. */
static uint64_t add_times(struct model *m, const struct words *b, bool in_rounds)
{
	int fd = memfd_create("times", MFD_CLOEXEC);
	struct cputime *c = cputime_new(to_file, &fd);
	uint64_t known, until;
	size_t done = 0;
	char path[32];

	assert_non_null(c);
	for (int r = 0; in_rounds && r < ROUNDS; r++) {
		assert_int_equal(cputime_push(c, b->w + done, m->words[r] - done), 0);
		done = m->words[r];
		/* A recorder knows only that it has read all from before the present round. */
		until = r % 2 ? m->rounds[r] : m->rounds[r] - STEPS;
		assert_int_equal(cputime_settle(c, until, false), 0);
	}
	assert_int_equal(cputime_push(c, b->w + done, b->nr - done), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), cputime_written(c));
	assert_int_equal(cputime_written(c), b->nr * 8 + cputime_added(c));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	known = compare(m, path);
	assert_int_equal(known, cputime_known(c));
	assert_int_equal(m->durations - known, cputime_unknown(c));
	cputime_free(c);
	close(fd);
	return known;
}

static void times_equal_the_model(void **unused)
{
	static struct model m;
	struct words b;

	for (int i = 0; i < 10; i++) {
		model_run(&m, false);
		b = stream_words(&m.s);
		assert_int_equal(add_times(&m, &b, false), m.durations);
		assert_int_equal(add_times(&m, &b, true), m.durations);
		words_free(&b);
		for (int k = 0; k < CPUS; k++) {
			words_free(&m.events[k]);
			words_free(&m.switches[k]);
		}
	}
}

/* A time may be missing near a loss, but it is never wrong. */
static void times_are_right_or_unknown_after_losses(void **unused)
{
	uint64_t known = 0, all = 0;
	static struct model m;
	struct words b;

	for (int i = 0; i < 20; i++) {
		model_run(&m, true);
		b = stream_words(&m.s);
		known += add_times(&m, &b, i % 2);
		all += m.durations;
		words_free(&b);
		for (int k = 0; k < CPUS; k++) {
			words_free(&m.events[k]);
			words_free(&m.switches[k]);
		}
	}
	assert_true(known > all / 2 && known < all);
}

/* Returns durations of slot 1, thread 101, which has no switch unless @switches. */
static struct words special(bool switches)
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
	words_free(&b);
	words_free(&sched);
	return stream_words(&s);
}

/* Returns the names of the durations with a time. */
static const char *names_with_time(bool switches, bool missed)
{
	int fd = memfd_create("times", MFD_CLOEXEC);
	struct cputime *c = cputime_new(to_file, &fd);
	struct words b = special(switches);
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
	assert_string_equal(names_with_time(false, false), "good 20 ");
	assert_string_equal(names_with_time(true, false), "good 20 ");
	/* The thread may have left its CPU without a record. */
	assert_string_equal(names_with_time(false, true), "");
	assert_string_equal(names_with_time(true, true), "");
}

/* Takes a part of a record. */
static ssize_t fails_later(void *arg, const void *buf, size_t len)
{
	return --*(int *)arg < 0 ? -ENOSPC : len < 100 ? (ssize_t)len : 100;
}

static void failure_of_writing_is_reported(void **unused)
{
	struct words b = special(false);
	struct cputime *c;
	int writes = 3;

	c = cputime_new(fails_later, &writes);
	assert_non_null(c);
	assert_int_equal(cputime_push(c, b.w, b.nr), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), -ENOSPC);
	assert_int_equal(cputime_push(c, b.w, b.nr), -ENOSPC);
	/* 300 bytes were taken, which end in a record. */
	assert_in_range(cputime_written(c), 200, 296);
	cputime_free(c);
	writes = 100;
	c = cputime_new(fails_later, &writes);
	assert_int_equal(cputime_push(c, b.w, b.nr), 0);
	assert_int_equal(cputime_settle(c, UINT64_MAX, false), 0);
	assert_int_equal(cputime_written(c), b.nr * 8 + cputime_added(c));
	cputime_free(c);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_equal_the_model),
		cmocka_unit_test(times_are_right_or_unknown_after_losses),
		cmocka_unit_test(time_is_left_out_if_it_is_not_known),
		cmocka_unit_test(failure_of_writing_is_reported),
	};

	test_random_init();
	return cmocka_run_group_tests_name("cputime", tests, NULL, NULL);
}
