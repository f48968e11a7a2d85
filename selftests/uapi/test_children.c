// SPDX-License-Identifier: GPL-2.0
/* Children that share the memory of a provider's process, until they execute another program */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define STRIDE	(64 * 1024)
#define SPAWNED_MAX	200

static struct raw_provider p;

/* Gets a cell, and executes a program that waits until it is killed. */
static int execute(void *arg)
{
	char *const args[] = { "sleep", "1000", NULL };
	struct asynctrace_slot slot;

	if (raw_slot(&p, &slot) > 0)
		*(uint32_t *)arg = slot.cell;
	execv("/bin/sleep", args);
	_exit(1);
}

/*
 * A child of vfork(2) shares the memory of its parent, so it can get a cell. When the child
 * executes a program, the cell must become free.
 */
static void cells_of_executed_children_come_back(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	const unsigned int spawned = amount("CHILDREN", SPAWNED_MAX);
	pid_t pids[SPAWNED_MAX];
	uint32_t most = 0;

	NEED(spawned <= SPAWNED_MAX);
	NEED(!raw_provider(&p, "cells", STRIDE));
	for (unsigned int i = 0; i < spawned; i++) {
		volatile uint32_t cell = 0;

		pids[i] = clone(execute, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
				(void *)&cell);
		NEED(pids[i] > 0);
		EXPECT(cell);
		if (cell > most)
			most = cell;
	}
	/*
	 * The kernel takes cells back when none is free and at least 64 threads have needed one
	 * since it last did so.
	 */
	EXPECT(most <= 128);
	for (unsigned int i = 0; i < spawned; i++) {
		kill(pids[i], SIGKILL);
		NEED(waitpid(pids[i], NULL, 0) == pids[i]);
	}
	raw_provider_end(&p);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(cells_of_executed_children_come_back),
};

KTAP_MAIN(tests)
