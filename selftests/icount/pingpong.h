/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two tasks that pass a byte, or only the CPU, to each other
 */
#ifndef ICOUNT_PINGPONG_H
#define ICOUNT_PINGPONG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Each round has two context switches. The scheduler's policy of the two tasks decides how many
 * wakeups it has, which separates the costs of switches and wakeups.
 */
enum pattern {
	PATTERN_YIELD,	/* no wakeup: both give up the CPU, neither sleeps */
	PATTERN_HALF,	/* one: the partner wakes up and preempts; the caller never sleeps */
	PATTERN_FULL,	/* two: each wakes the other and then sleeps */
	PATTERNS
};

#define SWITCHES_PER_ROUND	2
#define WAKINGS_PER_ROUND(p)	((p) == PATTERN_YIELD ? 0 : (p) == PATTERN_HALF ? 1 : 2)

struct pair_shared;

#define BATCH		100
#define BATCHES		40
#define WARM_UP		10
/* Rounds that are measured */
#define ROUNDS		(BATCH * BATCHES)
#define ROUNDS_PLAYED	((WARM_UP + BATCH) * (1 + BATCHES))

/**
 * struct pair - the caller and its partner
 * @pattern: what the tasks do in a round
 * @to: pipe to the partner
 * @from: pipe from the partner
 * @shared: memory that both see, also if the partner is a process
 * @thread: the partner, if it is a thread
 * @process: the partner, if it is a process; otherwise 0
 */
struct pair {
	enum pattern pattern;
	int to[2];
	int from[2];
	struct pair_shared *shared;
	pthread_t thread;
	pid_t process;
};

/* Work of a pair's tasks for the session that records them */
enum work {
	WORK_NONE,
	WORK_TRACE,		/* they write a record, which gives each a cell */
	WORK_OPERATION,		/* and work on an operation */
};

/* Starts the partner, a thread of this process or a child. Exits on failure. */
void pair_start(struct pair *p, enum pattern pattern, bool process);
/* Makes both tasks do @work from now on. */
void pair_work(struct pair *p, enum work work);
/* Runs ROUNDS rounds. Returns the ticks of the CPU's counter for one. */
double pair_rounds(struct pair *p);
void pair_stop(struct pair *p);

static inline uint64_t counter(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* Does the counter count instructions? */
bool counter_counts_instructions(void);

#endif /* ICOUNT_PINGPONG_H */
