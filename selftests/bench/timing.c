// SPDX-License-Identifier: GPL-2.0
/* Measures the rows of a benchmark, and prints them */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "timing.h"

#define TEN		"0123456789"
#define FORTY		TEN TEN TEN TEN
#define TWO_HUNDRED	FORTY FORTY FORTY FORTY FORTY

const char *text_0 = "", *text_3 = "abc", *text_11 = "/index.html", *text_40 = FORTY,
	*text_200 = TWO_HUNDRED,
	*text_1000 = TWO_HUNDRED TWO_HUNDRED TWO_HUNDRED TWO_HUNDRED TWO_HUNDRED;
size_t length_11 = 11;
static struct {
	pthread_barrier_t gate;
	struct row *rows;
	int nrows, nthreads, rounds;
	double took[THREADS_MAX];
} run;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void pin(int n)
{
	cpu_set_t all, one;
	int cpu;

	sched_getaffinity(0, sizeof(all), &all);
	n %= CPU_COUNT(&all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !n--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *worker(void *arg)
{
	const int me = (intptr_t)arg;

	pin(me);
	for (int round = 0; round < run.rounds; round++) {
		for (int i = 0; i < run.nrows; i++) {
			struct row *r = &run.rows[i];
			double t, worst = 0;

			pthread_barrier_wait(&run.gate);
			t = now();
			r->window(me);
			run.took[me] = (now() - t) / WINDOW;
			pthread_barrier_wait(&run.gate);
			if (me)
				continue;
			for (int k = 0; k < run.nthreads; k++)
				if (run.took[k] > worst)
					worst = run.took[k];
			if (!r->ns[run.nthreads - 1] || worst < r->ns[run.nthreads - 1])
				r->ns[run.nthreads - 1] = worst;
		}
	}
	return NULL;
}

void measure(struct row *rows, int nrows, int nthreads, int rounds)
{
	pthread_t threads[THREADS_MAX];

	run.rows = rows;
	run.nrows = nrows;
	run.nthreads = nthreads;
	run.rounds = rounds;
	pthread_barrier_init(&run.gate, NULL, nthreads);
	for (intptr_t i = 0; i < nthreads; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			exit(2);
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&run.gate);
}

void print_rows(const struct row *rows, int nrows, int nthreads)
{
	for (int i = 0; i < nrows; i++)
		for (int n = 1; n <= nthreads; n++)
			printf("\"%s%s\": %.2f\n", rows[i].name, n == 1 ? "" : "_2threads",
			       rows[i].ns[n - 1]);
}
