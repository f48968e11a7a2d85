// SPDX-License-Identifier: GPL-2.0
/* A model of threads that are switched and write durations. It knows each duration's CPU time. */
#include "times.h"

static uint64_t ran(const struct times *m, const struct times_thread *t)
{
	return t->ran + (t->cpu < 0 ? 0 : m->s.ticks - t->since);
}

/* Switches @cpu to @next, -1: idle. @lose: the record is lost. */
static void run_next(struct times *m, int cpu, int next, bool lose)
{
	const int old = m->on[cpu];
	struct times_thread *t;

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
static void work(struct times *m, int number)
{
	struct times_thread *t = &m->threads[number];
	struct words *b = &m->events[t->cpu];
	struct event e = { 0, m->s.ticks, number + 1, IDX(1), IDX(2), m->s.ticks, 0, { } };

	if (t->depth == TIMES_DEPTH || (t->depth && rnd_below(2))) {
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

static void step(struct times *m, bool losing)
{
	const int cpu = rnd_below(TIMES_CPUS), number = m->on[cpu];

	m->s.ticks += 1 + rnd_below(50);
	if (number >= 0 && rnd_below(3)) {
		work(m, number);
		return;
	}
	for (int tries = 0; tries < 4; tries++) {
		const int next = (int)rnd_below(TIMES_THREADS + 1) - 1;

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
static void read_rings(struct times *m, uint64_t since)
{
	const unsigned int first = rnd_below(2 * TIMES_CPUS);

	for (unsigned int i = 0; i < 2 * TIMES_CPUS; i++) {
		const unsigned int ring = (first + i) % (2 * TIMES_CPUS);
		uint64_t before = at_compose_stats(m->s.c)->total.dropped;

		if (ring < TIMES_CPUS)
			give_events(&m->s, 1, ring, &m->events[ring]);
		else
			give_sched(&m->s, ring - TIMES_CPUS, &m->switches[ring - TIMES_CPUS]);
		if (at_compose_stats(m->s.c)->total.dropped == before)
			continue;
		m->lost_from[m->nr_losses] = since;
		m->lost_to[m->nr_losses++] = m->s.ticks;
	}
}

void times_run(struct times *m, bool losing)
{
	uint64_t since;

	stream_introduce(&m->s);
	for (int i = 0; i < TIMES_THREADS; i++) {
		m->threads[i].cpu = -1;
		give_thread(&m->s, 1, i + 1, 100, 1000 + i, "worker");
	}
	for (int i = 0; i < TIMES_CPUS; i++) {
		m->on[i] = -1;
		m->s.ticks++;
		run_next(m, i, i, false);
	}
	for (int r = 0; r < TIMES_ROUNDS; r++) {
		since = m->s.ticks;
		for (int i = 0; i < TIMES_STEPS; i++)
			step(m, losing && r % 4 == 1);
		m->s.ticks++;
		m->rounds[r] = m->s.ticks;
		read_rings(m, r ? m->rounds[r - 1] : since);
		if (m->round)
			m->round(m, r);
	}
	give_clock(&m->s, ASYNCTRACE_MOMENT_STOP);
}

void times_free(struct times *m)
{
	for (int k = 0; k < TIMES_CPUS; k++) {
		words_free(&m->events[k]);
		words_free(&m->switches[k]);
	}
}

bool times_lost(const struct times *m, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < m->nr_losses; i++)
		if (m->lost_from[i] <= to && m->lost_to[i] >= from)
			return true;
	return false;
}

void times_compare(const struct times *m, const char *path, struct times_seen *seen)
{
	struct file f;

	for (file_open(&f, path); file_event(&f, 2);) {
		const struct fxt_arg *want = fxt_arg(&f.rec, "want"), *got = fxt_arg(&f.rec, "cpu_ns");

		assert_true(want || !got);
		if (!want)
			continue;
		seen->durations++;
		seen->known += !!got;
		if (got)
			assert_int_equal(got->u, want->u);
		/*
		 * A complete duration may lack its CPU time only if switches were lost. Records of
		 * other types do not have the begin, so they cannot be checked.
		 */
		else if (f.rec.number == ASYNCTRACE_FXT_DURATION)
			assert_true(times_lost(m, f.rec.ns, f.rec.end_ns));
	}
	file_close(&f);
}
