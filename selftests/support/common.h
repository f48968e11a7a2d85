/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of the module
 */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/provider.h>
#include <asynctrace/session.h>

#include "ktap.h"
#include "numbered.h"
#include "reader.h"

/* A session over one connection, and its reader. */
struct run {
	struct at_ctl *ctl;
	uint32_t id;
	struct rd rd;
	struct nu_seen seen;
};

struct run_options {
	const char *name;
	uint32_t mode;
	uint32_t sched;
	uint64_t ring_size;
	uint64_t sub_size;
	const char *provider;	/* pattern; NULL: all */
};

/* Makes and initializes it, and opens its reader. Bails out on failure. */
void run_open(struct run *run, struct at_ctl *ctl, const struct run_options *opts);
void run_start(struct run *run);
/* @disposition: enum asynctrace_disposition */
void run_start_with(struct run *run, uint32_t disposition);
void run_stop(struct run *run);
void run_terminate(struct run *run);
/* Frees what was read. The session must be terminated. */
void run_close(struct run *run);
/* Fails the test for whatever the reader found wrong in itself. */
void run_check(const struct run *run);
/* delivered + overwritten + cleared + dropped of all rings of events. */
uint64_t run_total(const struct run *run);

/* A child that is a provider, until its @threads threads return from @fn, given 0, 1, ... */
pid_t fork_provider(const struct at_provider_options *opts, unsigned int threads,
		    void *(*fn)(void *number));

/* Memory that children share, zeroed. */
void *shared_memory(size_t bytes);
void pin(int cpu);
int cpus_online(void);
/* The seed: of the environment, KT_SEED, or else a new one; printed. */
uint32_t seed(void);
uint32_t rnd(uint32_t *state, uint32_t below);
void sleep_us(unsigned int us);
/*
 * Turns of the delays in a critical section, of the library with AT_TEST_HOOKS, that
 * take about as long, on a CPU that does nothing else.
 */
uint32_t delay_turns(uint32_t us);
/*
 * These two give up after so many looks that a slow machine has done it long before, and
 * before selftests/vm/run gives up on the test.
 */
/* Waits for *@word to become @value; bails out after five minutes or more. */
void wait_for(const volatile uint32_t *word, uint32_t value, const char *what);
/* Waits until @cond(@arg); returns false after four minutes or more. */
bool soon(bool (*cond)(void *arg), void *arg);
/* Waits for a child, and checks that it exited with 0. */
void reap(pid_t pid);
/* For soon(): has a signal stopped the process *@pid? */
bool is_stopped(void *pid);
/* Writes @text to a file, such as the kernel has to be told things. */
void write_to(const char *path, const char *text);
/* An environment variable that says how much; else @otherwise. */
unsigned int amount(const char *name, unsigned int otherwise);
/* Do events take the fallback ring here, by what C library and machine say? */
bool fallback_expected(struct at_ctl *ctl);

#endif /* COMMON_H */
