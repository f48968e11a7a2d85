/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waiting, CPUs, seeds, children: what tests of both back ends share
 */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>
#include <sys/types.h>

#include "ktap.h"

/* Words that threads or processes share. A sanitizer sees that these accesses are atomic. */
static inline uint32_t load(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void store(volatile uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Returns zeroed memory that children share. */
void *shared_memory(size_t bytes);
void pin(int cpu);
int cpus_online(void);
/* Returns the number of CPUs that this process may use. */
int nr_cpus(void);
/* Returns the CPU with index @n, modulo nr_cpus(), of those that this process may use. */
int nth_cpu(int n);
/* Returns the seed in the environment variable KT_SEED, or else a new one; prints it. */
uint32_t seed(void);
/* Returns a random number less than @below. */
uint32_t rnd(uint32_t *state, uint32_t below);
void sleep_us(unsigned int us);
/*
 * Returns how many turns of the delay loops in critical sections (AT_TEST_HOOKS) take about
 * @us microseconds on an idle CPU.
 */
uint32_t delay_turns(uint32_t us);
/*
 * wait_for() and soon() give up after minutes. A slow machine may need that long, and
 * selftests/vm/run ends a test only later.
 */
/* Waits for *@word to become @value; bails out after five minutes or more. */
void wait_for(const volatile uint32_t *word, uint32_t value, const char *what);
/* Waits until @cond(@arg); returns false after four minutes or more. */
bool soon(bool (*cond)(void *arg), void *arg);
/* Waits for a child, and checks that it exited with 0. */
void reap(pid_t pid);
/* For soon(): has a signal stopped the process *@pid? */
bool is_stopped(void *pid);
/* Writes @text to the file @path, for example of sysfs. */
void write_to(const char *path, const char *text);

#endif /* COMMON_H */
