// SPDX-License-Identifier: GPL-2.0
/* Children that share the memory of a provider's process, some until they execute a program */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
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

#define CROWD		600
#define STACK		16384

static atomic_uint traced;
static int until[2];

/*
 * Has itself traced, and stays until the pipe is closed. Makes system calls only, because the
 * children share the parent's thread-local storage.
 */
static int be_traced(void *arg)
{
	char byte;

	(void)arg;
	if (syscall(SYS_ioctl, p.fd, ASYNCTRACE_IOC_THREAD, NULL) > 0)
		atomic_fetch_add(&traced, 1);
	syscall(SYS_read, until[0], &byte, 1);
	return 0;
}

/*
 * The session finds only threads of the provider's own process by itself. Each child adds itself,
 * and must find room in the module's table, which has 1024 places at first.
 */
static void each_child_of_a_crowd_is_traced(void)
{
	static struct raw_nl nl;
	static pid_t pids[CROWD];
	const unsigned int crowd = amount("CHILDREN_MANY", CROWD);
	char *stacks = aligned_alloc(STACK, CROWD * STACK);
	int id;

	NEED(stacks && crowd <= CROWD && !pipe(until));
	NEED(!raw_nl_open(&nl) && !raw_provider(&p, "crowd", STRIDE));
	id = raw_session(&nl, "crowd", ASYNCTRACE_MODE_ONESHOT, ASYNCTRACE_SCHED_TARGETS, STRIDE,
			 "crowd");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id) &&
	     !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	for (unsigned int i = 0; i < crowd; i++) {
		pids[i] = clone(be_traced, stacks + (i + 1) * STACK,
				CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
		NEED(pids[i] > 0);
	}
	while (atomic_load(&traced) < crowd && waitpid(-1, NULL, WNOHANG) <= 0)
		usleep(1000);
	EXPECT_IS(atomic_load(&traced), crowd);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id), 0);
	EXPECT_IS(raw_nl_u64(&nl, ASYNCTRACE_A_SESSION_THREADS_MISSED), 0);
	close(until[1]);
	for (unsigned int i = 0; i < crowd; i++)
		NEED(waitpid(pids[i], NULL, 0) == pids[i]);
	close(until[0]);
	raw_provider_end(&p);
	raw_nl_close(&nl);
	free(stacks);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(each_child_of_a_crowd_is_traced),
	KTAP_TEST(cells_of_executed_children_come_back),
};

KTAP_MAIN(tests)
