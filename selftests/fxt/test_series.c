// SPDX-License-Identifier: GPL-2.0
/*
 * A recording is divided into a series of files at random times. Each file must have the same
 * states of all threads as the model from which the records were made.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "stream.h"

#define CPUS	3
#define THREADS	9
#define SLEEPS	4000
#define FILES	8
#define STEPS	1500

#define READ	0	/* number of the system call read */

struct model {
	struct stream s;
	struct words rings[CPUS];
	int on[CPUS];		/* the thread, -1: idle */
	enum { RUNNING, RUNNABLE, ASLEEP } state[THREADS];
	struct sleep {
		int thread;
		uint64_t from, to;
	} sleeps[SLEEPS];
	size_t nr_sleeps;
	int fds[FILES];
	uint64_t read[CPUS];	/* when the rings were read */
	/* File i has all records from since[i] to until[i]. */
	uint64_t since[FILES], until[FILES];
};

static uint64_t i32(unsigned int name, int32_t v)
{
	return ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, name, (uint32_t)v);
}

static uint64_t u32(unsigned int name, uint32_t v)
{
	return ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, name, v);
}

/* Puts a switch with the reason of the outgoing thread. */
static void put(struct model *m, int cpu, int next, bool sleeps)
{
	const int old = m->on[cpu];
	struct words *b = &m->rings[cpu];
	const unsigned int more = old < 0 ? 0 : sleeps ? 4 : 2;

	words_push(b, ASYNCTRACE_FXT_SWITCH_HEAD(6 + more + sleeps, 2 + more, cpu,
						 sleeps ? ASYNCTRACE_FXT_STATE_BLOCKED :
							  ASYNCTRACE_FXT_STATE_NEW));
	words_push(b, m->s.ticks);
	words_push(b, old < 0 ? 0 : 1000 + old);
	words_push(b, next < 0 ? 0 : 1000 + next);
	words_push(b, i32(ASYNCTRACE_FXT_STR_OUTGOING,
			  old < 0 ? ASYNCTRACE_FXT_WEIGHT_IDLE : 120));
	words_push(b, i32(ASYNCTRACE_FXT_STR_INCOMING,
			  next < 0 ? ASYNCTRACE_FXT_WEIGHT_IDLE : 120));
	if (more) {
		words_push(b, u32(ASYNCTRACE_FXT_STR_STATE, sleeps));
		words_push(b, u32(ASYNCTRACE_FXT_STR_OFF_CPU, sleeps ?
				  ASYNCTRACE_FXT_OFF_SYSCALL : ASYNCTRACE_FXT_OFF_PREEMPTED));
	}
	if (sleeps) {
		words_push(b, i32(ASYNCTRACE_FXT_STR_SYSCALL, READ));
		words_push(b, ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2,
						 ASYNCTRACE_FXT_STR_SYSCALL_ARG, 0));
		words_push(b, old);
	}
	b->records++;
	m->on[cpu] = next;
}

static int runnable(struct model *m)
{
	const int first = rnd_below(THREADS);

	for (int i = 0; i < THREADS; i++)
		if (m->state[(first + i) % THREADS] == RUNNABLE)
			return (first + i) % THREADS;
	return -1;
}

static void leave(struct model *m, int cpu, bool sleeps)
{
	const int old = m->on[cpu], next = runnable(m);

	if (old < 0 && next < 0)
		return;
	if (old >= 0 && !sleeps && next < 0)
		return;
	put(m, cpu, next, sleeps);
	if (old >= 0)
		m->state[old] = sleeps ? ASLEEP : RUNNABLE;
	if (sleeps)
		m->sleeps[m->nr_sleeps++] = (struct sleep){ old, m->s.ticks, UINT64_MAX };
	if (next >= 0)
		m->state[next] = RUNNING;
}

/* The thread that runs on the CPU, or an interrupt, wakes a thread. */
static void wake(struct model *m, int cpu)
{
	const int thread = rnd_below(THREADS);
	size_t i = m->nr_sleeps;

	if (m->state[thread] != ASLEEP)
		return;
	put_wakeup(&m->rings[cpu], cpu, m->s.ticks, 1000 + thread,
		   m->on[cpu] < 0 || rnd_below(2) ? 0 : 1000 + m->on[cpu]);
	m->state[thread] = RUNNABLE;
	while (m->sleeps[--i].thread != thread)
		;
	m->sleeps[i].to = m->s.ticks;
}

static void step(struct model *m)
{
	const int cpu = rnd_below(CPUS);

	m->s.ticks += 2 + rnd_below(50);
	if (rnd_below(3) == 0)
		wake(m, cpu);
	else
		leave(m, cpu, m->on[cpu] >= 0 && m->nr_sleeps < SLEEPS && rnd_below(3));
}

static void read_ring(struct model *m, int cpu)
{
	m->read[cpu] = ++m->s.ticks;
	give_sched(&m->s, cpu, &m->rings[cpu]);
}

static void end_file(struct model *m, int file)
{
	m->until[file] = UINT64_MAX;
	for (int cpu = 0; cpu < CPUS; cpu++)
		if (m->until[file] > m->read[cpu])
			m->until[file] = m->read[cpu];
}

/* Begins the next file after a random number of rings was read. */
static void divide(struct model *m, int file)
{
	struct at_compose_options o = { .size = sizeof(o) };
	const int before = rnd_below(CPUS + 1);

	for (int cpu = 0; cpu < before; cpu++)
		read_ring(m, cpu);
	end_file(m, file - 1);
	m->since[file] = m->s.ticks;
	m->fds[file] = memfd_create("part", MFD_CLOEXEC);
	o.fd = m->fds[file];
	assert_int_equal(at_compose_next(m->s.c, &o), 0);
	for (int cpu = before; cpu < CPUS; cpu++)
		read_ring(m, cpu);
}

static void run(struct model *m)
{
	*m = (struct model){ 0 };
	stream_open(&m->s);
	give_clock(&m->s, ASYNCTRACE_MOMENT_START);
	give_provider(&m->s, 1, 1000, 7, "model");
	for (int i = 0; i < THREADS; i++) {
		m->state[i] = RUNNABLE;
		give_thread(&m->s, 1, i + 1, 1000, 1000 + i, "worker");
	}
	for (int i = 0; i < CPUS; i++)
		m->on[i] = -1;
	m->fds[0] = m->s.fd;
	for (int file = 1; file <= FILES; file++) {
		for (int i = 0; i < STEPS; i++) {
			step(m);
			if (rnd_chance(2))
				read_ring(m, i % CPUS);
			if (rnd_chance(1))
				give_clock(&m->s, 0);
		}
		if (file < FILES)
			divide(m, file);
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		read_ring(m, cpu);
	end_file(m, FILES - 1);
	give_clock(&m->s, ASYNCTRACE_MOMENT_STOP);
	stream_finish(&m->s);
}

/* --- what a file says -------------------------------------------------------------------- */

/* Results of comparing the sleeps in one file, between .since and .until, with the model */
struct seen {
	const struct model *m;
	uint64_t since, until;
	size_t sleeps;		/* number of sleeps that equal those of the model */
	uint64_t unknown;
};

/* Finds the model's sleep of the thread at @ns, or NULL. */
static const struct sleep *sleep_at(const struct model *m, int thread, uint64_t ns)
{
	for (const struct sleep *s = m->sleeps; s < m->sleeps + m->nr_sleeps; s++)
		if (s->thread == thread && s->from <= ns && ns < s->to)
			return s;
	return NULL;
}

static int turn(void *arg, const struct analysis_turn *t)
{
	struct seen *seen = arg;
	const uint64_t from = t->sleep > seen->since ? t->sleep : seen->since;
	const struct sleep *s;

	if (from >= t->to || from >= seen->until)
		return 0;
	if (t->reason == ANALYSIS_LOST || t->reason == ANALYSIS_UNSCHEDULED) {
		seen->unknown += t->to - from;
		return 0;
	}
	s = sleep_at(seen->m, t->thread->tid - 1000, from);
	assert_non_null(s);
	assert_true(t->sleep == s->from || s->from <= seen->since);
	assert_true(t->to == s->to || (t->to >= seen->until && s->to >= seen->until));
	seen->sleeps++;
	return 0;
}

static void analyse(const char *path, struct seen *seen)
{
	const struct analysis_sink sink = { .turn = turn, .arg = seen };
	struct analysis *a = analysis_new(&(struct analysis_options){ 0 }, &sink);
	struct file f;

	assert_non_null(a);
	for (file_open(&f, path); file_next(&f);)
		assert_int_equal(analysis_record(a, &f.rec), 0);
	file_close(&f);
	assert_int_equal(analysis_finish(a), 0);
	analysis_free(a);
}

/* Returns the number of sleeps that overlap the time from @from to @to. */
static size_t count(const struct model *m, uint64_t from, uint64_t to)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_sleeps; i++)
		nr += m->sleeps[i].to > from && m->sleeps[i].from < to;
	return nr;
}

static void each_file_has_the_states_of_the_model(void **unused)
{
	static struct model m;

	for (int i = 0; i < 20; i++) {
		run(&m);
		for (int file = 0; file < FILES; file++) {
			struct seen seen = {
				.m = &m, .since = m.since[file], .until = m.until[file],
			};
			char path[32];

			snprintf(path, sizeof(path), "/proc/self/fd/%d", m.fds[file]);
			assert_clean(path, -1);
			analyse(path, &seen);
			assert_int_equal(seen.unknown, 0);
			assert_true(seen.sleeps >= count(&m, seen.since, seen.until));
			if (file)
				close(m.fds[file]);
		}
		stream_close(&m.s);
		for (int cpu = 0; cpu < CPUS; cpu++)
			words_free(&m.rings[cpu]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_has_the_states_of_the_model),
	};

	test_random_init();
	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
