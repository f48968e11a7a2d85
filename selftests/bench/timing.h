/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the benchmarks measure: short windows, repeated many times, in turns, so that a change of the
 * processor's clock or other work hits all rows alike. The best window of each row counts.
 */
#ifndef TIMING_H
#define TIMING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WINDOW		4000	/* events */
#define THREADS_MAX	2

/**
 * struct row - a row of the table
 * @name: in the table and in bench.json
 * @window: runs the statement WINDOW times on thread number @thread
 * @ns: time of one statement in the best window, with 1 or 2 threads at the same time
 */
struct row {
	const char *name;
	void (*window)(int thread);
	double ns[THREADS_MAX];
};

/* Measures all rows @rounds times, with @nthreads threads at once. */
void measure(struct row *rows, int nrows, int nthreads, int rounds);
/* Prints a line of JSON for each row. */
void print_rows(const struct row *rows, int nrows, int nthreads);

/* The compiler does not know these lengths. */
extern const char *text_0, *text_3, *text_11, *text_40, *text_200, *text_1000;
extern size_t length_11;

static inline const char *text_random(void)
{
	static __thread uint64_t x;

	x = x * 6364136223846793005u + 1442695040888963407u;
	return text_40 + (x >> 59);
}

/* Keeps the compiler from optimizing a loop away. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x) : : "memory")

#endif /* TIMING_H */
