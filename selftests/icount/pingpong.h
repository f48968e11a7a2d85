/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two tasks that hand one byte, or just the CPU, to and fro
 */
#ifndef ICOUNT_PINGPONG_H
#define ICOUNT_PINGPONG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Every round is two context switches. How many wakings it has is the scheduler's
 * policy for the two, which is how switches and wakings are told apart.
 */
enum pattern {
	PATTERN_YIELD,	/* none: both give up the CPU, neither sleeps */
	PATTERN_HALF,	/* one: the partner preempts, and so it is never waited for */
	PATTERN_FULL,	/* two: each wakes the other, and then goes to sleep */
	PATTERNS
};

#define SWITCHES_PER_ROUND	2
#define WAKINGS_PER_ROUND(p)	((p) == PATTERN_YIELD ? 0 : (p) == PATTERN_HALF ? 1 : 2)

struct pair_shared;

#define BATCH		100
#define BATCHES		40
#define WARM_UP		10
/* What is measured, and what is played for it. */
#define ROUNDS		(BATCH * BATCHES)
#define ROUNDS_PLAYED	((WARM_UP + BATCH) * (1 + BATCHES))

/**
 * struct pair - the caller and its partner
 * @pattern: what they do
 * @to: pipe to the partner
 * @from: pipe from it
 * @shared: what both see, also when the partner is a process
 * @thread: the partner, where it is a thread
 * @process: the partner, where it is a process; else 0
 */
struct pair {
	enum pattern pattern;
	int to[2];
	int from[2];
	struct pair_shared *shared;
	pthread_t thread;
	pid_t process;
};

/* The partner is a thread of this process, or a child. Dies of what goes wrong. */
void pair_start(struct pair *p, enum pattern pattern, bool process);
/* Plays ROUNDS rounds. What one takes, in ticks of the CPU's counter. */
double pair_rounds(struct pair *p);
void pair_stop(struct pair *p);

static inline uint64_t counter(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* Whether the counter counts instructions. */
bool counter_counts_instructions(void);

#endif /* ICOUNT_PINGPONG_H */
